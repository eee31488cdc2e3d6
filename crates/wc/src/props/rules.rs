//! What property names and values may be: the checks of `propset`, and the form in which values of
//! Subversion's own properties are kept.

use sapwood_core::exact::{Cut, Exact};
use sapwood_core::props::names;
use sapwood_core::{ErrorCode, NodeKind, PropList, SvnError, SvnResult, mergeinfo::Mergeinfo};

/// The value of a property that is only set or not.
pub(crate) const TRUE_VALUE: &[u8] = b"*";

/// A file's wish to be locked before it is changed.
pub(crate) const NEEDS_LOCK: &str = "svn:needs-lock";
/// Properties that added files get, by pattern, here and below.
pub const AUTO_PROPS: &str = "svn:auto-props";

/// Properties of files and directories.
const BOTH: [&str; 1] = [names::MERGEINFO];
/// Properties that only directories may have.
const DIR_ONLY: [&str; 4] =
    [names::IGNORE, names::EXTERNALS, AUTO_PROPS, crate::ignore::GLOBAL_IGNORES];
/// Properties that only files may have.
const FILE_ONLY: [&str; 6] = [
    names::MIME_TYPE,
    names::EOL_STYLE,
    names::KEYWORDS,
    names::EXECUTABLE,
    NEEDS_LOCK,
    names::SPECIAL,
];
/// Names that once had a meaning, which nodes may have.
const OLD: [&str; 4] = ["svn:text-time", "svn:owner", "svn:group", "svn:unix-mode"];
/// Revision properties.
const REVISION: [&str; 10] = [
    "svn:author",
    "svn:log",
    "svn:date",
    "svn:autoversioned",
    "svn:original-date",
    "svn:sync-lock",
    "svn:sync-from-url",
    "svn:sync-from-uuid",
    "svn:sync-last-merged-rev",
    "svn:sync-currently-copying",
];

/// Whether a name is one of Subversion's revision properties.
#[must_use]
pub fn is_known_revision_prop(name: &str) -> bool {
    REVISION.contains(&name)
}

/// All properties of nodes that Subversion knows.
pub fn known_node_props() -> impl Iterator<Item = &'static str> {
    BOTH.into_iter().chain(DIR_ONLY).chain(FILE_ONLY).chain(OLD)
}

/// All revision properties that Subversion knows.
pub fn known_revision_props() -> impl Iterator<Item = &'static str> {
    REVISION.into_iter()
}

/// Whether properties set permission bits of a file: that it is executable, or read-only until it is
/// locked.
pub(crate) fn sets_flags(props: &PropList) -> bool {
    props.get(names::EXECUTABLE).is_some() || props.get(NEEDS_LOCK).is_some()
}

/// Whether a property is only set or not.
#[must_use]
pub fn is_boolean(name: &str) -> bool {
    [names::EXECUTABLE, names::SPECIAL, NEEDS_LOCK].contains(&name)
}

/// Whether a property's value is text, in UTF-8 and with LF: Subversion's own are.
#[must_use]
pub fn needs_translation(name: &str) -> bool {
    name.starts_with(names::PREFIX)
}

/// What a property's name says of where it lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PropKind {
    /// Versioned, visible.
    Regular,
    /// Of the working copy's own making, unversioned (`svn:wc:`).
    Wc,
    /// Made up from a node's record (`svn:entry:`).
    Entry,
}

/// The kind of a name.
#[must_use]
pub fn kind_of(name: &str) -> PropKind {
    if name.starts_with(names::WC_PREFIX) {
        PropKind::Wc
    } else if name.starts_with(names::ENTRY_PREFIX) {
        PropKind::Entry
    } else {
        PropKind::Regular
    }
}

/// Whether a media type says that a file is not text.
#[must_use]
pub fn is_binary_mime_type(mime_type: &[u8]) -> bool {
    let end = mime_type.iter().position(|b| matches!(b, b';' | b' ')).unwrap_or(mime_type.len());
    let media = mime_type.head(end);
    !mime_type.starts_with(b"text/") && media != b"image/x-xbitmap" && media != b"image/x-xpixmap"
}

/// Checks a media type.
///
/// # Errors
/// E125004.
pub fn check_mime_type(value: &str) -> SvnResult<()> {
    let bad = |what: String| {
        Err(SvnError::new(ErrorCode::BAD_MIME_TYPE, format!("MIME type '{value}' {what}")))
    };
    let media = value.split([';', ' ']).next().unwrap_or("");
    if media.is_empty() {
        return bad("has empty media type".into());
    }
    let Some(slash) = media.find('/') else { return bad("does not contain '/'".into()) };
    for (at, byte) in media.bytes().enumerate() {
        let special = b"()<>@,;:\\\"/[]?=".contains(&byte);
        if at != slash && (!byte.is_ascii() || byte.is_ascii_control() || byte == b' ' || special) {
            let shown = char::from(byte);
            return bad(format!("contains invalid character '{shown}' in media type"));
        }
    }
    match value.bytes().find(|b| b.is_ascii_control() && *b != b'\t') {
        Some(byte) => bad(format!("contains invalid character '0x{byte:02x}' in postfix")),
        None => Ok(()),
    }
}

