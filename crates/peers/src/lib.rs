//! Servers that serve the same repositories out of one store of objects.
//!
//! Each of them can do everything; that commits of a repository come to one of them, its owner, only makes them faster: they share one
//! group and one cache. So all that is here is a hint, and may be wrong.
//!
//! * [`name`]: the name of a server, which is where the others reach it.
//! * [`owner`]: which server a repository belongs to.
//! * [`servers`]: the list of servers, and which of them are avoided for a while.
//! * [`hello`]: the lines with which a connection between two servers begins; [`secret`]: what proves them.
//! * [`link`]: such connections, which are a [`stream`], encrypted by [`tls`] where the configuration says so; [`look`]: asking all of
//!   them whether they are there.
//!
//! Invariant: nothing that a connection says is believed before its other side has proved that it knows the secret, and nothing
//! of a client is sent before the server at the other side has. Where there is TLS, both have shown their certificates before that.

mod error;
pub mod hello;
mod hex;
pub mod link;
pub mod look;
pub mod name;
pub mod owner;
pub mod secret;
pub mod servers;
pub mod stream;
pub mod tls;

pub use error::Error;
pub use hello::{Door, Hello};
pub use name::Name;
pub use secret::Secret;
pub use servers::{Members, ServerList, Servers};
pub use stream::PeerStream;
pub use tls::TlsFiles;
