//! Targets: URLs with peg revisions, and where they were in other revisions.

use sapwood_core::date::Timestamp;
use sapwood_core::{ErrorCode, Revnum, SvnError, SvnResult, uri};
use sapwood_ra::{Session, Settings};

use crate::command::usage_error;
use crate::repo;
use crate::revision::{RevisionRange, RevisionSpec};

/// A target as it was written: `URL[@REV]` or a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    /// A canonical URL, or a local path.
    pub(crate) text: String,
    /// The peg revision.
    pub(crate) peg: RevisionSpec,
}

/// Makes a URL as people type it canonical.
pub(crate) fn canonical_url(text: &str) -> SvnResult<String> {
    let url = any_canonical_url(text)?;
    if url.split('/').any(|part| part == "..") {
        return Err(SvnError::new(
            ErrorCode::BAD_URL,
            format!("URL '{text}' contains a '..' element"),
        ));
    }
    Ok(url)
}

/// The same of programs that take `..` for a name like any other.
pub(crate) fn any_canonical_url(text: &str) -> SvnResult<String> {
    let escaped = uri::autoescape(&uri::from_iri(text)).into_owned();
    Ok(uri::canonicalize(&escaped)?)
}

/// Splits an argument where its peg revision begins: at the last `@` of its last component.
fn split_peg(text: &str) -> (&str, Option<&str>) {
    let last = text.rfind('/').map_or(0, |at| at.saturating_add(1));
    match text.rfind('@').filter(|at| *at >= last) {
        Some(at) => (text.get(..at).unwrap_or(text), text.get(at.saturating_add(1)..)),
        None => (text, None),
    }
}

impl Target {
    /// Takes an argument apart.
    pub(crate) fn parse(text: &str) -> SvnResult<Self> {
        let (head, peg) = split_peg(text);
        let mut spec = RevisionSpec::Unspecified;
        if let Some(word) = peg.filter(|word| !word.is_empty()) {
            let decoded = uri::decode_utf8(word).filter(|w| w.starts_with('{'));
            let word = decoded.as_deref().unwrap_or(word);
            let mut range = RevisionRange::default();
            if range.take(word).is_err() || range.end != RevisionSpec::Unspecified {
                let hint = if text.starts_with("svn+ssh://") && text.matches('@').count() == 1 {
                    format!("; did you mean '{text}@'?")
                } else {
                    String::new()
                };
                return Err(usage_error(format!(
                    "Syntax error parsing peg revision '{word}'{hint}"
                )));
            }
            spec = range.start;
        }
        let text =
            if repo::is_url(head) { canonical_url(head)? } else { repo::canonical_path(head) };
        Ok(Self { text, peg: spec })
    }

    pub(crate) fn is_url(&self) -> bool {
        repo::is_url(&self.text)
    }

    /// The URL; E155007 for paths, since there are no working copies here.
    pub(crate) fn url(&self) -> SvnResult<&str> {
        if self.is_url() {
            return Ok(&self.text);
        }
        let path = std::path::absolute(if self.text.is_empty() { "." } else { &self.text })
            .map_or_else(|_| self.text.clone(), |p| p.display().to_string());
        Err(SvnError::new(
            ErrorCode::WC_NOT_WORKING_COPY,
            format!("'{path}' is not a working copy"),
        ))
    }
}

/// A session at a URL that was looked up in one revision, and is wanted as of another.
pub(crate) struct Located {
    pub(crate) session: Box<dyn Session>,
    pub(crate) revision: Revnum,
    /// The peg revision as a number.
    pub(crate) peg: Revnum,
}

/// The number of a revision as it was written; unspecified is the youngest.
pub(crate) fn number_of(session: &dyn Session, spec: RevisionSpec) -> SvnResult<Revnum> {
    match spec {
        RevisionSpec::Number(revision) => Ok(revision),
        RevisionSpec::Date(micros) => session.dated_revision(Timestamp(micros)),
        RevisionSpec::Head | RevisionSpec::Unspecified => session.latest_revnum(),
        RevisionSpec::WorkingCopy => {
            Err(SvnError::new(ErrorCode::CLIENT_VERSIONED_PATH_REQUIRED, ""))
        }
    }
}

/// Opens a session to a target as of `wanted` (when unspecified: as of its peg revision).
pub(crate) fn locate(
    settings: &Settings,
    target: &Target,
    wanted: RevisionSpec,
) -> SvnResult<Located> {
    let session = sapwood_ra::open(target.url()?, settings)?;
    let peg = number_of(session.as_ref(), target.peg)?;
    let revision = match wanted {
        RevisionSpec::Unspecified => peg,
        RevisionSpec::Head if target.peg == RevisionSpec::Unspecified => peg,
        other => number_of(session.as_ref(), other)?,
    };
    move_to(session.as_ref(), peg, revision)?;
    Ok(Located { session, revision, peg })
}

/// Moves a session from where its URL leads in `peg` to where the same node is in `revision`.
pub(crate) fn move_to(session: &dyn Session, peg: Revnum, revision: Revnum) -> SvnResult<()> {
    if peg == revision {
        return Ok(());
    }
    let found = session.locations("", peg, &[revision])?;
    let Some((_, path)) = found.iter().find(|(at, _)| *at == revision) else {
        return Err(SvnError::new(
            ErrorCode::CLIENT_UNRELATED_RESOURCES,
            format!(
                "Unable to find repository location for '{}' in revision {revision}",
                session.url()
            ),
        ));
    };
    let url = uri::join(&session.root_url(), sapwood_core::path::to_relpath(path));
    if url == session.url() { Ok(()) } else { session.reparent(&url) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pegs() {
        let number = |n| RevisionSpec::Number(Revnum(n));
        for (text, url, peg) in [
            ("svn://h/r/a b@5", "svn://h/r/a%20b", number(5)),
            ("svn://u@h/r@HEAD", "svn://u@h/r", RevisionSpec::Head),
            ("svn://u@h@", "svn://u@h", RevisionSpec::Unspecified),
            ("svn://h/r/x@y@", "svn://h/r/x@y", RevisionSpec::Unspecified),
            ("svn://h/r@%7B1970-01-01T00:00:01Z%7D", "svn://h/r", RevisionSpec::Date(1_000_000)),
            ("a/b/@3", "a/b", number(3)),
        ] {
            let want = Target { text: url.to_owned(), peg };
            assert_eq!(Target::parse(text).unwrap(), want, "{text}");
        }
        let error = Target::parse("svn+ssh://u@h/r@x").unwrap_err();
        assert_eq!(error.message(), "Syntax error parsing peg revision 'x'");
        assert!(Target::parse("svn://h/a/../b").is_err());
        assert!(Target::parse("a").unwrap().url().is_err());
    }
}
