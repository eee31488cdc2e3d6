//! Statements of the commit that work on many rows at once.

use rusqlite::params;
use sapwood_core::Revnum;
use sapwood_core::exact::signed;
use sapwood_core::paths::{RelPath, RelPathBuf, UrlBuf};

use crate::db::{Db, Paths, below, depth_of};
use crate::error::{Error, Result};

/// A node that was moved away, and where to.
pub(super) struct Move {
    pub(super) source: RelPathBuf,
    pub(super) target: RelPathBuf,
}

fn number(revision: Revnum) -> i64 {
    signed(revision.0)
}

impl Db {
    /// What is not present below a copy, in its layer.
    pub(super) fn not_present_below(
        &self,
        relpath: &RelPath,
        op_depth: i64,
    ) -> Result<Vec<RelPathBuf>> {
        let (above, end) = below(relpath);
        self.all(
            "SELECT local_relpath FROM nodes WHERE wc_id = ?1 AND local_relpath > ?2 AND \
             local_relpath < ?3 AND op_depth = ?4 AND presence = 'not-present'",
            params![self.wc_id(), above, end, op_depth],
            |row| row.relpath(0),
        )
    }

    /// URL and token of the locks on BASE nodes at and below a path.
    pub(super) fn lock_tokens_below(&self, relpath: &RelPath) -> Result<Vec<(UrlBuf, String)>> {
        let (above, end) = below(relpath);
        let rows: Vec<(i64, RelPathBuf, String)> = self.all(
            "SELECT n.repos_id, n.repos_path, l.lock_token FROM nodes n JOIN lock l ON \
             l.repos_id = n.repos_id AND l.repos_relpath = n.repos_path WHERE n.wc_id = ?1 AND \
             n.op_depth = 0 AND (n.local_relpath = ?2 OR (n.local_relpath > ?3 AND \
             n.local_relpath < ?4))",
            params![self.wc_id(), relpath.as_str(), above, end],
            |row| Ok((row.get(0)?, row.relpath(1)?, row.get(2)?)),
        )?;
        rows.into_iter()
            .map(|(id, at, token)| Ok((self.repository(id)?.root.join(&at), token)))
            .collect()
    }

    /// Removes all layers of a path; how many there were.
    pub(super) fn remove_layers(&self, relpath: &RelPath) -> Result<usize> {
        let sql = "DELETE FROM nodes WHERE wc_id = ?1 AND local_relpath = ?2";
        self.execute(sql, params![self.wc_id(), relpath.as_str()])
    }

    /// Removes what a committed operation covered: lower layers of all below it, and the deletions of
    /// its own layer.
    pub(super) fn remove_shadowed(&self, relpath: &RelPath, op_depth: i64) -> Result<()> {
        let (above, end) = below(relpath);
        self.execute(
            "DELETE FROM nodes WHERE wc_id = ?1 AND local_relpath > ?2 AND local_relpath < ?3 AND \
             (op_depth < ?4 OR (op_depth = ?4 AND presence = 'base-deleted'))",
            params![self.wc_id(), above, end, op_depth],
        )?;
        Ok(())
    }

    /// Makes one layer of all below a path BASE.
    pub(super) fn commit_below(
        &self,
        relpath: &RelPath,
        op_depth: i64,
        repos_id: i64,
        repos_path: &RelPath,
        revision: Revnum,
    ) -> Result<()> {
        let (above, end) = below(relpath);
        self.execute(
            "UPDATE nodes SET op_depth = 0, repos_id = ?5, repos_path = ?6 || \
             substr(local_relpath, length(?7) + 1), revision = ?8, dav_cache = NULL, \
             moved_here = NULL, moved_to = NULL, presence = CASE presence WHEN 'normal' THEN \
             'normal' WHEN 'excluded' THEN 'excluded' ELSE 'not-present' END \
             WHERE wc_id = ?1 AND local_relpath > ?2 AND local_relpath < ?3 AND op_depth = ?4",
            params![
                self.wc_id(),
                above,
                end,
                op_depth,
                repos_id,
                repos_path.as_str(),
                relpath.as_str(),
                number(revision)
            ],
        )?;
        Ok(())
    }

