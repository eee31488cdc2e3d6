//! From a URL to a session.

use sapwood_core::notify::{Action, Notify};
use sapwood_core::paths::{Url, UrlBuf};
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
/// E170000 for URLs of no known scheme; E170011 for a repository that has moved; E170013 around what
/// else opening meets: no such host or repository, failed authentication, a server that makes no sense.
pub fn open(url: &Url, settings: &Settings) -> SvnResult<Box<dyn Session>> {
    Ok(open_there(url, settings)?)
}

/// How often the client lets itself be sent on.
const REDIRECTS: usize = 3;

/// Opens a session to `url`, or where its server says that the repository has moved to for good. Each
/// URL of a redirection is reported; the session keeps the last.
///
/// # Errors
/// As [`open`]; E195019 when servers send the client in a circle.
pub fn open_following(
    url: &Url,
    settings: &Settings,
    notify: &mut dyn FnMut(&Notify<'_>),
) -> SvnResult<Box<dyn Session>> {
    let mut url = url.to_owned();
    let mut tried: Vec<String> = Vec::new();
    loop {
        match open_there(&url, settings) {
            Err(Error::Moved { to, permanently: true }) if tried.len() < REDIRECTS => {
                url = UrlBuf::canonicalize(&to).map_err(|_| Error::IllegalUrl(to.clone()))?;
                notify(&Notify::new(Action::UrlRedirect, &url));
                if tried.contains(&to) {
                    return Err(Error::RedirectCycle(to).into());
                }
                tried.push(to);
            }
            other => return Ok(other?),
        }
    }
}

fn open_there(url: &Url, settings: &Settings) -> crate::Result<Box<dyn Session>> {
    let parts = url.parts().ok_or_else(|| Error::IllegalUrl(url.to_string()))?;
    settings.auth.policy(parts.host)?;
    let opened = match (parts.scheme, parts.tunnel) {
        ("file", None) => FileSession::open(url, settings).map(boxed).map_err(Error::from),
        ("http" | "https", None) => {
            HttpSession::open(url, &settings.http_clients, &settings.of_http()).map(boxed)
        }
        ("svn", _) => SvnSession::open(url, &settings.of_svn()).map(boxed).map_err(Error::from),
        _ => return Err(Error::UnknownScheme(url.to_string())),
    };
    opened.map_err(|error| {
        if matches!(error, Error::Moved { .. }) {
            return error;
        }
        let error = SvnError::from(error);
        if error.code() == ErrorCode::RA_CANNOT_CREATE_SESSION {
            return Error::Other(error);
        }
        Error::Other(error.wrap(
            ErrorCode::RA_CANNOT_CREATE_SESSION,
            format!("Unable to connect to a repository at URL '{url}'"),
        ))
    })
}

fn boxed(session: impl Session + 'static) -> Box<dyn Session> {
    Box::new(session)
}
