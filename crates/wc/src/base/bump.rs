//! After an update: everything that was not skipped is at the new revision.

use std::collections::{HashMap, HashSet};

use rusqlite::params;
use sapwood_core::{Depth, Revnum, path};

use crate::db::{Db, InheritedProps, Kind, NodeRow, Presence, write_inherited};
use crate::error::Result;

/// What an update brings all nodes to.
#[derive(Debug)]
pub struct Bump<'a> {
    /// The revision.
    pub revision: Revnum,
    /// After a switch: the repository and the target's new path in it.
    pub repos: Option<(i64, &'a str)>,
    /// Paths that stay as they are, with all below them.
    pub skipped: &'a HashSet<String>,
    /// Inherited properties of roots and switched nodes, by path.
    pub inherited: &'a HashMap<String, InheritedProps>,
}

impl Db {
    /// Brings a node of BASE and what is below it, as deep as `depth`, to a revision. Rows that stand
    /// for nodes that are not in that revision go.
    ///
    /// # Errors
    /// SQLite's.
    pub fn bump(&self, relpath: &str, depth: Depth, to: &Bump<'_>) -> Result<()> {
        if to.skipped.contains(relpath) {
            return Ok(());
        }
        let Some(base) = self.base(relpath)?.filter(|b| b.presence.is_there()) else {
            return Ok(());
        };
        let depth = if depth == Depth::Unknown { Depth::Infinity } else { depth };
        if depth == Depth::Infinity && to.repos.is_none() && to.skipped.is_empty() {
            return self.bump_whole(&base, to);
        }
        self.bump_node(&base, to.repos.map(|(_, path)| path.to_owned()), depth, to)
    }

    fn bump_node(
        &self,
        base: &NodeRow,
        new_path: Option<String>,
        depth: Depth,
        to: &Bump<'_>,
    ) -> Result<()> {
        let inherited = to.inherited.get(&base.relpath);
        let new_path = new_path.filter(|_| to.repos.is_some());
        let moved = new_path.is_some() && new_path != base.repos_path;
        if moved || inherited.is_some() || base.revision != Some(to.revision) {
            let repos_id = to.repos.map(|(id, _)| id).or(base.repos_id);
            let repos_path = new_path.as_ref().or(base.repos_path.as_ref());
            self.execute(
                "UPDATE nodes SET revision = ?3, repos_id = ?4, repos_path = ?5, inherited_props = \
                 ?6 WHERE wc_id = ?1 AND local_relpath = ?2 AND op_depth = 0",
                params![
                    self.wc_id(),
                    base.relpath,
                    i64::try_from(to.revision.0).unwrap_or(i64::MAX),
                    repos_id,
                    repos_path,
                    inherited.map(|list| write_inherited(list)),
                ],
            )?;
        }
        if depth <= Depth::Empty || base.kind != Kind::Dir || !base.presence.is_there() {
            return Ok(());
        }
        let below = match depth {
            Depth::Immediates | Depth::Files => Depth::Empty,
            other => other,
        };
        for child in self.children_at(&base.relpath, 0)? {
            if (child.file_external && child.kind == Kind::File)
                || (depth < Depth::Immediates && child.kind == Kind::Dir)
                || to.skipped.contains(&child.relpath)
            {
                continue;
            }
            if is_stale(&child, to.revision) {
                self.remove_node(&child.relpath, 0)?;
                continue;
            }
            let path = new_path.as_ref().map(|p| path::join(p, child.name()));
            self.bump_node(&child, path, below, to)?;
        }
        Ok(())
    }

    /// The everyday case, in a few statements: the cost is that of the rows that change.
    fn bump_whole(&self, base: &NodeRow, to: &Bump<'_>) -> Result<()> {
        let revision = i64::try_from(to.revision.0).unwrap_or(i64::MAX);
        let (above, end) = match base.relpath.as_str() {
            "" => (String::new(), "\u{10ffff}".to_owned()),
            relpath => crate::db::below(relpath),
        };
        self.execute(
            "DELETE FROM nodes WHERE wc_id = ?1 AND local_relpath > ?2 AND local_relpath < ?3 AND \
             op_depth = 0 AND (presence = 'not-present' OR (presence = 'server-excluded' AND \
             revision <> ?4))",
            params![self.wc_id(), above, end, revision],
        )?;
        self.execute(
            "UPDATE nodes SET revision = ?4 WHERE wc_id = ?1 AND local_relpath > ?2 AND \
             local_relpath < ?3 AND op_depth = 0 AND revision <> ?4 AND file_external IS NULL",
            params![self.wc_id(), above, end, revision],
        )?;
        self.execute(
            "UPDATE nodes SET revision = ?3 WHERE wc_id = ?1 AND local_relpath = ?2 AND op_depth = 0 \
             AND revision <> ?3",
            params![self.wc_id(), base.relpath, revision],
        )?;
        for (relpath, list) in to.inherited {
            self.execute(
                "UPDATE nodes SET inherited_props = ?3 WHERE wc_id = ?1 AND local_relpath = ?2 AND \
                 op_depth = 0",
                params![self.wc_id(), relpath, write_inherited(list)],
            )?;
        }
        Ok(())
    }
}

/// Whether a row stands for a node that is not in the new revision.
fn is_stale(row: &NodeRow, revision: Revnum) -> bool {
    row.presence == Presence::NotPresent
        || (row.presence == Presence::ServerExcluded && row.revision != Some(revision))
}
