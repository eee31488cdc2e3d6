//! The versioned filesystem: FSFS repositories on disk.
//!
//! [`Filesystem`] is one opened `db` folder. [`Root`] is one tree in it (a revision or a
//! transaction), [`Node`] one file or directory of a tree. All are cheap to clone, `Send + Sync`,
//! and share the process-wide [`Caches`].

mod ancestors;
mod build_repcache;
mod cache_kinds;
pub mod changes;
mod children;
pub mod config;
pub mod contents;
pub mod create;
pub mod dump_index;
pub mod error;
pub mod filesystem;
mod fulltexts;
pub mod history;
pub mod hotcopy;
mod index;
mod items;
pub mod load_index;
pub mod locks;
pub mod log_blocks;
pub mod maintenance;
mod memcached;
pub mod node;
mod open;
pub mod pack;
pub mod read_ahead;
mod read_counters;
mod recover;
mod rep;
mod revfile;
mod revision_store;
pub mod revprop_pack;
mod revprop_shards;
pub mod revprops;
mod revprops_snapshot;
pub mod root;
pub mod stats;
pub mod stored_folder;
mod stored_locks;
mod sync;
pub mod text_delta;
pub mod txn;
pub mod txns;
mod unpacked_files;
pub mod upgrade;
pub mod verify;

pub use sapwood_store::uuid;

pub use children::Children;
pub use contents::Contents;
pub use create::CreateOptions;
pub use error::{Error, Result};
pub use filesystem::{Filesystem, FormatInfo, OpenOptions};
pub use history::History;
pub use locks::{LockOptions, LockOutcome, LockTarget, UnlockTarget};
pub use log_blocks::{EncodeEntry, EncodedEntries, LogSpan, SpanEncoder};
pub use node::{Node, NodeRevId, Relation};
pub use revprops_snapshot::RevpropsSnapshot;
pub use root::Root;
pub use sapwood_fs_common::changes::{ChangeKind, ChangedPath, ChangedPaths};
pub use sapwood_fs_common::date_author::DateAuthor;
pub use sapwood_fs_common::leftovers::Leftover;
pub use sapwood_fsfs_format::{DirEntryRef as DirEntry, Directory};
pub use sapwood_fsfs_format::{ItemType, P2lEntry};
pub use sapwood_store::{
    CacheStats, Caches, LocalStorage, ReaderPermit, Reads, Resident, Storage, WriteStorage,
};
pub use text_delta::ContentsDelta;
