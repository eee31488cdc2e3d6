//! Stores of objects, seen by two small traits: what a repository is kept in that no single machine holds.
//!
//! - [`Blobs`]: objects under keys. What is large goes there first, under a name that is used once.
//! - [`Log`]: numbered entries, each of which is created once ([`claim()`]). Nothing is announced in any other way.
//! - Makes of both: [`Memory`], [`Folder`]; others are in crates of their own.
//! - [`addresses`]: the store at an address;
//! - [`prove`]: a store is tried before it is trusted.
//! - [`CountedStore`]: how many requests a store has, by kind.
//! - `testing` (a feature, for tests): stores that fail and cheat on purpose, and the tests that every make must pass.
//!
//! Nothing here knows what a repository is.
//!
//! Invariant: whether an entry is ours is decided by reading it, never by what the store answered.

pub mod addresses;
mod claim;
mod counted;
mod error;
mod folder;
mod key;
mod memory;
mod open_error;
mod proof;
mod store;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
#[cfg(test)]
mod tests;
mod token;
pub mod trouble;

pub use claim::{Claim, Patience, Record, claim};
pub use counted::{CountedStore, Requests};
pub use error::{Error, Reason, Result};
pub use folder::Folder;
pub use key::Key;
pub use memory::Memory;
pub use open_error::OpenError;
pub use proof::prove;
pub use store::{Attempt, Blobs, ListedObject, Log, Store, Upload};
pub use token::Token;
