//! Changed paths of other engines than FSFS, in the form that all have in common.

use sapwood_core::{ErrorCode, FsPath, SvnError};
use sapwood_fsx as fsx;

use crate::error::{Error, Result};
use crate::{ChangeKind, ChangedPath, ChangedPaths};

/// Those of a revision of FSX.
pub(crate) fn of_fsx(changes: &[fsx::Change]) -> Result<ChangedPaths> {
    let changes = changes.iter().map(|change| ChangedPath {
        // Paths of a change list were found canonical when it was read.
        path: FsPath::trusted(&change.path),
        kind: match change.kind {
            fsx::ChangeKind::Modify => ChangeKind::Modify,
            fsx::ChangeKind::Add => ChangeKind::Add,
            fsx::ChangeKind::Delete => ChangeKind::Delete,
            fsx::ChangeKind::Replace => ChangeKind::Replace,
        },
        node_kind: Some(change.node_kind),
        text_mod: change.text,
        prop_mod: change.props,
        mergeinfo_mod: Some(change.mergeinfo),
        copy_from: change
            .copy_from
            .as_ref()
            .map(|(revision, path)| (*revision, FsPath::trusted(path))),
    });
    build(changes)
}

/// A list of these entries.
pub(crate) fn build<'a>(changes: impl Iterator<Item = ChangedPath<'a>>) -> Result<ChangedPaths> {
    ChangedPaths::build(changes).ok_or_else(|| {
        let message = "The changed paths of a revision are too long";
        Error::Svn(SvnError::new(ErrorCode::FS_CORRUPT, message))
    })
}
