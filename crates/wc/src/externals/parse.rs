//! The value of `svn:externals`, one external a line, in either of its forms:
//!
//! - `[-rN] URL[@PEG] DIR`, since 1.5; the URL may be a relative one;
//! - `DIR [-rN] URL`, older, where the revision is the peg revision too.
//!
//! Words are separated by blanks and may be quoted; lines that begin with `#` are comments.
//! Nothing here does I/O: the caller resolves dates.

use sapwood_core::date::Timestamp;
use sapwood_core::exact::{Cut, Exact};
use sapwood_core::paths::{Url, UrlBuf};
use sapwood_core::{ErrorCode, Revnum, SvnError, SvnResult, path, uri};

/// A revision in an external.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Revision {
    /// The youngest.
    Head,
    /// A number.
    Number(Revnum),
    /// The youngest at a date.
    Date(Timestamp),
    /// `BASE`, `COMMITTED` or `PREV`, which are accepted in peg revisions and fail later.
    WorkingCopy,
}

/// Which form a line has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `DIR [-rN] URL`.
    DirectoryFirst,
    /// `[-rN] URL[@PEG] DIR`.
    UrlFirst,
}

/// One external.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct External {
    /// Where it goes, relative to the directory that has the property; canonical, never empty,
    /// never out of that directory.
    pub target: String,
    /// Its URL as it stands in the value, without peg revision; [`External::resolve`] makes it
    /// absolute.
    pub url: String,
    /// The revision at which the URL names it.
    pub peg: Revision,
    /// The revision that is wanted.
    pub revision: Revision,
    /// The form of the line.
    pub form: Form,
    /// The words for the revision (`-rN`), for writing the line again.
    pub revision_text: Option<String>,
    /// The words for the peg revision (`@N`, or `-rN` in the old form).
    pub peg_text: Option<String>,
}

/// Parses a value. `owner` is the directory or URL that has the property, for messages; `date`
/// reads the text between the braces of a date.
///
/// # Errors
/// `E195005` for a line in no form or a target outside the directory, `E205000` for a peg
/// revision that is none.
pub fn parse(
    value: &str,
    owner: &str,
    date: &dyn Fn(&str) -> Option<Timestamp>,
) -> SvnResult<Vec<External>> {
    value
        .split(['\n', '\r'])
        .map(|line| line.trim_matches(is_c_space))
        .filter(|line| !line.is_empty() && !line.starts_with('#'))
        .map(|line| DefinitionLine { line, owner, date }.parse())
        .collect()
}

/// The targets that more than one external of a list has, each once.
#[must_use]
pub fn duplicate_targets(externals: &[External]) -> Vec<&str> {
    let mut seen = std::collections::HashMap::new();
    let mut found = Vec::new();
    for external in externals {
        let times: &mut usize = seen.entry(external.target.as_str()).or_default();
        *times = times.plus(1);
        if *times == 2 {
            found.push(external.target.as_str());
        }
    }
    found
}

const fn is_c_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\x0b' | '\x0c')
}

struct DefinitionLine<'a> {
    line: &'a str,
    owner: &'a str,
    date: &'a dyn Fn(&str) -> Option<Timestamp>,
}

