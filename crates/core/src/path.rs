//! Repository paths.
//!
//! Two forms are used, as in the reference: an *fspath* is absolute (`/`, `/trunk/a`), a
//! *relpath* has no leading slash (the empty string, `trunk/a`). Both are UTF-8 and canonical:
//! no component that is empty or `.`, no trailing slash. Functions here take canonical input unless they say
//! otherwise.

use crate::{ErrorCode, Exact, SvnError, SvnResult};
use std::borrow::Cow;

/// Makes any slash-separated string into a canonical fspath: one leading slash, no component that
/// is empty or `.`, no trailing slash. `..` is left alone: it is an ordinary name here, and is
/// refused where names are checked.
#[must_use]
pub fn canonical_fspath(path: &str) -> Cow<'_, str> {
    if is_canonical_fspath(path) {
        return Cow::Borrowed(path);
    }
    let mut out = String::with_capacity(path.len().plus(1));
    for part in components_that_lead(path) {
        out.push('/');
        out.push_str(part);
    }
    if out.is_empty() {
        out.push('/');
    }
    Cow::Owned(out)
}

/// The components of any slash-separated string but those that lead nowhere.
fn components_that_lead(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|part| !matches!(*part, "" | "."))
}

/// Whether `path` is an fspath in canonical form.
#[must_use]
pub fn is_canonical_fspath(path: &str) -> bool {
    path == "/" || (path.starts_with('/') && !ends_idle(path) && !has_idle_component(path))
}

/// Whether the last component is empty or `.`, and comes after a slash.
fn ends_idle(path: &str) -> bool {
    path.ends_with('/') || path.ends_with("/.")
}

/// Whether there is nothing, or only a dot, between two slashes. Every path that comes over the wire is
/// looked at, so this is no general search: it compiles to a few wide instructions. Without optimisation it
/// would be a call for each byte, more than all else that tests count; there a library that is optimised looks.
fn has_idle_component(path: &str) -> bool {
    let bytes = path.as_bytes();
    if cfg!(debug_assertions) {
        return ["//", "/./"]
            .iter()
            .any(|idle| memchr::memmem::find(bytes, idle.as_bytes()).is_some());
    }
    let (second, third) = (bytes.get(1..).unwrap_or(&[]), bytes.get(2..).unwrap_or(&[]));
    let pairs = bytes.iter().zip(second);
    let empty = pairs.fold(false, |found, (a, b)| found | ((*a == b'/') & (*b == b'/')));
    let triples = bytes.iter().zip(second).zip(third);
    triples.fold(empty, |found, ((a, b), c)| found | ((*a == b'/') & (*b == b'.') & (*c == b'/')))
}

/// Whether `path` is a relpath in canonical form.
#[must_use]
pub(crate) fn is_canonical_relpath(path: &str) -> bool {
    let begins_idle = path == "." || path.starts_with('/') || path.starts_with("./");
    !begins_idle && !ends_idle(path) && !has_idle_component(path)
}

/// Makes any slash-separated string into a canonical relpath.
#[must_use]
pub fn canonical_relpath(path: &str) -> Cow<'_, str> {
    if is_canonical_relpath(path) {
        return Cow::Borrowed(path);
    }
    Cow::Owned(components_that_lead(path).collect::<Vec<_>>().join("/"))
}

/// The relpath of an fspath: everything after the leading slash.
#[must_use]
pub fn to_relpath(fspath: &str) -> &str {
    fspath.strip_prefix('/').unwrap_or(fspath)
}

/// Refuses control characters, which the path of a new node may not have.
///
/// # Errors
/// E160005.
pub fn check_controls(path: &str) -> SvnResult<()> {
    match path.bytes().find(u8::is_ascii_control) {
        Some(bad) => Err(invalid_control(bad, path)),
        None => Ok(()),
    }
}

