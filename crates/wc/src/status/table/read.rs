//! How a table is filled: one scan of `NODES` in the order of its rows (both other orders would look rows up at random), and
//! of the small tables beside it.
//!
//! Invariant: a node has one place in the table, however often its rows are read.

use std::collections::{BTreeSet, HashMap};
use std::hash::BuildHasher;

use hashbrown::hash_table::Entry;
use rusqlite::{Row, params};
use sapwood_core::exact::Exact;
use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::{Depth, Revnum, SvnError};

use super::{Actual, Children, Layer, Node, ReposPath, Scope, Table, path_of};
use crate::Result;
use crate::db::{Db, Paths, parent_of, read_props};
use crate::status::value::LockInfo;

/// The bytes that a row of NODES with its two indices takes at least.
const SMALLEST_ROW: u64 = 64;

const COLUMNS: &str = "local_relpath, op_depth, presence, kind, revision, repos_id, repos_path, \
     moved_here, moved_to, depth, checksum IS NOT NULL, translated_size, last_mod_time, \
     changed_revision, changed_date, changed_author, properties, file_external, \
     inherited_props";

/// How many rows NODES can have; a list that grows by doubling would hold a million nodes three times. What is not used
/// of the room takes no memory.
fn rows_at_most(db: &Db) -> Result<usize> {
    let last = db.first("SELECT max(rowid) FROM nodes", [], |row| row.get::<_, Option<i64>>(0))?;
    let bytes = db.path().metadata().map_or(0, |found| found.len());
    let rows = last.flatten().and_then(|last| u64::try_from(last).ok()).unwrap_or(0);
    Ok(usize::try_from(rows.min(bytes / SMALLEST_ROW)).unwrap_or(0))
}

fn revision(number: Option<i64>) -> Option<Revnum> {
    number.and_then(|n| u64::try_from(n).ok()).map(Revnum)
}

/// Whether a property skel has `svn:special`.
fn has_special(skel: &[u8]) -> bool {
    has_property(skel, "svn:special")
}

/// Whether a property skel has a property.
fn has_property(skel: &[u8], name: &str) -> bool {
    skel.len() > name.len()
        && skel.windows(name.len()).any(|w| w == name.as_bytes())
        && read_props(skel).is_ok_and(|p| p.get(name).is_some())
}

/// Whether a property skel may have ignore patterns.
fn has_ignores(skel: &[u8]) -> bool {
    skel.windows(b"-ignores".len()).any(|w| w == b"-ignores")
        || skel.windows(b"svn:ignore".len()).any(|w| w == b"svn:ignore")
}

struct Authors<'t> {
    list: &'t mut Vec<Box<str>>,
    numbers: HashMap<Box<str>, u32>,
}

impl Authors<'_> {
    fn number(&mut self, author: &str) -> u32 {
        if let Some(number) = self.numbers.get(author) {
            return *number;
        }
        self.list.push(author.into());
        let number = u32::try_from(self.list.len()).unwrap_or(u32::MAX);
        self.numbers.insert(author.into(), number);
        number
    }
}

impl Table {
    /// Reads what `scope` asks for.
    ///
    /// # Errors
    /// Those of the database.
    pub(crate) fn read(db: &Db, scope: Scope<'_>) -> Result<Self> {
        let mut table = Self { root_repos: root_path(db)?, ..Self::default() };
        table.read_nodes(db, scope)?;
        table.read_actual(db, scope)?;
        table.read_locks(db)?;
        table.read_externals(db, scope)?;
        table.link();
        Ok(table)
    }

    /// Reads the children of some directories, the directories above them, and some targets with those
    /// above them.
    ///
    /// # Errors
    /// Those of the database.
    pub(crate) fn read_directories(
        db: &Db,
        targets: &[&RelPath],
        dirs: &BTreeSet<RelPathBuf>,
    ) -> Result<Self> {
        let mut table = Self { root_repos: root_path(db)?, ..Self::default() };
        let mut above = BTreeSet::from([RelPath::ROOT]);
        for target in targets {
            let mut at = Some(*target);
            while let Some(path) = at.filter(|path| above.insert(*path)) {
                at = parent_of(path);
            }
        }
        for dir in dirs {
            table.read_nodes(db, Scope::Children(dir))?;
            let mut at = parent_of(dir);
            while let Some(path) = at.filter(|path| above.insert(*path)) {
                at = parent_of(path);
            }
        }
        for dir in above.into_iter().filter(|dir| !dirs.contains(*dir)) {
            table.read_nodes(db, Scope::One(dir))?;
        }
        table.read_actual(db, Scope::Subtree(RelPath::ROOT))?;
        table.read_locks(db)?;
        table.read_externals(db, Scope::Subtree(RelPath::ROOT))?;
        table.link();
        Ok(table)
    }

