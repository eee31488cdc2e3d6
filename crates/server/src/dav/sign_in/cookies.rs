//! The cookies of browsers: of a session, and of a sign-in that has begun.
//!
//! Over https their names begin with `__Host-`: then a browser takes them from this host only, for all its paths, and sends
//! them with encryption only. No script sees them; a form of another site does not send them.

use std::time::{SystemTime, UNIX_EPOCH};

use hyper::header::{COOKIE, HeaderMap};
use sapwood_core::{Exact as _, base64};
use sapwood_oidc::{Secret, Seed};

/// Seconds that a sign-in may take.
const START_SECONDS: u64 = 600;

const fn session_name(is_secure: bool) -> &'static str {
    if is_secure { "__Host-sapwood" } else { "sapwood" }
}

const fn start_name(is_secure: bool) -> &'static str {
    if is_secure { "__Host-sapwood-start" } else { "sapwood-start" }
}

/// The value of a cookie; `None` where it comes twice, for then another host may have set one of them.
fn value<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let lines = headers.get_all(COOKIE).iter().filter_map(|line| line.to_str().ok());
    let pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.split_once('='));
    let mut found = pairs.filter(|(key, _)| key.trim() == name).map(|(_, value)| value.trim());
    let first = found.next()?;
    found.next().is_none().then_some(first)
}

/// The text of a session.
pub(crate) fn session(headers: &HeaderMap, is_secure: bool) -> Option<&str> {
    value(headers, session_name(is_secure)).filter(|text| !text.is_empty())
}

/// Whether a request may have a session: then its reply is its user's alone.
pub(crate) fn are_there(headers: &HeaderMap) -> bool {
    headers.contains_key(COOKIE)
}

fn cookie(name: &str, text: &str, is_secure: bool, seconds: Option<u64>) -> String {
    let secure = if is_secure { "; Secure" } else { "" };
    let age = seconds.map_or(String::new(), |seconds| format!("; Max-Age={seconds}"));
    format!("{name}={text}; Path=/; HttpOnly; SameSite=Lax{secure}{age}")
}

/// The cookie of a session, which the browser forgets when it is closed.
pub(crate) fn of_session(text: &str, is_secure: bool) -> String {
    cookie(session_name(is_secure), text, is_secure, None)
}

/// What ends a session's cookie.
pub(crate) fn no_session(is_secure: bool) -> String {
    cookie(session_name(is_secure), "", is_secure, Some(0))
}

/// What ends a sign-in's cookie.
pub(crate) fn no_start(is_secure: bool) -> String {
    cookie(start_name(is_secure), "", is_secure, Some(0))
}

/// A sign-in that has begun.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Start {
    pub(crate) seed: Seed,
    /// The path to go to afterwards.
    pub(crate) to: String,
}

pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs())
}

impl Start {
    /// Its cookie: the seed, the end and the path, signed.
    pub(crate) fn cookie(&self, secret: &Secret, is_secure: bool, now: u64) -> String {
        let to = base64::encode(self.to.as_bytes());
        let said = format!("{}.{}.{to}", self.seed.text(), now.plus(START_SECONDS));
        let text = format!("{said}.{}", secret.code("start", &said));
        cookie(start_name(is_secure), &text, is_secure, Some(START_SECONDS))
    }

    /// That of a request; `None` where there is none, it is not ours, or too old.
    pub(crate) fn of(
        headers: &HeaderMap,
        secret: &Secret,
        is_secure: bool,
        now: u64,
    ) -> Option<Self> {
        let (said, code) = value(headers, start_name(is_secure))?.rsplit_once('.')?;
        if !secret.is_code("start", said, code) {
            return None;
        }
        let mut parts = said.split('.');
        let (seed, end, to) = (parts.next()?, parts.next()?, parts.next()?);
        let to = String::from_utf8(base64::decode(to.as_bytes())?).ok()?;
        (end.parse::<u64>().ok()? > now).then(|| Self { seed: Seed::of(seed), to })
    }
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    fn sent(cookies: &[&str]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for line in cookies {
            headers.append(COOKIE, HeaderValue::from_str(line).unwrap());
        }
        headers
    }

    #[test]
    fn sessions_are_in_cookies_of_this_host() {
        assert_eq!(
            of_session("x", true),
            "__Host-sapwood=x; Path=/; HttpOnly; SameSite=Lax; Secure"
        );
        assert_eq!(of_session("x", false), "sapwood=x; Path=/; HttpOnly; SameSite=Lax");
        assert!(no_session(true).contains("Max-Age=0"));
        let headers = sent(&["a=1; __Host-sapwood=x", "sapwood=y"]);
        assert_eq!((session(&headers, true), session(&headers, false)), (Some("x"), Some("y")));
        for none in [
            &["sapwood="][..],
            &["sapwood=x; sapwood=y"],
            &["sapwood=x", "sapwood=x"],
            &["xsapwood=x"],
            &[],
        ] {
            assert_eq!(session(&sent(none), false), None, "{none:?}");
        }
    }

    #[test]
    fn a_start_is_signed_and_ends() {
        let (secret, other) = (Secret::new().unwrap(), Secret::new().unwrap());
        let start = Start { seed: Seed::new().unwrap(), to: "/svn/a?p=1".to_owned() };
        let line = start.cookie(&secret, true, 1000);
        assert!(line.ends_with("; Secure; Max-Age=600"), "{line}");
        let text = line.split(';').next().unwrap();
        let of = |secret: &Secret, text: &str, now| Start::of(&sent(&[text]), secret, true, now);
        assert_eq!(of(&secret, text, 1599).as_ref(), Some(&start));
        assert_eq!(of(&secret, text, 1600), None, "it has ended");
        assert_eq!(of(&other, text, 1000), None, "the server was started again");
        let evil = text.replace(&base64::encode(b"/svn/a?p=1"), &base64::encode(b"//evil.com"));
        assert!(evil != text && of(&secret, &evil, 1000).is_none());
        assert_eq!(of(&secret, &text.replace(".1600.", ".9600."), 1000), None);
        for no in ["__Host-sapwood-start=", "__Host-sapwood-start=a.b", "__Host-sapwood-start=...."]
        {
            assert_eq!(of(&secret, no, 1000), None, "{no}");
        }
    }
}
