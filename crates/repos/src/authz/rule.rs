//! The section names of authz files: `[repos:/path]` and `[:glob:repos:/pa*th/**]`.
//!
//! Invariant: a parsed rule is normalized, so that two rules that say the same compare equal:
//! `**/**` is one `**`, and `**` never comes right before `*`.

use sapwood_core::Exact;
use std::cmp::Ordering;

use sapwood_core::{ErrorCode, SvnError, SvnResult};

/// One path component of a rule. The order of the variants is the order in which the reference
/// sorts rules.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Segment {
    /// Exactly this name.
    Literal(Box<[u8]>),
    /// `abc*`.
    Prefix(Box<[u8]>),
    /// `*abc`.
    Suffix(Box<[u8]>),
    /// `*`: one component of any name.
    Any,
    /// `**`: any number of components, also none.
    AnyRecursive,
    /// Any other pattern.
    Pattern(Box<[u8]>),
}

/// What a rule section applies to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Rule {
    /// The repository's name, empty for a rule that applies to all.
    pub(super) repos: Box<[u8]>,
    /// The path's components.
    pub(super) path: Box<[Segment]>,
}

impl Rule {
    /// The rule for the root of every repository.
    pub(super) fn root() -> Self {
        Self { repos: Box::default(), path: Box::default() }
    }

    /// Orders by path, and for equal paths by repository: a general rule comes right before the
    /// repositories' own rules for the same path.
    pub(super) fn compare(&self, other: &Self) -> Ordering {
        self.path.cmp(&other.path).then_with(|| self.repos.cmp(&other.repos))
    }
}

/// A parsed section name.
pub(super) enum SectionName {
    /// A path rule.
    Rule(Rule),
    /// `[aliases]`.
    Aliases,
    /// Anything that is not a path; only `[groups]` is valid.
    Other,
}

pub(super) fn invalid(message: String) -> SvnError {
    SvnError::new(ErrorCode::AUTHZ_INVALID_CONFIG, message)
}

pub(super) fn show(bytes: &[u8]) -> std::borrow::Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

fn split_at_colon(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = memchr::memchr(b':', bytes)?;
    Some((bytes.get(..at)?, bytes.get(at.plus(1)..)?))
}

/// Parses a section name of an authz file.
///
/// # Errors
/// E220003 for an invalid name.
pub(super) fn parse_section_name(section: &[u8]) -> SvnResult<SectionName> {
    let empty_repos =
        || invalid(format!("Empty repository name in authz rule [{}]", show(section)));
    let mut rest = section;
    let mut glob = false;
    if let Some(after) = rest.strip_prefix(b":") {
        let (token, after) = split_at_colon(after).ok_or_else(empty_repos)?;
        if token != b"glob" {
            return Err(invalid(format!(
                "Invalid type token '{}' in authz rule [{}]",
                show(token),
                show(section)
            )));
        }
        glob = true;
        rest = after;
    }
    let mut repos: &[u8] = b"";
    if !rest.starts_with(b"/")
        && let Some((name, after)) = split_at_colon(rest)
    {
        if name.is_empty() {
            return Err(empty_repos());
        }
        repos = name;
        rest = after;
    }
    if rest.starts_with(b"/") {
        let path = parse_path(rest, glob, section)?;
        return Ok(SectionName::Rule(Rule { repos: repos.into(), path }));
    }
    Ok(if section == b"aliases" { SectionName::Aliases } else { SectionName::Other })
}

fn parse_path(path: &[u8], glob: bool, section: &[u8]) -> SvnResult<Box<[Segment]>> {
    let bad = |why: &str| {
        invalid(why.to_owned()).wrap(
            ErrorCode::AUTHZ_INVALID_CONFIG,
            format!("Non-canonical path '{}' in authz rule [{}]", show(path), show(section)),
        )
    };
    let mut segments: Vec<Segment> = Vec::new();
    let mut seen_any = false;
    for name in path.strip_prefix(b"/").unwrap_or(path).split(|b| *b == b'/') {
        match name {
            b"" if !seen_any => return Ok(Box::default()),
            b"" => return Err(bad("Found empty name in authz rule path")),
            b"." => return Err(bad("Found '.' in authz rule path")),
            b".." => return Err(bad("Found '..' in authz rule path")),
            _ => {}
        }
        seen_any = true;
        let segment = if glob { glob_segment(name) } else { Segment::Literal(name.into()) };
        let after_recursive = segments.last() == Some(&Segment::AnyRecursive);
        match segment {
            Segment::AnyRecursive if after_recursive => {}
            Segment::Any if after_recursive => {
                segments.pop();
                segments.push(Segment::Any);
                segments.push(Segment::AnyRecursive);
            }
            segment => segments.push(segment),
        }
    }
    Ok(segments.into_boxed_slice())
}

