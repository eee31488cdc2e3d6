//! Tree conflicts of merges, and directories that merges add.

use std::fs;

use sapwood_core::paths::RelPath;
use sapwood_core::{Depth, ErrorCode, PropList};

use crate::conflict::Conflict;
use crate::db::{Db, Kind, NodeRow, Presence, write_props};
use crate::error::{Error, Result};
use crate::local::add::{check_addable, check_parent_of_addition};
use crate::local::{From, depths_for_copy, put_not_present};
use crate::node::{Origin, require_view};
use crate::root::Disk;
use crate::update::{LastChange, split_props};
use crate::view::Status;

/// As [`WorkingCopy::add_tree_conflict`](crate::WorkingCopy::add_tree_conflict).
pub(crate) fn add_tree_conflict(
    db: &Db,
    disk: &Disk,
    relpath: &RelPath,
    conflict: &Conflict,
) -> Result<()> {
    db.write(|db| {
        let known = db.actual(relpath)?.and_then(|actual| actual.conflict_data);
        if let Some(known) = known
            && Conflict::parse(&known)?.tree.is_some()
        {
            let shown = disk.abspath(relpath);
            return Err(Error::new(
                ErrorCode::WC_PATH_UNEXPECTED_STATUS,
                format!(
                    "Attempt to add tree conflict that already exists at '{}'",
                    shown.display()
                ),
            ));
        }
        db.mark_conflict(relpath, &conflict.write())
    })
}

/// As [`WorkingCopy::remove_tree_conflict`](crate::WorkingCopy::remove_tree_conflict).
pub(crate) fn remove_tree_conflict(db: &Db, relpath: &RelPath) -> Result<()> {
    db.write(|db| {
        let Some(mut row) = db.actual(relpath)? else { return Ok(()) };
        let Some(record) = &row.conflict_data else { return Ok(()) };
        let mut conflict = Conflict::parse(record)?;
        conflict.tree = None;
        row.conflict_data = (!conflict.is_resolved()).then(|| conflict.write());
        db.put_actual(&row)
    })
}

/// As [`WorkingCopy::make_dir`](crate::WorkingCopy::make_dir).
pub(crate) fn make_dir(disk: &Disk, relpath: &RelPath) -> Result<()> {
    let path = disk.abspath(relpath);
    fs::create_dir(&path).map_err(|e| Error::io(e, "Can't create directory", &path))
}

/// As [`WorkingCopy::add_repos_dir`](crate::WorkingCopy::add_repos_dir).
pub(crate) fn add_repos_dir(
    db: &Db,
    disk: &Disk,
    relpath: &RelPath,
    origin: &Origin,
) -> Result<()> {
    check_addable(db, disk, relpath)?;
    check_parent_of_addition(db, disk, relpath)?;
    let changed = LastChange { revision: Some(origin.revision), ..LastChange::default() };
    put_repos_dir(db, relpath, origin, &PropList::new(), &changed)
}

/// As [`WorkingCopy::complete_repos_dir`](crate::WorkingCopy::complete_repos_dir).
pub(crate) fn complete_repos_dir(
    db: &Db,
    disk: &Disk,
    relpath: &RelPath,
    props: &PropList,
) -> Result<()> {
    let view = require_view(db, disk, relpath)?;
    let origin = view.origin(db)?;
    let fresh = view.status() == Status::Added
        && view.is_dir()
        && !view.props_modified()
        && view.pristine_props()?.is_empty();
    let Some(origin) = origin.filter(|_| fresh) else {
        let shown = disk.abspath(relpath);
        return Err(Error::new(
            ErrorCode::WC_PATH_UNEXPECTED_STATUS,
            format!("'{}' is not an unmodified copied directory", shown.display()),
        ));
    };
    let (regular, changed) = split_props(props);
    put_repos_dir(db, relpath, &origin, &regular, &changed)
}

fn put_repos_dir(
    db: &Db,
    relpath: &RelPath,
    origin: &Origin,
    props: &PropList,
    changed: &LastChange,
) -> Result<()> {
    let place = From {
        repos_id: Some(origin.repos_id),
        path: Some(origin.repos_path.clone()),
        revision: Some(origin.revision),
    };
    db.write(|db| {
        let depths = depths_for_copy(db, &place, relpath)?;
        let mut row = NodeRow::new(relpath, depths.op_depth, Presence::Normal, Kind::Dir);
        row.moved_to = db.node(relpath, depths.op_depth)?.and_then(|old| old.moved_to);
        row.repos_id = place.repos_id;
        row.repos_path.clone_from(&place.path);
        row.revision = place.revision;
        row.depth = Some(Depth::Infinity);
        row.properties = Some(write_props(props));
        row.changed_revision = changed.revision;
        row.changed_date = changed.date.or(Some(sapwood_core::date::Timestamp(0)));
        row.changed_author.clone_from(&changed.author);
        db.put_node(&row)?;
        if let Some(mut actual) = db.actual(relpath)? {
            actual.changelist = None;
            db.put_actual(&actual)?;
        }
        if let Some(depth) = depths.not_present {
            put_not_present(db, relpath, depth, Kind::Dir, &place)?;
        }
        Ok(())
    })
}
