//! Making a local copy of BASE's nodes, for nodes with local changes that are removed from BASE.

use rusqlite::params;

use super::moved::MovedSource;
use crate::db::{Db, NodeRow, Paths, Presence, below, depth_of};
use crate::error::{Error, Result};
use sapwood_core::paths::{RelPath, RelPathBuf};

/// The parent of a copied node: the copy's repository path and layer.
#[derive(Clone, Copy)]
struct Around<'a> {
    repos_id: Option<i64>,
    repos_path: Option<&'a RelPath>,
    revision: Option<sapwood_core::Revnum>,
    op_depth: i64,
}

impl Db {
    /// Makes the node at a path, and all below it, a local copy of what BASE has there. With
    /// `keep_moves`, nodes that were moved away from it keep their source in BASE.
    ///
    /// # Errors
    /// E155035 when there is a local operation at the path already; SQLite's.
    pub(crate) fn make_copy(&self, relpath: &RelPath, keep_moves: bool) -> Result<()> {
        let depth = depth_of(relpath);
        let top = self.top(relpath)?.filter(|top| top.op_depth > 0);
        if let Some(top) = top {
            if top.op_depth == depth {
                return Err(Error::new(
                    sapwood_core::ErrorCode::WC_PATH_UNEXPECTED_STATUS,
                    format!("Modification of '{relpath}' already exists"),
                ));
            }
            for mut row in self.rows_of_layer(relpath, top.op_depth)? {
                row.op_depth = depth;
                row.moved_here = false;
                row.moved_to = None;
                row.dav_cache = None;
                row.inherited_props = None;
                self.put_node(&row)?;
            }
            return Ok(());
        }
        for row in self.rows_of_layer(relpath, 0)? {
            let hidden = !row.presence.is_there() || row.file_external;
            if row.relpath == relpath || !hidden {
                let deletion = NodeRow::new(row.relpath, depth, Presence::BaseDeleted, row.kind);
                // A node below may have a layer of its own higher up; this one is new.
                self.put_node(&deletion)?;
            }
        }
        if !keep_moves {
            self.lower_moved_to(relpath, depth)?;
        }
        let around = Around { repos_id: None, repos_path: None, revision: None, op_depth: depth };
        self.copy_from_base(relpath, around, false, depth)
    }

    fn copy_from_base(
        &self,
        relpath: &RelPath,
        around: Around<'_>,
        shadowed: bool,
        root_depth: i64,
    ) -> Result<()> {
        let mut shadowed = shadowed;
        let mut op_depth = depth_of(relpath);
        let mut own_layer = false;
        if around.op_depth != op_depth {
            own_layer = self.node(relpath, op_depth)?.is_some();
            shadowed |= own_layer;
        }
        let Some(base) = self.base(relpath)? else { return Ok(()) };
        let expected = around.repos_path.map(|p| p.child(base.name()));
        if expected.is_some()
            && base.repos_path == expected
            && base.repos_id == around.repos_id
            && base.revision == around.revision
        {
            op_depth = around.op_depth;
        }
        if !own_layer || op_depth == around.op_depth {
            let mut row = base.clone();
            row.op_depth = op_depth;
            row.moved_to = self.node(relpath, op_depth)?.and_then(|old| old.moved_to);
            row.moved_here = false;
            row.dav_cache = None;
            row.file_external = false;
            row.inherited_props = None;
            self.put_node(&row)?;
            if shadowed {
                self.extend_parent_delete(relpath, base.kind, op_depth)?;
            }
            if base.kind == crate::db::Kind::Dir {
                let inner = Around {
                    repos_id: base.repos_id,
                    repos_path: base.repos_path.as_deref(),
                    revision: base.revision,
                    op_depth,
                };
                for child in self.children_at(relpath, 0)? {
                    if child.file_external {
                        continue;
                    }
                    self.copy_from_base(&child.relpath, inner, shadowed, root_depth)?;
                }
            }
        } else {
            self.lower_moved_to(relpath, root_depth)?;
            self.remove_all_deletions_above(relpath, around.op_depth)?;
        }
        if around.op_depth > 0 && around.op_depth != op_depth {
            self.put_absence(&base, around.op_depth)?;
        }
        Ok(())
    }

