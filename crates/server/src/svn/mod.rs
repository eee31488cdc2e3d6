//! The svn:// server.
//!
//! * `serve`: the course of a connection: greeting, authentication, commands; `session`: its state.
//! * `commands`: the commands, one function each.
//! * `auth` and `sasl`: authentication; `mechanisms`: what both share.
//! * `connection`: one connection's buffers; [`transport`]: its two ends; `outgoing`: what it sends, through its security
//!   layer.

mod auth;
mod commands;
mod connection;
mod forward;
mod mechanisms;
mod outgoing;
mod sasl;
mod serve;
mod session;
pub mod transport;

pub(crate) use serve::serve_forwarded;
pub use serve::{serve_connection, serve_stream};

/// The port of the svn protocol.
pub const DEFAULT_PORT: u16 = 3690;
