//! Whether a node is what the database says it is.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use sapwood_core::notify::State;
use sapwood_core::paths::RelPath;
use sapwood_core::{Depth, NodeKind};

use crate::db::Db;
use crate::error::{Error, Result};
use crate::layout;
use crate::root::Disk;
use crate::view::{Status, View};

/// What prevents a change of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Obstruction {
    /// Inapplicable when there is nothing, obstructed when something unexpected is on disk, missing
    /// when something expected is not.
    pub state: State,
    /// The kind under version control; `None` of what is not or not there.
    pub kind: Option<NodeKind>,
    /// Deleted locally.
    pub deleted: bool,
    /// Left out of the working copy.
    pub excluded: bool,
    /// The depth of the parent, of a node that is not known.
    pub parent_depth: Option<Depth>,
    /// Obstructed by another working copy.
    pub working_copy: bool,
}

impl Obstruction {
    /// Nothing is in the way, and nothing is there.
    const NONE: Self = Self {
        state: State::Inapplicable,
        kind: None,
        deleted: false,
        excluded: false,
        parent_depth: None,
        working_copy: false,
    };
}

/// A node that is there as the database says, as it was found.
#[derive(Clone, Debug)]
pub struct NodeOnDisk {
    /// What the database says.
    pub view: View,
    /// Whether it is a plain file.
    pub plain: bool,
}

/// What is on disk, links counting as files; and whether it is a plain file.
fn on_disk(path: &Path) -> Result<Option<(NodeKind, bool)>> {
    match fs::symlink_metadata(path) {
        Ok(found) if found.is_dir() => Ok(Some((NodeKind::Dir, false))),
        Ok(found) => Ok(Some((NodeKind::File, found.is_file()))),
        Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
        Err(e) => Err(Error::io(e, "Can't check path", path)),
    }
}

/// As [`WorkingCopy::obstruction`](crate::WorkingCopy::obstruction).
pub(crate) fn obstruction(
    db: &Db,
    disk: &Disk,
    relpath: &RelPath,
    is_target: bool,
) -> Result<(Obstruction, Option<NodeOnDisk>)> {
    let abspath = disk.abspath(relpath);
    let disk = on_disk(&abspath)?;
    let plain = disk.is_some_and(|(_, plain)| plain);
    let disk = disk.map(|(kind, _)| kind);
    let mut found = Obstruction::NONE;
    let inner = !is_target && !relpath.is_empty() && !plain && layout::db(&abspath).exists();
    if inner {
        found.state = State::Obstructed;
        found.working_copy = true;
        return Ok((found, None));
    }
    let Some(view) = db.view(relpath)? else {
        found.state = match disk {
            Some(_) => State::Obstructed,
            None => parent_takes(db, relpath, &mut found)?,
        };
        return Ok((found, None));
    };
    let kind = view.kind();
    match view.status() {
        Status::Deleted => {
            found.kind = kind;
            found.deleted = true;
            if disk.is_some() {
                found.state = State::Obstructed;
            }
        }
        Status::NotPresent if disk.is_some() => found.state = State::Obstructed,
        Status::NotPresent => {}
        Status::Excluded | Status::ServerExcluded => {
            found.excluded = true;
            found.state = State::Missing;
        }
        Status::Incomplete => {
            found.kind = kind;
            found.state = State::Missing;
        }
        Status::Normal | Status::Added => {
            found.kind = kind;
            found.state = match disk {
                None => State::Missing,
                Some(_) if disk != kind => State::Obstructed,
                Some(_) => State::Inapplicable,
            };
        }
    }
    Ok((found, Some(NodeOnDisk { view, plain })))
}

/// Whether something could be added to the parent of a path.
fn parent_takes(db: &Db, relpath: &RelPath, found: &mut Obstruction) -> Result<State> {
    let Some(parent) = db.view(relpath.parent())? else {
        return Ok(State::Obstructed);
    };
    found.parent_depth = parent.top().depth.filter(|depth| *depth != Depth::Unknown);
    let takes = parent.is_dir() && matches!(parent.status(), Status::Normal | Status::Added);
    Ok(if takes { State::Inapplicable } else { State::Obstructed })
}
