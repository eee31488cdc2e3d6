//! The files that FSFS and FSX keep in the same form, and what is cached of revisions whatever engine keeps them.
//!
//! [`rep_cache`] is the database in which equal texts are found; [`locks`] are locks on paths, which [`lock_paths`] changes;
//! [`hotcopy`] copies files while they may be in use; [`leftovers`] are what killed processes leave.
//! [`history`] walks back through the history of a path; [`one_prop`] is a change of one property; [`changes`] are the
//! changed paths of a revision. [`log_blocks`] and [`date_author`] are in the caches. Errors are [`SvnError`](sapwood_core::SvnError)s: they have their
//! E-codes and the reference's sentences.

pub mod changes;
pub mod date_author;
pub mod history;
pub mod hotcopy;
mod kinds;
pub mod leftovers;
pub mod lock_paths;
pub mod locks;
pub mod log_blocks;
pub mod one_prop;
pub mod rep_cache;
