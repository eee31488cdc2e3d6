//! Rows of NODES: what is known of each path, in layers.
//!
//! Layer 0 is BASE, what was checked out. A layer above it, by the number of names of the path that
//! was operated on (its *op-depth*), is a local addition, copy, move or deletion there. The highest
//! layer of a path is what the user sees.

use rusqlite::{Row, params};
use sapwood_core::date::Timestamp;
use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::{Depth, PropList, Revnum, Sha1};

use super::value::{DepthColumn, Kind, Paths, Presence, Sha1Column, revision_of, revision_value};
use super::{Db, below, parent_of, read_props};
use crate::error::{Error, Result};

/// A row of NODES. Times are microseconds since 1970, sizes bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeRow {
    /// The path below the working copy's root.
    pub relpath: RelPathBuf,
    /// The layer.
    pub op_depth: i64,
    /// The repository ([`Repository::id`](super::Repository::id)).
    pub repos_id: Option<i64>,
    /// Where it is in the repository: in BASE where it was checked out, above where it was copied
    /// from.
    pub repos_path: Option<RelPathBuf>,
    /// The revision of that.
    pub revision: Option<Revnum>,
    /// What there is.
    pub presence: Presence,
    /// Whether this layer was moved here.
    pub moved_here: bool,
    /// Where what is below this layer was moved to (on the row of the move's root).
    pub moved_to: Option<RelPathBuf>,
    /// What kind of node.
    pub kind: Kind,
    /// The pristine properties as a skel ([`NodeRow::props`]); `None` when they are not known.
    pub properties: Option<Vec<u8>>,
    /// How deep a directory is; `None` of files and unknown nodes, and where it is the default.
    pub depth: Option<Depth>,
    /// The pristine text of a file.
    pub checksum: Option<Sha1>,
    /// The revision of the last change.
    pub changed_revision: Option<Revnum>,
    /// The date of the last change.
    pub changed_date: Option<Timestamp>,
    /// The author of the last change.
    pub changed_author: Option<String>,
    /// The size of the working file when it was last known to be unmodified.
    pub translated_size: Option<i64>,
    /// Its time then.
    pub last_mod_time: Option<i64>,
    /// A skel of what a DAV server said.
    pub dav_cache: Option<Vec<u8>>,
    /// Whether this is a file external.
    pub file_external: bool,
    /// A skel of the properties inherited in the repository (roots and switched nodes).
    pub inherited_props: Option<Vec<u8>>,
}

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT local_relpath, op_depth, repos_id, repos_path, revision, presence, moved_here, \
             moved_to, kind, properties, depth, checksum, changed_revision, changed_date, \
             changed_author, translated_size, last_mod_time, dav_cache, file_external, \
             inherited_props FROM nodes ",
            $rest
        )
    };
}

impl NodeRow {
    /// A row of which nothing is known but where it is and what it is.
    #[must_use]
    pub fn new(
        relpath: impl Into<RelPathBuf>,
        op_depth: i64,
        presence: Presence,
        kind: Kind,
    ) -> Self {
        Self {
            relpath: relpath.into(),
            op_depth,
            repos_id: None,
            repos_path: None,
            revision: None,
            presence,
            moved_here: false,
            moved_to: None,
            kind,
            properties: None,
            depth: None,
            checksum: None,
            changed_revision: None,
            changed_date: None,
            changed_author: None,
            translated_size: None,
            last_mod_time: None,
            dav_cache: None,
            file_external: false,
            inherited_props: None,
        }
    }

    /// The row of a query with the columns of `select!`.
    pub(crate) fn read(row: &Row<'_>) -> rusqlite::Result<Self> {
        Ok(Self {
            relpath: row.relpath(0)?,
            op_depth: row.get(1)?,
            repos_id: row.get(2)?,
            repos_path: row.relpath_if_any(3)?,
            revision: revision_of(row.get(4)?),
            presence: row.get(5)?,
            moved_here: row.get::<_, Option<i64>>(6)?.is_some_and(|n| n != 0),
            moved_to: row.relpath_if_any(7)?,
            kind: row.get(8)?,
            properties: row.get(9)?,
            depth: row.get::<_, Option<DepthColumn>>(10)?.map(|d| d.0),
            checksum: row.get::<_, Option<Sha1Column>>(11)?.map(|c| c.0),
            changed_revision: revision_of(row.get(12)?),
            changed_date: row.get::<_, Option<i64>>(13)?.map(Timestamp),
            changed_author: row.get(14)?,
            translated_size: row.get(15)?,
            last_mod_time: row.get(16)?,
            dav_cache: row.get(17)?,
            file_external: row.get::<_, Option<i64>>(18)?.is_some_and(|n| n != 0),
            inherited_props: row.get(19)?,
        })
    }

