//! Which properties a change of a URL may set, and the form that values of `svn:` properties must have.

use sapwood_core::mergeinfo::Mergeinfo;
use sapwood_core::props::names;
use sapwood_core::{ErrorCode, NodeKind, PropList, SvnError, SvnResult};

fn bad_name(text: String) -> SvnError {
    SvnError::new(ErrorCode::CLIENT_PROPERTY_NAME, text)
}

/// Checks the properties that a commit is to set beside its message.
pub(super) fn check_commit(props: &PropList) -> SvnResult<()> {
    let standard = ["svn:author", "svn:autoversioned", "svn:date", "svn:original-date", "svn:log"];
    if props.iter().any(|(name, _)| standard.contains(&name)) {
        return Err(bad_name(
            "Standard properties can't be set explicitly as revision properties".to_owned(),
        ));
    }
    Ok(())
}

/// Checks that files and directories can have a property of this name.
pub(super) fn check_node_property(name: &str) -> SvnResult<()> {
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
pub(super) fn canonical(
    name: &str,
    value: Vec<u8>,
    path: &str,
    kind: NodeKind,
) -> SvnResult<Vec<u8>> {
    let bad = |text: String, code| Err(SvnError::new(code, text));
    let for_dirs = ["svn:ignore", "svn:externals", "svn:auto-props", "svn:global-ignores"];
    let path = if path.is_empty() { "." } else { path };
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
    fn properties_of_a_commit() {
        let mut props = PropList::new();
        props.set("a:b", "c");
        check_commit(&props).unwrap();
        props.set("svn:author", "me");
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
