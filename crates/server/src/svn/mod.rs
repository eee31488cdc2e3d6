//! The svn:// server.
//!
//! * `session`: the course of a connection: greeting, authentication, commands.
//! * `commands`: the commands, one function each.
//! * `auth` and `sasl`: authentication.
//! * `connection`: one connection's buffers; [`transport`]: its two ends.

mod auth;
mod commands;
mod connection;
mod sasl;
mod session;
pub mod transport;

pub use session::{serve_connection, serve_stream};

/// The port of the svn protocol.
pub const DEFAULT_PORT: u16 = 3690;
