//! Properties on command lines: `NAME[=VALUE]`, and the forms that `svn:` properties must have.

use sapwood_core::mergeinfo::Mergeinfo;
use sapwood_core::props::names;
use sapwood_core::{ErrorCode, NodeKind, PropList, SvnError, SvnResult};

use crate::command::usage_error;
use crate::locale;

fn bad_name(text: String) -> SvnError {
    SvnError::new(ErrorCode::CLIENT_PROPERTY_NAME, text)
}

/// Takes a `--with-revprop`.
pub(crate) fn take(props: &mut PropList, text: &str) -> SvnResult<()> {
    if text.is_empty() {
        return Err(usage_error("Revision property pair is empty"));
    }
    let (name, value) = text.split_once('=').unwrap_or((text, ""));
    take_bytes(props, name, value.as_bytes())
}

/// The same, taken apart already.
pub(crate) fn take_bytes(props: &mut PropList, name: &str, value: &[u8]) -> SvnResult<()> {
    if name.is_empty() && value.is_empty() {
        return Err(usage_error("Revision property pair is empty"));
    }
    if !names::is_valid(name) {
        return Err(bad_name(format!("'{name}' is not a valid Subversion property name")));
    }
    // As it was typed: only log messages are made to have one kind of line ends, and not here.
    props.set(name, value);
    Ok(())
}

/// Checks the properties that a commit is to set beside its message.
pub(crate) fn check_commit(props: &PropList) -> SvnResult<()> {
    let standard = ["svn:author", "svn:autoversioned", "svn:date", "svn:original-date", "svn:log"];
    if props.iter().any(|(name, _)| standard.contains(&name)) {
        return Err(bad_name(
            "Standard properties can't be set explicitly as revision properties".to_owned(),
        ));
    }
    Ok(())
}

/// Text with line ends of one kind, as log messages and `svn:` properties are kept.
pub(crate) fn normalized(text: &[u8], otherwise: &str) -> SvnResult<Vec<u8>> {
    let text = match std::str::from_utf8(text) {
        Ok(text) => Ok(text.to_owned()),
        // Says what is wrong with it, in the words of the terminal's encoding.
        Err(_) => locale::decode(text.to_vec()),
    };
    let text = text.and_then(locale::with_newlines).map_err(|e| match otherwise {
        "" => e,
        _ => e.context(otherwise),
    })?;
    Ok(text.into_bytes())
}

/// The same of text in another encoding, for `--encoding`.
pub(crate) fn translated(
    text: &[u8],
    encoding: Option<&str>,
    otherwise: &str,
) -> SvnResult<Vec<u8>> {
    let Some(name) = encoding else { return normalized(text, otherwise) };
    let wrap = |error: SvnError| match otherwise {
        "" => error,
        _ => error.context(otherwise),
    };
    if ["UTF-8", "UTF8"].iter().any(|own| name.eq_ignore_ascii_case(own)) {
        // Nothing is converted, and so nothing is looked at: who stores it does.
        return Ok(with_newlines(text));
    }
    if ["ISO-8859-1", "ISO8859-1", "ISO_8859-1", "LATIN1", "L1"]
        .iter()
        .any(|latin| name.eq_ignore_ascii_case(latin))
    {
        let decoded: String = text.iter().copied().map(char::from).collect();
        return normalized(decoded.as_bytes(), otherwise);
    }
    let Some(known) = encoding_rs::Encoding::for_label(name.as_bytes()) else {
        // What no table is known for can be ASCII only.
        return normalized(ascii(text).map_err(wrap)?, otherwise);
    };
    let (decoded, wrong) = known.decode_without_bom_handling(text);
    if wrong {
        let text = format!("Can't convert string from '{name}' to 'UTF-8':");
        return Err(wrap(SvnError::new(ErrorCode::EINVAL, text)));
    }
    normalized(decoded.as_bytes(), otherwise)
}

/// Bytes with line ends of one kind.
fn with_newlines(text: &[u8]) -> Vec<u8> {
    let mut made = Vec::with_capacity(text.len());
    let mut bytes = text.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        if byte == b'\r' {
            let _pair = bytes.next_if_eq(&b'\n');
            made.push(b'\n');
        } else {
            made.push(byte);
        }
    }
    made
}

/// Text that is ASCII and can be printed.
pub(crate) fn ascii(value: &[u8]) -> SvnResult<&[u8]> {
    let odd = |b: &u8| !b.is_ascii() || (b.is_ascii_control() && !b"\t\n\x0b\x0c\r".contains(b));
    let Some(at) = value.iter().position(odd) else { return Ok(value) };
    let (safe, rest) = value.split_at_checked(at).unwrap_or_default();
    let byte = rest.first().copied().unwrap_or_default();
    let text = match String::from_utf8_lossy(safe) {
        safe if safe.is_empty() => format!(
            "Non-ASCII character (code {byte}) detected, and unable to convert to/from UTF-8"
        ),
        safe => format!(
            "Safe data '{safe}' was followed by non-ASCII byte {byte}: unable to convert to/from \
             UTF-8"
        ),
    };
    Err(SvnError::new(ErrorCode::EINVAL, text))
}

