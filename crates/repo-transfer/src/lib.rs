//! Repositories between folders and stores: FSFS bytes as they are, both ways.
//!
//! - [`import()`]: a folder becomes a repository in a store, or brings what is new to the one that it became before;
//! - [`export()`]: the other way, byte for byte.
//!
//! Invariants: an import only reads the folder, which may be in use; a store has at any time a repository that is whole, with
//! the revisions up to one of the folder's; an exported folder is no repository before everything in it is durable.

mod error;
mod export;
mod import;
mod reps;
mod source;
#[cfg(test)]
mod tests;

pub use error::{Error, Result};
pub use export::{CopyProgress, export, export_saying};
pub use import::import;
