//! The on-disk items of FSFS: bytes in, values out, and back. No I/O.
//!
//! Every parser takes a byte slice and either a value with the number of bytes it took, or an
//! [`Error`] that names what is wrong; none panics, recurses or allocates by a length that it has
//! not checked against the bytes at hand. [`Error::UnexpectedEnd`] alone means that more bytes
//! might make the item whole: callers that hand in a piece of a file read on and try again.

pub mod base36;
pub mod changes;
pub mod current;
pub mod directory;
pub mod error;
pub mod fnv;
pub mod footer;
pub mod format_file;
pub mod id;
pub mod index_proto;
pub mod index_write;
pub mod l2p;
pub mod layout;
pub mod limits;
pub mod lockfile;
pub mod manifest;
pub mod node_origins;
pub mod noderev;
pub mod p2l;
pub mod packed_number;
pub mod rep;
pub mod revprop_write;
pub mod revprops;
pub mod since;
mod text;
pub mod trailer;
pub mod txn;

pub use changes::{ChangeRef, Changes};
pub use directory::{DirEntries, DirEntryRef, Directory, DirectoryBuilder};
pub use error::{Error, Result};
pub use footer::Footer;
pub use format_file::{Addressing, FormatFile};
pub use id::{IdPart, Location, NodeRevId, TxnId};
pub use l2p::{L2pHeader, L2pPage};
pub use layout::Layout;
pub use noderev::NodeRev;
pub use p2l::{ItemType, P2lEntry, P2lHeader, P2lPage};
pub use rep::{RepHeader, RepLocation, Representation, Uniquifier};
pub use sapwood_core::ChangeKind;
pub use trailer::Trailer;