    /// The pristine properties; none when they are not known.
    ///
    /// # Errors
    /// When the column is no property list.
    pub fn props(&self) -> Result<PropList> {
        read_props(self.properties.as_deref().unwrap_or(b""))
    }

    /// The path in the repository, which each node of BASE has.
    ///
    /// # Errors
    /// [`Error::Corrupt`] where it is missing: a guess would be the root.
    pub fn base_path(&self) -> Result<&RelPath> {
        self.repos_path.as_deref().ok_or_else(|| Error::Corrupt {
            path: self.relpath.as_str().into(),
            what: "a BASE node has no repository".to_owned(),
        })
    }

    /// The last name of the path.
    #[must_use]
    pub fn name(&self) -> &str {
        sapwood_core::path::basename(&self.relpath)
    }

    /// The depth, with the default for directories that say none.
    #[must_use]
    pub fn depth_or_infinity(&self) -> Depth {
        self.depth.unwrap_or(Depth::Infinity)
    }
}

impl Db {
    /// The row of one layer of a path.
    ///
    /// # Errors
    /// SQLite's, as for all methods here.
    pub fn node(&self, relpath: &RelPath, op_depth: i64) -> Result<Option<NodeRow>> {
        let sql = select!("WHERE wc_id = ?1 AND local_relpath = ?2 AND op_depth = ?3");
        self.first(sql, params![self.wc_id, relpath.as_str(), op_depth], NodeRow::read)
    }

    /// The BASE row of a path.
    ///
    /// # Errors
    /// SQLite's.
    pub fn base(&self, relpath: &RelPath) -> Result<Option<NodeRow>> {
        self.node(relpath, 0)
    }

    /// The highest layer of a path: what the user sees.
    ///
    /// # Errors
    /// SQLite's.
    pub fn top(&self, relpath: &RelPath) -> Result<Option<NodeRow>> {
        let sql = select!("WHERE wc_id = ?1 AND local_relpath = ?2 ORDER BY op_depth DESC LIMIT 1");
        self.first(sql, params![self.wc_id, relpath.as_str()], NodeRow::read)
    }

    /// All layers of a path, the highest first.
    ///
    /// # Errors
    /// SQLite's.
    pub fn layers(&self, relpath: &RelPath) -> Result<Vec<NodeRow>> {
        let sql = select!("WHERE wc_id = ?1 AND local_relpath = ?2 ORDER BY op_depth DESC");
        self.all(sql, params![self.wc_id, relpath.as_str()], NodeRow::read)
    }

