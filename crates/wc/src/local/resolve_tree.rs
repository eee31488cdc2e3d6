//! Resolving tree conflicts, as far as that needs no history: by what is there, or by applying
//! incoming changes to moved nodes.

use sapwood_core::notify::Action as NotifyAction;
use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::{CancelToken, NodeKind};

use super::choice::{Choice, forget_conflict};
use super::move_conflict::{About, ConflictSides, failure};
use super::{Notifier, notify_path};
use crate::conflict::{Action, Conflict, Operation, Reason, TreeConflict};
use crate::db::{Db, depth_of, parent_of};
use crate::error::{Error, Result};
use crate::local::choice::inapplicable;
use crate::local::move_conflict::{conflict_of_move, layer_under, require_lock};
use crate::local::move_update::update_moved;
use crate::locks::Lock;
use crate::node::prefix;
use crate::root::{Disk, WorkingCopy};

/// As [`WorkingCopy::lock_to_resolve`].
pub(crate) fn lock_to_resolve(wc: &WorkingCopy, relpath: &RelPath) -> Result<Lock> {
    let mut required = parent_of(relpath).unwrap_or(RelPath::ROOT).to_owned();
    for moved_to in wc.db().moved_outside(relpath)? {
        required = required.common_ancestor(&moved_to).to_owned();
    }
    wc.lock(&required, -1)
}

/// Resolves a tree conflict and removes it from the record.
pub(super) fn resolve_tree(
    wc: &WorkingCopy,
    relpath: &RelPath,
    conflict: &Conflict,
    tree: &TreeConflict,
    choice: Choice,
    cancel: &CancelToken,
    notify: &Notifier<'_>,
) -> Result<()> {
    let operation =
        conflict.operation.filter(|o| matches!(o, Operation::Update | Operation::Switch));
    let moves = operation.filter(|_| tree.action == Action::Edit);
    let gone = matches!(tree.reason, Reason::Deleted | Reason::Replaced);
    match (choice, moves) {
        (Choice::Working, Some(_)) if gone || tree.reason == Reason::MovedAway => {
            // Accepting the local state gives up applying incoming changes to moved nodes.
            let deletion = tree.move_source.as_deref().unwrap_or(relpath);
            break_moves(wc, relpath, deletion, notify)?;
        }
        (Choice::Working, _) => {}
        (Choice::MineConflict, Some(operation)) if tree.reason == Reason::MovedAway => {
            let deletion = tree.move_source.as_deref().unwrap_or(relpath);
            update_moved(wc, relpath, deletion, operation, cancel, notify)?;
        }
        (Choice::MineConflict, Some(operation)) if gone && is_dir(wc, relpath, conflict)? => {
            return raise_moved_children(wc.db(), wc.disk(), relpath, conflict, operation, notify);
        }
        _ => return Err(inapplicable(wc.disk(), relpath)),
    }
    wc.db().write(|_| forget_conflict(wc.db(), relpath, |left| left.tree = None))?;
    wc.run_queue(cancel)
}

/// Makes moves of what lies under a deletion copies and deletions.
fn break_moves(
    wc: &WorkingCopy,
    relpath: &RelPath,
    deletion: &RelPath,
    notify: &Notifier<'_>,
) -> Result<()> {
    let broken = wc.db().write(|db| {
        let under = layer_under(wc.db(), wc.disk(), relpath, depth_of(deletion))?;
        let sources = db.moved_sources_below(relpath, under)?;
        for source in &sources {
            require_lock(wc, &source.relpath)?;
            require_lock(wc, &source.moved_to)?;
            db.break_move(source)?;
        }
        Ok(sources)
    })?;
    for source in broken {
        notify_path(wc.disk(), notify, NotifyAction::MoveBroken, &source.relpath);
    }
    Ok(())
}

/// Records that what layer `under` has at and below a node, and what was moved away from there, was
/// changed as the conflict of the node says. Returns where. Runs in a transaction.
pub(super) fn raise_moves(
    db: &Db,
    disk: &Disk,
    relpath: &RelPath,
    under: i64,
    conflict: &Conflict,
    operation: Operation,
) -> Result<Vec<(RelPathBuf, Option<NodeKind>)>> {
    let location = |at: usize| conflict.locations.get(at).cloned().flatten();
    let (old, new) = (location(0), location(1));
    let mut raised = Vec::new();
    let (Some(tree), Some(new)) = (&conflict.tree, new) else { return Ok(raised) };
    for source in db.moved_sources_below(relpath, under)? {
        let row = db
            .node(&source.relpath, under)?
            .ok_or_else(|| Error::NodeNotFound(disk.abspath(&source.relpath)))?;
        let kind = row.kind.node_kind();
        let about = About {
            old_kind: kind,
            new_kind: kind,
            reason: Reason::MovedAway,
            action: tree.action,
            move_source: Some(prefix(&source.relpath, source.op_depth).to_owned()),
        };
        let places = ConflictSides {
            operation,
            old: old.as_ref(),
            new: &new,
            old_relpath: row.repos_path.as_deref().unwrap_or(RelPath::ROOT),
        };
        let conflict =
            conflict_of_move(db, disk, &source.relpath, &source.moved_to, &places, &about)?;
        db.mark_conflict(&source.relpath, &conflict.write())?;
        raised.push((source.relpath, kind));
    }
    Ok(raised)
}

/// Turns the conflict of a deleted directory into conflicts of what was moved out of it.
fn raise_moved_children(
    db: &Db,
    disk: &Disk,
    relpath: &RelPath,
    conflict: &Conflict,
    operation: Operation,
    notify: &Notifier<'_>,
) -> Result<()> {
    if conflict.text.is_some() || conflict.prop.is_some() {
        let shown = disk.abspath(relpath);
        let text = format!("'{}' is not a valid tree-conflict victim", shown.display());
        return Err(failure(text));
    }
    let raised = db.write(|_| {
        let under = layer_under(db, disk, relpath, depth_of(relpath))?;
        forget_conflict(db, relpath, |left| left.tree = None)?;
        raise_moves(db, disk, relpath, under, conflict, operation)
    })?;
    for (relpath, kind) in raised {
        let path = disk.abspath(&relpath);
        let shown = path.to_string_lossy();
        let value = sapwood_core::notify::Notify::new(NotifyAction::TreeConflict, &shown);
        notify(&sapwood_core::notify::Notify { kind, ..value });
    }
    Ok(())
}

/// Whether the node in conflict was a directory.
fn is_dir(wc: &WorkingCopy, relpath: &RelPath, conflict: &Conflict) -> Result<bool> {
    let before = conflict.locations.first().and_then(Option::as_ref).and_then(|l| l.kind);
    let kind = match before {
        Some(kind) => Some(kind),
        None => wc.view(relpath)?.and_then(|view| view.kind()),
    };
    Ok(kind == Some(NodeKind::Dir))
}
