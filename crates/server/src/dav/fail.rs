//! Why a request fails, with the status and the error that its client gets.

use sapwood_core::{ErrorCode, SvnError};

use super::credentials::Claim;
use super::sign_in::asking::Question;
use crate::common::access::Decision;

/// Why a request fails.
#[derive(Debug)]
pub enum Fail {
    /// The client must give a user's name.
    AskWho,
    /// The user may not do that. Subversion's clients have their own message for this.
    Forbidden,
    /// There is nothing at the request's own address. Subversion's clients have their own message for this.
    Missing,
    /// An error, with the status that goes with it.
    Error(SvnError, u16),
    /// Too many ask for what is dear: the reason, and the seconds after which it may be asked for again.
    Later(&'static str, u64),
    /// A name and password have to be checked first.
    Prove(Box<Claim>),
    /// The provider of OpenID Connect has to be asked first.
    Ask(Box<Question>),
}

/// The outcome of a request.
pub type DavResult<T = ()> = Result<T, Fail>;

impl From<SvnError> for Fail {
    fn from(error: SvnError) -> Self {
        if error.code() == ErrorCode::AUTHZ_UNWRITABLE {
            return Self::Forbidden;
        }
        let status = sapwood_wire_dav::status::status_of(error.code()).unwrap_or(500);
        Self::Error(error, status)
    }
}

impl From<sapwood_repos::Error> for Fail {
    fn from(error: sapwood_repos::Error) -> Self {
        SvnError::from(error).into()
    }
}

impl From<sapwood_fs::Error> for Fail {
    fn from(error: sapwood_fs::Error) -> Self {
        SvnError::from(error).into()
    }
}

impl From<sapwood_wire_dav::Error> for Fail {
    fn from(error: sapwood_wire_dav::Error) -> Self {
        let status = error.status();
        Self::Error(error.into(), status)
    }
}

impl Fail {
    /// A status with a message, and the code that mod_dav_svn has for what has none of its own.
    pub(super) fn status(status: u16, message: impl Into<String>) -> Self {
        Self::Error(SvnError::new(ErrorCode::RA_DAV_REQUEST_FAILED, message), status)
    }

    /// That there is no repository at the path of a request.
    pub(super) fn no_repository() -> Self {
        let error = SvnError::new(ErrorCode::RA_DAV_PATH_NOT_FOUND, "No repository found");
        Self::with(error, 404)
    }

    /// An error with another status than the usual one of its code.
    pub(super) const fn with(error: SvnError, status: u16) -> Self {
        Self::Error(error, status)
    }
}

/// A decision as a result.
pub(super) fn allowed(decision: Decision) -> DavResult {
    match decision {
        Decision::Allow => Ok(()),
        Decision::AskWho => Err(Fail::AskWho),
        Decision::Deny => Err(Fail::Forbidden),
    }
}

/// The error of a connection that has ended.
pub(super) fn client_gone(why: &str) -> SvnError {
    SvnError::new(ErrorCode::APMOD_CONNECTION_ABORTED, format!("Connection closed: {why}"))
}
