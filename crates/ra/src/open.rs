//! From a URL to a session.

use sapwood_core::uri::{self, Parts};
use sapwood_core::{ErrorCode, SvnError, SvnResult};

use crate::error::Error;
use crate::file::FileSession;
use crate::http::HttpSession;
use crate::session::Session;
use crate::settings::Settings;
use crate::svn::SvnSession;

/// Opens a session to `url`.
///
/// # Errors
/// E170000 for URLs of no known scheme; E170013 around what opening meets: no such
/// host or repository, failed authentication, a server that makes no sense.
pub fn open(url: &str, settings: &Settings) -> SvnResult<Box<dyn Session>> {
    let illegal = || SvnError::from(Error::IllegalUrl(url.to_owned()));
    let canonical = uri::canonicalize(url).map_err(|_| illegal())?;
    let parts = Parts::of(&canonical).ok_or_else(illegal)?;
    settings.auth.policy(parts.host)?;
    let opened = match (parts.scheme, parts.tunnel) {
        ("file", None) => FileSession::open(&canonical, settings).map(boxed),
        ("http" | "https", None) => HttpSession::open(&canonical, settings).map(boxed),
        ("svn", _) => SvnSession::open(&canonical, settings).map(boxed),
        _ => return Err(Error::UnknownScheme(canonical).into()),
    };
    opened.map_err(|error| {
        if error.code() == ErrorCode::RA_CANNOT_CREATE_SESSION {
            return error;
        }
        error.wrap(
            ErrorCode::RA_CANNOT_CREATE_SESSION,
            format!("Unable to connect to a repository at URL '{canonical}'"),
        )
    })
}

fn boxed(session: impl Session + 'static) -> Box<dyn Session> {
    Box::new(session)
}
