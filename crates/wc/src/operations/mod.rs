//! The operations of a working copy that other crates call, as methods of [`crate::WorkingCopy`]: one file an area.
//!
//! Invariant: nothing is decided here. Each method hands the handles that its operation needs (`wc.db`, the files, or the
//! whole working copy with its locks) to the function that does it, and only that function's module knows how.

mod conflicts;
mod merging;
mod nodes;
mod properties;
mod schedule;
mod states;
mod texts;
mod upkeep;