    /// Reads one node, and nothing beside it.
    ///
    /// # Errors
    /// Those of the database.
    pub(crate) fn read_node(db: &Db, relpath: &RelPath) -> Result<Self> {
        let mut table = Self::default();
        table.read_nodes(db, Scope::One(relpath))?;
        table.read_actual(db, Scope::One(relpath))?;
        Ok(table)
    }

    fn read_nodes(&mut self, db: &Db, scope: Scope<'_>) -> Result<()> {
        if scope == Scope::Subtree(RelPath::ROOT) {
            let rows = rows_at_most(db)?;
            self.nodes.reserve_exact(rows);
            // It is empty: nothing is to be hashed again.
            self.by_path.reserve(rows, |_| 0);
        }
        let (sql, path) = nodes_query(scope);
        let mut statement = db.connection().prepare_cached(&sql)?;
        let mut rows = match path {
            Some(path) => statement.query(params![path.as_str()])?,
            None => statement.query([])?,
        };
        let mut list = std::mem::take(&mut self.authors);
        let numbers = list.iter().zip(1..).map(|(author, at)| (author.clone(), at)).collect();
        let mut authors = Authors { list: &mut list, numbers };
        while let Some(row) = rows.next()? {
            self.add_row(row, &mut authors)?;
        }
        self.authors = list;
        Ok(())
    }

    fn add_row(&mut self, row: &Row<'_>, authors: &mut Authors<'_>) -> Result<()> {
        let relpath = RelPath::new(row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?)?;
        let op_depth: u32 = row.get(1)?;
        let text = |column: usize| {
            row.get_ref(column).ok().and_then(|v| v.as_str_or_null().ok().flatten())
        };
        let repos_path = match text(6) {
            None => ReposPath::Unset,
            Some(path) if is_implied(&self.root_repos, relpath, path) => ReposPath::Implied,
            Some(path) => ReposPath::At(RelPath::new(path)?.to_owned()),
        };
        let properties = row.get_ref(16)?.as_blob_or_null().map_err(rusqlite::Error::from)?;
        let layer = Layer {
            op_depth,
            presence: row.get(2)?,
            kind: row.get(3)?,
            revision: revision(row.get(4)?),
            repos_id: row.get(5)?,
            repos_path,
            moved_here: row.get::<_, Option<i64>>(7)?.is_some_and(|n| n != 0),
            moved_to: row.relpath_if_any(8)?,
            depth: text(9).map_or(Depth::Unknown, |w| Depth::from_word(w.as_bytes())),
            has_checksum: row.get::<_, i64>(10)? != 0,
            size: row.get::<_, Option<i64>>(11)?.and_then(|n| u64::try_from(n).ok()),
            time: row.get::<_, Option<i64>>(12)?.unwrap_or(0),
            changed_revision: revision(row.get(13)?),
            changed_date: row.get::<_, Option<i64>>(14)?.unwrap_or(0),
            author: text(15).map_or(0, |a| authors.number(a)),
            had_props: properties.is_some_and(|p| p.len() > 2),
            special: properties.is_some_and(has_special),
            executable: properties.is_some_and(|p| has_property(p, "svn:executable")),
            needs_lock: properties.is_some_and(|p| has_property(p, "svn:needs-lock")),
            externals: properties.is_some_and(|p| has_property(p, "svn:externals")),
            file_external: row.get::<_, Option<i64>>(17)?.is_some_and(|n| n != 0),
            ignores: properties.filter(|p| p.len() > 2 && has_ignores(p)).map(Into::into),
            inherited: row.get::<_, Option<Vec<u8>>>(18)?.map(Into::into),
        };
        let node = self.node_mut(relpath)?;
        if op_depth == 0 {
            node.base = Some(layer);
        } else {
            // A row may be read twice, as a directory's child and as a directory.
            match node.work.binary_search_by_key(&op_depth, |l| l.op_depth) {
                Ok(at) => node.work.splice(at..=at, [layer]).for_each(drop),
                Err(at) => {
                    // Most have one; a list that grows by itself would begin with room for four.
                    node.work.reserve_exact(1);
                    node.work.insert(at, layer);
                }
            }
        }
        Ok(())
    }

