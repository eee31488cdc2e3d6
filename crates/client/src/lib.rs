//! What `svn` and the other programs that work on URLs do, as operations: one module an operation. Those of
//! `svn` have their names; [`mirror`] is svnsync, [`rdump`] svnrdump, [`url_changes`] svnmucc.
//!
//! An operation takes a [`Context`] and values, works on repositories through `ra` and on working
//! copies through `wc`, and reports what happens through the context's callbacks. Nothing here prints,
//! reads the environment or looks for a home directory; the `cli` crate brings all of that as values.

pub mod add;
pub mod blame;
mod cache_file;
mod caching_session;
pub mod cat;
pub mod changelist;
pub mod checkout;
pub mod cleanup;
pub mod commit;
pub mod commit_item;
pub mod conflict_info;
pub mod conflict_walk;
pub mod context;
mod copy_foreign;
pub mod copy_in;
pub mod copy_local;
pub mod copy_out;
pub mod copy_urls;
pub mod delete;
pub mod delete_urls;
pub mod diff;
pub mod export;
mod externals;
mod gathered;
pub mod import;
pub mod info;
pub mod info_local;
pub mod list;
mod locate;
pub mod lock;
pub mod log;
pub mod merge;
pub mod mergeinfo;
pub mod mirror;
pub mod mkdir_urls;
mod near;
pub mod open;
pub mod oplock;
pub mod patch;
mod pin;
pub mod props;
pub mod rdump;
mod recursion;
pub mod relocate;
pub mod resolve;
pub mod resolver;
pub mod revert;
pub mod revision;
pub mod revprops;
mod shared_session;
pub mod shelf;
mod shelved;
pub mod status;
pub mod switch;
pub mod target;
#[cfg(test)]
mod testing;
mod text_base;
mod tree;
pub mod tree_conflict;
mod tree_props;
pub mod update;
pub mod upgrade;
pub mod url_changes;
mod url_commit;
pub mod working;

pub use commit_item::{CommitItem, ItemState};
pub use context::Context;
pub use revision::{Range, Revision};
pub use sapwood_core::notify::{self, Notify};
pub use target::Target;
