//! Tests of the whole crate, in one test program.
//!
//! Invariant: every file beside this one is named here (`xtask/tests/house.rs` looks); a test is found by its
//! file's name: `cargo test -p sapwood-delta --test it FILE::`.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a failure is a failed test"
)]

mod documentation;
mod properties;
mod reference;