fn glob_segment(name: &[u8]) -> Segment {
    if !has_wildcards(name) {
        return Segment::Literal(unescape(name));
    }
    match name {
        b"*" => return Segment::Any,
        b"**" => return Segment::AnyRecursive,
        _ => {}
    }
    if let Some(suffix) = name.strip_prefix(b"*")
        && !has_wildcards(suffix)
    {
        return Segment::Suffix(unescape(suffix));
    }
    if let Some(prefix) = name.strip_suffix(b"*")
        && !prefix.ends_with(b"\\")
        && !has_wildcards(prefix)
    {
        return Segment::Prefix(unescape(prefix));
    }
    Segment::Pattern(name.into())
}

/// Whether `pattern` has anything in it that is not literal.
fn has_wildcards(pattern: &[u8]) -> bool {
    let mut open = false;
    let mut bytes = pattern.iter();
    while let Some(byte) = bytes.next() {
        match byte {
            b'?' | b'*' => return true,
            b'\\' => {
                bytes.next();
            }
            b'[' => open = true,
            b']' if open => return true,
            _ => {}
        }
    }
    false
}

/// Removes the backslashes of a name without wildcards; one at the very end is a character
/// like any other.
fn unescape(name: &[u8]) -> Box<[u8]> {
    let mut out = Vec::with_capacity(name.len());
    let mut escaped = false;
    for &byte in name {
        if byte == b'\\' && !escaped {
            escaped = true;
        } else {
            escaped = false;
            out.push(byte);
        }
    }
    if escaped {
        out.push(b'\\');
    }
    out.into_boxed_slice()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path_of(section: &str) -> Vec<Segment> {
        match parse_section_name(section.as_bytes()).unwrap() {
            SectionName::Rule(rule) => rule.path.into_vec(),
            _ => panic!("not a rule"),
        }
    }

    fn lit(name: &str) -> Segment {
        Segment::Literal(name.as_bytes().into())
    }

    #[test]
    fn literal_rules_keep_wildcards() {
        assert_eq!(path_of("/"), []);
        assert_eq!(path_of("r:/a/*"), [lit("a"), lit("*")]);
        assert_eq!(path_of("/a:b"), [lit("a:b")]);
    }

    #[test]
    fn glob_segments_are_classified_and_normalized() {
        assert_eq!(
            path_of(r":glob:/a*/*b/c?/\*/d\\"),
            [
                Segment::Prefix(b"a".as_slice().into()),
                Segment::Suffix(b"b".as_slice().into()),
                Segment::Pattern(b"c?".as_slice().into()),
                lit("*"),
                lit("d\\"),
            ]
        );
        assert_eq!(path_of(":glob:r:/**/**/*/x"), [Segment::Any, Segment::AnyRecursive, lit("x")]);
        assert_eq!(path_of(":glob:/a\\*"), [lit("a*")]);
    }

    #[test]
    fn broken_names() {
        for (name, want) in [
            (":x", "E220003: Empty repository name in authz rule [:x]"),
            (":re:/", "E220003: Invalid type token 're' in authz rule [:re:/]"),
            (":glob::/", "E220003: Empty repository name in authz rule [:glob::/]"),
            (
                "/a//b",
                "E220003: Non-canonical path '/a//b' in authz rule [/a//b]; \
                 E220003: Found empty name in authz rule path",
            ),
            (
                "r:/a/..",
                "E220003: Non-canonical path '/a/..' in authz rule [r:/a/..]; \
                 E220003: Found '..' in authz rule path",
            ),
        ] {
            let error = parse_section_name(name.as_bytes()).err().unwrap();
            assert_eq!(error.to_string(), want);
        }
    }
}