/// E160005 for a control character in a path. In the message it stands as `\012`.
#[must_use]
pub fn invalid_control(bad: u8, path: &str) -> SvnError {
    let mut shown = String::with_capacity(path.len());
    for c in path.chars() {
        if c.is_ascii_control() {
            shown.push_str(&format!("\\{:03o}", u32::from(c)));
        } else {
            shown.push(c);
        }
    }
    let message = format!("Invalid control character '0x{bad:02x}' in path '{shown}'");
    SvnError::new(ErrorCode::FS_PATH_SYNTAX, message)
}

/// Joins a relpath (or one name) to a base, which may be an fspath or a relpath.
#[must_use]
pub fn join(base: &str, rel: &str) -> String {
    if rel.is_empty() {
        return base.to_owned();
    }
    if base.is_empty() {
        return rel.to_owned();
    }
    let mut out = String::with_capacity(base.len().plus(rel.len()).plus(1));
    out.push_str(base);
    if !base.ends_with('/') {
        out.push('/');
    }
    out.push_str(rel);
    out
}

/// Splits into parent and last name. The parent of `/a` is `/`, of `a` the empty relpath; the
/// root's parent is the root and its name is empty.
#[must_use]
pub fn split(path: &str) -> (&str, &str) {
    match path.rsplit_once('/') {
        Some(("", name)) => ("/", name),
        Some(both) => both,
        None => ("", path),
    }
}

/// The last name of a path, empty for a root.
#[must_use]
pub fn basename(path: &str) -> &str {
    split(path).1
}

/// The parent of a path; a root is its own parent.
#[must_use]
pub fn dirname(path: &str) -> &str {
    split(path).0
}

/// What is left of `child` below `parent` as a relpath: the empty string when they are equal,
/// `None` when `child` is not at or below `parent`. Both must be of the same form.
#[must_use]
pub fn skip_ancestor<'a>(parent: &str, child: &'a str) -> Option<&'a str> {
    let rest = child.strip_prefix(parent)?;
    if rest.is_empty() || parent.is_empty() || parent == "/" {
        return Some(rest);
    }
    rest.strip_prefix('/')
}

/// The same where `child` was found at or below `parent`.
///
/// # Errors
/// E235000 when it is not, which is a slip of ours.
#[track_caller]
pub fn rest_below<'a>(parent: &str, child: &'a str) -> SvnResult<&'a str> {
    skip_ancestor(parent, child).ok_or_else(|| SvnError::internal("a path is not below its parent"))
}

/// Whether `child` is `parent` or below it.
#[must_use]
pub fn is_ancestor(parent: &str, child: &str) -> bool {
    skip_ancestor(parent, child).is_some()
}

/// The deepest path that is at or above both. Both must be of the same form.
#[must_use]
pub fn common_ancestor<'a>(a: &'a str, b: &str) -> &'a str {
    if is_ancestor(a, b) {
        return a;
    }
    if is_ancestor(b, a) {
        return a.get(..b.len()).unwrap_or_default();
    }
    // Names may have bytes in common within a character: only whole names count.
    let mut end = 0;
    for (at, (one, other)) in a.bytes().zip(b.bytes()).enumerate() {
        if one != other {
            break;
        }
        if one == b'/' {
            end = at;
        }
    }
    match a.get(..end) {
        Some("") if a.starts_with('/') && b.starts_with('/') => "/",
        Some(prefix) => prefix,
        None => "",
    }
}

/// The names of a path, in order; none for a root.
pub fn components(path: &str) -> impl DoubleEndedIterator<Item = &str> {
    path.split('/').filter(|p| !p.is_empty())
}

