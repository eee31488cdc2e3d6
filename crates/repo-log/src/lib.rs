//! A repository in a store: the log of all that was done to it, and what that adds up to.
//!
//! - [`entry`]: the bytes of an entry, `docs/formats/repository-log.md`;
//! - [`checkpoint`]: the bytes of a checkpoint, from which a log is read instead of from its beginning;
//! - [`State`]: what the entries so far say: where each revision is, which files the repository has;
//! - [`RepositoryLog`]: reads the log to its end and adds to it; who loses a slot prepares again;
//! - [`Place`]: where bytes are read best: entries that are small and beside each other are in segments too ([`NewSegments`]);
//! - [`RepIndex`]: representations, by which equal texts are stored once: rows of entries, and sorted tables ([`table`]), which are
//!   written by levels ([`NewTable`]) and read from begin to end ([`AllReps`]);
//! - [`NewObject`]: what an entry will name is written first;
//! - [`find_orphans`]: objects that writers left which were stopped;
//! - [`verify()`]: the whole chain, and all that it names;
//! - [`container`]: the properties of a packed shard as one object.
//!
//! What a revision is, and what is in the files, is not known here: their bytes are kept as they are.
//!
//! Invariant: a state is the fold of a prefix of the log, and an entry that does not follow from the state before it is
//! an error of the log, never skipped.

mod all_reps;
pub mod checkpoint;
mod checkpoints;
pub mod container;
mod digest;
pub mod entry;
mod error;
mod lines;
mod log;
mod new_object;
mod places;
mod rep_index;
mod reps;
mod segments;
mod start;
mod state;
mod sweep;
pub mod table;
mod tables;
#[cfg(test)]
mod tests;
mod verify;

pub use all_reps::AllReps;
pub use checkpoints::NewCheckpoint;
pub use digest::{Digest, Hasher};
pub use error::{Error, Result};
pub use log::{ItemReceiver, Prepare, RepositoryLog, Slot, page, read_location};
pub use new_object::NewObject;
pub use places::Place;
pub use rep_index::{RepIndex, RepTable};
pub use segments::{NewSegments, WrittenSegments};
pub use start::repository_at;
pub use state::{EntrySegment, File, Location, PackedShard, RevisionData, State};
pub use sweep::{Orphans, find_orphans};
pub use tables::{NewTable, TableWriter, WrittenTable, note_damage};
pub use verify::{VerifySummary, read_object, verify};