    fn node_mut(&mut self, relpath: &RelPath) -> Result<&mut Node> {
        let out_of_place = || SvnError::internal("a path's place in the table of nodes");
        let (nodes, hashes) = (&mut self.nodes, &self.hashes);
        let hash = hashes.hash_one(Some(relpath));
        let is_it = |number: &u32| path_of(nodes, *number) == Some(relpath);
        let hash_of = |number: &u32| hashes.hash_one(path_of(nodes, *number));
        let at = match self.by_path.entry(hash, is_it, hash_of) {
            Entry::Occupied(found) => usize::try_from(*found.get()).map_err(|_| out_of_place())?,
            Entry::Vacant(place) => {
                let at = nodes.len();
                place.insert(u32::try_from(at).map_err(|_| out_of_place())?);
                let relpath = relpath.into();
                nodes.push(Node { relpath, base: None, work: Vec::new(), actual: None });
                at
            }
        };
        Ok(self.nodes.get_mut(at).ok_or_else(out_of_place)?)
    }

    fn read_actual(&mut self, db: &Db, scope: Scope<'_>) -> Result<()> {
        let (filter, path) = actual_filter(scope);
        let mut statement = db.connection().prepare_cached(&format!(
            "SELECT local_relpath, changelist, properties, conflict_data FROM actual_node \
             WHERE wc_id = 1 {filter}"
        ))?;
        let mut rows = match path {
            Some(path) => statement.query(params![path.as_str()])?,
            None => statement.query([])?,
        };
        while let Some(row) = rows.next()? {
            let relpath: RelPathBuf = row.relpath(0)?;
            let properties: Option<Vec<u8>> = row.get(2)?;
            let actual = Actual {
                changelist: row.get::<_, Option<String>>(1)?.map(Into::into),
                props_mod: properties.is_some(),
                special: properties.as_deref().is_some_and(has_special),
                props: properties.map(Into::into),
                conflict: row.get::<_, Option<Vec<u8>>>(3)?.map(Into::into),
            };
            if actual.conflict.is_some() {
                self.conflicts.push(relpath.clone());
            }
            self.node_mut(&relpath)?.actual = Some(Box::new(actual));
        }
        self.conflicts.sort_unstable();
        Ok(())
    }

    fn read_locks(&mut self, db: &Db) -> Result<()> {
        let mut statement = db.connection().prepare_cached(
            "SELECT repos_relpath, lock_token, lock_owner, lock_comment, lock_date FROM lock",
        )?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let path = row.relpath(0)?;
            let lock = LockInfo {
                token: row.get(1)?,
                owner: row.get(2)?,
                comment: row.get(3)?,
                date: row.get::<_, Option<i64>>(4)?.unwrap_or(0),
            };
            self.locks.insert(path, lock);
        }
        drop(rows);
        let mut statement = db
            .connection()
            .prepare_cached("SELECT local_dir_relpath, locked_levels FROM wc_lock")?;
        let found = statement.query_map([], |row| Ok((row.relpath(0)?, row.get(1)?)))?;
        for lock in found {
            self.wc_locks.push(lock?);
        }
        Ok(())
    }

    fn read_externals(&mut self, db: &Db, scope: Scope<'_>) -> Result<()> {
        let mut statement = db.connection().prepare_cached(
            "SELECT local_relpath, def_local_relpath FROM externals WHERE wc_id = 1 \
             ORDER BY local_relpath",
        )?;
        let mut rows = statement.query([])?;
        let (Scope::Subtree(top) | Scope::Children(top) | Scope::One(top)) = scope;
        while let Some(row) = rows.next()? {
            self.has_externals = true;
            let owner = row.relpath(1)?;
            if owner.is_at_or_below(top) {
                self.externals.push(row.relpath(0)?);
            }
        }
        Ok(())
    }

    /// Puts nodes into the lists of their directories.
    fn link(&mut self) {
        let mut from = 0;
        while let Some(first) = self.nodes.get(from) {
            // Nodes of one directory often follow each other.
            let parent = parent_of(&first.relpath);
            let rest = self.nodes.iter().skip(from);
            let same = rest.take_while(|node| parent_of(&node.relpath) == parent);
            let to = from.plus(same.count());
            if let Some(parent) = parent {
                let numbers = (from..to).map(|at| u32::try_from(at).unwrap_or(u32::MAX));
                match self.dirs.get_mut(parent) {
                    Some(children) => children.nodes.extend(numbers),
                    None => {
                        let children = Children { nodes: numbers.collect() };
                        self.dirs.insert(parent.to_owned(), children);
                    }
                }
            }
            from = to;
        }
        let nodes = &self.nodes;
        let name = |at: &u32| {
            usize::try_from(*at).ok().and_then(|at| nodes.get(at)).map_or("", Node::name)
        };
        for children in self.dirs.values_mut() {
            children.nodes.sort_unstable_by(|a, b| name(a).cmp(name(b)));
        }
    }
}

