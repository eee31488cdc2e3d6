//! Applying a difference to nodes of a working copy, as merges and patches do: only the user's
//! layer changes, BASE does not.

pub(crate) mod node;
pub(crate) mod obstruction;
pub(crate) mod plain;
pub(crate) mod tree;

pub use node::{FileMerge, FileMerged, PropsMerge};
pub use obstruction::{NodeOnDisk, Obstruction};
pub use plain::Pristine;
