//! Stores of this crate, tried by the tests that every make must pass, and claims when things go wrong.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failure is a failed test"
)]

mod claims;
mod makes;
