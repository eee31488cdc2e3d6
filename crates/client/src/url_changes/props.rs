//! Which properties a change of a URL may set. What values they may have is decided by the rules of
//! `sapwood_wc::props::rules`, as for `svn propset`.

use sapwood_core::props::names;
use sapwood_core::{ErrorCode, PropList, SvnError, SvnResult};

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
    fn names_that_no_node_has() {
        for name in ["svn:log", "svn:wc:ra_dav:x", "1a", "a b"] {
            assert!(check_node_property(name).is_err(), "{name}");
        }
        check_node_property("svn:mime-type").unwrap();
    }
}
