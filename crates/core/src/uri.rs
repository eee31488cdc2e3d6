//! URLs of repositories: escaping, canonical form, and taking them apart.
//!
//! A canonical URL has its scheme and host in lower case, no default port, no empty or `.`
//! component, no trailing slash, and every byte of its path either plain (where a URL allows it)
//! or as `%XX` with upper-case digits. Everything here works on text; nothing is looked up.

use crate::{Cut, Exact};
use std::borrow::Cow;

use thiserror::Error;

use crate::checksum::hex_digit;
use crate::error::{ErrorCode, SvnError, SvnResult};

/// Why a text has no canonical form as a URL.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Error {
    /// The empty text.
    #[error("An empty URI can not be canonicalized")]
    Empty,
    /// A path.
    #[error("A URI can not start with '/'")]
    Path,
    /// There is no `scheme://`.
    #[error("Could not canonicalize path or URI")]
    NotUrl,
}

impl From<Error> for SvnError {
    fn from(error: Error) -> Self {
        Self::new(ErrorCode::CANONICALIZATION_FAILED, error.to_string())
    }
}

/// Whether a byte may stand in the path of a URL as it is.
const fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(
            byte,
            b'!' | b'$'
                | b'&'
                | b'\''
                | b'('
                | b')'
                | b'*'
                | b'+'
                | b','
                | b'-'
                | b'.'
                | b'/'
                | b':'
                | b'='
                | b'@'
                | b'_'
                | b'~'
        )
}

fn escape(out: &mut String, byte: u8) {
    let digit = |n: u8| match n {
        0..=9 => char::from(n.wrapping_add(b'0')),
        _ => char::from(n.wrapping_sub(10).wrapping_add(b'A')),
    };
    out.push('%');
    out.push(digit(byte >> 4));
    out.push(digit(byte & 15));
}

/// Escapes what the path of a URL may not hold as it is; `/` stays.
#[must_use]
pub fn encode(path: &str) -> Cow<'_, str> {
    encode_unless(path, is_plain)
}

/// Escapes only bytes beyond ASCII, as typed URLs with such letters are treated.
#[must_use]
pub fn from_iri(url: &str) -> Cow<'_, str> {
    encode_unless(url, |b| b.is_ascii() && b != 0)
}

/// Escapes only what no URL may hold anywhere: spaces, quotes, control characters above them and
/// the like, in an otherwise finished URL.
#[must_use]
pub fn autoescape(url: &str) -> Cow<'_, str> {
    encode_unless(url, |b| {
        !matches!(b, 0 | b' ' | b'"' | b'<' | b'>' | b'\\' | b'^' | b'`' | b'{' | b'|' | b'}')
    })
}

fn encode_unless(text: &str, keep: impl Fn(u8) -> bool) -> Cow<'_, str> {
    if text.bytes().all(&keep) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len().plus(16));
    for ch in text.chars() {
        let mut buffer = [0; 4];
        let encoded = ch.encode_utf8(&mut buffer);
        // Either all bytes of a letter beyond ASCII are kept, or none.
        if encoded.bytes().all(&keep) {
            out.push(ch);
        } else {
            encoded.bytes().for_each(|b| escape(&mut out, b));
        }
    }
    Cow::Owned(out)
}

/// Undoes escapes. What only looks like one stays; after a `?`, `+` is a space.
#[must_use]
pub fn decode(text: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    let mut query = false;
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        match byte {
            b'?' => query = true,
            b'+' if query => {
                out.push(b' ');
                continue;
            }
            b'%' => {
                if let Some((value, after)) = unescape(rest) {
                    out.push(value);
                    rest = after;
                    continue;
                }
            }
            _ => {}
        }
        out.push(*byte);
    }
    out
}

/// Undoes escapes; `None` when the result is not UTF-8.
#[must_use]
pub fn decode_utf8(text: &str) -> Option<String> {
    String::from_utf8(decode(text)).ok()
}

