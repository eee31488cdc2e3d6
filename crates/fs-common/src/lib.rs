//! The files that FSFS and FSX keep in the same form, and what is cached of revisions whatever engine keeps them.
//!
//! [`rep_cache`] is the database in which equal texts are found; [`locks`] are locks on paths, which [`lock_paths`] changes and [`LockAccess`] passes;
//! [`hotcopy`] copies files while they may be in use; [`leftovers`] are what killed processes leave.
//! [`history`] walks back through the history of a path; [`one_prop`] is a change of one property; [`changes`] are the
//! changed paths of a revision. [`TxnEdit`] are the operations on a transaction, [`commit_info`] is how it is committed. [`hashed_text`] and [`StoredRange`] read texts. [`log_blocks`] and [`date_author`] are in the caches. Errors are [`SvnError`](sapwood_core::SvnError)s: they have their
//! E-codes and the reference's sentences.

pub mod changes;
pub mod commit_info;
pub mod date_author;
pub mod hashed_text;
pub mod history;
pub mod hotcopy;
mod kinds;
pub mod leftovers;
mod lock_access;
pub mod lock_paths;
pub mod locks;
pub mod log_blocks;
pub mod one_prop;
pub mod rep_cache;
mod stored_range;
mod txn_edit;

pub use lock_access::LockAccess;
pub use stored_range::StoredRange;
pub use txn_edit::TxnEdit;
