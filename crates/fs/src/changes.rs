//! Changed paths of other engines than FSFS, in the form that all have in common.

use sapwood_core::{FsPath, Revnum};
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
        // No list of FSX names node-revisions, and nothing above this crate asks for them.
        id: sapwood_fsfs::NodeRevId::root_of(Revnum::ZERO),
    });
    ChangedPaths::build(changes).ok_or_else(|| {
        Error::from(fsx::Error::Corrupt("The changed paths of a revision are too long".into()))
    })
}
