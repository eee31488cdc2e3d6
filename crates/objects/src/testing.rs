//! For tests: stores that fail and cheat on purpose, and the tests that every make must pass.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "test support: a failure here is a failed test"
)]

mod cheats;
mod faulty;
mod suite;

pub use cheats::{Cheat, Cheater};
pub use faulty::{Fault, Faulty};
pub use suite::suite;
