//! The versioned filesystem as all above it see it.
//!
//! | for | names |
//! |---|---|
//! | one filesystem | [`Filesystem`], opened with [`OpenOptions`] and shared [`Caches`] |
//! | trees | [`Root`], [`Node`], [`Children`], [`Directory`]; [`History`]; [`Contents`], [`ContentsDelta`] |
//! | revisions | [`ChangedPaths`], [`RevpropsSnapshot`], [`DateAuthor`] |
//! | changes | [`txn`]: [`txn::Writer`], [`txn::Txn`], [`txn::Bulk`]; locks on paths |
//! | administrators | [`admin`] |
//! | filesystems of any engine, read and written revision by revision | [`source`], [`target`] |
//! | what is about to be read | [`read_ahead`]: hints that may do nothing |
//!
//! Nothing above this crate names an engine, and nothing but the programs for administrators, which
//! print them, asks for format numbers: what a filesystem can do is asked of it
//! ([`Filesystem::records_mergeinfo`], [`Filesystem::sending_order`]). `xtask/tests/layers.rs` holds
//! the first. One engine can do everything so far, and its types are handed on as they are, which costs no call
//! anything. FSX can be read by [`source`] and written by [`target`]. The second whole engine makes of [`Filesystem`], [`Root`] and [`Node`] enums over engines, here; those
//! who use them stay as they are.

pub mod admin;
#[doc(hidden)]
pub mod log_blocks {
    //! Encoded log entries: see [`crate::LogSpan`].
    pub use sapwood_fsfs::log_blocks::*;
}
pub mod fsfs;
mod locks;
pub mod source;
pub mod target;
pub mod read_ahead {
    //! What is about to be read: hints that may do nothing, one entry for each kind of thing. The module of the
    //! same name in `fsfs` has the table, the diagram and the order of locks.
    pub use sapwood_fsfs::read_ahead::{
        BATCH, ColdReads, Helper, LogNeeds, NodesWanted, Novelty, Prefetch,
    };
}
pub mod txn {
    //! Changing a tree, and making a revision of it.
    pub use sapwood_fsfs::txn::{
        Bulk, DeltaAhead, KnownText, NewRevision, Txn, WriteConfig, WriteOptions, Writer, flags,
    };
}

pub use sapwood_fsfs::{
    ChangeKind, ChangedPath, ChangedPaths, Children, Contents, ContentsDelta, DateAuthor, DirEntry,
    Directory, EncodeEntry, EncodedEntries, Error, Filesystem, FormatInfo, History, Leftover,
    Listing, LockOptions, LockOutcome, LockTarget, LogSpan, Node, NodeRevId, OpenOptions, Relation,
    Result, RevpropsSnapshot, Root, Roots, SpanEncoder, UnlockTarget, uuid,
};
pub use sapwood_store::{CacheStats, Caches, LocalStorage, Reads, Resident, Storage, WriteStorage};
