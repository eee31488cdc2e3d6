//! The versioned filesystem as all above it see it.
//!
//! | for | names |
//! |---|---|
//! | one filesystem | [`Filesystem`], opened with [`OpenOptions`] and shared [`Caches`] |
//! | trees | [`Root`], [`Node`], [`Children`], [`Directory`]; [`History`]; [`Contents`], [`ContentsDelta`] |
//! | revisions | [`ChangedPaths`], [`RevpropsSnapshot`], [`DateAuthor`] |
//! | changes | [`txn`]: [`txn::Writer`], [`txn::Txn`], [`txn::Bulk`]; locks on paths |
//! | administrators | [`admin`] |
//! | what is about to be read | [`read_ahead`]: hints that may do nothing |
//!
//! Nothing above this crate names an engine, and nothing but the programs for administrators, which
//! print them, asks for format numbers: what a filesystem can do is asked of it
//! ([`Filesystem::records_mergeinfo`], [`Filesystem::sending_order`]). `xtask/tests/layers.rs` holds
//! the first.
//!
//! There are two engines, FSFS and FSX, and `engine` alone finds out which one a folder needs. The types here that an engine
//! has its own form of are enums over both (`of`); what they ask of it stands in the traits of `backend`. With the feature
//! `memory`, which is for tests, there is a third engine, in memory.

pub mod admin;
mod backend;
mod bulk;
mod callbacks;
mod changes;
mod contents;
mod deletion;
mod directory;
mod engine;
mod error;
mod filesystem;
pub mod fsfs;
mod identity;
mod kinds;
mod listing;
mod locks;
#[cfg(feature = "memory")]
mod memory;
mod node;
mod of;
mod of_history;
pub mod read_ahead;
mod revprops;
mod root;
mod roots;
mod transaction;
mod writer;

pub mod txn {
    //! Changing a tree, and making a revision of it.
    pub use sapwood_fs_common::commit_info::flags;
    pub use sapwood_fsfs::txn::{DeltaAhead, KnownText, NewRevision, WriteConfig, WriteOptions};
    pub use sapwood_txn_rules::Touch;

    pub use crate::bulk::Bulk;
    pub use crate::callbacks::ChangeProps;
    pub use crate::transaction::Txn;
    pub use crate::writer::Writer;
}

#[doc(hidden)]
pub mod log_blocks {
    //! Encoded log entries: see [`crate::LogSpan`].
    pub use sapwood_fsfs::log_blocks::*;
}

pub use callbacks::ReadProps;
pub use contents::{Contents, ContentsDelta};
pub use directory::{DirEntry, Directory, NodeId};
pub use engine::Engine;
pub use error::{EngineError, Error, Result};
pub use filesystem::Filesystem;
pub use identity::Identity;
pub use listing::Listing;
pub use locks::{LockOptions, LockOutcome, LockTarget, UnlockTarget};
pub use node::{Children, Node};
pub use of_history::HistoryValue;
pub use revprops::{DateAuthor, RevpropsSnapshot};
pub use root::{History, Root};
pub use roots::Roots;
pub use sapwood_fs_common::changes::{ChangeKind, ChangedPath, ChangedPaths};
pub use sapwood_fsfs::{
    EncodeEntry, EncodedEntries, FormatInfo, Leftover, LogSpan, OpenOptions, Relation, SpanEncoder,
    uuid,
};
pub use sapwood_store::{CacheStats, Caches, LocalStorage, Reads, Resident, Storage, WriteStorage};
