//! The svn:// and http:// servers: listeners, sessions, authentication, limits, the operational log.
//!
//! * [`settings`]: everything that a server is told when it is started.
//! * [`shared`]: what all connections of a server have in common: caches, opened repositories,
//!   configuration files, the log.
//! * [`listener`]: accepts connections, one thread each, within limits.
//! * [`connection`]: one connection's buffers, both ways.
//! * [`session`]: what is said on a connection: greeting, authentication, commands.
//! * [`commands`]: the commands.
//! * [`dav`]: the http server.
//!
//! Invariant: a connection that misbehaves loses its own connection only.

pub mod access;
pub mod auth;
pub mod commands;
pub mod conf;
pub mod connection;
pub mod dav;
pub mod listener;
pub mod login_delay;
pub mod lookup;
pub mod oplog;
pub mod request_memory;
mod resident;
mod sasl;
pub mod session;
pub mod settings;
pub mod shared;
pub mod transport;

pub use listener::{Listener, Stopper};
pub use session::serve_connection;
pub use settings::{Limits, Settings, Tunnel};
pub use shared::Shared;
