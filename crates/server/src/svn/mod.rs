//! The svn:// server.
//!
//! * `session`: what is said on a connection: greeting, authentication, commands.
//! * `commands`: the commands, one function each.
//! * `auth` and `sasl`: proving names.
//! * `connection`: one connection's buffers, both ways; [`transport`]: its two ends.

mod auth;
mod commands;
mod connection;
mod sasl;
mod session;
pub mod transport;

pub use session::{serve_connection, serve_stream};

/// The port of the svn protocol.
pub const DEFAULT_PORT: u16 = 3690;
