//! Growth tests: what each command costs at n and at 4n entries, properties, paths or revisions,
//! counted in instructions and reads (`testkit::counted`), must stay within a stated order. The
//! commands of the protocol are in `protocol`; the administrators' programs have modules of their own.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a failure is a failed test"
)]

mod admin;
mod edits;
mod made;
mod protocol;
mod rules;
