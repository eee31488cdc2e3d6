//! Sessions over the svn protocol (`svn://`, `svn+ssh://`, custom tunnels), the client's side of
//! `docs/formats/svn-protocol.md`.
//!
//! * [`transport`], [`tunnel`]: a socket, or the pipes of a command that leads to the server.
//! * [`connection`]: buffers both ways; one item of the protocol at a time; `protection`: a layer of SASL below them.
//! * [`login`]: ANONYMOUS, EXTERNAL, and the mechanisms that take a password.
//! * `idle`: connections for the next session.
//! * `session`: greeting, URLs, and the exchange of command and reply.
//! * `revisions`, `nodes`, `files`, `history`, `locks`, `edits`, `commit`: the requests, a trait each; `streams`: replies
//!   that are series; `log`, `file_revs`: what is in two of them.
//!
//! Moving the session below the URL that the server knows costs nothing: paths are joined here,
//! and the server is notified only when a request depends on the server's idea of the URL.

mod commit;
pub mod connection;
mod edits;
mod file_revs;
mod files;
mod history;
mod idle;
mod locks;
mod log;
pub mod login;
mod nodes;
mod protection;
mod replies;
mod repository;
mod revisions;
mod session;
mod settings;
mod silent;
mod streams;
pub mod transport;
pub mod tunnel;

pub use idle::IdleConnections;
pub use session::SvnSession;
pub use settings::ClientSettings;
