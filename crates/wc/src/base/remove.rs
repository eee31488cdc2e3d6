//! Removing nodes from BASE.

use rusqlite::params;
use sapwood_core::Revnum;
use sapwood_core::paths::{RelPath, RelPathBuf};

use super::BaseNode;
use crate::db::{Db, Kind, NodeRow, Paths, Presence, below, depth_of, parent_of};
use crate::error::Result;
use crate::work_item::WorkItem;

/// How a node is removed from BASE.
#[derive(Clone, Debug, Default)]
pub struct Removal {
    /// Whether the user's layer stays, as a copy of the removed nodes: there are local changes.
    pub keep_as_working: bool,
    /// The row that replaces it: not present, or excluded.
    pub marker: Option<Presence>,
    /// The revision of that row; that of the removed node if it is missing.
    pub marker_revision: Option<Revnum>,
    /// The conflict that is recorded: a skel.
    pub conflict: Option<Vec<u8>>,
}

impl Db {
    /// Removes a node and all below it from BASE. Unmodified files are removed by the returned
    /// items, which are in the queue already: number and item.
    ///
    /// # Errors
    /// SQLite's; that there is no such node.
    pub(crate) fn remove_base(
        &self,
        relpath: &RelPath,
        how: &Removal,
    ) -> Result<Vec<(i64, WorkItem)>> {
        let mut work = Vec::new();
        let (Some(base), Some(top)) = (self.base(relpath)?, self.top(relpath)?) else {
            return Ok(work);
        };
        // The path has a layer of its own: a deletion that becomes void, or another operation that
        // stays.
        let own_layer = top.op_depth > 0 && top.op_depth == depth_of(relpath);
        let deleted_here = own_layer && top.presence == Presence::BaseDeleted;
        let mut keep = own_layer && !deleted_here;
        if how.keep_as_working && top.op_depth == 0 {
            if base.presence.is_there() {
                self.make_copy(relpath, true)?;
            }
            keep = true;
        }
        if !keep && !deleted_here {
            self.queue_removal(relpath, top.kind, &mut work)?;
        }
        if !keep {
            self.remove_actual_below(relpath)?;
        } else if !how.keep_as_working {
            self.remove_actual_of_base(relpath)?;
        }
        if keep {
            for row in self.moved_sources_below(relpath, 0)? {
                self.break_move(&row)?;
            }
            self.remove_deletions_below(relpath)?;
        } else {
            self.forget_moves_out_of(relpath)?;
            self.remove_work_below(relpath)?;
        }
        self.remove_node(relpath, 0)?;
        self.remove_below(relpath, 0)?;
        self.retract_parent_delete(relpath, 0)?;
        if let Some(presence) = how.marker {
            self.put_marker(&base, presence, how.marker_revision)?;
        }
        if let Some(conflict) = &how.conflict {
            self.mark_conflict(relpath, conflict)?;
        }
        Ok(work)
    }

    /// Adds a row in place of a removed one.
    pub(crate) fn put_marker(
        &self,
        base: &NodeRow,
        presence: Presence,
        at: Option<Revnum>,
    ) -> Result<()> {
        let mut row = NodeRow::new(base.relpath.clone(), 0, presence, base.kind);
        row.repos_id = base.repos_id;
        row.repos_path.clone_from(&base.repos_path);
        row.revision = at.or(base.revision);
        if base.file_external {
            // The external came from elsewhere: the marker is about the name in the parent.
            let parent = parent_of(&base.relpath).map(|p| self.base(p)).transpose()?.flatten();
            let Some(parent) = parent else { return Ok(()) };
            row.repos_id = parent.repos_id;
            row.repos_path = parent.repos_path.map(|p| p.child(base.name()));
        }
        self.put_base(&BaseNode::new(row))
    }