impl DefinitionLine<'_> {
    fn malformed(&self) -> SvnError {
        self.invalid(format!(
            "Error parsing svn:externals property on '{}': '{}'",
            self.owner, self.line
        ))
    }

    fn invalid(&self, words: String) -> SvnError {
        SvnError::new(ErrorCode::CLIENT_INVALID_EXTERNALS_DESCRIPTION, words)
    }

    fn bad(&self, why: &str) -> SvnError {
        self.invalid(format!("Invalid svn:externals property on '{}': {why}", self.owner))
    }

    fn parse(&self) -> SvnResult<External> {
        let mut words = words(self.line);
        if !(2..=4).contains(&words.len()) {
            return Err(self.malformed());
        }
        let revision = self.take_revision(&mut words)?;
        let [first, second] = <[String; 2]>::try_from(words).map_err(|_| self.malformed())?;
        let (first_is_url, second_is_url) = (uri::is_url(&first), uri::is_url(&second));
        if first_is_url && second_is_url {
            return Err(self.bad(&format!(
                "cannot use two absolute URLs ('{first}' and '{second}') in an external; one must \
                 be a path where an absolute or relative URL is checked out to"
            )));
        }
        let place = revision.as_ref().map(|(at, _, _)| *at);
        for (at, is_url, word) in [(0, second_is_url, &second), (1, first_is_url, &first)] {
            if place == Some(at) && is_url {
                return Err(self.bad(&format!(
                    "cannot use a URL '{word}' as the target directory for an external definition"
                )));
            }
        }
        let (revision, revision_text) = match revision {
            Some((_, revision, text)) => (Some(revision), Some(text)),
            None => (None, None),
        };
        let url_first = place == Some(0) || (place.is_none() && (first_is_url || !second_is_url));
        let (target, url, peg, peg_text, form) = if url_first {
            let (url, peg, text) = self.split_peg(&first)?;
            (second, url, peg, text, Form::UrlFirst)
        } else {
            (first, second, revision, revision_text.clone(), Form::DirectoryFirst)
        };
        let peg = peg.unwrap_or(Revision::Head);
        let revision = revision.unwrap_or(peg);
        let target = self.target(&target)?;
        Ok(External { target, url, peg, revision, form, revision_text, peg_text })
    }

    /// Takes `-r N` or `-rN` out of the first two words: which word it was, what it says, and how
    /// it is written again.
    fn take_revision(
        &self,
        words: &mut Vec<String>,
    ) -> SvnResult<Option<(usize, Revision, String)>> {
        let attached = |word: &String| word.strip_prefix("-r").map(str::to_owned);
        let mut found = words.iter().take(2).map(attached).enumerate();
        let Some((at, attached)) = found.find_map(|(at, attached)| Some((at, attached?))) else {
            return if words.len() == 2 { Ok(None) } else { Err(self.malformed()) };
        };
        let (text, count) = if attached.is_empty() {
            (words.get(at.plus(1)).cloned().ok_or_else(|| self.malformed())?, 2usize)
        } else {
            (attached, 1)
        };
        if words.len() != count.plus(2) {
            return Err(self.malformed());
        }
        let revision = match self.revision(&text) {
            Some(revision @ (Revision::Number(_) | Revision::Date(_))) => revision,
            _ => return Err(self.malformed()),
        };
        words.drain(at..at.plus(count));
        Ok(Some((at, revision, format!("-r{text}"))))
    }

    fn revision(&self, text: &str) -> Option<Revision> {
        let text = text.trim_start_matches('r');
        if let Some(inner) = text.strip_prefix('{') {
            return (self.date)(inner.strip_suffix('}')?).map(Revision::Date);
        }
        if !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) {
            return Revnum::parse(text.as_bytes()).map(Revision::Number);
        }
        match text.to_ascii_lowercase().as_str() {
            "head" => Some(Revision::Head),
            "base" | "committed" | "prev" => Some(Revision::WorkingCopy),
            _ => None,
        }
    }

    /// Splits a peg revision off a URL.
    fn split_peg(&self, url: &str) -> SvnResult<(String, Option<Revision>, Option<String>)> {
        let name_start = url.rfind('/').map_or(0, |at| at.plus(1));
        let sign = url.rfind('@').filter(|at| *at >= name_start);
        let Some((url_part, peg)) = sign.and_then(|at| url.split_at_checked(at)) else {
            return Ok((url.to_owned(), None, None));
        };
        let text = peg.tail(1);
        if text.is_empty() {
            return Ok((url_part.to_owned(), None, None));
        }
        let decoded = if uri::is_url(url) && text.starts_with("%7") {
            // What is not UTF-8 is no revision either.
            uri::decode_utf8(text).unwrap_or_default()
        } else {
            text.to_owned()
        };
        match self.revision(&decoded) {
            Some(revision) => Ok((url_part.to_owned(), Some(revision), Some(peg.to_owned()))),
            None => Err(SvnError::new(
                ErrorCode::CL_ARG_PARSING_ERROR,
                format!("Syntax error parsing peg revision '{text}'"),
            )),
        }
    }

    /// The canonical form of a target, if it stays in its directory.
    fn target(&self, target: &str) -> SvnResult<String> {
        let parts: Vec<&str> = target.split('/').filter(|p| !p.is_empty() && *p != ".").collect();
        let canonical = parts.join("/");
        if target.starts_with('/') || parts.is_empty() || parts.contains(&"..") {
            let shown = if target.starts_with('/') { format!("/{canonical}") } else { canonical };
            return Err(self.bad(&format!("target '{shown}' is an absolute path or involves '..'")));
        }
        Ok(canonical)
    }
}

