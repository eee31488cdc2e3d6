//! Which property values a repository takes, and how line endings in them are mended.

use sapwood_core::date::Timestamp;
use sapwood_core::mergeinfo::Mergeinfo;
use sapwood_core::props::names;
use sapwood_core::{ErrorCode, SvnError, SvnResult};

/// Whether values of this property are text: UTF-8 with single newlines.
#[must_use]
pub fn is_text(name: &str) -> bool {
    name.starts_with(names::PREFIX)
}

/// Checks a value that a property (of a revision, transaction or node) is to get. Deleting is
/// always allowed.
///
/// # Errors
/// E165002 for properties that are no business of a repository, E125005 for values that are not
/// what the property says, in the reference's sentences.
pub fn check(name: &str, value: &[u8]) -> SvnResult<()> {
    if name.starts_with(names::WC_PREFIX) || name.starts_with(names::ENTRY_PREFIX) {
        return Err(SvnError::new(
            ErrorCode::REPOS_BAD_ARGS,
            format!(
                "Storage of non-regular property '{name}' is disallowed through the repository \
                 interface, and could indicate a bug in your client"
            ),
        ));
    }
    if !is_text(name) {
        return Ok(());
    }
    if std::str::from_utf8(value).is_err() {
        return Err(SvnError::new(
            ErrorCode::BAD_PROPERTY_VALUE,
            format!("Cannot accept '{name}' property because it is not encoded in UTF-8"),
        ));
    }
    // The reference looks no further than the first NUL.
    let text = value.split(|b| *b == 0).next().unwrap_or(&[]);
    if text.contains(&b'\r') {
        return Err(SvnError::new(
            ErrorCode::BAD_PROPERTY_VALUE_EOL,
            format!("Cannot accept non-LF line endings in '{name}' property"),
        )
        .wrap(ErrorCode::BAD_PROPERTY_VALUE, "Invalid property value"));
    }
    if name == names::DATE
        && let Err(bad) = Timestamp::parse(text)
    {
        return Err(SvnError::from(bad).wrap(ErrorCode::BAD_PROPERTY_VALUE, ""));
    }
    Ok(())
}

/// [`check`] for a property of the node at `path` (for the sentence).
///
/// # Errors
/// Those of [`check`], and E200020 for malformed mergeinfo.
pub fn check_node(path: &str, name: &str, value: &[u8]) -> SvnResult<()> {
    if name == names::MERGEINFO {
        if value.contains(&0) {
            return Err(SvnError::new(
                ErrorCode::MERGEINFO_PARSE_ERROR,
                format!(
                    "Commit rejected because mergeinfo on '{path}' contains unexpected string \
                     terminator"
                ),
            ));
        }
        Mergeinfo::parse(value).map_err(|e| {
            e.context(format!(
                "Commit rejected because mergeinfo on '{path}' is syntactically invalid"
            ))
        })?;
    }
    check(name, value)
}

/// The value with every line ending (`\r\n`, `\r`) made a newline, when the property is text.
#[must_use]
pub fn normalize(name: &str, value: Vec<u8>) -> Vec<u8> {
    if is_text(name) && value.contains(&b'\r') { with_newlines(&value) } else { value }
}

/// The text with every line ending made a newline.
pub(crate) fn with_newlines(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text.iter().copied().peekable();
    while let Some(byte) = rest.next() {
        if byte == b'\r' {
            if rest.peek() == Some(&b'\n') {
                rest.next();
            }
            out.push(b'\n');
        } else {
            out.push(byte);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_refused() {
        for (name, value, code) in [
            ("svn:wc:x", &b"v"[..], ErrorCode::REPOS_BAD_ARGS),
            ("svn:entry:x", b"v", ErrorCode::REPOS_BAD_ARGS),
            ("svn:log", b"\xff", ErrorCode::BAD_PROPERTY_VALUE),
            ("svn:log", b"a\r\nb", ErrorCode::BAD_PROPERTY_VALUE),
            ("svn:date", b"yesterday", ErrorCode::BAD_PROPERTY_VALUE),
        ] {
            assert_eq!(check(name, value).unwrap_err().code(), code, "{name}");
        }
        for (name, value) in
            [("p", &b"\xff\r"[..]), ("svn:log", "ä\nb".as_bytes()), ("svn:log", b"a\0\r")]
        {
            check(name, value).unwrap();
        }
        assert!(check_node("/a", "svn:mergeinfo", b"/x:1").is_ok());
        let error = check_node("/a", "svn:mergeinfo", b"/x").unwrap_err();
        assert_eq!(error.code(), ErrorCode::MERGEINFO_PARSE_ERROR);
    }

    #[test]
    fn line_endings() {
        assert_eq!(normalize("svn:log", b"a\r\nb\rc\n\r".to_vec()), b"a\nb\nc\n\n");
        assert_eq!(normalize("p", b"a\r\nb".to_vec()), b"a\r\nb");
    }
}
