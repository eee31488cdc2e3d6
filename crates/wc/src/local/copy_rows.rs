//! The rows of a copy: one a node, in the layer that its origin asks for, with what a copy of a directory has besides.
//!
//! Invariant: only `wc.db` is written; the files are `copy`'s.

use sapwood_core::path;
use sapwood_core::paths::RelPath;

use super::copy_origin::{From, Is, copied_children, is_same, origin_for_copy, own_place};
use crate::db::{Db, Kind, NodeRow, Presence, depth_of, parent_of};
use crate::error::Result;
use crate::root::{Disk, WorkingCopy};
use crate::view::{Status, View};

/// The layers of a destination.
pub(crate) struct Depths {
    /// The layer of the copy.
    pub(crate) op_depth: i64,
    /// The layer that gets a row "not present", where the copy starts a layer of its own.
    pub(crate) not_present: Option<i64>,
    /// The layer of the parent.
    parent: i64,
}

pub(super) fn insert_copy(
    db: &Db,
    disk: &Disk,
    source_wc: &WorkingCopy,
    source: &View,
    to: &RelPath,
    move_depth: i64,
) -> Result<()> {
    let (from, is) = origin_for_copy(source_wc.db(), source_wc.disk(), source)?;
    let from = own_place(db, disk, source_wc, from)?;
    let mut depths = depths_for_copy(db, &from, to)?;
    let op_root = source.is_op_root();
    let presence = match is {
        Is::Normal | Is::Added | Is::Copied | Is::MovedHere => Presence::Normal,
        Is::Deleted if op_root => {
            if db.view(to)?.is_some_and(|v| v.status() == Status::Deleted) {
                return Ok(());
            }
            Presence::NotPresent
        }
        // A deletion of a lower layer is not copied.
        Is::Deleted if from.path.is_none() => return Ok(()),
        Is::Deleted | Is::NotPresent => Presence::NotPresent,
        Is::Excluded => Presence::Excluded,
    };
    if presence != Presence::Normal
        && let Some(depth) = depths.not_present.take()
    {
        depths.op_depth = depth;
    }
    let top = source.top();
    let mut row = NodeRow {
        relpath: to.to_owned(),
        op_depth: depths.op_depth,
        presence,
        moved_here: is_moved_here(db, source, to, is, move_depth, &depths)?,
        moved_to: db.node(to, depths.op_depth)?.and_then(|old| old.moved_to),
        dav_cache: None,
        file_external: false,
        inherited_props: None,
        ..top.clone()
    };
    if !is_same(disk, source_wc) {
        make_foreign(&mut row, source, &from)?;
    }
    db.put_node(&row)?;
    copy_actual(db, source, to)?;
    if let Some(depth) = depths.not_present {
        put_not_present(db, to, depth, top.kind, &from)?;
    }
    if top.kind == Kind::Dir && presence == Presence::Normal {
        insert_incomplete_children(db, source_wc.db(), source, to, &from, depths.op_depth)?;
    }
    Ok(())
}

/// Which layers a copy goes to.
pub(crate) fn depths_for_copy(db: &Db, from: &From, to: &RelPath) -> Result<Depths> {
    let parent = parent_of(to).unwrap_or(RelPath::ROOT);
    let mut depths = Depths { op_depth: depth_of(to), not_present: None, parent: depth_of(parent) };
    let Some(copied_path) = &from.path else { return Ok(depths) };
    let own = db.top(to)?.filter(|row| row.op_depth > 0);
    let least = own.as_ref().map_or(1, |row| row.op_depth);
    let incomplete = own.filter(|row| row.presence == Presence::Incomplete).map(|row| row.op_depth);
    let Some(above) = db.top(parent)?.filter(|row| row.op_depth > 0) else {
        return Ok(depths);
    };
    depths.parent = above.op_depth;
    if above.op_depth < least {
        return Ok(depths);
    }
    if incomplete.is_none_or(|depth| depth == above.op_depth) && above.repos_id == from.repos_id {
        let implied = above.repos_path.as_ref().map(|path| path.child(path::basename(to)));
        if from.revision == above.revision && implied.as_ref() == Some(copied_path) {
            depths.op_depth = above.op_depth;
        } else {
            depths.not_present = incomplete;
        }
    }
    Ok(depths)
}

/// Says that a layer has nothing at a path where the copy that it is of had something.
pub(crate) fn put_not_present(
    db: &Db,
    relpath: &RelPath,
    op_depth: i64,
    kind: Kind,
    from: &From,
) -> Result<()> {
    let mut marker = NodeRow::new(relpath, op_depth, Presence::NotPresent, kind);
    marker.repos_id = from.repos_id;
    marker.repos_path.clone_from(&from.path);
    marker.revision = from.revision;
    db.put_node(&marker)
}

/// Adds what a directory of `sources`, the database that is copied from, has in it: as nodes that are still to be copied.
fn insert_incomplete_children(
    db: &Db,
    sources: &Db,
    source: &View,
    to: &RelPath,
    from: &From,
    op_depth: i64,
) -> Result<()> {
    for child in copied_children(sources, source.relpath(), source.top().op_depth)? {
        let name = path::basename(&child.relpath);
        let target = to.child(name);
        let mut row = NodeRow::new(target.as_path(), op_depth, Presence::Incomplete, Kind::Unknown);
        row.repos_id = from.repos_id;
        row.repos_path = from.path.as_ref().map(|path| path.child(name));
        row.revision = from.revision;
        row.moved_to = db.node(&target, op_depth)?.and_then(|old| old.moved_to);
        db.put_node(&row)?;
    }
    Ok(())
}

/// Local properties and the changelist go along.
pub(super) fn copy_actual(db: &Db, source: &View, to: &RelPath) -> Result<()> {
    let Some(actual) = &source.actual else { return Ok(()) };
    if actual.changelist.is_none() && actual.properties.is_none() {
        return Ok(());
    }
    db.put_actual(&crate::db::ActualRow {
        relpath: to.to_owned(),
        properties: actual.properties.clone(),
        changelist: actual.changelist.clone(),
        ..crate::db::ActualRow::default()
    })
}

/// Makes the row of a copy one of another database, where some things are not known.
pub(super) fn make_foreign(row: &mut NodeRow, source: &View, from: &From) -> Result<()> {
    let normal = row.presence == Presence::Normal;
    row.repos_id = from.path.as_ref().and(from.repos_id);
    row.repos_path.clone_from(&from.path);
    row.revision = from.path.as_ref().and(from.revision);
    row.properties = None;
    if normal && from.path.is_some() {
        row.properties = Some(crate::db::write_props(&source.pristine_props()?));
    }
    if row.kind == Kind::Dir && normal {
        row.depth = Some(row.depth_or_infinity());
    } else {
        row.depth = None;
    }
    row.checksum = row.checksum.filter(|_| normal);
    row.moved_here = false;
    row.translated_size = None;
    row.last_mod_time = None;
    Ok(())
}

fn is_moved_here(
    db: &Db,
    source: &View,
    to: &RelPath,
    is: Is,
    move_depth: i64,
    depths: &Depths,
) -> Result<bool> {
    if move_depth == 0 {
        return Ok(false);
    }
    if depth_of(to) == move_depth {
        // What was added, or is the root of a copy, has no place that it was moved from.
        return Ok(!(is == Is::Added || (is == Is::Copied && source.is_op_root())));
    }
    let parent = db.top(parent_of(to).unwrap_or(RelPath::ROOT))?;
    if parent.is_some_and(|p| p.moved_here) && depths.op_depth == depths.parent {
        return Ok(true);
    }
    Ok(source.top().moved_here)
}