/// The byte that two hexadecimal digits stand for, and what follows them.
fn unescape(rest: &[u8]) -> Option<(u8, &[u8])> {
    let ([high, low], after) = rest.split_first_chunk::<2>()?;
    Some(((hex_digit(*high)? << 4) | hex_digit(*low)?, after))
}

/// Whether the text begins like a URL: `scheme://`.
#[must_use]
pub fn is_url(text: &str) -> bool {
    split_scheme(text).is_some()
}

fn split_scheme(text: &str) -> Option<(&str, &str)> {
    let (scheme, rest) = text.split_once("://")?;
    (!scheme.is_empty() && !scheme.contains(['/', ':'])).then_some((scheme, rest))
}

/// The port that goes without saying.
const fn default_port(scheme: &str) -> Option<&'static str> {
    match scheme.as_bytes() {
        b"http" => Some("80"),
        b"https" => Some("443"),
        b"svn" => Some("3690"),
        _ => None,
    }
}

/// Makes a URL canonical.
///
/// # Errors
/// When the text is not a URL at all.
pub fn canonicalize(url: &str) -> Result<String, Error> {
    if url.is_empty() {
        return Err(Error::Empty);
    }
    if url.starts_with('/') {
        return Err(Error::Path);
    }
    let (scheme, rest) = split_scheme(url).ok_or(Error::NotUrl)?;
    let scheme = scheme.to_ascii_lowercase();
    let (authority, path) = match rest.find('/').and_then(|at| rest.split_at_checked(at)) {
        Some((authority, path)) => (authority, Some(path)),
        None => (rest, None),
    };
    let mut out = String::with_capacity(url.len());
    out.push_str(&scheme);
    out.push_str("://");
    let host = match authority.split_once('@') {
        Some((user, host)) => {
            out.push_str(user);
            out.push('@');
            host
        }
        None => authority,
    };
    let (host, port) = split_port(host);
    out.push_str(&host.to_ascii_lowercase());
    if let Some(port) = port.filter(|p| !p.is_empty() && Some(*p) != default_port(&scheme)) {
        out.push(':');
        out.push_str(&port.to_ascii_lowercase());
    }
    if let Some(path) = path {
        canonical_path(path, &mut out);
    }
    Ok(out)
}

/// Host and port; the brackets of an IPv6 address belong to the host.
fn split_port(authority: &str) -> (&str, Option<&str>) {
    let from = match authority.starts_with('[') {
        true => authority.find(']').unwrap_or_default(),
        false => 0,
    };
    let tail = authority.tail(from);
    match tail.find(':').and_then(|at| from.checked_add(at)) {
        Some(at) => (authority.head(at), authority.get(at.plus(1)..)),
        None => (authority, None),
    }
}

/// Appends a path that starts with a slash, without empty and `.` components. An escaped slash
/// separates components too.
fn canonical_path(path: &str, out: &mut String) {
    let normal = normal_escapes(path);
    let kept = normal.split('/').filter(|c| !c.is_empty() && *c != ".");
    for component in kept {
        out.push('/');
        out.push_str(component);
    }
}

/// Every byte plain if it may be, else escaped with upper-case digits.
fn normal_escapes(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        rest = after;
        let mut value = *byte;
        if value == b'%'
            && let Some((unescaped, after)) = unescape(rest)
        {
            value = unescaped;
            rest = after;
        }
        if is_plain(value) {
            out.push(char::from(value));
        } else {
            escape(&mut out, value);
        }
    }
    out
}

/// The URL of `relpath` (not escaped) below a canonical URL.
#[must_use]
pub fn join(url: &str, relpath: &str) -> String {
    if relpath.is_empty() {
        return url.to_owned();
    }
    format!("{}/{}", url.trim_end_matches('/'), encode(relpath))
}