/// The path of the root of the working copy in its repository.
fn root_path(db: &Db) -> Result<RelPathBuf> {
    Ok(db.base(RelPath::ROOT)?.and_then(|row| row.repos_path).unwrap_or_default())
}

/// Whether `repos` is `root` joined with `relpath`.
pub(in crate::status) fn is_implied(root: &str, relpath: &RelPath, repos: &str) -> bool {
    if relpath.is_empty() {
        return repos == root;
    }
    match repos.strip_suffix(relpath.as_str()) {
        Some("") => root.is_empty(),
        Some(before) => before.strip_suffix('/') == Some(root) && !root.is_empty(),
        None => false,
    }
}

fn nodes_query(scope: Scope<'_>) -> (String, Option<&RelPath>) {
    let from = format!("SELECT {COLUMNS} FROM nodes WHERE");
    match scope {
        // The plus keeps SQLite from walking the index and looking each row up.
        Scope::Subtree(path) if path.is_root() => (format!("{from} +wc_id = 1"), None),
        Scope::Subtree(path) => (
            format!(
                "{from} wc_id = 1 AND local_relpath = ?1 UNION ALL {from} wc_id = 1 \
                 AND local_relpath > ?1 || '/' AND local_relpath < ?1 || '0'"
            ),
            Some(path),
        ),
        Scope::Children(path) => (
            format!(
                "{from} wc_id = 1 AND local_relpath = ?1 UNION ALL \
                 {from} wc_id = 1 AND parent_relpath = ?1"
            ),
            Some(path),
        ),
        Scope::One(path) => (format!("{from} wc_id = 1 AND local_relpath = ?1"), Some(path)),
    }
}

fn actual_filter(scope: Scope<'_>) -> (&'static str, Option<&RelPath>) {
    match scope {
        Scope::Subtree(path) if path.is_root() => ("", None),
        Scope::Children(path) if path.is_root() => {
            ("AND (local_relpath = '' OR parent_relpath = '')", None)
        }
        Scope::One(path) if path.is_root() => ("AND local_relpath = ''", None),
        // Conflicts below count for files too.
        Scope::Subtree(path) | Scope::Children(path) | Scope::One(path) => (
            "AND (local_relpath = ?1 OR (local_relpath > ?1 || '/' AND local_relpath < ?1 || '0'))",
            Some(path),
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn implied_paths() {
        assert!(
            is_implied("", RelPath::trusted("a/b"), "a/b")
                && is_implied("trunk", RelPath::trusted("a"), "trunk/a")
        );
        assert!(
            is_implied("trunk", RelPath::trusted(""), "trunk")
                && is_implied("", RelPath::trusted(""), "")
        );
        assert!(
            !is_implied("", RelPath::trusted("a"), "b/a")
                && !is_implied("trunk", RelPath::trusted("a"), "trunka")
        );
        assert!(
            !is_implied("trunk", RelPath::trusted("a"), "a")
                && !is_implied("x", RelPath::trusted("a"), "y/a")
        );
    }
}
