//! Growth tests: what each command costs with n and with 4n entries, properties, sources of merges,
//! revisions, locks, transactions, paths or lines of configuration, counted in instructions and reads
//! (`testkit::counted`), must stay within a stated order.
//!
//! The commands of the protocol are rows of `protocol` and tests of `edits`; those of the administrators'
//! programs are rows of `admin`, and what reads lists and configuration is in `lists`. `complete` holds
//! that no command is missing.

mod admin;
mod complete;
mod edits;
mod lists;
mod made;
mod protocol;
mod rules;
mod sizes;
