//! Changes of BASE, the layer of what was checked out, as updates and commits make them, and what
//! they mean for the layers above.
//!
//! Where a directory is deleted locally, each node that is added to BASE below it needs a row that
//! deletes it, and each node that is removed needs that row removed: [`Db::extend_parent_delete`],
//! [`Db::retract_parent_delete`]. All of this runs within a transaction of the caller.

mod bump;
pub(crate) mod copy;
pub(crate) mod follow;
mod moved;
mod remove;
use rusqlite::params;
use sapwood_core::PropList;
use sapwood_core::exact::signed;
use sapwood_core::paths::RelPath;

use crate::db::{ActualRow, Db, Kind, NodeRow, Presence, depth_of, parent_of, write_props};
use crate::error::Result;

pub use bump::Bump;
pub(crate) use moved::MovedSource;
pub use moved::MovedTo;
pub use remove::Removal;

/// A row that is added to BASE, and what is recorded with it.
#[derive(Clone, Debug)]
pub struct BaseNode {
    /// The row, of layer 0.
    pub row: NodeRow,
    /// Whether the recorded size and time of the file stay.
    pub keep_recorded: bool,
    /// The local properties from now on; `None` leaves them. Those that are equal to the pristine
    /// ones are not recorded.
    pub actual_props: Option<PropList>,
    /// Whether the highest layer above BASE is removed: a local addition that turns out to be this
    /// node.
    pub delete_working: bool,
    /// Whether a row that deletes the node is added: something unversioned is in its place.
    pub delete_here: bool,
    /// The conflict that is recorded with it: a skel.
    pub conflict: Option<Vec<u8>>,
}

impl BaseNode {
    /// A row with nothing else.
    #[must_use]
    pub const fn new(row: NodeRow) -> Self {
        Self {
            row,
            keep_recorded: false,
            actual_props: None,
            delete_working: false,
            delete_here: false,
            conflict: None,
        }
    }
}

impl Db {
    /// Writes a node of BASE.
    ///
    /// # Errors
    /// SQLite's, as for all here.
    pub(crate) fn put_base(&self, node: &BaseNode) -> Result<()> {
        let mut row = node.row.clone();
        if node.keep_recorded
            && let Some(old) = self.base(&row.relpath)?
        {
            row.translated_size = old.translated_size;
            row.last_mod_time = old.last_mod_time;
        }
        self.put_node(&row)?;
        if let Some(props) = &node.actual_props {
            let differ = row.props()? != *props;
            self.set_actual_props(&row.relpath, differ.then_some(props))?;
        }
        if !row.relpath.is_empty() {
            match row.presence {
                Presence::Normal | Presence::Incomplete if !row.file_external => {
                    self.extend_parent_delete(&row.relpath, row.kind, 0)?;
                }
                Presence::NotPresent | Presence::ServerExcluded | Presence::Excluded => {
                    self.retract_parent_delete(&row.relpath, 0)?;
                }
                _ => {}
            }
        }
        if node.delete_working
            && let Some(top) = self.top(&row.relpath)?.filter(|top| top.op_depth > 0)
        {
            self.remove_node(&row.relpath, top.op_depth)?;
        }
        if node.delete_here {
            let depth = depth_of(&row.relpath);
            self.put_node(&NodeRow::new(
                row.relpath.clone(),
                depth,
                Presence::BaseDeleted,
                row.kind,
            ))?;
        }
        if let Some(conflict) = &node.conflict {
            self.mark_conflict(&row.relpath, conflict)?;
        }
        Ok(())
    }

