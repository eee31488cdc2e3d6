//! Where nodes of BASE were moved to.

use crate::db::{Db, depth_of, parent_of};
use crate::error::Result;
use crate::view::operation_root;
use sapwood_core::paths::{RelPath, RelPathBuf};

/// The row that says where a node was moved to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MovedSource {
    /// The node that was moved away.
    pub(crate) relpath: RelPathBuf,
    /// The layer of the row.
    pub(crate) op_depth: i64,
    /// Where to.
    pub(crate) moved_to: RelPathBuf,
}

/// The move that took a node of BASE away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MovedTo {
    /// The root of what was moved.
    pub source: RelPathBuf,
    /// Where that went.
    pub target: RelPathBuf,
    /// The root of the deletion that the move is part of.
    pub deletion: RelPathBuf,
}

impl Db {
    /// The move that took a node of layer `op_depth` away, by itself or with a parent; `None` when
    /// it was not moved.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn moved_to_of(&self, relpath: &RelPath, op_depth: i64) -> Result<Option<MovedTo>> {
        let Some(row) = self.lowest_above(relpath, op_depth)? else { return Ok(None) };
        let deletion = operation_root(relpath, row.op_depth).to_owned();
        let (mut at, mut found) = (relpath, row.moved_to);
        while found.is_none() {
            let Some(parent) = parent_of(at) else { return Ok(None) };
            if depth_of(parent) < row.op_depth {
                return Ok(None);
            }
            let Some(above) = self.node(parent, row.op_depth)? else { return Ok(None) };
            (at, found) = (parent, above.moved_to);
        }
        Ok(found.map(|target| MovedTo { source: at.to_owned(), target, deletion }))
    }
}
