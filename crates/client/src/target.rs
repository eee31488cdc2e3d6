//! Targets: URLs and local paths, with peg revisions, as users type them.

use std::path::Path;

use sapwood_core::exact::Exact;
use sapwood_core::paths::{Url, UrlBuf};
use sapwood_core::{ErrorCode, SvnError, SvnResult, uri};

use crate::revision::{Dates, Range, Revision};

/// A target as it was written: `URL[@REV]` or `PATH[@REV]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// A canonical URL, or a local path without needless parts, empty for the current folder.
    pub text: String,
    /// The peg revision.
    pub peg: Revision,
}

/// The last name of a path; none of the root of the file system.
pub(crate) fn name_of(path: &Path) -> String {
    path.file_name().map_or(String::new(), |name| name.to_string_lossy().into_owned())
}

/// Whether `text` is a URL: a scheme of letters and `://`.
#[must_use]
pub fn is_url(text: &str) -> bool {
    text.split_once("://").is_some_and(|(scheme, _)| {
        !scheme.is_empty()
            && scheme.bytes().all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b))
    })
}

/// Makes a URL as users type it canonical.
///
/// # Errors
/// E125002 for one with `..`.
pub fn canonical_url(text: &str) -> SvnResult<UrlBuf> {
    let escaped = uri::autoescape(&uri::from_iri(text)).into_owned();
    if escaped.split('/').any(|part| part == "..") {
        return Err(SvnError::new(
            ErrorCode::BAD_URL,
            format!("URL '{escaped}' contains a '..' element"),
        ));
    }
    Ok(UrlBuf::canonicalize(&escaped)?)
}

/// The same of programs that take `..` for a name like any other.
///
/// # Errors
/// E125008 for what is not a URL.
pub fn any_canonical_url(text: &str) -> SvnResult<UrlBuf> {
    let escaped = uri::autoescape(&uri::from_iri(text)).into_owned();
    Ok(UrlBuf::canonicalize(&escaped)?)
}

/// A local path without doubled or trailing slashes and without `.` components; `..` takes away the
/// name before it. Empty for the current folder.
#[must_use]
pub fn canonical_path(path: &str) -> String {
    let absolute = path.starts_with('/');
    let mut names: Vec<&str> = Vec::new();
    for name in path.split('/') {
        match name {
            "" | "." => {}
            ".." if names.last().is_some_and(|last| *last != "..") => drop(names.pop()),
            ".." if absolute => {}
            name => names.push(name),
        }
    }
    let joined = names.join("/");
    if absolute { format!("/{joined}") } else { joined }
}

/// Splits an argument where its peg revision begins: at the last `@` of its last component. The
/// second part has the `@`.
#[must_use]
pub fn split_peg(text: &str) -> (&str, &str) {
    let last = text.rfind('/').map_or(0, |at| at.plus(1));
    text.rfind('@')
        .filter(|at| *at >= last)
        .and_then(|at| text.split_at_checked(at))
        .unwrap_or((text, ""))
}

/// The revision that `@REV` means, `text` being all of the argument; nothing and a lone `@` mean
/// none.
///
/// # Errors
/// E205000 for what is not a revision.
pub fn parse_peg(text: &str, peg: &str, dates: Dates<'_>) -> SvnResult<Revision> {
    let Some(word) = peg.strip_prefix('@').filter(|word| !word.is_empty()) else {
        return Ok(Revision::Unspecified);
    };
    let decoded = match is_url(text) {
        true => uri::decode_utf8(word).filter(|w| w.starts_with('{') && w.ends_with('}')),
        false => None,
    };
    match Range::parse(decoded.as_deref().unwrap_or(word), dates) {
        Some(Range { start, end: Revision::Unspecified }) => Ok(start),
        _ => {
            let hint = if text.starts_with("svn+ssh://") && text.matches('@').count() == 1 {
                format!("; did you mean '{text}@'?")
            } else {
                String::new()
            };
            Err(SvnError::new(
                ErrorCode::CL_ARG_PARSING_ERROR,
                format!("Syntax error parsing peg revision '{word}'{hint}"),
            ))
        }
    }
}

impl Target {
    /// Takes an argument apart.
    ///
    /// # Errors
    /// E205000 for an invalid peg revision, E125002 for a URL with `..`.
    pub fn parse(text: &str, dates: Dates<'_>) -> SvnResult<Self> {
        let (head, peg) = split_peg(text);
        let peg = parse_peg(text, peg, dates)?;
        let text =
            if is_url(head) { canonical_url(head)?.into_string() } else { canonical_path(head) };
        Ok(Self { text, peg })
    }

    /// Whether this is a URL.
    #[must_use]
    pub fn is_url(&self) -> bool {
        is_url(&self.text)
    }

    /// The URL of the target.
    ///
    /// # Errors
    /// E155007 for paths, which are in no working copy.
    pub fn url(&self) -> SvnResult<&Url> {
        if self.is_url() {
            return Ok(Url::new(&self.text)?);
        }
        let path = sapwood_core::paths::absolute(Path::new(&self.text))
            .map_or_else(|_| self.text.clone(), |p| p.display().to_string());
        Err(SvnError::new(
            ErrorCode::WC_NOT_WORKING_COPY,
            format!("'{path}' is not a working copy"),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sapwood_core::Revnum;

    fn parse(text: &str) -> SvnResult<Target> {
        Target::parse(text, &|date| date.parse().ok())
    }

    #[test]
    fn pegs() {
        let number = |n| Revision::Number(Revnum(n));
        for (text, url, peg) in [
            ("svn://h/r/a b@5", "svn://h/r/a%20b", number(5)),
            ("svn://u@h/r@HEAD", "svn://u@h/r", Revision::Head),
            ("svn://u@h@", "svn://u@h", Revision::Unspecified),
            ("svn://h/r/x@y@", "svn://h/r/x@y", Revision::Unspecified),
            ("svn://h/r@%7B1000%7D", "svn://h/r", Revision::Date(1000)),
            ("a/b/@3", "a/b", number(3)),
            ("./a/../b@BASE", "b", Revision::Base),
        ] {
            let want = Target { text: url.to_owned(), peg };
            assert_eq!(parse(text).unwrap(), want, "{text}");
        }
        let error = parse("svn+ssh://u@h/r@x").unwrap_err();
        assert_eq!(error.message(), "Syntax error parsing peg revision 'x'");
        assert!(parse("svn://h/a/../b").is_err());
        assert!(parse("a").unwrap().url().is_err());
    }

    #[test]
    fn local_paths() {
        for (text, want) in [
            ("./a//b/", "a/b"),
            ("/", "/"),
            (".", ""),
            ("../../x", "../../x"),
            ("/../x", "/x"),
            ("a/..", ""),
        ] {
            assert_eq!(canonical_path(text), want);
        }
    }
}
