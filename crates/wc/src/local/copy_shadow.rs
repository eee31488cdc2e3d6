//! What lies under local operations in a tree that is copied: the copy has it too, deleted in a layer
//! of its own.

use sapwood_core::path;
use sapwood_core::paths::RelPath;

use super::copy_origin::{From, copied_children};
use crate::db::{Db, Kind, NodeRow, Presence, depth_of, parent_of};
use crate::error::{Error, Result};
use crate::local::copy_origin::{excluded_by_server, is_same, own_place};
use crate::root::{Disk, WorkingCopy};

/// The layers of a copy of what is under a local operation.
struct Shadow<'s> {
    source: &'s WorkingCopy,
    from_depth: i64,
    to_depth: i64,
    del_depth: i64,
    is_move: bool,
}

/// Copies what is under the root of a local operation: it is there in the copy, too, deleted.
pub(super) fn copy_shadowed(
    wc: &WorkingCopy,
    source: &WorkingCopy,
    from: &RelPath,
    to: &RelPath,
    is_move: bool,
) -> Result<()> {
    wc.db().write(|_| {
        let from_parent = parent_of(from).unwrap_or(RelPath::ROOT);
        let to_parent = parent_of(to).unwrap_or(RelPath::ROOT);
        let depth = |wc: &WorkingCopy, relpath: &RelPath| -> Result<i64> {
            let row = wc.db().top(relpath)?;
            row.map(|r| r.op_depth).ok_or_else(|| Error::NodeNotFound(wc.abspath(relpath)))
        };
        let shadow = Shadow {
            source,
            from_depth: depth(source, from_parent)?,
            to_depth: depth(wc, to_parent)?,
            del_depth: depth_of(to),
            is_move,
        };
        let Some(above) = source.db().node(from_parent, shadow.from_depth)? else {
            return Ok(());
        };
        let Some(repos_path) = above.repos_path else { return Ok(()) };
        let place = From {
            repos_id: above.repos_id,
            path: Some(repos_path.child(path::basename(from))),
            revision: above.revision,
        };
        copy_shadowed_layer(wc.db(), wc.disk(), from, to, &shadow, &place)
    })
}

fn copy_shadowed_layer(
    db: &Db,
    disk: &Disk,
    from: &RelPath,
    to: &RelPath,
    shadow: &Shadow<'_>,
    place: &From,
) -> Result<()> {
    let Some(row) = shadow.source.db().node(from, shadow.from_depth)? else { return Ok(()) };
    let hidden = matches!(
        row.presence,
        Presence::NotPresent | Presence::Excluded | Presence::ServerExcluded
    );
    if shadow.from_depth == 0
        && (hidden
            || row.revision != place.revision
            || row.repos_id != place.repos_id
            || row.repos_path != place.path)
    {
        return put_shadow_marker(db, disk, to, shadow, row);
    }
    let presence = presence_of_copy(disk, shadow, &row)?;
    if presence != Presence::Normal {
        let marker = working_row(db, to, shadow.to_depth, presence, row.kind)?;
        db.put_node(&marker)?;
        if presence == Presence::NotPresent {
            return Ok(());
        }
    } else {
        let copied = NodeRow {
            relpath: to.to_owned(),
            op_depth: shadow.to_depth,
            presence,
            moved_here: shadow.is_move,
            moved_to: db.node(to, shadow.to_depth)?.and_then(|old| old.moved_to),
            dav_cache: None,
            file_external: false,
            inherited_props: None,
            ..row
        };
        db.put_node(&copied)?;
        let deleted = working_row(db, to, shadow.del_depth, Presence::BaseDeleted, copied.kind)?;
        db.put_node(&deleted)?;
    }
    for child in copied_children(shadow.source.db(), from, shadow.from_depth)? {
        let name = path::basename(&child.relpath);
        let below =
            From { path: place.path.as_ref().map(|path| path.child(name)), ..place.clone() };
        copy_shadowed_layer(db, disk, &child.relpath, &to.child(name), shadow, &below)?;
    }
    Ok(())
}

/// What the copy of a row is.
fn presence_of_copy(disk: &Disk, shadow: &Shadow<'_>, row: &NodeRow) -> Result<Presence> {
    Ok(match row.presence {
        // What is under an operation is not taken along to another database.
        Presence::Normal | Presence::Incomplete if is_same(disk, shadow.source) => Presence::Normal,
        Presence::Normal | Presence::Incomplete => Presence::NotPresent,
        Presence::NotPresent | Presence::BaseDeleted => Presence::NotPresent,
        Presence::Excluded => Presence::Excluded,
        Presence::ServerExcluded => {
            return Err(excluded_by_server(shadow.source.disk(), &row.relpath));
        }
    })
}

/// Puts a marker in the place of a node of BASE that does not come along: it is hidden, or is not of the copied revision.
fn put_shadow_marker(
    db: &Db,
    disk: &Disk,
    to: &RelPath,
    shadow: &Shadow<'_>,
    row: NodeRow,
) -> Result<()> {
    let presence = match row.presence {
        Presence::Excluded => Presence::Excluded,
        _ => Presence::NotPresent,
    };
    let mut marker = working_row(db, to, shadow.to_depth, presence, row.kind)?;
    let origin = From { repos_id: row.repos_id, path: row.repos_path, revision: row.revision };
    let origin = own_place(db, disk, shadow.source, origin)?;
    marker.repos_id = origin.repos_id;
    marker.repos_path = origin.path;
    marker.revision = origin.revision;
    db.put_node(&marker)
}

/// A row of a working layer that keeps where the path was moved to.
fn working_row(
    db: &Db,
    relpath: &RelPath,
    op_depth: i64,
    presence: Presence,
    kind: Kind,
) -> Result<NodeRow> {
    let mut row = NodeRow::new(relpath, op_depth, presence, kind);
    row.moved_to = db.node(relpath, op_depth)?.and_then(|old| old.moved_to);
    row.changed_date = Some(sapwood_core::date::Timestamp(0));
    Ok(row)
}
