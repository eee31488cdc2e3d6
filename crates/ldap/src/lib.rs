//! Users of a directory service: logins and groups from LDAP servers (RFC 4511), Active Directory among them.
//!
//! * [`Settings`]: which servers, and how users and groups are found in them;
//! * [`Directory`]: who may log in, with a cache that keeps people working while no server answers.
//!
//! Invariants: no empty password reaches a server, since it would bind without a name and succeed; what a client sends
//! becomes part of a filter only with each special byte escaped; a search or an answer that is not understood lets no user
//! in; and what waits for a server holds no thread and ends in time.

mod address;
mod cache;
mod connection;
mod directory;
mod entry;
mod error;
mod filter;
mod groups;
mod login;
mod member;
mod server;
mod settings;
mod sid;

pub use directory::{Directory, Login};
pub use error::{Error, Result};
pub use member::Member;
pub use sapwood_core::WrongSetting;
pub use settings::{Kind, Settings};
