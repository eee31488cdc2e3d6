//! Applying a difference to nodes of a working copy, as merges and patches do: BASE stays as it is,
//! all that changes is what the user sees.

mod node;
mod obstruction;
mod plain;
mod tree;

pub use node::{FileMerge, FileMerged, PropsMerge};
pub use obstruction::{NodeOnDisk, Obstruction};
pub use plain::Pristine;
