//! What the editors of comparisons share: properties that users see, and the error of a broken edit.

use sapwood_core::{PropList, SvnError};
use sapwood_wc::conflict::PropChange;

/// Regular properties, not those of entries or of the working copy.
pub(super) fn is_regular(name: &str) -> bool {
    !name.starts_with("svn:entry:") && !name.starts_with("svn:wc:")
}

/// The regular ones of a node's properties.
pub(super) fn regular(props: &PropList) -> PropList {
    props.iter().filter(|(name, _)| is_regular(name)).collect()
}

/// Properties after changes of the regular ones.
pub(super) fn patched(props: &PropList, changes: &[PropChange]) -> PropList {
    let mut patched = props.clone();
    for (name, value) in changes.iter().filter(|(name, _)| is_regular(name)) {
        match value {
            Some(value) => patched.set(name, value),
            None => patched.remove(name),
        };
    }
    patched
}

/// The error for an edit that is not as it has to be.
pub(super) fn wrong_handle() -> SvnError {
    SvnError::new(
        sapwood_core::ErrorCode::INCORRECT_PARAMS,
        "Internal error: an edit uses a node that is not open",
    )
}
