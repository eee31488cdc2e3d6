//! A real store: `cargo xtask objects` starts one and says where it is.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failure is a failed test"
)]

mod azure;
mod gateway;
