//! After an update: everything that was not skipped is at the new revision.

use std::collections::{HashMap, HashSet};

use rusqlite::params;
use sapwood_core::exact::{Exact, len64, signed};
use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::{Depth, Revnum};

use crate::db::{Db, InheritedProps, Kind, NodeRow, Presence, below, write_inherited};
use crate::error::Result;
use crate::status::UniformBase;

/// The values that an update gives all nodes.
#[derive(Debug)]
pub struct Bump<'a> {
    /// The revision.
    pub revision: Revnum,
    /// After a switch: the repository and the target's new path in it.
    pub repos: Option<(i64, &'a RelPath)>,
    /// Paths that stay as they are, with all below them.
    pub skipped: &'a HashSet<RelPathBuf>,
    /// Inherited properties of roots and switched nodes, by path.
    pub inherited: &'a HashMap<RelPathBuf, InheritedProps>,
}

impl Db {
    /// Brings a node of BASE and what is below it, as deep as `depth`, to a revision. Rows of nodes
    /// that are not in that revision are removed.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn bump(&self, relpath: &RelPath, depth: Depth, to: &Bump<'_>) -> Result<()> {
        if to.skipped.contains(relpath) {
            return Ok(());
        }
        let Some(base) = self.base(relpath)?.filter(|b| b.presence.is_there()) else {
            return Ok(());
        };
        let depth = if depth == Depth::Unknown { Depth::Infinity } else { depth };
        if depth == Depth::Infinity && to.skipped.is_empty() {
            return match to.repos {
                None => self.bump_whole(&base, to),
                Some((repos_id, path)) => self.switch_whole(&base, repos_id, path, to),
            };
        }
        self.bump_node(&base, to.repos.map(|(_, path)| path.to_owned()), depth, to)
    }

    fn bump_node(
        &self,
        base: &NodeRow,
        new_path: Option<RelPathBuf>,
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
                    base.relpath.as_str(),
                    number(to.revision),
                    repos_id,
                    repos_path.map(RelPathBuf::as_path).map(RelPath::as_str),
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
            let path = new_path.as_ref().map(|p| p.child(child.name()));
            self.bump_node(&child, path, below, to)?;
        }
        Ok(())
    }

    /// A switch of everything: each node gets the path that follows from the target's.
    fn switch_whole(
        &self,
        base: &NodeRow,
        repos_id: i64,
        path: &RelPath,
        to: &Bump<'_>,
    ) -> Result<()> {
        self.bump_node(base, Some(path.to_owned()), Depth::Empty, to)?;
        let (above, end) = below(&base.relpath);
        self.remove_stale(&above, &end, to.revision)?;
        let prefix = if path.is_empty() { String::new() } else { format!("{path}/") };
        // Where, counted in characters from 1, the rest of a path below the target begins.
        let rest = match base.relpath.chars().count() {
            0 => 1,
            length => length.plus(2),
        };
        self.execute(
            "UPDATE nodes SET revision = ?4, repos_id = ?5, repos_path = ?6 || \
             substr(local_relpath, ?7), inherited_props = NULL WHERE wc_id = ?1 AND local_relpath > \
             ?2 AND local_relpath < ?3 AND op_depth = 0 AND (file_external IS NULL OR kind <> 'file') \
             AND (revision IS NOT ?4 OR repos_id IS NOT ?5 OR repos_path IS NOT ?6 || \
             substr(local_relpath, ?7) OR inherited_props IS NOT NULL)",
            params![
                self.wc_id(),
                above,
                end,
                number(to.revision),
                repos_id,
                prefix,
                signed(len64(rest))
            ],
        )?;
        self.put_inherited(to)
    }

    /// Removes the rows of nodes that are not in the new revision.
    fn remove_stale(&self, above: &str, end: &str, revision: Revnum) -> Result<()> {
        self.execute(
            "DELETE FROM nodes WHERE wc_id = ?1 AND local_relpath > ?2 AND local_relpath < ?3 AND \
             op_depth = 0 AND (presence = 'not-present' OR (presence = 'server-excluded' AND \
             revision <> ?4))",
            params![self.wc_id(), above, end, number(revision)],
        )?;
        Ok(())
    }

    fn put_inherited(&self, to: &Bump<'_>) -> Result<()> {
        for (relpath, list) in to.inherited {
            self.execute(
                "UPDATE nodes SET inherited_props = ?3 WHERE wc_id = ?1 AND local_relpath = ?2 AND \
                 op_depth = 0",
                params![self.wc_id(), relpath.as_str(), write_inherited(list)],
            )?;
        }
        Ok(())
    }

    /// The usual case, in a few statements: the cost depends on the number of rows that change.
    fn bump_whole(&self, base: &NodeRow, to: &Bump<'_>) -> Result<()> {
        let revision = number(to.revision);
        let (above, end) = below(&base.relpath);
        self.remove_stale(&above, &end, to.revision)?;
        if base.relpath.is_empty() {
            return self.bump_everything(to);
        }
        self.execute(
            "UPDATE nodes SET revision = ?4 WHERE wc_id = ?1 AND local_relpath > ?2 AND \
             local_relpath < ?3 AND op_depth = 0 AND revision <> ?4 AND file_external IS NULL",
            params![self.wc_id(), above, end, revision],
        )?;
        self.execute(
            "UPDATE nodes SET revision = ?3 WHERE wc_id = ?1 AND local_relpath = ?2 AND op_depth = 0 \
             AND revision <> ?3",
            params![self.wc_id(), base.relpath.as_str(), revision],
        )?;
        self.put_inherited(to)
    }
}

impl Db {
    /// Brings all of BASE to a revision, as [`Db::bump`] of everything does; `known` is what the rows have
    /// in common.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn bump_even(&self, known: &UniformBase, to: &Bump<'_>) -> Result<()> {
        let revision = number(to.revision);
        for path in &known.odd {
            self.execute(
                "DELETE FROM nodes WHERE wc_id = ?1 AND local_relpath = ?2 AND op_depth = 0 AND \
                 (presence = 'not-present' OR (presence = 'server-excluded' AND revision <> ?3))",
                params![self.wc_id(), path.as_str(), revision],
            )?;
            self.execute(
                "UPDATE nodes SET revision = ?3 WHERE wc_id = ?1 AND local_relpath = ?2 AND \
                 op_depth = 0 AND revision <> ?3 AND file_external IS NULL",
                params![self.wc_id(), path.as_str(), revision],
            )?;
        }
        if known.revision != to.revision {
            return self.bump_everything(to);
        }
        self.execute(
            "UPDATE nodes SET revision = ?2 WHERE wc_id = ?1 AND local_relpath = '' AND op_depth = 0 \
             AND revision <> ?2",
            params![self.wc_id(), revision],
        )?;
        self.put_inherited(to)
    }

    /// All rows, in their own order: nearly every one changes.
    fn bump_everything(&self, to: &Bump<'_>) -> Result<()> {
        let revision = number(to.revision);
        self.bump_all(
            revision,
            "UPDATE nodes SET revision = ?2 WHERE +wc_id = ?1 AND op_depth = 0 AND revision <> ?2 AND \
             file_external IS NULL",
            params![self.wc_id(), revision],
        )?;
        self.put_inherited(to)
    }
}

fn number(revision: Revnum) -> i64 {
    signed(revision.0)
}

/// Whether a row is that of a node that is not in the new revision.
fn is_stale(row: &NodeRow, revision: Revnum) -> bool {
    row.presence == Presence::NotPresent
        || (row.presence == Presence::ServerExcluded && row.revision != Some(revision))
}