/// Checks that files and directories can have a property of this name.
pub(crate) fn check_node_property(name: &str) -> SvnResult<()> {
    const REVISION: [&str; 13] = [
        names::AUTHOR,
        names::DATE,
        names::LOG,
        "svn:autoversioned",
        "svn:original-date",
        "svn:rdump-lock",
        "svn:sync-currently-copying",
        "svn:sync-from-url",
        "svn:sync-from-uuid",
        "svn:sync-last-merged-rev",
        "svn:sync-lock",
        "svn:txn-check-locks",
        "svn:txn-check-ood",
    ];
    if !names::is_valid(name) {
        return Err(bad_name(format!("Bad property name: '{name}'")));
    }
    if REVISION.contains(&name) {
        return Err(bad_name(format!("Revision property '{name}' not allowed in this context")));
    }
    if name.starts_with(names::WC_PREFIX) {
        return Err(bad_name(format!("'{name}' is a wcprop, thus not accessible to clients")));
    }
    Ok(())
}

/// The value that an `svn:` property of a node is set to, when a person says `value`.
pub(crate) fn canonical(
    name: &str,
    value: Vec<u8>,
    path: &str,
    kind: NodeKind,
) -> SvnResult<Vec<u8>> {
    let bad = |text: String, code| Err(SvnError::new(code, text));
    let for_dirs = ["svn:ignore", "svn:externals", "svn:auto-props", "svn:global-ignores"];
    let path = crate::repo::local_style(path);
    let for_files = [
        names::EOL_STYLE,
        names::KEYWORDS,
        names::EXECUTABLE,
        names::MIME_TYPE,
        "svn:needs-lock",
        names::SPECIAL,
    ];
    match kind {
        NodeKind::Dir if for_files.contains(&name) => {
            return bad(
                format!("Cannot set '{name}' on a directory ('{path}')"),
                ErrorCode::ILLEGAL_TARGET,
            );
        }
        NodeKind::File if for_dirs.contains(&name) => {
            return bad(
                format!("Cannot set '{name}' on a file ('{path}')"),
                ErrorCode::ILLEGAL_TARGET,
            );
        }
        _ => {}
    }
    let trimmed = value.trim_ascii();
    match name {
        names::EXECUTABLE | names::SPECIAL | "svn:needs-lock" => Ok(b"*".to_vec()),
        names::EOL_STYLE => {
            if !matches!(trimmed, b"native" | b"LF" | b"CR" | b"CRLF") {
                return bad(
                    format!(
                        "Unrecognized line ending style '{}' for '{path}'",
                        String::from_utf8_lossy(trimmed)
                    ),
                    ErrorCode::IO_UNKNOWN_EOL,
                );
            }
            Ok(trimmed.to_vec())
        }
        names::KEYWORDS | names::MIME_TYPE => Ok(trimmed.to_vec()),
        names::MERGEINFO => {
            let info = Mergeinfo::parse(&value)?;
            Ok(info.to_value().into_bytes())
        }
        _ if for_dirs.contains(&name) && !value.ends_with(b"\n") => {
            let mut value = value;
            value.push(b'\n');
            Ok(value)
        }
        _ => Ok(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn on_the_command_line() {
        let mut props = PropList::new();
        take(&mut props, "a:b=c\r\nd=e").unwrap();
        take(&mut props, "empty").unwrap();
        assert_eq!(props.get("a:b"), Some(&b"c\r\nd=e"[..]));
        assert_eq!(props.get("empty"), Some(&b""[..]));
        assert!(take(&mut props, "").is_err() && take(&mut props, "-x=1").is_err());
        check_commit(&props).unwrap();
        take(&mut props, "svn:author=me").unwrap();
        assert!(check_commit(&props).is_err());
    }

    #[test]
    fn forms_of_values() {
        let set = |name: &str, value: &[u8], kind| canonical(name, value.to_vec(), "x", kind);
        assert_eq!(set("svn:executable", b"yes", NodeKind::File).unwrap(), b"*");
        assert_eq!(set("svn:ignore", b"a", NodeKind::Dir).unwrap(), b"a\n");
        assert_eq!(set("svn:eol-style", b" LF\n", NodeKind::File).unwrap(), b"LF");
        assert!(set("svn:eol-style", b"lf", NodeKind::File).is_err());
        assert!(set("svn:ignore", b"a", NodeKind::File).is_err());
        assert!(set("svn:keywords", b"Id", NodeKind::Dir).is_err());
        for name in ["svn:log", "svn:wc:ra_dav:x", "1a", "a b"] {
            assert!(check_node_property(name).is_err(), "{name}");
        }
    }
}
