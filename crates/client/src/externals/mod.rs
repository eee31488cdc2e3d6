//! Externals: bringing what `svn:externals` asks for into working copies, and removing what it no
//! longer asks for.
//!
//! A directory external is a working copy of its own below the one that defines it; a file external
//! is a node of the defining working copy with a mark. Both have rows in EXTERNALS. A failing external
//! is reported and does not stop the others.

mod definition;
mod file;
mod recursion;
mod removal;
mod target;

pub(crate) use self::definition::{check_place, items, number_of, revisions, wrap};
pub(crate) use self::recursion::{checkout_dir, handle, switch_at, update_one};
