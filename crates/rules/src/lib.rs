//! Rules for commits and revision properties, without scripts: what a log message must look like, which names and sizes a
//! repository takes, what is protected, which properties files need, and who may change properties of revisions.
//!
//! A repository has them in `conf/rules.toml`, and a server may have them for many repositories. The format is in
//! `docs/formats/rules.md`. This crate decides; it reads no repository: a [`Commit`] says what is to be committed.
//!
//! Invariant: a file that is not understood refuses all that it could be about.

mod check;
mod error;
mod file;
mod path_pattern;
mod rule;
mod size;

pub use check::{Change, Commit, Refusal, RevpropRequest};
pub use error::{Error, Result};
pub use file::{MAX_FILE, Rules};
pub use path_pattern::PathPattern;
