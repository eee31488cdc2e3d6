//! The versioned filesystem: FSFS repositories on disk.
//!
//! [`Filesystem`] is one opened `db` folder. [`Root`] is one tree in it (a revision or a
//! transaction), [`Node`] one file or directory of a tree. All are cheap to clone, `Send + Sync`,
//! and share the process-wide [`Caches`].

mod ahead;
mod build_repcache;
mod cache;
pub mod changes;
pub mod contents;
pub mod create;
mod credits;
mod deletion;
pub mod dump_index;
pub mod error;
mod family;
pub mod filesystem;
pub mod handles;
pub mod history;
pub mod hotcopy;
mod index;
mod items;
mod listing;
pub mod load_index;
pub mod locks;
pub mod log_blocks;
pub mod maintenance;
mod memcached;
pub mod node;
mod open;
pub mod ordered;
pub mod pack;
pub mod prefetch;
mod recover;
mod rep;
mod rep_cache;
mod revfile;
pub mod revprop_pack;
pub mod revprops;
pub mod root;
mod roots;
pub mod stats;
pub mod storage;
pub mod storage_write;
mod straight;
mod sync;
pub mod text_delta;
pub mod txn;
pub mod txns;
pub mod upgrade;
pub mod uuid;
pub mod verify;
mod watched;

pub use ahead::{Ahead, BATCH as AHEAD_BATCH, NodesWanted, Novelty};
pub use cache::{CacheStats, Caches, Reads, Resident};
pub use changes::{ChangeKind, ChangedPath, ChangedPaths};
pub use contents::Contents;
pub use create::CreateOptions;
pub use credits::Credits;
pub use error::{Error, Result};
pub use family::Children;
pub use filesystem::{Filesystem, FormatInfo, OpenOptions};
pub use history::History;
pub use listing::Listing;
pub use locks::{Lock, LockOptions, LockOutcome, LockTarget, UnlockTarget};
pub use log_blocks::{EncodeEntry, EncodedEntries, LogSpan, SpanEncoder};
pub use node::{Node, NodeRevId, Relation};
pub use prefetch::{Prefetch, Seat, Wanted};
pub use revprops::RevpropsSnapshot;
pub use root::Root;
pub use roots::Roots;
pub use sapwood_fsfs_format::{DirEntryRef as DirEntry, Directory};
pub use sapwood_fsfs_format::{ItemType, P2lEntry};
pub use storage::{LocalStorage, Storage};
pub use storage_write::WriteStorage;
pub use text_delta::{ContentsDelta, svndiff_asked_for};
