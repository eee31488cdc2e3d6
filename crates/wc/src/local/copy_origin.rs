//! Where a node that is copied comes from in the repository, and what it is: read from its layers, before a row of the
//! copy is written. Nothing here writes.

use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::{ErrorCode, Revnum, path};

use crate::db::{Db, NodeRow, Presence, depth_of, parent_of};
use crate::error::{Error, Result};
use crate::node::require_view;
use crate::root::{Disk, WorkingCopy};
use crate::view::{Addition, Status, View, addition, operation_root};

/// Where a copied node comes from in the repository.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct From {
    pub(crate) repos_id: Option<i64>,
    pub(crate) path: Option<RelPathBuf>,
    pub(crate) revision: Option<Revnum>,
}

/// What a copied node is, as far as a copy wants to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Is {
    Normal,
    Added,
    Copied,
    MovedHere,
    Deleted,
    NotPresent,
    Excluded,
}

/// Whether this is the same working copy as another handle's.
pub(super) fn is_same(disk: &Disk, other: &WorkingCopy) -> bool {
    disk.root() == other.root()
}

pub(super) fn excluded_by_server(disk: &Disk, relpath: &RelPath) -> Error {
    let text = format!("Cannot copy '{}' excluded by server", disk.abspath(relpath).display());
    Error::new(ErrorCode::WC_PATH_UNEXPECTED_STATUS, text)
}

/// Where a node comes from, and what it is, for a copy of it.
pub(super) fn origin_for_copy(db: &Db, disk: &Disk, node: &View) -> Result<(From, Is)> {
    let top = node.top();
    let own = From { repos_id: top.repos_id, path: top.repos_path.clone(), revision: top.revision };
    Ok(match node.status() {
        Status::Excluded => {
            let parent =
                require_view(db, disk, parent_of(node.relpath()).unwrap_or(RelPath::ROOT))?;
            let (mut from, _) = origin_for_copy(db, disk, &parent)?;
            let name = path::basename(node.relpath());
            from.path = from.path.map(|above| above.child(name));
            (from, Is::Excluded)
        }
        Status::Added => {
            let is = match addition(db, disk, top)? {
                Addition::Added => Is::Added,
                Addition::Copied => Is::Copied,
                Addition::MovedHere => Is::MovedHere,
            };
            (own, is)
        }
        Status::Deleted if node.is_op_root() => (origin_of_deleted(db, disk, node)?, Is::Deleted),
        Status::Deleted => (own, Is::Deleted),
        Status::NotPresent => (own, Is::NotPresent),
        Status::ServerExcluded => return Err(excluded_by_server(disk, node.relpath())),
        Status::Incomplete => return Err(cannot_handle(disk, node.relpath())),
        Status::Normal => (own, Is::Normal),
    })
}

/// Where the node came from that a deletion is of.
pub(super) fn origin_of_deleted(db: &Db, disk: &Disk, node: &View) -> Result<From> {
    let relpath = node.relpath();
    let parent = parent_of(relpath).unwrap_or(RelPath::ROOT);
    let above = require_view(db, disk, parent)?;
    if above.has_work() || node.top().presence == Presence::NotPresent {
        let holder = if node.top().presence == Presence::NotPresent
            && node.top().op_depth < depth_of(relpath)
        {
            node.top().op_depth
        } else {
            above.top().op_depth
        };
        let root = operation_root(parent, holder);
        let top = db.node(root, holder)?;
        let below = relpath.rest_below(root)?;
        return Ok(top.map_or_else(From::default, |top| From {
            repos_id: top.repos_id,
            path: top.repos_path.map(|path| path.join(below)),
            revision: top.revision,
        }));
    }
    Ok(node.base().map_or_else(From::default, |base| From {
        repos_id: base.repos_id,
        path: base.repos_path.clone(),
        revision: base.revision,
    }))
}

/// The same place, with this working copy's number of the repository.
pub(super) fn own_place(
    db: &Db,
    disk: &Disk,
    source: &WorkingCopy,
    mut place: From,
) -> Result<From> {
    if let Some(id) = place.repos_id.filter(|_| !is_same(disk, source)) {
        let repository = source.db().repository(id)?;
        place.repos_id = Some(db.repository_id(&repository.root, &repository.uuid)?);
    }
    Ok(place)
}

/// The children that one layer of a directory has, but for deletions and file externals.
pub(super) fn copied_children(db: &Db, relpath: &RelPath, op_depth: i64) -> Result<Vec<NodeRow>> {
    let mut rows = db.children_at(relpath, op_depth)?;
    rows.retain(|row| row.presence != Presence::BaseDeleted && !row.file_external);
    Ok(rows)
}

pub(super) fn cannot_handle(disk: &Disk, relpath: &RelPath) -> Error {
    let text = format!("Cannot handle status of '{}'", disk.abspath(relpath).display());
    Error::new(ErrorCode::WC_PATH_UNEXPECTED_STATUS, text)
}