    /// The lowest layer of a path above `op_depth`.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn lowest_above(&self, relpath: &RelPath, op_depth: i64) -> Result<Option<NodeRow>> {
        let mut layers = self.layers(relpath)?;
        layers.retain(|row| row.op_depth > op_depth);
        Ok(layers.pop())
    }

    /// Where the parent is deleted or replaced above `op_depth`, makes the row that deletes a node
    /// which is new there.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn extend_parent_delete(
        &self,
        relpath: &RelPath,
        kind: Kind,
        op_depth: i64,
    ) -> Result<()> {
        let Some(parent) = parent_of(relpath) else { return Ok(()) };
        let Some(above) = self.lowest_layer(parent, op_depth)? else { return Ok(()) };
        let existing = self.lowest_layer(relpath, op_depth)?;
        if existing.is_none_or(|depth| above < depth) {
            self.put_node(&NodeRow::new(relpath, above, Presence::BaseDeleted, kind))?;
        }
        Ok(())
    }

    /// The number of the lowest layer of a path above `op_depth`.
    fn lowest_layer(&self, relpath: &RelPath, op_depth: i64) -> Result<Option<i64>> {
        self.first(
            "SELECT op_depth FROM nodes WHERE wc_id = ?1 AND local_relpath = ?2 AND op_depth > ?3 \
             ORDER BY op_depth LIMIT 1",
            params![self.wc_id(), relpath.as_str(), op_depth],
            |row| row.get(0),
        )
    }

    /// Removes the row that deletes a node which is gone below.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn retract_parent_delete(&self, relpath: &RelPath, op_depth: i64) -> Result<()> {
        let Some(mut row) = self.lowest_above(relpath, op_depth)? else { return Ok(()) };
        let moved_to = row.moved_to.take();
        if let Some(to) = &moved_to {
            self.clear_moved_here(to)?;
        }
        if row.presence == Presence::BaseDeleted {
            self.remove_node(relpath, row.op_depth)?;
        } else if moved_to.is_some() {
            self.put_node(&row)?;
        }
        Ok(())
    }

    /// Makes what was moved here a copy.
    pub(crate) fn clear_moved_here(&self, relpath: &RelPath) -> Result<()> {
        let (above, end) = crate::db::below(relpath);
        self.execute(
            "UPDATE nodes SET moved_here = NULL WHERE wc_id = ?1 AND op_depth = ?2 AND \
             (local_relpath = ?3 OR (local_relpath > ?4 AND local_relpath < ?5))",
            params![self.wc_id(), depth_of(relpath), relpath.as_str(), above, end],
        )?;
        Ok(())
    }

    /// Records local properties; `None` for those of the layer.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn set_actual_props(
        &self,
        relpath: &RelPath,
        props: Option<&PropList>,
    ) -> Result<()> {
        let old = self.actual(relpath)?;
        if old.is_none() && props.is_none() {
            return Ok(());
        }
        let mut row = old.unwrap_or_else(|| new_actual(relpath));
        row.properties = props.map(write_props);
        self.put_actual(&row)
    }

    /// Records a conflict (a skel).
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn mark_conflict(&self, relpath: &RelPath, conflict: &[u8]) -> Result<()> {
        let mut row = self.actual(relpath)?.unwrap_or_else(|| new_actual(relpath));
        row.conflict_data = Some(conflict.to_vec());
        self.put_actual(&row)
    }

    /// Marks a directory of BASE as incomplete, at the revision that it is being brought to.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn start_directory(
        &self,
        relpath: &RelPath,
        repos_path: &RelPath,
        revision: sapwood_core::Revnum,
    ) -> Result<()> {
        self.execute(
            "UPDATE nodes SET presence = 'incomplete', revision = ?3, repos_path = ?4 WHERE \
             wc_id = ?1 AND local_relpath = ?2 AND op_depth = 0",
            params![self.wc_id(), relpath.as_str(), signed(revision.0), repos_path.as_str()],
        )?;
        Ok(())
    }

    /// Marks an incomplete directory of BASE as complete.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn end_directory(&self, relpath: &RelPath) -> Result<()> {
        self.execute(
            "UPDATE nodes SET presence = 'normal' WHERE wc_id = ?1 AND local_relpath = ?2 AND \
             op_depth = 0 AND presence = 'incomplete'",
            params![self.wc_id(), relpath.as_str()],
        )?;
        Ok(())
    }
}

fn new_actual(relpath: &RelPath) -> ActualRow {
    ActualRow { relpath: relpath.to_owned(), ..ActualRow::default() }
}
