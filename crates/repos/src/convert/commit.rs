//! Revisions of the source become those of the target, one transaction each.

use sapwood_core::{CancelToken, NodeKind, PropList, Revnum, SvnResult};
use sapwood_fs::target::{Target, TargetTxn};
use sapwood_fs::{ChangeKind, ChangedPath, Filesystem, Root};

use super::{Event, Notify};

/// Commits revisions from the first to the last of `range`.
pub(super) fn revisions(
    source: &Filesystem,
    target: &mut Target,
    range: (Revnum, Revnum),
    cancel: &CancelToken,
    notify: &mut Notify<'_>,
) -> SvnResult<()> {
    let mut all = || {
        for revision in (range.0.0..=range.1.0).map(Revnum) {
            cancel.check()?;
            let mut txn = target.begin(revision)?;
            let root = source.revision_root(revision)?;
            for change in root.changed_paths()?.iter() {
                apply(&root, target, &mut txn, &change)?;
            }
            txn.set_props(PropList::clone(&*source.revprops(revision)?));
            target.commit(txn)?;
            notify(Event::Committed(revision))?;
        }
        Ok(())
    };
    let done = all();
    // An earlier revision that could not be published is the first error.
    target.sync().and(done)
}

/// Makes one changed path of the target what it is in the source.
fn apply(
    source: &Root,
    target: &mut Target,
    txn: &mut TargetTxn,
    change: &ChangedPath<'_>,
) -> SvnResult<()> {
    let path = change.path;
    if matches!(change.kind, ChangeKind::Delete | ChangeKind::Replace) && txn.kind(path)?.is_some()
    {
        txn.delete(path)?;
    }
    let node = match change.kind {
        ChangeKind::Delete => return Ok(()),
        ChangeKind::Modify => source.node(path)?,
        ChangeKind::Add | ChangeKind::Replace => {
            let node = source.node(path)?;
            match change.copy_from {
                Some((from, from_path)) => target.copy(txn, (from, from_path), path)?,
                None if node.kind() == NodeKind::Dir => txn.make_dir(path)?,
                None => txn.make_file(path)?,
            }
            node
        }
    };
    let (before, after) = (txn.node_props(path)?, node.props()?);
    let changes = before.diff_to(&after);
    for (name, value) in &changes {
        txn.change_prop(path, name, value.as_deref())?;
    }
    let mut is_written = !changes.is_empty();
    if node.kind() == NodeKind::File {
        let md5 = node.md5()?;
        // A text that was written again is a change too.
        if change.text_mod || txn.file_md5(path)? != md5 {
            txn.set_text(path, &mut node.contents()?, Some(md5))?;
            is_written = true;
        }
    }
    // So are properties that were set to what they were, and a node that was only opened for a change.
    let is_only_touched = change.kind == ChangeKind::Modify && !is_written;
    if is_only_touched || (change.prop_mod && changes.is_empty()) {
        txn.touch(path, change.prop_mod)?;
    }
    Ok(())
}
