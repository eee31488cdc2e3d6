//! The work queue: what must happen to files after a change of the database, written down with it.
//!
//! Items run in order, under a lock of the working copy ([`crate::locks`]). Each can be run again
//! after a kill without harm; it is removed when it is done. A queue that is not empty when a
//! program comes is a sign of a kill: E155037, and `cleanup` runs it.

pub(crate) mod old;
pub(crate) mod run;

pub(crate) use run::{RecordedStat, finish_items};