/// The decoded relpath that leads from the canonical URL `parent` to the canonical URL `child`;
/// `None` when `child` is not at or below `parent`.
#[must_use]
pub fn skip_ancestor(parent: &str, child: &str) -> Option<String> {
    let rest = child.strip_prefix(parent)?;
    if rest.is_empty() {
        return Some(String::new());
    }
    // `file://` ends in the slash that separates.
    let rest = if parent.ends_with('/') { rest } else { rest.strip_prefix('/')? };
    decode_utf8(rest)
}

/// The same where the caller asked for a URL within a repository, whose root it has from the server.
///
/// # Errors
/// E170000 when the URL is not there, or not UTF-8 when it is decoded.
pub fn relpath(root: &str, url: &str) -> SvnResult<String> {
    skip_ancestor(root, url).ok_or_else(|| {
        let message = format!("URL '{url}' is not a child of repository root URL '{root}'");
        SvnError::new(ErrorCode::RA_ILLEGAL_URL, message)
    })
}

/// A canonical URL without its last component, and that component, decoded; `None` for a URL that
/// names a host only.
#[must_use]
pub fn split(url: &str) -> Option<(&str, String)> {
    let (_, rest) = split_scheme(url)?;
    let start = url.len().minus(rest.len());
    let slash = url.rfind('/').filter(|at| *at >= start)?;
    let (parent, last) = url.split_at_checked(slash)?;
    Some((parent, decode_utf8(last.get(1..)?)?))
}

/// The longest canonical URL that both canonical URLs are at or below; `None` when they have not
/// even the host in common.
#[must_use]
pub fn common_ancestor<'a>(a: &'a str, b: &str) -> Option<&'a str> {
    let mut candidate = a;
    loop {
        if skip_ancestor(candidate, b).is_some() {
            return Some(candidate);
        }
        candidate = split(candidate)?.0;
    }
}

/// A URL taken apart. The path keeps its escapes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts<'a> {
    /// `svn` of `svn+ssh`, or all of it.
    pub scheme: &'a str,
    /// `ssh` of `svn+ssh`.
    pub tunnel: Option<&'a str>,
    /// What stands before `@`.
    pub user: Option<&'a str>,
    /// The host, an IPv6 address without its brackets; empty for `file:///`.
    pub host: &'a str,
    /// The port, when one is named and is a number.
    pub port: Option<u16>,
    /// Everything from the slash after the host on, empty or beginning with a slash.
    pub path: &'a str,
}