    /// Queues the removal of all that is on disk of a node, the deepest first.
    fn queue_removal(
        &self,
        relpath: &RelPath,
        kind: Kind,
        work: &mut Vec<(i64, WorkItem)>,
    ) -> Result<()> {
        let item = |relpath: &RelPath, kind| match kind {
            Kind::Dir => WorkItem::DirRemove { relpath: relpath.to_owned(), recursive: false },
            _ => WorkItem::FileRemove { relpath: relpath.to_owned() },
        };
        let mut items = Vec::new();
        if kind == Kind::Dir {
            let mut last: Option<RelPathBuf> = None;
            self.each_in_subtree(relpath, |row| {
                // Only the highest layer of each path counts.
                if row.relpath != relpath && last.as_ref() != Some(&row.relpath) {
                    if row.presence.is_there() {
                        items.push(item(&row.relpath, row.kind));
                    }
                    last = Some(row.relpath);
                }
                Ok(())
            })?;
        }
        items.reverse();
        items.push(item(relpath, kind));
        for item in items {
            work.push((self.add_work(&item)?, item));
        }
        Ok(())
    }

    /// Removes local properties, changelists and conflicts of a path and all below it.
    fn remove_actual_below(&self, relpath: &RelPath) -> Result<()> {
        self.remove_actual(relpath)?;
        let (above, end) = below(relpath);
        self.execute(
            "DELETE FROM actual_node WHERE wc_id = ?1 AND local_relpath > ?2 AND local_relpath < ?3",
            params![self.wc_id(), above, end],
        )?;
        Ok(())
    }

    /// The same, below a path, of nodes that are in BASE and in no layer above it.
    fn remove_actual_of_base(&self, relpath: &RelPath) -> Result<()> {
        let (above, end) = below(relpath);
        self.execute(
            "DELETE FROM actual_node WHERE wc_id = ?1 AND local_relpath > ?2 AND local_relpath < ?3 \
             AND EXISTS (SELECT 1 FROM nodes b WHERE b.wc_id = ?1 AND b.op_depth = 0 AND \
             b.local_relpath = actual_node.local_relpath) AND NOT EXISTS (SELECT 1 FROM nodes w \
             WHERE w.wc_id = ?1 AND w.local_relpath = actual_node.local_relpath AND w.op_depth > 0 \
             AND w.presence IN ('normal', 'incomplete', 'not-present'))",
            params![self.wc_id(), above, end],
        )?;
        Ok(())
    }

    /// Removes, below a path, the rows that delete what BASE has, where they are the next layer.
    fn remove_deletions_below(&self, relpath: &RelPath) -> Result<()> {
        self.remove_deletions_above(relpath, 0)
    }

    /// The same above any layer.
    pub(crate) fn remove_deletions_above(&self, relpath: &RelPath, op_depth: i64) -> Result<()> {
        let (above, end) = below(relpath);
        self.execute(
            "DELETE FROM nodes WHERE wc_id = ?1 AND local_relpath > ?2 AND local_relpath < ?3 AND \
             presence = 'base-deleted' AND op_depth > ?4 AND op_depth = (SELECT MIN(op_depth) FROM \
             nodes n WHERE n.wc_id = ?1 AND n.local_relpath = nodes.local_relpath AND op_depth > ?4)",
            params![self.wc_id(), above, end, op_depth],
        )?;
        Ok(())
    }

    /// Removes all layers above BASE below a path.
    fn remove_work_below(&self, relpath: &RelPath) -> Result<()> {
        let (above, end) = below(relpath);
        self.execute(
            "DELETE FROM nodes WHERE wc_id = ?1 AND local_relpath > ?2 AND local_relpath < ?3 AND \
             op_depth > 0",
            params![self.wc_id(), above, end],
        )?;
        Ok(())
    }

    /// What was moved from within a path to elsewhere becomes a copy there.
    fn forget_moves_out_of(&self, relpath: &RelPath) -> Result<()> {
        let depth = depth_of(relpath);
        let (above, end) = below(relpath);
        let targets: Vec<RelPathBuf> = self.all(
            "SELECT moved_to FROM nodes WHERE wc_id = ?1 AND op_depth >= ?2 AND moved_to IS NOT NULL \
             AND local_relpath > ?3 AND local_relpath < ?4",
            params![self.wc_id(), depth, above, end],
            |row| row.relpath(0),
        )?;
        let own = self.layers(relpath)?;
        let own = own.into_iter().filter(|r| r.op_depth >= depth).filter_map(|r| r.moved_to);
        for target in targets.into_iter().chain(own) {
            if target.below(relpath).is_none_or(RelPath::is_root) {
                self.clear_moved_here(&target)?;
            }
        }
        Ok(())
    }
}
