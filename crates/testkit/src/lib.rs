//! What the tests of all crates stand on: repositories made by the reference's own programs, in
//! every format and layout, from scripted and from seeded random histories; and ways to run a
//! program or a server of ours beside the reference's and to compare what they print and leave; and
//! a storage on a machine that will crash ([`crashing`]).
//!
//! Invariant: the same seed and shape give the same history on every machine, so a failure can be
//! repeated from the name of the fixture alone.
//!
//! This crate is used by tests only. Its functions panic with a plain message when something does
//! not work: for a test that is a failure, which is what it should be.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::as_conversions,
    reason = "test support: a failure here is a failed test, and all input is our own"
)]

pub mod age;
pub mod cluster;
pub mod compare;
pub mod counted;
pub mod crashing;
pub mod exim;
pub mod findings;
pub mod fsx;
pub mod history;
pub mod kdc;
pub mod library;
pub mod linear;
pub mod pair;
pub mod patience;
pub mod programs;
pub mod random;
pub mod repository;
pub mod rng;
pub mod scripted;
pub mod server;
pub mod slapd;
pub mod terminal;
pub mod tree;

pub use age::age;
pub use compare::{Output, Trees};
pub use findings::Findings;
pub use history::History;
pub use pair::Pair;
pub use programs::Programs;
pub use repository::{Packing, Repository, Shape};
pub use rng::Rng;
pub use server::Server;

/// Whether the long versions of the tests are wanted: all shapes, all pairs of revisions. They are
/// when `SAPWOOD_LONG` is set.
#[must_use]
pub fn long() -> bool {
    std::env::var_os("SAPWOOD_LONG").is_some()
}

/// A path in a repository that a test names.
///
/// # Panics
/// When the text is none.
#[must_use]
pub fn fspath(text: &str) -> &sapwood_core::FsPath {
    sapwood_core::FsPath::new(text).unwrap()
}