/// Compares paths so that a directory is followed by everything below it before any sibling:
/// the order in which the reference sorts paths (`a`, `a/b`, `a b`).
#[must_use]
pub fn compare(a: &str, b: &str) -> std::cmp::Ordering {
    let key = |byte: &u8| if *byte == b'/' { 0 } else { u16::from(*byte).plus(1) };
    a.bytes().map(|b| key(&b)).cmp(b.bytes().map(|b| key(&b)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn canonical_forms() {
        for (input, want) in [("", "/"), ("/", "/"), ("a//b/", "/a/b"), ("/a/b", "/a/b")] {
            assert_eq!(canonical_fspath(input), want);
        }
        for (input, want) in [("", ""), ("/", ""), ("/a//b/", "a/b")] {
            assert_eq!(canonical_relpath(input), want);
        }
        for idle in [".", "./a", "a/.", "a/./b", "./", "a/././b/.", ".//."] {
            assert!(!is_canonical_relpath(idle) && !is_canonical_fspath(&format!("/{idle}")));
            let left = idle.split('/').filter(|part| part.len() == 1 && *part != ".");
            let left = left.collect::<Vec<_>>().join("/");
            assert_eq!(canonical_relpath(idle), left);
            assert_eq!(canonical_fspath(idle), format!("/{left}"));
        }
        for name in ["..", ".a", "a.", "a/..", "a/.b/c.", "../..", "..."] {
            assert_eq!(canonical_relpath(name), name);
            assert_eq!(canonical_fspath(name), format!("/{name}"));
        }
    }

    #[test]
    fn control_characters_are_refused_and_shown() {
        assert_eq!(check_controls("trunk/\u{e9} b"), Ok(()));
        let error = check_controls("a\nb\u{7f}").unwrap_err();
        assert_eq!(error.code(), ErrorCode::FS_PATH_SYNTAX);
        assert_eq!(error.message(), r"Invalid control character '0x0a' in path 'a\012b\177'");
    }

    #[test]
    fn ancestry() {
        assert_eq!(skip_ancestor("/", "/a/b"), Some("a/b"));
        assert_eq!(skip_ancestor("/a", "/a/b"), Some("b"));
        assert_eq!(skip_ancestor("/a", "/ab"), None);
        assert_eq!(skip_ancestor("", "a"), Some("a"));
        assert_eq!(common_ancestor("/a/b/c", "/a/b/d"), "/a/b");
        assert_eq!(common_ancestor("/a/b", "/a/bc"), "/a");
        assert_eq!(common_ancestor("/a/bc", "/a/b"), "/a");
        assert_eq!(common_ancestor("/a/b/c", "/a/b"), "/a/b");
        assert_eq!(common_ancestor("/x", "/y"), "/");
        assert_eq!(common_ancestor("/x/y", "z"), "");
        assert_eq!(common_ancestor("z", "/x/y"), "");
        assert_eq!(common_ancestor("x/y", "x/z"), "x");
        assert_eq!(common_ancestor("x", "y"), "");
    }

    #[test]
    fn paths_as_long_as_requests() {
        // With a cost that grows with the square, this would never end.
        let deep = "/a".repeat(4 << 20);
        let (one, other) = (format!("{deep}/x\u{e9}"), format!("{deep}/x\u{ea}"));
        assert_eq!(common_ancestor(&one, &other), deep);
        assert_eq!(common_ancestor(&one, &deep), deep);
        assert_eq!(skip_ancestor(&deep, &one), Some("x\u{e9}"));
        assert!(is_canonical_fspath(&one));
    }

    #[test]
    fn order_keeps_subtrees_together() {
        let mut paths = vec!["/a b", "/a/b", "/a", "/", "/a/b/c"];
        paths.sort_by(|a, b| compare(a, b));
        assert_eq!(paths, ["/", "/a", "/a/b", "/a/b/c", "/a b"]);
    }

    #[test]
    fn splitting() {
        assert_eq!(split("/"), ("/", ""));
        assert_eq!(split("/a"), ("/", "a"));
        assert_eq!(split("/a/b"), ("/a", "b"));
        assert_eq!(split("a"), ("", "a"));
        assert_eq!(join("/", "a"), "/a");
        assert_eq!(join("/a", ""), "/a");
        assert_eq!(join("", "a"), "a");
    }
}
