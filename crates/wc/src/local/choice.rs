//! What a user may choose for a conflict, for which part of it, and the rows once it is resolved.

use sapwood_core::ErrorCode;
use sapwood_core::paths::RelPath;

use crate::conflict::Conflict;
use crate::db::Db;
use crate::error::{Error, Result};
use crate::root::Disk;

/// The choice that resolves a conflict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// What was there before both changes.
    Base,
    /// What is there now.
    Working,
    /// Local changes where both differ, else both.
    MineConflict,
    /// Incoming changes where both differ, else both.
    TheirsConflict,
    /// All as it was locally.
    MineFull,
    /// All as it came.
    TheirsFull,
}

/// Which of a node's conflicts are resolved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part<'p> {
    /// All of them.
    All,
    /// That of its text.
    Text,
    /// That of one property, which may get a value that is neither side's.
    Prop(&'p str, Option<&'p [u8]>),
    /// That of the tree.
    Tree,
}

impl Part<'_> {
    pub(super) const fn has_text(self) -> bool {
        matches!(self, Self::All | Self::Text)
    }

    pub(super) const fn has_props(self) -> bool {
        matches!(self, Self::All | Self::Prop(..))
    }

    pub(super) const fn has_tree(self) -> bool {
        matches!(self, Self::All | Self::Tree)
    }
}

pub(super) fn inapplicable(disk: &Disk, relpath: &RelPath) -> Error {
    let shown = disk.abspath(relpath);
    Error::new(
        ErrorCode::CLIENT_CONFLICT_OPTION_NOT_APPLICABLE,
        format!(
            "Inapplicable conflict resolution option given for conflicted path '{}'",
            shown.display()
        ),
    )
}

/// Takes parts of a conflict out of its record, inside a transaction.
pub(super) fn forget_conflict(
    db: &Db,
    relpath: &RelPath,
    part: impl FnOnce(&mut Conflict),
) -> Result<()> {
    let Some(mut row) = db.actual(relpath)? else { return Ok(()) };
    let Some(record) = &row.conflict_data else { return Ok(()) };
    let mut conflict = Conflict::parse(record)?;
    part(&mut conflict);
    row.conflict_data = (!conflict.is_resolved()).then(|| conflict.write());
    db.put_actual(&row)
}
