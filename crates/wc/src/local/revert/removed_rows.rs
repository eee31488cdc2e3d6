//! The rows that a revert removed: what happens on disk, and what is reported, follows from them.

use std::collections::BTreeMap;

use rusqlite::params;
use sapwood_core::notify::Action;
use sapwood_core::paths::{RelPath, RelPathBuf};

use crate::db::{Db, Kind, Paths as _, at_and_below, depth_of};
use crate::error::Result;
use crate::local::{Notifier, subtree};
use crate::root::WorkingCopy;

/// What was removed of one path.
#[derive(Debug, Default)]
pub(super) struct Row {
    /// The highest layer: its number, whether it was a copy, its kind.
    pub(super) layer: Option<(i64, bool, Kind)>,
    /// Whether local properties were removed, or the whole row of ACTUAL_NODE.
    pub(super) notify: bool,
    /// The record of a conflict.
    pub(super) conflict: Option<Vec<u8>>,
    /// Whether there is a new tree conflict.
    raised: bool,
}

/// The rows that a revert removed, by path, until they are reported.
#[derive(Debug, Default)]
pub(super) struct RemovedRows(BTreeMap<RelPathBuf, Row>);

impl RemovedRows {
    /// Keeps the layers from `op_depth` of a path, and of what is below if `deep`.
    pub(super) fn layers(
        &mut self,
        db: &Db,
        relpath: &RelPath,
        op_depth: i64,
        deep: bool,
    ) -> Result<()> {
        let (lo, hi) = subtree(relpath);
        // The index has the layers: no other row is read.
        let below =
            if deep { "OR (local_relpath > ?3 AND local_relpath < ?4)" } else { "AND ?3 < ?4" };
        db.each(
            &format!(
                "SELECT local_relpath, op_depth, repos_id IS NOT NULL, kind FROM nodes WHERE wc_id = \
                 ?1 AND (local_relpath = ?2 {below}) AND op_depth >= ?5"
            ),
            params![db.wc_id(), relpath.as_str(), lo, hi, op_depth],
            |row| {
                let (relpath, op_depth) = (row.relpath(0)?, row.get(1)?);
                let layer = (op_depth, row.get::<_, i64>(2)? != 0, row.get(3)?);
                let highest = &mut self.0.entry(relpath).or_default().layer;
                if highest.is_none_or(|(other, ..)| other < op_depth) {
                    *highest = Some(layer);
                }
                Ok(())
            },
        )
    }

    /// Keeps which local properties and conflicts there are; the layers are removed already.
    pub(super) fn actual(&mut self, db: &Db, relpath: &RelPath, deep: bool) -> Result<()> {
        let (lo, hi) = subtree(relpath);
        let rows = match deep {
            true => at_and_below(relpath),
            false => "wc_id = ?1 AND local_relpath = ?2 AND ?3 < ?4",
        };
        db.each(
            &format!(
                "SELECT local_relpath, properties IS NOT NULL OR NOT EXISTS (SELECT 1 FROM nodes n \
                 WHERE n.wc_id = ?1 AND n.local_relpath = a.local_relpath), conflict_data FROM \
                 actual_node a WHERE {rows}"
            ),
            params![db.wc_id(), relpath.as_str(), lo, hi],
            |row| {
                let (notify, conflict) = (row.get(1)?, row.get::<_, Option<Vec<u8>>>(2)?);
                if notify || conflict.is_some() {
                    let kept = self.0.entry(row.relpath(0)?).or_default();
                    (kept.notify, kept.conflict) = (notify, conflict);
                }
                Ok(())
            },
        )
    }

    /// Copied nodes below a path, that went.
    pub(super) fn copied_below(&self, relpath: &RelPath) -> Vec<(RelPathBuf, Kind)> {
        let depth = depth_of(relpath);
        self.0
            .iter()
            .filter(|(at, _)| *at != relpath && at.is_at_or_below(relpath))
            .filter_map(|(at, row)| match row.layer {
                Some((op_depth, true, kind)) if op_depth >= depth => Some((at.clone(), kind)),
                _ => None,
            })
            .collect()
    }

    /// Reports what is left at and below a path.
    pub(super) fn notify(&mut self, wc: &WorkingCopy, relpath: &RelPath, notify: &Notifier<'_>) {
        let here: Vec<RelPathBuf> =
            self.0.keys().filter(|at| at.is_at_or_below(relpath)).cloned().collect();
        for at in here {
            let Some(row) = self.0.remove(&at) else { continue };
            if row.raised {
                crate::local::notify_path(wc.disk(), notify, Action::TreeConflict, &at);
            } else if row.layer.is_some() || row.notify {
                crate::local::notify_path(wc.disk(), notify, Action::Revert, &at);
            }
        }
    }

    /// The paths that rows were removed of.
    pub(super) fn paths(&self) -> impl Iterator<Item = &RelPathBuf> {
        self.0.keys()
    }

    /// Whether rows were removed of a path.
    pub(super) fn has(&self, relpath: &RelPath) -> bool {
        self.0.contains_key(relpath)
    }

    /// Takes out what was removed of a path.
    pub(super) fn take(&mut self, relpath: &RelPath) -> Option<Row> {
        self.0.remove(relpath)
    }

    /// Keeps that there is a new tree conflict.
    pub(super) fn raise(&mut self, relpath: RelPathBuf) {
        self.0.entry(relpath).or_default().raised = true;
    }
}