    /// The nodes of layer `op_depth` at and below a path that were moved away.
    pub(super) fn moves_out_of(&self, relpath: &RelPath, op_depth: i64) -> Result<Vec<Move>> {
        let (above, end) = below(relpath);
        self.all(
            "SELECT s.local_relpath, s.moved_to FROM nodes n JOIN nodes s ON s.wc_id = n.wc_id AND \
             s.local_relpath = n.local_relpath AND s.op_depth = (SELECT MIN(d.op_depth) FROM nodes d \
             WHERE d.wc_id = ?1 AND d.local_relpath = s.local_relpath AND d.op_depth > ?5) \
             WHERE n.wc_id = ?1 AND n.op_depth = ?5 AND (n.local_relpath = ?2 OR \
             (n.local_relpath > ?3 AND n.local_relpath < ?4)) AND s.moved_to IS NOT NULL",
            params![self.wc_id(), relpath.as_str(), above, end, op_depth],
            |row| Ok(Move { source: row.relpath(0)?, target: row.relpath(1)? }),
        )
    }

    /// Makes the destination of a move a plain copy.
    pub(super) fn forget_moved_here(&self, relpath: &RelPath) -> Result<()> {
        let (above, end) = below(relpath);
        let changed = self.execute(
            "UPDATE nodes SET moved_here = NULL WHERE wc_id = ?1 AND (local_relpath = ?2 OR \
             (local_relpath > ?3 AND local_relpath < ?4)) AND op_depth = ?5",
            params![self.wc_id(), relpath.as_str(), above, end, depth_of(relpath)],
        )?;
        if changed > 0 { Ok(()) } else { Err(Error::NodeNotFound(relpath.as_str().into())) }
    }

    /// Makes the source of a move a plain deletion.
    pub(super) fn forget_moved_to(&self, target: &RelPath) -> Result<()> {
        let sql = "UPDATE nodes SET moved_to = NULL WHERE wc_id = ?1 AND moved_to = ?2";
        self.execute(sql, params![self.wc_id(), target.as_str()])?;
        Ok(())
    }

    /// After a commit of `relpath`: nodes that were moved out of it now have their current
    /// repository path as source.
    pub(super) fn moves_come_from(
        &self,
        relpath: &RelPath,
        repos_id: i64,
        repos_path: &RelPath,
        revision: Revnum,
        moves: &[Move],
    ) -> Result<()> {
        for moved in moves {
            let rest = moved.source.rest_below(relpath)?;
            let origin = repos_path.join(rest);
            let (above, end) = below(&moved.target);
            let op_depth = depth_of(&moved.target);
            self.execute(
                "UPDATE nodes SET repos_id = ?6, repos_path = ?7 || substr(local_relpath, \
                 length(?2) + 1), revision = ?8 WHERE wc_id = ?1 AND (local_relpath = ?2 OR \
                 (local_relpath > ?3 AND local_relpath < ?4)) AND op_depth = ?5",
                params![
                    self.wc_id(),
                    moved.target.as_str(),
                    above,
                    end,
                    op_depth,
                    repos_id,
                    origin.as_str(),
                    number(revision)
                ],
            )?;
            let inner = self.moves_out_of(&moved.target, op_depth)?;
            self.moves_come_from(&moved.target, repos_id, &origin, revision, &inner)?;
        }
        Ok(())
    }

    /// Forgets the locks at and below a path in a repository.
    pub(super) fn remove_locks_below(&self, repos_id: i64, repos_path: &RelPath) -> Result<()> {
        let (above, end) = below(repos_path);
        self.execute_aside(
            "DELETE FROM lock WHERE repos_id = ?1 AND (repos_relpath = ?2 OR (repos_relpath > ?3 \
             AND repos_relpath < ?4))",
            params![repos_id, repos_path.as_str(), above, end],
        )?;
        Ok(())
    }

    /// All children of a directory, in whatever layer.
    pub(super) fn children_of_any_layer(&self, relpath: &RelPath) -> Result<Vec<RelPathBuf>> {
        self.all(
            "SELECT DISTINCT local_relpath FROM nodes WHERE wc_id = ?1 AND parent_relpath = ?2 \
             ORDER BY local_relpath",
            params![self.wc_id(), relpath.as_str()],
            |row| row.relpath(0),
        )
    }
}
