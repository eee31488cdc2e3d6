//! What can go wrong with a session itself. What a repository or server says travels as
//! [`SvnError`].

use sapwood_core::paths::{Url, UrlBuf};
use sapwood_core::{ErrorCode, SvnError};

/// Shorthand for results of this crate's own steps.
pub type Result<T> = std::result::Result<T, Error>;

/// An error of a session.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The scheme of the URL is none that is known.
    #[error("Unrecognized URL scheme for '{0}'")]
    UnknownScheme(String),
    /// The URL cannot be taken apart.
    #[error("Illegal repository URL '{0}'")]
    IllegalUrl(String),
    /// A session is to move to a URL of another repository.
    #[error("'{url}' isn't in the same repository as '{root}'")]
    OtherRepository {
        /// Where it is to move.
        url: UrlBuf,
        /// The root of its repository.
        root: UrlBuf,
    },
    /// Nothing says how to reach servers through this tunnel.
    #[error("Undefined tunnel scheme '{0}'")]
    UndefinedTunnel(String),
    /// The tunnel's command is in a variable that is not set.
    #[error("Tunnel scheme {scheme} requires environment variable {variable} to be defined")]
    TunnelVariable {
        /// The tunnel.
        scheme: String,
        /// The variable.
        variable: String,
    },
    /// A host that must not become an argument of a tunnel's command.
    #[error("Invalid host '{0}'")]
    InvalidHost(String),
    /// The tunnel's command did not start.
    #[error("Can't create tunnel")]
    Tunnel(SvnError),
    /// The name service does not know the host.
    #[error("Unknown hostname '{0}'")]
    UnknownHost(String),
    /// The same for a host of http, in the words that the reference's http library has for it.
    #[error("Name or service not known")]
    UnknownHttpHost,
    /// The server says that the repository is elsewhere.
    #[error("Repository moved {} to '{to}'", if *.permanently { "permanently" } else { "temporarily" })]
    Moved {
        /// Where it says, as it was said; a URL.
        to: String,
        /// Whether it will stay there.
        permanently: bool,
    },
    /// Servers send the client on in a circle.
    #[error("Redirect cycle detected for URL '{0}'")]
    RedirectCycle(String),
    /// The session is in the middle of an edit or a reply.
    #[error("The session is busy with another request")]
    Busy,
    /// What a repository, a server or the system says.
    #[error("{0}")]
    Other(#[from] SvnError),
}

impl Error {
    /// `url` is not in the repository at `root`.
    pub(crate) fn other_repository(url: &Url, root: &Url) -> Self {
        Self::OtherRepository { url: url.to_owned(), root: root.to_owned() }
    }
}

/// What the name service's "no such name" is called among the system's errors.
const UNKNOWN_HOST: ErrorCode = ErrorCode(670_002);

impl From<Error> for SvnError {
    fn from(error: Error) -> Self {
        let code = match &error {
            Error::UnknownScheme(_) | Error::IllegalUrl(_) | Error::OtherRepository { .. } => {
                ErrorCode::RA_ILLEGAL_URL
            }
            Error::UndefinedTunnel(_) | Error::TunnelVariable { .. } | Error::InvalidHost(_) => {
                ErrorCode::BAD_URL
            }
            Error::UnknownHost(_) | Error::UnknownHttpHost => UNKNOWN_HOST,
            Error::Moved { .. } => ErrorCode::RA_SESSION_URL_MISMATCH,
            Error::RedirectCycle(_) => ErrorCode::CLIENT_CYCLE_DETECTED,
            Error::Busy => ErrorCode::INCORRECT_PARAMS,
            Error::Tunnel(_) => ErrorCode::RA_CANNOT_CREATE_TUNNEL,
            Error::Other(_) => ErrorCode(0),
        };
        match error {
            Error::Other(inner) => inner,
            Error::Tunnel(inner) => inner.wrap(code, ""),
            other => Self::new(code, other.to_string()),
        }
    }
}
