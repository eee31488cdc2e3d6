//! What this crate asks of an engine: the traits that FSFS, FSX and, in tests, the engine in memory implement.
//!
//! | trait | is |
//! |---|---|
//! | [`Backend`] | an opened filesystem, with the types of all that follows; [`Nodes`](sapwood_fs_common::history::Nodes) is what the walk through histories asks of it |
//! | [`Root`], [`Node`], [`Directory`], [`Children`] | trees of revisions and of transactions |
//! | [`Contents`] | texts |
//! | [`Revprops`], [`DateAuthor`] | properties of revisions, as one request sees them |
//! | [`Writer`], [`Txn`], [`Bulk`] | changes |
//! | [`Admin`] | what administrators do with it |
//!
//! What a function does is said where this crate offers it, in the type of the same name. Functions with a body are what an
//! engine need not have: hints that do nothing, what follows from others, what it refuses. An engine's errors become those of
//! this crate at this line.

mod admin;
mod common;
mod filesystem;
mod fsfs;
mod fsx;
mod tree;
mod write;

pub(crate) use admin::Admin;
#[cfg(feature = "memory")]
pub(crate) use filesystem::not_supported;
pub(crate) use filesystem::{Backend, DateAuthor, Revprops};
pub(crate) use tree::{Children, Contents, Directory, Node, Root};
pub(crate) use write::{Bulk, Txn, Writer};
