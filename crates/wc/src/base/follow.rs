//! After an update, nodes that were moved away are updated in BASE. Where only their revision
//! changed, the rows at their destination are updated, too. Otherwise the move becomes a tree
//! conflict, which the user has to resolve.

use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::{Depth, NodeKind};

use crate::conflict::{Action, Conflict, Location, Operation, Reason, TreeConflict};
use crate::db::{Db, Kind, NodeRow, Presence, depth_of};
use crate::error::Result;
use crate::locks::owns_lock;
use crate::root::WorkingCopy;
use crate::view::operation_root;

/// A move out of a layer.
struct Pair {
    source: RelPathBuf,
    target: RelPathBuf,
    /// The layer of the deletion at the source.
    deletion_depth: i64,
    kind: Kind,
}

/// Updates the destinations of moves out of a subtree of BASE. Returns where tree conflicts
/// were recorded. Runs in a transaction.
///
/// # Errors
/// SQLite's.
pub(crate) fn bump_moved_away(
    wc: &WorkingCopy,
    relpath: &RelPath,
    depth: Depth,
) -> Result<Vec<(RelPathBuf, Option<NodeKind>)>> {
    let depth = if depth == Depth::Unknown { Depth::Infinity } else { depth };
    let mut conflicts = Vec::new();
    if !relpath.is_empty()
        && let Some(moved) = wc.db().moved_to_of(relpath, 0)?
        && moved.source != relpath
    {
        if owns_lock(wc, &moved.source) {
            mark_moved_conflict(
                wc.db(),
                &moved.source,
                0,
                &moved.deletion,
                &moved.target,
                &mut conflicts,
            )?;
        }
        return Ok(conflicts);
    }
    follow(wc, relpath, 0, depth, &mut conflicts)?;
    Ok(conflicts)
}

fn follow(
    wc: &WorkingCopy,
    relpath: &RelPath,
    op_depth: i64,
    depth: Depth,
    conflicts: &mut Vec<(RelPathBuf, Option<NodeKind>)>,
) -> Result<()> {
    for pair in moves_out_of(wc.db(), relpath, op_depth)? {
        let Some(rest) = pair.source.below(relpath) else { continue };
        let near = rest.is_empty() || depth == Depth::Infinity;
        let source_depth = match depth {
            _ if near => depth,
            Depth::Files if pair.kind != Kind::File => continue,
            Depth::Files | Depth::Immediates if depth_of(rest) <= 1 => Depth::Empty,
            _ => continue,
        };
        if has_layer_between(wc.db(), relpath, op_depth, pair.deletion_depth)? {
            continue;
        }
        let complete = op_depth > 0 || is_deep_enough(wc.db(), &pair.source, source_depth)?;
        let root = operation_root(&pair.source, pair.deletion_depth).to_owned();
        if !complete || !owns_lock(wc, &pair.target) {
            mark_moved_conflict(wc.db(), &pair.source, op_depth, &root, &pair.target, conflicts)?;
            continue;
        }
        if wc.db().actual(&root)?.is_some_and(|a| a.conflict_data.is_some()) {
            continue;
        }
        copy_layer(wc.db(), &pair.source, op_depth, &pair.target)?;
        follow(wc, &pair.target, depth_of(&pair.target), depth, conflicts)?;
    }
    Ok(())
}

/// Records that what was moved away has been edited.
fn mark_moved_conflict(
    db: &Db,
    source: &RelPath,
    source_depth: i64,
    deletion: &RelPath,
    target: &RelPath,
    conflicts: &mut Vec<(RelPathBuf, Option<NodeKind>)>,
) -> Result<()> {
    let (Some(new), Some(old)) =
        (db.node(deletion, source_depth)?, db.node(target, depth_of(target))?)
    else {
        return Ok(());
    };
    let existing = db.actual(source)?.and_then(|a| a.conflict_data);
    let mut conflict = match &existing {
        Some(bytes) => Conflict::parse(bytes)?,
        None => Conflict::default(),
    };
    if conflict.tree.is_some() {
        return Ok(());
    }
    let rest = source.rest_below(deletion)?;
    conflict.operation = Some(Operation::Update);
    conflict.locations =
        vec![Some(location(db, &old, RelPath::ROOT)?), Some(location(db, &new, rest)?)];
    conflict.tree = Some(TreeConflict {
        reason: Reason::MovedAway,
        action: Action::Edit,
        move_source: Some(deletion.to_owned()),
        move_destination: Some(target.to_owned()),
    });
    db.mark_conflict(source, &conflict.write())?;
    conflicts.push((source.to_owned(), new.kind.node_kind()));
    Ok(())
}

