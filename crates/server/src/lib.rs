//! The svn:// and http:// servers, in five parts:
//!
//! * [`common`]: listeners, limits, lookup of repositories, access decisions, the operational log,
//!   configuration.
//! * [`svn`]: the svn protocol: greeting, session, authentication, commands.
//! * [`dav`]: http: WebDAV and DeltaV, and pages for people.
//! * [`monitor`]: what monitoring programs ask.
//! * `peer_server`: what other servers of the same repositories forward; `splice`: connections that are passed on byte by byte.
//!
//! A protocol takes connections or requests from a listener, finds the repository by
//! [`common::lookup`], decides by [`common::access`], asks the services of `repos`, and writes the
//! reply in its own form. The two know nothing of each other.
//!
//! Invariant: a connection that misbehaves loses its own connection only.

pub mod common;
pub mod dav;
pub mod monitor;
mod peer_server;
mod platform;
mod splice;
pub mod svn;

pub use common::listener::{self, Listener, Stopper};
pub use common::operation_log;
pub use common::settings::{self, Limits, Settings, Tunnel};
pub use common::state::ServerState;
pub use monitor::Monitor;
pub use peer_server::PeerServer;
pub use svn::{serve_connection, serve_stream};
