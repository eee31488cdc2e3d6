//! What else is asked of a node with its layers: its place in operations, where it was copied, moved
//! from or moved to; and the nodes of a directory.

use sapwood_core::exact::Exact;
use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::{NodeKind, Revnum};

use crate::db::{Db, Kind, NodeRow, Presence, depth_of, parent_of};
use crate::error::{Error, Result};
use crate::root::Disk;
use crate::view::{Status, View};

/// Where an addition comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The repository ([`crate::db::Repository`]).
    pub repos_id: i64,
    /// The path in it.
    pub repos_path: RelPathBuf,
    /// The revision.
    pub revision: Revnum,
}

impl View {
    /// The path below the root.
    #[must_use]
    pub fn relpath(&self) -> &RelPath {
        &self.top().relpath
    }

    /// The layer under the one that the user sees.
    #[must_use]
    pub fn below(&self) -> Option<&NodeRow> {
        self.layers().nth(1)
    }

    /// Whether there is more than one working layer.
    #[must_use]
    pub(crate) fn has_more_work(&self) -> bool {
        self.below().is_some_and(|row| row.op_depth > 0)
    }

    /// Whether the operation that made the highest layer was on this node.
    #[must_use]
    pub fn is_op_root(&self) -> bool {
        self.has_work() && self.top().op_depth == depth_of(self.relpath())
    }

    /// The kind, `None` when it is not known.
    #[must_use]
    pub fn kind(&self) -> Option<NodeKind> {
        self.top().kind.node_kind()
    }

    /// Whether it is a directory.
    #[must_use]
    pub fn is_dir(&self) -> bool {
        self.top().kind == Kind::Dir
    }

    /// The row that has the pristine text and properties: the highest, or for a deletion the one that
    /// it deletes.
    #[must_use]
    pub fn pristine_row(&self) -> Option<&NodeRow> {
        self.layers().find(|row| row.presence != Presence::BaseDeleted)
    }

    /// The changelist.
    #[must_use]
    pub fn changelist(&self) -> Option<&str> {
        self.actual.as_ref()?.changelist.as_deref()
    }

    /// The record of a conflict.
    #[must_use]
    pub fn conflict_data(&self) -> Option<&[u8]> {
        self.actual.as_ref()?.conflict_data.as_deref()
    }
}

/// The first `count` names of a path.
#[must_use]
pub fn prefix(relpath: &RelPath, count: i64) -> &RelPath {
    let Ok(count) = usize::try_from(count) else { return RelPath::ROOT };
    if count == 0 {
        return RelPath::ROOT;
    }
    let end = relpath.match_indices('/').nth(count.minus(1)).map(|(at, _)| at);
    end.and_then(|end| relpath.get(..end)).map_or(relpath, RelPath::trusted)
}

/// As [`WorkingCopy::require_view`](crate::WorkingCopy::require_view).
pub(crate) fn require_view(db: &Db, disk: &Disk, relpath: &RelPath) -> Result<View> {
    db.view(relpath)?.ok_or_else(|| Error::NodeNotFound(disk.abspath(relpath)))
}

impl Db {
    /// The children of a directory that wc.db knows, with all their layers, by name.
    ///
    /// # Errors
    /// Those of the database.
    pub fn children(&self, relpath: &RelPath) -> Result<Vec<View>> {
        let rows = self.children_layers(relpath)?;
        let mut actual = self.actual_children(relpath)?.into_iter().peekable();
        let mut nodes: Vec<View> = Vec::new();
        let mut layers: Vec<NodeRow> = Vec::new();
        let mut finish = |layers: &mut Vec<NodeRow>| {
            let Some(path) = layers.first().map(|row| row.relpath.clone()) else { return };
            while actual.next_if(|row| row.relpath < path).is_some() {}
            let own = actual.next_if(|row| row.relpath == path);
            nodes.extend(View::of(std::mem::take(layers), own));
        };
        for row in rows {
            if layers.last().is_some_and(|last| last.relpath != row.relpath) {
                finish(&mut layers);
            }
            layers.push(row);
        }
        finish(&mut layers);
        Ok(nodes)
    }
}

/// The root of the operation that made the highest layer of a node.
#[must_use]
fn op_root_of(node: &View) -> &RelPath {
    prefix(node.relpath(), node.top().op_depth)
}

impl View {
    /// Where an addition was copied or moved from; `None` for a plain addition.
    ///
    /// # Errors
    /// Those of the database.
    pub fn origin(&self, db: &Db) -> Result<Option<Origin>> {
        if self.status() != Status::Added {
            return Ok(None);
        }
        let of = |row: &NodeRow| {
            let place = row.repos_id.zip(row.repos_path.clone());
            place.zip(row.revision).map(|((repos_id, repos_path), revision)| Origin {
                repos_id,
                repos_path,
                revision,
            })
        };
        if let Some(own) = of(self.top()) {
            return Ok(Some(own));
        }
        let root = op_root_of(self);
        if root == self.relpath() {
            return Ok(None);
        }
        let top = db.node(root, self.top().op_depth)?;
        let Some(origin) = top.as_ref().and_then(of) else { return Ok(None) };
        let below = self.relpath().rest_below(root)?;
        Ok(Some(Origin { repos_path: origin.repos_path.join(below), ..origin }))
    }
}

impl View {
    /// Where a node that was moved here was moved from: itself, and the root of the move.
    ///
    /// # Errors
    /// Those of the database.
    pub fn moved_from(&self, db: &Db) -> Result<Option<(RelPathBuf, RelPathBuf)>> {
        if !self.top().moved_here {
            return Ok(None);
        }
        let root = op_root_of(self);
        let Some(source) = db.moved_from(root)? else { return Ok(None) };
        let below = self.relpath().rest_below(root)?;
        Ok(Some((source.relpath.join(below), source.relpath)))
    }
}

impl View {
    /// Where a deleted node was moved to: itself, and the root of the move.
    ///
    /// # Errors
    /// Those of the database.
    pub fn moved_to(&self, db: &Db) -> Result<Option<(RelPathBuf, RelPathBuf)>> {
        let mut at = self.relpath();
        let depth = self.top().op_depth;
        loop {
            let layers = db.layers(at)?;
            let row = layers.iter().find(|row| row.op_depth <= depth && row.moved_to.is_some());
            if let Some(to) = row.and_then(|row| row.moved_to.clone()) {
                let below = self.relpath().rest_below(at)?;
                return Ok(Some((to.join(below), to)));
            }
            match parent_of(at) {
                Some(parent) if depth_of(parent) > 0 => at = parent,
                _ => return Ok(None),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes() {
        assert_eq!(prefix(RelPath::trusted("a/b/c"), 0), "");
        assert_eq!(prefix(RelPath::trusted("a/b/c"), 1), "a");
        assert_eq!(prefix(RelPath::trusted("a/b/c"), 2), "a/b");
        assert_eq!(prefix(RelPath::trusted("a/b/c"), 3), "a/b/c");
        assert_eq!(prefix(RelPath::trusted("a/b/c"), 9), "a/b/c");
    }
}
