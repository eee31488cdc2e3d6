//! The ground of every engine of the filesystem: files, and caches of their contents.
//!
//! - [`storage`] and [`mod@write`]: the door to files, for readers and for writers. In use it is the
//!   local file system; in tests it is a recorder that counts, fails and crashes (`testkit`).
//! - [`cache`]: one budget of memory for all engines and filesystems of a process: raw blocks, parsed
//!   values, open files. It knows no format: a [`Kind`] gives the type of a value and what it
//!   weighs.
//! - [`handles`]: what to do when there are no file handles left.
//! - [`readers`]: which threads may read for others; [`Helper`] is one.
//! - [`reloaded_file`]: small files that other programs replace.
//! - [`uuid`]: new random UUIDs, for repositories and lock tokens.
//! - [`ordered`]: jobs of several threads, their results in the order of the jobs.
//!
//! Nothing here knows what a revision file looks like.

pub mod cache;
pub mod handles;
mod helper;
pub mod ordered;
mod platform;
pub mod readers;
pub mod reloaded_file;
pub mod storage;
pub mod uuid;
pub mod write;

pub use cache::key::{Key, Kind, PassThrough};
pub use cache::open_files::{FileKey, FileTable};
pub use cache::{Block, CacheStats, Caches, Reads, Resident};
pub use helper::Helper;
pub use readers::ReaderPermit;
pub use reloaded_file::ReloadedFile;
pub use storage::{Folder, LocalStorage, Stamp, Storage, StoredFile};
pub use write::{HeldLock, NewFile, WriteStorage};
