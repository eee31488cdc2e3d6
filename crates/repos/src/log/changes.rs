//! What a user may see of a revision's changed paths, and what old revisions do not record.

use sapwood_core::FsPath;
use sapwood_core::RelPath;
use sapwood_core::paths::FsPathBuf;
use sapwood_core::{NodeKind, Revnum};
use sapwood_fs::{ChangeKind, ChangedPath, ChangedPaths, Filesystem, Roots};

use super::Mark;
use crate::access::RevisionAccess;
use crate::authorizer::PathAuthorizer;
use crate::error::Result;

/// Fills `marks` for the changes of `revision` (leaves it empty when all can be sent as they are)
/// and says how much of the revision may be read. Node kinds that are not recorded are looked up
/// only with `kinds`. Paths that may not be read are added to `refused`.
pub(super) fn mark(
    fs: &Filesystem,
    revision: Revnum,
    list: &ChangedPaths,
    authorizer: &dyn PathAuthorizer,
    kinds: bool,
    marks: &mut Vec<Mark>,
    mut refused: Option<&mut Vec<FsPathBuf>>,
) -> Result<RevisionAccess> {
    marks.clear();
    let everything = authorizer.everything_readable();
    if everything && !(kinds && list.iter().any(|c| c.node_kind.is_none())) {
        return Ok(RevisionAccess::Full);
    }
    let (mut found_readable, mut found_unreadable) = (false, false);
    let mut roots = Roots::new(fs);
    let mut refuse = |path: &FsPath| {
        if let Some(refused) = &mut refused {
            refused.push(path.to_owned());
        }
    };
    for change in list.iter() {
        let mut mark = Mark::default();
        if !everything && !authorizer.readable(change.path)? {
            mark.hidden = true;
            found_unreadable = true;
            refuse(change.path);
        } else {
            found_readable = true;
            if kinds && change.node_kind.is_none() {
                mark.node_kind = find_kind(&mut roots, revision, &change)?;
            }
            if let Some((_, source)) = change.copy_from
                && !everything
                && !authorizer.readable(source)?
            {
                mark.hide_copy = true;
                found_unreadable = true;
                refuse(source);
            }
        }
        marks.push(mark);
    }
    Ok(if list.is_empty() {
        RevisionAccess::Full
    } else if !found_readable {
        RevisionAccess::None
    } else if found_unreadable {
        RevisionAccess::Partial
    } else {
        RevisionAccess::Full
    })
}

/// The kind of a changed node of a revision that does not record kinds (before format 4).
fn find_kind(
    roots: &mut Roots,
    revision: Revnum,
    change: &ChangedPath<'_>,
) -> Result<Option<NodeKind>> {
    let root = roots.get(revision)?;
    if change.kind != ChangeKind::Delete {
        return Ok(root.kind(change.path)?);
    }
    // A deleted node is gone: look below the parent's previous location. The first step of its
    // history is this revision itself, because the deletion changed it.
    let (parent, name) = change.path.parent_and_name();
    let mut history = root.history(parent)?;
    history.previous(true)?;
    match history.previous(true)? {
        Some((parent, before)) => {
            Ok(roots.get(before)?.kind(&parent.join(RelPath::trusted(name)))?)
        }
        None => Ok(None),
    }
}
