//! A server of PostgreSQL that the tests start, on a socket of their own.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a failure is a failed test"
)]

mod logs;
mod server;
mod tls;