impl<'a> Parts<'a> {
    /// Takes a URL apart; `None` when it is none, or its port is not a port number.
    #[must_use]
    pub fn of(url: &'a str) -> Option<Self> {
        let (scheme, rest) = split_scheme(url)?;
        let at = rest.find('/').unwrap_or(rest.len());
        let (authority, path) = rest.split_at_checked(at)?;
        let (user, host) = match authority.rsplit_once('@') {
            Some((user, host)) => (Some(user), host),
            None => (None, authority),
        };
        let (host, port) = split_port(host);
        let port = match port {
            None | Some("") => None,
            Some(digits) => Some(digits.parse().ok()?),
        };
        let host = host.strip_prefix('[').and_then(|h| h.strip_suffix(']')).unwrap_or(host);
        let (scheme, tunnel) = match scheme.split_once('+') {
            Some((scheme, tunnel)) => (scheme, Some(tunnel)),
            None => (scheme, None),
        };
        Some(Self { scheme, tunnel, user, host, port, path })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_in_a_repository() {
        assert_eq!(relpath("svn://h/r", "svn://h/r").unwrap(), "");
        assert_eq!(relpath("svn://h/r", "svn://h/r/a%20b/c").unwrap(), "a b/c");
        // Neither is the root, which a guess would make of it.
        for outside in ["svn://h/rest", "svn://h/r/%FF", "svn://g/r"] {
            let error = relpath("svn://h/r", outside).unwrap_err();
            assert_eq!(error.code(), ErrorCode::RA_ILLEGAL_URL, "{outside}");
        }
    }

    #[test]
    fn escapes_there_and_back() {
        assert_eq!(encode("/trunk/a.c"), "/trunk/a.c");
        assert_eq!(encode("/a b%ü#?[;"), "/a%20b%25%C3%BC%23%3F%5B%3B");
        assert_eq!(encode("\0"), "%00");
        assert_eq!(decode_utf8("/a%20b%25%c3%bC%2").as_deref(), Some("/a b%ü%2"));
        assert_eq!(decode("a+b?c+d%zz"), b"a+b?c d%zz");
        assert_eq!(decode_utf8("%ff"), None);
        assert_eq!(from_iri("http://h/ü b"), "http://h/%C3%BC b");
        assert_eq!(autoescape("http://h/ü b|"), "http://h/ü%20b%7C");
    }

    #[test]
    fn canonical_urls() {
        for (url, want) in [
            ("SVN://Host:3690/A//b/", "svn://host/A/b"),
            ("svn://host", "svn://host"),
            ("svn://host/", "svn://host"),
            ("svn://host:/x", "svn://host/x"),
            ("svn://Jo@Host:81/./x/.", "svn://Jo@host:81/x"),
            ("http://h:80", "http://h"),
            ("http://h:8080/", "http://h:8080"),
            ("https://h:443/%7ejo/a b%2fc", "https://h/~jo/a%20b/c"),
            ("svn://[FE80::1]:3690/x", "svn://[fe80::1]/x"),
            ("svn://[fe80::1]:22/x", "svn://[fe80::1]:22/x"),
            ("file:///", "file://"),
            ("file:///a/%2E/ü%", "file:///a/%C3%BC%25"),
            ("svn+ssh://h/a%c3%bc", "svn+ssh://h/a%C3%BC"),
        ] {
            assert_eq!(canonicalize(url).as_deref(), Ok(want), "{url}");
            assert_eq!(canonicalize(want).as_deref(), Ok(want), "{want} again");
        }
        assert_eq!(canonicalize(""), Err(Error::Empty));
        assert_eq!(canonicalize("/x"), Err(Error::Path));
        assert_eq!(canonicalize("x/y"), Err(Error::NotUrl));
    }

    #[test]
    fn above_and_below() {
        assert_eq!(join("svn://h/r", "a b/c"), "svn://h/r/a%20b/c");
        assert_eq!(join("svn://h", ""), "svn://h");
        assert_eq!(skip_ancestor("svn://h/r", "svn://h/r/a%20b").as_deref(), Some("a b"));
        assert_eq!(skip_ancestor("svn://h/r", "svn://h/r").as_deref(), Some(""));
        assert_eq!(skip_ancestor("svn://h/r", "svn://h/rx"), None);
        assert_eq!(split("svn://h/r/a%20b"), Some(("svn://h/r", "a b".to_owned())));
        assert_eq!(split("svn://h/r"), Some(("svn://h", "r".to_owned())));
        assert_eq!(split("svn://h"), None);
        assert_eq!(common_ancestor("svn://h/r/a", "svn://h/r/b/c"), Some("svn://h/r"));
        assert_eq!(common_ancestor("svn://h/r/a", "svn://h/r/ab"), Some("svn://h/r"));
        assert_eq!(common_ancestor("svn://h/a", "svn://g/a"), None);
    }

    #[test]
    fn taking_apart() {
        let parts = Parts::of("svn+ssh://jo@[::1]:22/srv/r%20x").unwrap();
        assert_eq!((parts.scheme, parts.tunnel, parts.user), ("svn", Some("ssh"), Some("jo")));
        assert_eq!((parts.host, parts.port, parts.path), ("::1", Some(22), "/srv/r%20x"));
        let parts = Parts::of("svn://host").unwrap();
        assert_eq!((parts.host, parts.port, parts.path), ("host", None, ""));
        assert_eq!(Parts::of("svn://host:x/"), None);
        assert_eq!(Parts::of("/a://b"), None);
        assert!(!is_url("://x") && !is_url("a/b://c") && is_url("x://"));
    }
}