/// Refuses a property on a kind of node that cannot have it.
///
/// # Errors
/// E200009 (illegal target).
fn check_against_kind(name: &str, display: &str, kind: NodeKind) -> SvnResult<()> {
    let (refused, word) = match kind {
        NodeKind::Dir => (FILE_ONLY.contains(&name), "directory"),
        NodeKind::File => (DIR_ONLY.contains(&name), "file"),
    };
    if refused {
        return Err(SvnError::new(
            ErrorCode::ILLEGAL_TARGET,
            format!("Cannot set '{name}' on a {word} ('{display}')"),
        ));
    }
    Ok(())
}

/// What the checks ask of the file that gets a property.
pub trait FileForCheck {
    /// The file's `svn:mime-type`.
    fn mime_type(&mut self) -> SvnResult<Option<Vec<u8>>>;
    /// Whether all line endings of the file are the same.
    fn has_consistent_newlines(&mut self) -> SvnResult<bool>;
}

/// The value without white space at both ends, as C's `isspace` defines it.
fn stripped(value: &[u8]) -> Vec<u8> {
    let space = |b: &u8| b.is_ascii_whitespace() || *b == 0x0b;
    let start = value.iter().position(|b| !space(b)).unwrap_or(value.len());
    let end = value.iter().rposition(|b| !space(b)).map_or(start, |at| at.plus(1));
    value.piece(start..end).to_vec()
}

/// Checks the value of one of Subversion's own properties for a node, and returns it in canonical
/// form. `display` is the path or URL for error messages; `force` skips the checks that `--force`
/// skips; `check_externals` parses the value of `svn:externals`.
///
/// # Errors
/// What is wrong with it.
pub fn canonicalize(
    name: &str,
    value: &[u8],
    display: &str,
    kind: NodeKind,
    force: bool,
    file: &mut dyn FileForCheck,
) -> SvnResult<Vec<u8>> {
    check_against_kind(name, display, kind)?;
    match name {
        names::EOL_STYLE if !force => {
            let value = stripped(value);
            if !matches!(value.as_slice(), b"native" | b"LF" | b"CR" | b"CRLF") {
                let shown = String::from_utf8_lossy(&value).into_owned();
                return Err(SvnError::new(
                    ErrorCode::IO_UNKNOWN_EOL,
                    format!("Unrecognized line ending style '{shown}' for '{display}'"),
                ));
            }
            check_newlines(display, file)?;
            Ok(value)
        }
        names::MIME_TYPE if !force => {
            let value = stripped(value);
            check_mime_type(&String::from_utf8_lossy(&value))?;
            Ok(value)
        }
        names::IGNORE | names::EXTERNALS | AUTO_PROPS | crate::ignore::GLOBAL_IGNORES => {
            let mut kept = value.to_vec();
            if kept.last() != Some(&b'\n') {
                kept.push(b'\n');
            }
            if name == names::EXTERNALS {
                check_externals(value, display)?;
            }
            Ok(kept)
        }
        names::KEYWORDS => Ok(stripped(value)),
        name if is_boolean(name) => Ok(TRUE_VALUE.to_vec()),
        names::MERGEINFO => {
            let parsed = Mergeinfo::parse(value)?;
            if kind == NodeKind::File && parsed.only(false) != Mergeinfo::default() {
                return Err(SvnError::new(
                    ErrorCode::MERGEINFO_PARSE_ERROR,
                    format!(
                        "Cannot set non-inheritable mergeinfo on a non-directory ('{display}')"
                    ),
                ));
            }
            Ok(parsed.to_value().into_bytes())
        }
        _ => Ok(value.to_vec()),
    }
}

fn check_newlines(display: &str, file: &mut dyn FileForCheck) -> SvnResult<()> {
    let illegal = |text: String| SvnError::new(ErrorCode::ILLEGAL_TARGET, text);
    if file.mime_type()?.is_some_and(|mime| is_binary_mime_type(&mime)) {
        return Err(illegal(format!(
            "Can't set '{}': file '{display}' has binary mime type property",
            names::EOL_STYLE
        )));
    }
    if !file.has_consistent_newlines()? {
        return Err(crate::translate::inconsistent_file().wrap(
            ErrorCode::ILLEGAL_TARGET,
            format!("File '{display}' has inconsistent newlines"),
        ));
    }
    Ok(())
}

fn check_externals(value: &[u8], display: &str) -> SvnResult<()> {
    let text = std::str::from_utf8(value).map_err(|_| {
        SvnError::new(
            ErrorCode::CLIENT_INVALID_EXTERNALS_DESCRIPTION,
            format!("Error parsing svn:externals property on '{display}': it is not UTF-8"),
        )
    })?;
    // Dates mean something where externals are brought; here any will do.
    let any_date = |_: &str| Some(sapwood_core::date::Timestamp::default());
    let items = crate::externals::parse::parse(text, display, &any_date)?;
    if let Some(target) = crate::externals::parse::duplicate_targets(&items).first() {
        return Err(SvnError::new(
            ErrorCode::WC_DUPLICATE_EXTERNALS_TARGET,
            format!(
                "Invalid svn:externals property on '{display}': target '{target}' appears more than once"
            ),
        ));
    }
    Ok(())
}