/// Brings the rows of a move's destination to those of its source.
pub(crate) fn copy_layer(
    db: &Db,
    source: &RelPath,
    source_depth: i64,
    target: &RelPath,
) -> Result<()> {
    let target_depth = depth_of(target);
    let mut wanted = std::collections::HashSet::new();
    for row in db.rows_of_layer(source, source_depth)? {
        let rest = row.relpath.rest_below(source)?;
        let to = target.join(rest);
        let old = db.node(&to, target_depth)?;
        let same_text = old.as_ref().is_some_and(|old| old.checksum == row.checksum);
        let exists = old.as_ref().is_some_and(|old| old.presence == Presence::Normal);
        let kind = row.kind;
        let new = NodeRow {
            relpath: to.clone(),
            op_depth: target_depth,
            moved_here: true,
            moved_to: old.as_ref().and_then(|old| old.moved_to.clone()),
            translated_size: old.as_ref().filter(|_| same_text).and_then(|o| o.translated_size),
            last_mod_time: old.as_ref().filter(|_| same_text).and_then(|o| o.last_mod_time),
            dav_cache: None,
            inherited_props: None,
            file_external: false,
            ..row
        };
        db.put_node(&new)?;
        if depth_of(&to) > target_depth + 1 && !exists {
            db.extend_parent_delete(&to, kind, target_depth)?;
        }
        wanted.insert(to);
    }
    for row in db.rows_of_layer(target, target_depth)? {
        if wanted.contains(&row.relpath) {
            continue;
        }
        drop_moved(db, &row)?;
    }
    Ok(())
}

/// Removes a row of a move's destination that its source does not have any more.
fn drop_moved(db: &Db, row: &NodeRow) -> Result<()> {
    let shadowed = db.layers(&row.relpath)?.into_iter().find(|r| r.op_depth < row.op_depth);
    if shadowed.is_some_and(|r| r.presence.is_there()) {
        let deletion =
            NodeRow::new(row.relpath.clone(), row.op_depth, Presence::BaseDeleted, row.kind);
        db.put_node(&deletion)?;
    } else {
        db.remove_node(&row.relpath, row.op_depth)?;
    }
    clear_unshadowed(db, &row.relpath, row.op_depth)?;
    db.retract_parent_delete(&row.relpath, row.op_depth)
}

fn moves_out_of(db: &Db, relpath: &RelPath, op_depth: i64) -> Result<Vec<Pair>> {
    // Most working copies have no moves at all: one query of their index.
    let any = db.first(
        "SELECT 1 FROM nodes WHERE wc_id = ?1 AND moved_to IS NOT NULL LIMIT 1",
        [db.wc_id()],
        |_| Ok(()),
    )?;
    if any.is_none() {
        return Ok(Vec::new());
    }
    let sources = db.moved_sources_below(relpath, op_depth)?;
    let mut pairs = Vec::new();
    for source in sources {
        let Some(row) = db.node(&source.relpath, op_depth)? else { continue };
        pairs.push(Pair {
            source: source.relpath,
            target: source.moved_to,
            deletion_depth: source.op_depth,
            kind: row.kind,
        });
    }
    Ok(pairs)
}

fn has_layer_between(db: &Db, relpath: &RelPath, above: i64, below: i64) -> Result<bool> {
    let layers = db.layers(relpath)?;
    Ok(layers.iter().any(|row| row.op_depth > above && row.op_depth < below))
}

/// Whether an update of a depth included all nodes that BASE has there.
fn is_deep_enough(db: &Db, relpath: &RelPath, depth: Depth) -> Result<bool> {
    if depth == Depth::Infinity {
        return Ok(true);
    }
    let children = db.children_at(relpath, 0)?;
    Ok(match depth {
        Depth::Files => children.iter().all(|row| row.kind != Kind::Dir),
        Depth::Immediates => {
            for child in &children {
                if !db.children_at(&child.relpath, 0)?.is_empty() {
                    return Ok(false);
                }
            }
            true
        }
        _ => children.is_empty(),
    })
}

fn location(db: &Db, row: &NodeRow, rest: &RelPath) -> Result<Location> {
    let repos = match row.repos_id {
        Some(id) => Some(db.repository(id)?),
        None => None,
    };
    Ok(Location {
        root: repos.as_ref().map_or(String::new(), |r| r.root.to_string()),
        uuid: repos.map(|r| r.uuid),
        relpath: row.repos_path.as_deref().unwrap_or(RelPath::ROOT).join(rest),
        revision: row.revision,
        kind: row.kind.node_kind(),
    })
}

/// Removes what is recorded of a path whose layer was removed, unless the user sees a higher
/// layer. The conflict of a node that is deleted there stays.
fn clear_unshadowed(db: &Db, relpath: &RelPath, op_depth: i64) -> Result<()> {
    let above: Vec<Presence> = db
        .layers(relpath)?
        .into_iter()
        .filter(|row| row.op_depth > op_depth)
        .map(|row| row.presence)
        .collect();
    match above.as_slice() {
        [] => db.remove_actual(relpath).map(|_| ()),
        [Presence::BaseDeleted] => {
            let Some(mut actual) = db.actual(relpath)? else { return Ok(()) };
            actual.properties = None;
            actual.changelist = None;
            db.put_actual(&actual)
        }
        _ => Ok(()),
    }
}
