//! FSX filesystems, format 2: packed or not, while other programs write to them.
//!
//! [`Filesystem`] is an opened `db` folder, [`Node`] a file or directory of a revision. Both are cheap to clone and can be
//! shared by threads. What is on disk is described in `docs/formats/fsx.md`; `sapwood-fsx-format` parses it.
//!
//! | file | holds |
//! |---|---|
//! | `filesystem` | opening; youngest revision; revision properties |
//! | `revfile` | a revision or pack file: its indexes, and its items with their checksums |
//! | `items` | node-revisions, changed paths and short texts, also out of containers |
//! | `contents`, `short` | texts of any length, by their chains of deltas; short ones whole |
//! | `tree`, `node`, `directory` | trees: look-up by path, nodes with the paths by which they were reached, entries |
//! | `history` | the history of a path, copies |
//! | `delta` | differences between texts |
//! | `locks` | locks on paths |
//! | `info`, `verify` | what it says of itself, and whether it is whole |
//! | [`create`] | new filesystems |
//! | `config` | `fsx.conf` |
//! | [`hotcopy`] | copies of a filesystem in use |
//! | [`pack`] | complete shards become one file |
//! | [`txn`] | transactions, and making revisions of them; properties of revisions |
//! | `unfinished` | packs that 1.14 is still writing |
//! | `cached` | what is kept in the caches of the process |
//! | `recent` | the few things that were used last |

mod cached;
mod config;
mod contents;
pub mod create;
mod delta;
mod directory;
mod error;
mod filesystem;
mod history;
pub mod hotcopy;
mod info;
mod items;
pub mod locks;
mod node;
pub mod pack;
mod recent;
mod revfile;
mod short;
mod tree;
pub mod txn;
mod unfinished;
mod verify;

pub use contents::Contents;
pub use delta::ContentsDelta;
pub use directory::Directory;
pub use error::{Error, Result};
pub use filesystem::Filesystem;
pub use history::History;
pub use info::OLDEST_MINOR_VERSION;
pub use node::Node;
pub use sapwood_fsx_format::directory::Entry;
pub use sapwood_fsx_format::{Change, ChangeKind, Id};
pub use tree::Root;
