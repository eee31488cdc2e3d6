//! Kerberos, by the GSSAPI library of the system (feature `gssapi`; without it [`IS_BUILT_IN`] is false and each context is an
//! error).
//!
//! * [`Context`]: one side of a login; it blocks on a KDC, a key table or a cache of tickets, so callers choose its thread.
//! * [`sasl`]: what both sides say over svn:// (`GSSAPI`, RFC 4752), and the layer that may follow.
//!
//! Keys of a server come from the key table of the process (`KRB5_KTNAME`, or the system's), tickets of a client from its cache
//! (`KRB5CCNAME`): the library reads both names from the environment, which is where it looks in other programs too.
//! Invariant: a token of the other side is at most [`MAX_TOKEN`] bytes long when the library sees it.

#[cfg(feature = "gssapi")]
mod gss;
#[cfg(not(feature = "gssapi"))]
mod none;
pub mod sasl;

#[cfg(feature = "gssapi")]
pub use gss::Context;
#[cfg(not(feature = "gssapi"))]
pub use none::Context;

/// Whether this program can speak Kerberos.
pub const IS_BUILT_IN: bool = cfg!(feature = "gssapi");
/// The longest token that is taken, in bytes: tickets of Active Directory with many groups have tens of kilobytes.
pub const MAX_TOKEN: usize = 64 << 10;

/// Why a login came to nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KerberosError {
    /// This program has no Kerberos.
    #[error("this program was built without Kerberos")]
    NotBuiltIn,
    /// What the library says.
    #[error("{0}")]
    Library(String),
    /// The other side does not speak the protocol.
    #[error("malformed message")]
    Malformed,
    /// Nothing that both sides have is as strong as it has to be.
    #[error("no common protection layer")]
    TooWeak,
}

/// Which library and service a context is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// `svn/HOST`, tokens of Kerberos itself.
    Sasl,
    /// `HTTP/HOST`, tokens of SPNEGO, in which Kerberos is one of several.
    Negotiate,
}

impl Use {
    /// The name of the service.
    #[must_use]
    pub const fn service(self) -> &'static str {
        match self {
            Self::Sasl => "svn",
            Self::Negotiate => "HTTP",
        }
    }
}

/// What a step of a context gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// For the other side.
    pub token: Option<Vec<u8>>,
    /// Whether this side is done.
    pub is_done: bool,
}