    /// All layers of the children of a directory, by path, the highest first.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn children_layers(&self, relpath: &RelPath) -> Result<Vec<NodeRow>> {
        let sql = select!(
            "WHERE wc_id = ?1 AND parent_relpath = ?2 ORDER BY local_relpath, op_depth DESC"
        );
        self.all(sql, params![self.wc_id, relpath.as_str()], NodeRow::read)
    }

    /// The highest layer of each child of a directory, by path.
    ///
    /// # Errors
    /// SQLite's.
    pub fn children_top(&self, relpath: &RelPath) -> Result<Vec<NodeRow>> {
        let mut rows = self.children_layers(relpath)?;
        rows.dedup_by(|later, first| later.relpath == first.relpath);
        Ok(rows)
    }

    /// The rows of one layer of the children of a directory, by path.
    ///
    /// # Errors
    /// SQLite's.
    pub fn children_at(&self, relpath: &RelPath, op_depth: i64) -> Result<Vec<NodeRow>> {
        let sql = select!(
            "WHERE wc_id = ?1 AND parent_relpath = ?2 AND op_depth = ?3 ORDER BY local_relpath"
        );
        self.all(sql, params![self.wc_id, relpath.as_str(), op_depth], NodeRow::read)
    }

    /// Calls `each` with every layer of a path and all below it, by path in byte order (a
    /// directory's children need not follow it at once), the highest first.
    ///
    /// # Errors
    /// SQLite's and those of `each`.
    pub(crate) fn each_in_subtree(
        &self,
        relpath: &RelPath,
        mut each: impl FnMut(NodeRow) -> Result<()>,
    ) -> Result<()> {
        if relpath.is_empty() {
            let sql = select!("WHERE wc_id = ?1 ORDER BY local_relpath, op_depth DESC");
            let mut statement = self.connection.prepare_cached(sql)?;
            let mut rows = statement.query([self.wc_id])?;
            while let Some(row) = rows.next()? {
                each(NodeRow::read(row)?)?;
            }
            return Ok(());
        }
        self.layers(relpath)?.into_iter().try_for_each(&mut each)?;
        let sql = select!(
            "WHERE wc_id = ?1 AND local_relpath > ?2 AND local_relpath < ?3 \
             ORDER BY local_relpath, op_depth DESC"
        );
        let (above, end) = below(relpath);
        let mut statement = self.connection.prepare_cached(sql)?;
        let mut rows = statement.query(params![self.wc_id, above, end])?;
        while let Some(row) = rows.next()? {
            each(NodeRow::read(row)?)?;
        }
        Ok(())
    }

    /// All layers of a path and all below it, as [`Db::each_in_subtree`].
    ///
    /// # Errors
    /// SQLite's.
    pub fn subtree(&self, relpath: &RelPath) -> Result<Vec<NodeRow>> {
        let mut rows = Vec::new();
        self.each_in_subtree(relpath, |row| {
            rows.push(row);
            Ok(())
        })?;
        Ok(rows)
    }

    /// The row whose `moved_to` is a path: where the node there was moved from.
    ///
    /// # Errors
    /// SQLite's.
    pub fn moved_from(&self, moved_to: &RelPath) -> Result<Option<NodeRow>> {
        let sql = select!("WHERE wc_id = ?1 AND moved_to = ?2 AND op_depth > 0 LIMIT 1");
        self.first(sql, params![self.wc_id, moved_to.as_str()], NodeRow::read)
    }

    /// Writes a row, in place of one that is there.
    ///
    /// # Errors
    /// SQLite's.
    pub fn put_node(&self, row: &NodeRow) -> Result<()> {
        row.last_mod_time.inspect(|time| self.clock().note(*time));
        self.execute(
            "INSERT OR REPLACE INTO nodes (wc_id, local_relpath, op_depth, parent_relpath, repos_id, \
             repos_path, revision, presence, moved_here, moved_to, kind, properties, depth, checksum, \
             changed_revision, changed_date, changed_author, translated_size, last_mod_time, \
             dav_cache, file_external, inherited_props) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, \
             ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21, ?22)",
            params![
                self.wc_id,
                row.relpath.as_str(),
                row.op_depth,
                parent_of(&row.relpath).map(RelPath::as_str),
                row.repos_id,
                row.repos_path.as_deref().map(RelPath::as_str),
                revision_value(row.revision),
                row.presence,
                row.moved_here.then_some(1),
                row.moved_to.as_deref().map(RelPath::as_str),
                row.kind,
                row.properties,
                row.depth.map(Depth::word),
                row.checksum.map(Sha1Column),
                revision_value(row.changed_revision),
                row.changed_date.map(|t| t.0),
                row.changed_author,
                row.translated_size,
                row.last_mod_time,
                row.dav_cache,
                row.file_external.then_some(1),
                row.inherited_props,
            ],
        )?;
        Ok(())
    }

    /// Removes one layer of a path; whether it was there.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn remove_node(&self, relpath: &RelPath, op_depth: i64) -> Result<bool> {
        let sql = "DELETE FROM nodes WHERE wc_id = ?1 AND local_relpath = ?2 AND op_depth = ?3";
        Ok(self.execute(sql, params![self.wc_id, relpath.as_str(), op_depth])? > 0)
    }

    /// Removes one layer of all that lies below a path (not of the path).
    ///
    /// # Errors
    /// SQLite's.
    pub fn remove_below(&self, relpath: &RelPath, op_depth: i64) -> Result<()> {
        if relpath.is_empty() {
            let sql = "DELETE FROM nodes WHERE wc_id = ?1 AND local_relpath > '' AND op_depth = ?2";
            self.execute(sql, params![self.wc_id, op_depth])?;
            return Ok(());
        }
        let (above, end) = below(relpath);
        self.execute(
            "DELETE FROM nodes WHERE wc_id = ?1 AND local_relpath > ?2 AND local_relpath < ?3 \
             AND op_depth = ?4",
            params![self.wc_id, above, end, op_depth],
        )?;
        Ok(())
    }

    /// Records size and time of a working file that is known to be unmodified, on the highest
    /// layer of its path.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn record_fileinfo(&self, relpath: &RelPath, size: i64, mtime: i64) -> Result<()> {
        self.clock().note(mtime);
        self.execute(
            "UPDATE nodes SET translated_size = ?3, last_mod_time = ?4 WHERE wc_id = ?1 AND \
             local_relpath = ?2 AND op_depth = (SELECT MAX(op_depth) FROM nodes WHERE wc_id = ?1 \
             AND local_relpath = ?2)",
            params![self.wc_id, relpath.as_str(), size, mtime],
        )?;
        Ok(())
    }

    /// Forgets what DAV servers said of a path and all below it.
    ///
    /// # Errors
    /// SQLite's.
    pub fn clear_dav_cache(&self, relpath: &RelPath) -> Result<()> {
        let (above, end) = below(relpath);
        self.execute(
            "UPDATE nodes SET dav_cache = NULL WHERE wc_id = ?1 AND (local_relpath = ?2 OR \
             (local_relpath > ?3 AND local_relpath < ?4)) AND op_depth = 0 AND dav_cache IS NOT NULL",
            params![self.wc_id, relpath.as_str(), above, end],
        )?;
        Ok(())
    }

    /// The files at and below a path that may have a property, here or in BASE, by path.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn files_with_property(
        &self,
        relpath: &RelPath,
        name: &str,
    ) -> Result<Vec<RelPathBuf>> {
        let (above, end) = below(relpath);
        let mut found: Vec<RelPathBuf> = self.all(
            "SELECT local_relpath FROM nodes WHERE wc_id = ?1 AND local_relpath = ?2 AND kind = 'file' \
             AND instr(properties, ?5) > 0 UNION SELECT local_relpath FROM nodes WHERE wc_id = ?1 AND \
             local_relpath > ?3 AND local_relpath < ?4 AND kind = 'file' AND instr(properties, ?5) > 0",
            params![self.wc_id, relpath.as_str(), above, end, name.as_bytes()],
            |row| row.relpath(0),
        )?;
        let local: Vec<RelPathBuf> = self.all(
            "SELECT local_relpath FROM actual_node WHERE wc_id = ?1 AND local_relpath = ?2 AND \
             instr(properties, ?5) > 0 UNION SELECT local_relpath FROM actual_node WHERE wc_id = ?1 \
             AND local_relpath > ?3 AND local_relpath < ?4 AND instr(properties, ?5) > 0",
            params![self.wc_id, relpath.as_str(), above, end, name.as_bytes()],
            |row| row.relpath(0),
        )?;
        found.extend(local);
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }

    /// The nodes of BASE that have inherited properties, at a path and as deep below it as `depth`.
    ///
    /// # Errors
    /// SQLite's.
    pub(crate) fn with_inherited_props(
        &self,
        relpath: &RelPath,
        depth: Depth,
    ) -> Result<Vec<RelPathBuf>> {
        let (above, end) = below(relpath);
        let mut found: Vec<RelPathBuf> = self.all(
            "SELECT local_relpath FROM nodes WHERE wc_id = ?1 AND local_relpath > ?2 AND \
             local_relpath < ?3 AND op_depth = 0 AND inherited_props IS NOT NULL",
            params![self.wc_id, above, end],
            |row| row.relpath(0),
        )?;
        match depth {
            Depth::Infinity | Depth::Unknown => {}
            Depth::Files | Depth::Immediates => {
                found.retain(|path| parent_of(path) == Some(relpath));
            }
            Depth::Empty | Depth::Exclude => found.clear(),
        }
        if self.base(relpath)?.is_some_and(|row| row.inherited_props.is_some()) {
            found.insert(0, relpath.to_owned());
        }
        Ok(found)
    }
}
