//! The files that FSFS and FSX keep in the same form.
//!
//! [`rep_cache`] is the database in which equal texts are found; [`locks`] are locks on paths, which [`lock_paths`] changes;
//! [`hotcopy`] copies files while they may be in use; [`leftovers`] are what killed processes leave. Errors are [`SvnError`](sapwood_core::SvnError)s: they have their
//! E-codes and the reference's sentences.

pub mod hotcopy;
pub mod leftovers;
pub mod lock_paths;
pub mod locks;
pub mod rep_cache;
