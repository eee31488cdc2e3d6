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
//! | `contents` | texts of any length, by their chains of deltas |
//! | `node` | trees |
//! | `locks` | locks on paths |
//! | `create` | new filesystems |
//! | `config` | `fsx.conf` |
//! | [`pack`] | complete shards become one file |
//! | [`txn`] | transactions, and making revisions of them; properties of revisions |
//! | `recent` | the few things that were used last |

mod config;
mod contents;
pub mod create;
mod error;
mod filesystem;
mod items;
pub mod locks;
mod node;
pub mod pack;
mod recent;
mod revfile;
pub mod txn;

pub use contents::Contents;
pub use error::{Error, Result};
pub use filesystem::Filesystem;
pub use node::Node;
pub use sapwood_fsx_format::{Change, ChangeKind, Id};