/// Checks, piece by piece, whether the line endings of a text are all of one kind.
#[derive(Debug, Default)]
pub struct Newlines {
    seen: Option<Newline>,
    after_cr: bool,
    mixed: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Newline {
    Lf,
    Cr,
    CrLf,
}

impl Newlines {
    fn see(&mut self, newline: Newline) {
        self.mixed |= *self.seen.get_or_insert(newline) != newline;
    }

    /// Looks at the next piece.
    pub fn update(&mut self, bytes: &[u8]) {
        for byte in bytes {
            match (self.after_cr, byte) {
                (true, b'\n') => {
                    self.see(Newline::CrLf);
                    self.after_cr = false;
                    continue;
                }
                (true, _) => self.see(Newline::Cr),
                (false, b'\n') => self.see(Newline::Lf),
                (false, _) => {}
            }
            self.after_cr = *byte == b'\r';
        }
    }

    /// The answer, after the last piece.
    #[must_use]
    pub fn consistent(mut self) -> bool {
        if self.after_cr {
            self.see(Newline::Cr);
        }
        !self.mixed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct File(&'static [u8], Option<&'static [u8]>);
    impl FileForCheck for File {
        fn mime_type(&mut self) -> SvnResult<Option<Vec<u8>>> {
            Ok(self.1.map(<[u8]>::to_vec))
        }
        fn has_consistent_newlines(&mut self) -> SvnResult<bool> {
            let mut newlines = Newlines::default();
            self.0.chunks(1).for_each(|piece| newlines.update(piece));
            Ok(newlines.consistent())
        }
    }

    fn canonical(name: &str, value: &str, kind: NodeKind, file: File) -> Result<String, String> {
        let mut file = file;
        canonicalize(name, value.as_bytes(), "f", kind, false, &mut file)
            .map(|v| String::from_utf8(v).unwrap())
            .map_err(|e| e.to_string())
    }

    #[test]
    fn values_are_brought_into_form() {
        let plain = || File(b"a\nb\n", None);
        let file = NodeKind::File;
        assert_eq!(canonical("svn:eol-style", " LF\n", file, plain()).unwrap(), "LF");
        assert_eq!(canonical("svn:executable", "no", file, plain()).unwrap(), "*");
        assert_eq!(canonical("svn:ignore", "a", NodeKind::Dir, plain()).unwrap(), "a\n");
        assert_eq!(canonical("svn:keywords", " Id  Rev ", file, plain()).unwrap(), "Id  Rev");
        assert_eq!(canonical("svn:mime-type", " a/b ", file, plain()).unwrap(), "a/b");
        assert_eq!(canonical("svn:mergeinfo", "/b:2\n/a:1", file, plain()).unwrap(), "/a:1\n/b:2");
    }

    #[test]
    fn what_is_refused() {
        let file = NodeKind::File;
        for (name, value, kind, content, mime, want) in [
            ("svn:ignore", "a", file, "", None, "Cannot set 'svn:ignore' on a file ('f')"),
            ("svn:eol-style", "x", file, "", None, "Unrecognized line ending style 'x' for 'f'"),
            ("svn:eol-style", "LF", file, "a\nb\r\n", None, "File 'f' has inconsistent newlines"),
            ("svn:eol-style", "LF", file, "a\rb\n", None, "File 'f' has inconsistent newlines"),
            ("svn:eol-style", "LF", file, "a", Some(&b"a/b"[..]), "binary mime type"),
            ("svn:mime-type", "a", file, "", None, "does not contain '/'"),
            ("svn:mime-type", "", file, "", None, "has empty media type"),
            ("svn:mime-type", "a/b=c", file, "", None, "invalid character '='"),
            ("svn:mime-type", "a/b; \x01", file, "", None, "'0x01' in postfix"),
            ("svn:mergeinfo", "/a:1*", file, "", None, "non-inheritable mergeinfo"),
            ("svn:executable", "*", NodeKind::Dir, "", None, "on a directory ('f')"),
        ] {
            let error = canonical(name, value, kind, File(content.as_bytes(), mime)).unwrap_err();
            assert!(error.contains(want), "{error} should contain {want}");
        }
    }

    #[test]
    fn names() {
        assert!(names::is_valid("svn:x-1.y") && names::is_valid("_a") && names::is_valid(":"));
        assert!(!names::is_valid("") && !names::is_valid("1a") && !names::is_valid("a b"));
        assert_eq!(kind_of("svn:wc:x"), PropKind::Wc);
        assert_eq!(kind_of("svn:entry:x"), PropKind::Entry);
        assert!(is_binary_mime_type(b"application/x") && !is_binary_mime_type(b"text/x; c=d"));
    }
}
