//! The on-disk items of FSX, format 2: bytes in, values out, and back. No I/O.
//!
//! Parsers take a byte slice and return a value or an [`Error`] that names what is wrong. They do not panic
//! and do not recurse by what they read, and they allocate no more than a small multiple of the bytes at hand, or of a limit in
//! [`limits`]. `docs/formats/fsx.md` describes the format. What FSX has in common with FSFS (footers of revision files,
//! the FNV checksum, base 36, packed numbers) is in `sapwood-fsfs-format`.

pub mod changes;
pub mod changes_container;
pub mod cursor;
pub mod directory;
pub mod error;
pub mod format_file;
pub mod id;
pub mod l2p;
pub mod layout;
pub mod limits;
pub mod noderev;
pub mod noderevs_container;
pub mod p2l;
pub mod packed;
pub mod proplist;
pub mod rep;
pub mod reps_container;
pub mod revprops;
pub mod string_builder;
pub mod strings;
mod text_path;
pub mod trailer;
pub mod txn_index;

pub use changes::{Change, ChangeKind};
pub use error::{Error, Result};
pub use id::{ChangeSet, Id};
pub use noderev::NodeRev;
pub use rep::{RepHeader, Representation};

/// The format that 1.10 to 1.14 write. It is an experiment of the reference, which opens no other: 1 was that of 1.9.
pub const NEWEST: u64 = 2;