/// Splits a line into words as the reference's library does: a word may be quoted as a whole, and
/// a backslash takes away the meaning of what follows it.
fn words(line: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = line.trim_start_matches([' ', '\t']);
    while !rest.is_empty() {
        let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''));
        if quote.is_some() {
            rest = rest.tail(1);
        }
        let end = word_end(rest, quote);
        let (word, after) = rest.split_at_checked(end).unwrap_or((rest, ""));
        found.push(without_escapes(word));
        rest = after.get(1..).unwrap_or("").trim_start_matches([' ', '\t']);
    }
    found
}

/// Where a word ends, in bytes.
fn word_end(text: &str, quote: Option<char>) -> usize {
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match quote {
            Some(quote) if c == quote => return at,
            None if matches!(c, ' ' | '\t') => return at,
            _ => {}
        }
        if c == '\\' {
            chars.next();
        }
    }
    text.len()
}

fn without_escapes(word: &str) -> String {
    let mut out = String::with_capacity(word.len());
    let mut chars = word.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => out.extend(chars.next()),
            c => out.push(c),
        }
    }
    out
}

impl External {
    /// The absolute URL, given the URL of the repository's root and that of the
    /// directory with the property.
    ///
    /// # Errors
    /// `E125002` for a relative URL in no known form, or one that leads up where it must not.
    pub fn resolve(&self, root: &Url, directory: &Url) -> SvnResult<UrlBuf> {
        let url = self.url.as_str();
        if uri::is_url(url) {
            return Ok(UrlBuf::canonicalize(url)?);
        }
        if let Some(relative) = strip_relative(url) {
            let (base, relative) = match relative {
                Relative::Root(rest) => (root, rest),
                Relative::Directory(rest) => (directory, rest),
            };
            return Ok(UrlBuf::canonicalize(&climb(base, relative))?);
        }
        if path::components(url).any(|c| c == "..") {
            return Err(bad_url(format!(
                "The external relative URL '{url}' cannot have backpaths, i.e. '..'"
            )));
        }
        if url.starts_with("//") {
            let Some((scheme, _)) = root.split_once("://") else {
                return Err(bad_url(format!("URL '{root}' does not begin with a scheme")));
            };
            return Ok(UrlBuf::canonicalize(&format!("{scheme}:{url}"))?);
        }
        if url.starts_with('/') {
            let (server, _) = split_server(directory);
            return Ok(UrlBuf::canonicalize(&format!("{server}{url}"))?);
        }
        Err(bad_url(format!("Unrecognized format for the relative external URL '{url}'")))
    }
}

fn bad_url(words: String) -> SvnError {
    SvnError::new(ErrorCode::BAD_URL, words)
}

/// What a relative URL is relative to, and the rest of it.
enum Relative<'a> {
    Root(&'a str),
    Directory(&'a str),
}

fn strip_relative(url: &str) -> Option<Relative<'_>> {
    if url.starts_with("../") || url == ".." {
        return Some(Relative::Directory(url));
    }
    url.strip_prefix("^/").map(Relative::Root)
}

/// Scheme and host of a URL, and its path.
fn split_server(url: &str) -> (&str, &str) {
    let host = url.find("://").map_or(0, |at| at.plus(3));
    let slash = url.get(host..).and_then(|rest| rest.find('/'));
    let at = slash.map_or(url.len(), |at| at.plus(host));
    url.split_at_checked(at).unwrap_or((url, ""))
}

/// Follows a relative path from a URL; `..` at the top of the server stays there.
fn climb(base: &str, relative: &str) -> String {
    let (server, top) = split_server(base);
    let mut parts: Vec<&str> = path::components(top).collect();
    for part in relative.split('/').filter(|p| !p.is_empty() && *p != ".") {
        if part == ".." {
            parts.pop();
        } else {
            parts.push(part);
        }
    }
    format!("{server}/{}", parts.join("/"))
}

#[cfg(test)]
mod tests;
