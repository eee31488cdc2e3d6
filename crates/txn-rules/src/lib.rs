//! The rules by which the tree of a transaction changes, for every engine: adding, copying, deleting, properties,
//! merging with what was committed since, and the list of changed paths.
//!
//! All of it is values in memory. An engine says what its ids and node-revisions are ([`Engine`], [`NodeRevision`]) and
//! answers what is committed ([`TreeSource`]); nothing here knows of files, prototypes or texts.
//!
//! Rules that are kept: a node-revision is changed only in its transaction; to change one, all directories above
//! it are made changeable first, each a successor of what it was; node ids, copy ids, copy roots and predecessors
//! follow the reference's rules, because readers walk history by them.

mod changes;
mod engine;
mod error;
mod merge;
mod nodes;
mod rules;
mod tree;
mod walk;

pub use changes::{Change, ChangeList, Touch};
pub use engine::{CopyId, Engine, Listing, NewIds, NodeRevision, Result, TreeSource};
pub use error::Error;
pub use nodes::{Dag, Entries, EntryNow, TxnNode};
pub use rules::not_file;
pub use tree::{ROOT, SavedTree, Tree};

#[cfg(test)]
mod tests;