    /// Removes the deletion of a node above a layer, and those of what is below it.
    fn remove_all_deletions_above(&self, relpath: &RelPath, op_depth: i64) -> Result<()> {
        if let Some(row) = self.lowest_above(relpath, op_depth)?
            && row.presence == Presence::BaseDeleted
        {
            self.remove_node(relpath, row.op_depth)?;
        }
        self.remove_deletions_above(relpath, op_depth)
    }

    /// Says in a layer that it has no node in the place of one of BASE that is in a layer of its own.
    fn put_absence(&self, base: &NodeRow, op_depth: i64) -> Result<()> {
        let mut row =
            NodeRow::new(base.relpath.as_path(), op_depth, Presence::NotPresent, base.kind);
        row.repos_id = base.repos_id;
        row.repos_path.clone_from(&base.repos_path);
        row.revision = base.revision;
        self.put_node(&row)
    }

    /// The rows of one layer at and below a path.
    pub(crate) fn rows_of_layer(&self, relpath: &RelPath, op_depth: i64) -> Result<Vec<NodeRow>> {
        let mut rows = Vec::new();
        self.each_in_subtree(relpath, |row| {
            if row.op_depth == op_depth {
                rows.push(row);
            }
            Ok(())
        })?;
        Ok(rows)
    }

    /// Moves that are recorded above `op_depth`, of nodes that `op_depth` has at and below a path,
    /// are recorded there.
    fn lower_moved_to(&self, relpath: &RelPath, op_depth: i64) -> Result<()> {
        for MovedSource { relpath, op_depth: from, moved_to } in
            self.moved_sources_below(relpath, op_depth)?
        {
            self.set_moved_to(&relpath, from, None)?;
            self.set_moved_to(&relpath, op_depth, Some(&moved_to))?;
        }
        Ok(())
    }

    fn set_moved_to(&self, relpath: &RelPath, op_depth: i64, to: Option<&RelPath>) -> Result<()> {
        self.execute(
            "UPDATE nodes SET moved_to = ?4 WHERE wc_id = ?1 AND local_relpath = ?2 AND \
             op_depth = ?3",
            params![self.wc_id(), relpath.as_str(), op_depth, to.map(RelPath::as_str)],
        )?;
        Ok(())
    }

    /// Where nodes that layer `op_depth` has at and below a path were moved to, by their next layer.
    pub(crate) fn moved_sources_below(
        &self,
        relpath: &RelPath,
        op_depth: i64,
    ) -> Result<Vec<MovedSource>> {
        let (above, end) = below(relpath);
        self.all(
            "SELECT local_relpath, op_depth, moved_to FROM nodes s WHERE wc_id = ?1 AND moved_to IS \
             NOT NULL AND (local_relpath = ?2 OR (local_relpath > ?3 AND local_relpath < ?4)) AND \
             op_depth = (SELECT MIN(d.op_depth) FROM nodes d WHERE d.wc_id = ?1 AND d.local_relpath = \
             s.local_relpath AND d.op_depth > ?5) AND EXISTS (SELECT 1 FROM nodes n WHERE n.wc_id = \
             ?1 AND n.local_relpath = s.local_relpath AND n.op_depth = ?5) ORDER BY local_relpath",
            params![self.wc_id(), relpath.as_str(), above, end, op_depth],
            |row| {
                Ok(MovedSource { relpath: row.relpath(0)?, op_depth: row.get(1)?, moved_to: row.relpath(2)? })
            },
        )
    }

    /// Where nodes at and below a path were moved to, in whatever layer, as far as that is not below
    /// the path itself.
    pub(crate) fn moved_outside(&self, relpath: &RelPath) -> Result<Vec<RelPathBuf>> {
        let (above, end) = below(relpath);
        self.all(
            "SELECT moved_to FROM nodes WHERE wc_id = ?1 AND moved_to IS NOT NULL AND \
             (local_relpath = ?2 OR (local_relpath > ?3 AND local_relpath < ?4)) AND NOT (moved_to > \
             ?3 AND moved_to < ?4)",
            params![self.wc_id(), relpath.as_str(), above, end],
            |row| row.relpath(0),
        )
    }

    /// Makes a move a copy and a deletion.
    pub(crate) fn break_move(&self, source: &MovedSource) -> Result<()> {
        self.set_moved_to(&source.relpath, source.op_depth, None)?;
        self.clear_moved_here(&source.moved_to)
    }
}
