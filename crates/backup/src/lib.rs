//! Backups: copies of repositories that are in use, which are verified after they are made.
//!
//! * [`back_up`]: copies what is new of a repository, and verifies it in the copy;
//! * [`Record`]: what a copy has, and what of it was verified, and when (`docs/formats/backup.md`).
//!
//! Invariants: a record never says more than what was done: it names a revision as verified only after that revision was
//! read from the copy; a copy is never made over the copy of another repository.

mod copy;
mod error;
mod record;

pub use copy::{Settings, Step, Verify, back_up};
pub use error::{Error, Result};
pub use record::{LastVerification, Record};
