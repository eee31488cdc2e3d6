//! All that wc.db knows of the nodes that status looks at, out of one scan of `NODES` in the order
//! of its rows (both other orders would look rows up at random), and of the small tables beside it.
//!
//! Layers are folded as they come: a node has its BASE layer in place and, rarely, a list of working
//! layers. Repository paths are only kept where they are not what the place of the node says.

use std::collections::{BTreeSet, HashMap};
use std::hash::BuildHasher;

use hashbrown::hash_table::Entry;
use hashbrown::{DefaultHashBuilder, HashTable};
use rusqlite::{Row, params};
use sapwood_core::exact::Exact;
use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::{Depth, Revnum, SvnError};

use super::listing::Look;
use super::value::{LastChange, LockInfo};
use crate::Result;
use crate::db::{Db, Kind, Paths, Presence, read_props};
use crate::fan_out;

/// Where a node is in the repository.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum ReposPath {
    /// The row does not say.
    #[default]
    Unset,
    /// Below the root's path, as the node's place says.
    Implied,
    /// Elsewhere.
    At(RelPathBuf),
}

/// One layer of a node.
#[derive(Clone, Debug)]
pub(crate) struct Layer {
    pub(crate) op_depth: u32,
    pub(crate) presence: Presence,
    pub(crate) kind: Kind,
    pub(crate) revision: Option<Revnum>,
    pub(crate) repos_id: Option<i64>,
    pub(crate) repos_path: ReposPath,
    pub(crate) moved_here: bool,
    pub(crate) moved_to: Option<RelPathBuf>,
    pub(crate) depth: Depth,
    pub(crate) has_checksum: bool,
    pub(crate) size: Option<u64>,
    pub(crate) time: i64,
    pub(crate) changed_revision: Option<Revnum>,
    pub(crate) changed_date: i64,
    /// A number of [`Table::authors`].
    pub(crate) author: u32,
    pub(crate) had_props: bool,
    pub(crate) special: bool,
    pub(crate) executable: bool,
    pub(crate) needs_lock: bool,
    /// Whether the properties define externals.
    pub(crate) externals: bool,
    pub(crate) file_external: bool,
    /// The properties, where they have ignore patterns.
    pub(crate) ignores: Option<Box<[u8]>>,
    /// What the root of the working copy or of a switched tree inherits.
    pub(crate) inherited: Option<Box<[u8]>>,
}

impl Layer {
    /// Whether the recorded size and time are those of a file that was looked at. A time of zero says nothing.
    pub(crate) const fn records(&self, found: Look) -> bool {
        let is_size = matches!(self.size, Some(size) if size == found.size);
        is_size && self.time != 0 && self.time == found.mtime
    }

    /// Whether a row only records why there is no node. In a working layer "not present" is a deletion.
    pub(crate) fn is_marker(&self) -> bool {
        match self.presence {
            Presence::NotPresent => self.op_depth == 0,
            Presence::Excluded | Presence::ServerExcluded => true,
            Presence::Normal => self.kind == Kind::Unknown,
            Presence::Incomplete | Presence::BaseDeleted => false,
        }
    }

    /// Whether a file with these bits may be written to and run as its properties say.
    pub(crate) const fn has_right_bits(&self, mode: u32) -> bool {
        has_right_bits(mode, self.needs_lock, self.executable)
    }
}

/// Whether a file is read-only where it needs a lock, and only there, and can be run where it should.
pub(super) const fn has_right_bits(mode: u32, needs_lock: bool, executable: bool) -> bool {
    needs_lock == (mode & 0o200 == 0) && executable == (mode & 0o100 != 0)
}

/// What `ACTUAL_NODE` says.
#[derive(Clone, Debug, Default)]
pub(crate) struct Actual {
    pub(crate) changelist: Option<Box<str>>,
    pub(crate) props_mod: bool,
    pub(crate) special: bool,
    /// The properties, where there are local ones.
    pub(crate) props: Option<Box<[u8]>>,
    pub(crate) conflict: Option<Box<[u8]>>,
}

/// A node with its layers.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) relpath: RelPathBuf,
    pub(crate) base: Option<Layer>,
    /// Layers above BASE, lowest first.
    pub(crate) work: Vec<Layer>,
    pub(crate) actual: Option<Box<Actual>>,
}

impl Node {
    /// The layer that the user sees.
    pub(crate) fn top(&self) -> Option<&Layer> {
        self.work.last().or(self.base.as_ref())
    }

    /// The layer under the one that the user sees.
    pub(crate) fn below(&self) -> Option<&Layer> {
        match self.work.len() {
            0 => None,
            1 => self.base.as_ref(),
            n => self.work.get(n.minus(2)),
        }
    }

    pub(crate) fn name(&self) -> &str {
        self.relpath.as_path().name()
    }

    /// Whether any layer is a directory: there may be nodes below.
    pub(crate) fn was_dir(&self) -> bool {
        let dir = |layer: &Layer| layer.kind == Kind::Dir;
        self.base.as_ref().is_some_and(dir) || self.work.iter().any(dir)
    }
}

/// A directory, as far as the table knows it.
#[derive(Debug, Default)]
pub(crate) struct Children {
    /// Numbers of [`Table::nodes`], in the order of their names.
    pub(crate) nodes: Vec<u32>,
}

/// Which nodes to read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope<'a> {
    /// A node and all below it.
    Subtree(&'a RelPath),
    /// A node and its children.
    Children(&'a RelPath),
    /// A node alone.
    One(&'a RelPath),
}

/// The nodes of one scan.
#[derive(Debug, Default)]
pub(crate) struct Table {
    pub(crate) nodes: Vec<Node>,
    /// Their numbers, by their paths: of a million nodes the paths are not kept twice.
    by_path: HashTable<u32>,
    hashes: DefaultHashBuilder,
    pub(crate) dirs: HashMap<RelPathBuf, Children, DefaultHashBuilder>,
    pub(crate) authors: Vec<Box<str>>,
    /// The path of the root of the working copy in its repository.
    pub(crate) root_repos: RelPathBuf,
    /// By path in the repository.
    pub(crate) locks: HashMap<RelPathBuf, LockInfo>,
    /// Directories that are locked in the working copy, and how deep.
    pub(crate) wc_locks: Vec<(RelPathBuf, i64)>,
    /// Where conflicts are recorded, in order.
    conflicts: Vec<RelPathBuf>,
    /// Where externals are that the nodes of the scan define, in order.
    externals: Vec<RelPathBuf>,
    /// Whether the working copy has externals at all.
    pub(crate) has_externals: bool,
}

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

/// The path of a node of the scan.
fn path_of(nodes: &[Node], number: u32) -> Option<&RelPath> {
    usize::try_from(number).ok().and_then(|at| nodes.get(at)).map(|node| node.relpath.as_path())
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
                at = crate::db::parent_of(path);
            }
        }
        for dir in dirs {
            table.read_nodes(db, Scope::Children(dir))?;
            let mut at = crate::db::parent_of(dir);
            while let Some(path) = at.filter(|path| above.insert(*path)) {
                at = crate::db::parent_of(path);
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
            let parent = crate::db::parent_of(&first.relpath);
            let rest = self.nodes.iter().skip(from);
            let same = rest.take_while(|node| crate::db::parent_of(&node.relpath) == parent);
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

    /// How many nodes it has.
    pub(crate) const fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(crate) fn node(&self, at: u32) -> Option<&Node> {
        usize::try_from(at).ok().and_then(|at| self.nodes.get(at))
    }

    pub(crate) fn number(&self, relpath: &RelPath) -> Option<u32> {
        let found = |number: &u32| path_of(&self.nodes, *number) == Some(relpath);
        self.by_path.find(self.hashes.hash_one(Some(relpath)), found).copied()
    }

    pub(crate) fn find(&self, relpath: &RelPath) -> Option<&Node> {
        self.number(relpath).and_then(|at| self.node(at))
    }

    pub(crate) fn children(&self, dir: &RelPath) -> &[u32] {
        self.dirs.get(dir).map_or(&[], |children| &children.nodes)
    }

    pub(crate) fn author(&self, number: u32) -> Option<String> {
        let at = usize::try_from(number.checked_sub(1)?).ok()?;
        self.authors.get(at).map(|a| a.to_string())
    }

    pub(crate) fn changed(&self, layer: &Layer) -> LastChange {
        LastChange {
            revision: layer.changed_revision,
            date: layer.changed_date,
            author: self.author(layer.author),
        }
    }

    /// The path in the repository that a node of this path has when it is where its place says.
    pub(crate) fn implied_path(&self, relpath: &RelPath) -> RelPathBuf {
        self.root_repos.join(relpath)
    }

    /// Whether a directory is locked in the working copy.
    pub(crate) fn is_wc_locked(&self, dir: &RelPath) -> bool {
        self.wc_locks.iter().any(|(root, levels)| {
            dir.below(root).is_some_and(|below| {
                let deep = below.names().count();
                *levels < 0 || i64::try_from(deep).is_ok_and(|deep| deep <= *levels)
            })
        })
    }

    /// Whether there is a conflict below a path.
    fn has_conflict_below(&self, path: &RelPath) -> bool {
        has_below(&self.conflicts, path)
    }

    /// Whether a status goes below a node: it is a directory, or was one and there are conflicts in
    /// what it was.
    pub(crate) fn has_descendants(&self, node: &Node) -> bool {
        match node.top() {
            Some(top) if top.kind == Kind::Dir => true,
            _ => node.was_dir() && self.has_conflict_below(&node.relpath),
        }
    }

    /// Whether a status of everything comes to a directory: there is one at each step to it.
    pub(crate) fn is_reached(&self, dir: &RelPath) -> bool {
        let mut at = Some(dir);
        while let Some(path) = at {
            let goes_below = |node: &Node| {
                node.top().is_some_and(|top| !top.is_marker()) && self.has_descendants(node)
            };
            if !self.find(path).is_some_and(goes_below) {
                return false;
            }
            at = crate::db::parent_of(path);
        }
        true
    }

    /// Whether an external is at or below a path.
    pub(crate) fn is_external(&self, path: &RelPath) -> bool {
        self.externals.binary_search_by(|at| at.as_path().cmp(path)).is_ok()
            || has_below(&self.externals, path)
    }
}

/// The path of the root of the working copy in its repository.
fn root_path(db: &Db) -> Result<RelPathBuf> {
    Ok(db.base(RelPath::ROOT)?.and_then(|row| row.repos_path).unwrap_or_default())
}

/// The number of names in a path.
pub(crate) fn depth_of(relpath: &RelPath) -> u32 {
    u32::try_from(crate::db::depth_of(relpath)).unwrap_or(u32::MAX)
}

/// Whether `repos` is `root` joined with `relpath`.
pub(super) fn is_implied(root: &str, relpath: &RelPath, repos: &str) -> bool {
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

/// Whether there is something below a path among paths in order.
fn has_below(paths: &[RelPathBuf], path: &RelPath) -> bool {
    let above = format!("{path}/");
    let next = paths.partition_point(|at| *at.as_str() < *above);
    paths.get(next).is_some_and(|at| at.starts_with(&above))
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

/// As [`fan_out::over`], of the directories that have children in a table.
pub(crate) fn over_directories<R: Send>(
    table: &Table,
    look: impl Fn(&RelPath, &mut Vec<u8>, &mut Vec<R>) + Sync,
) -> Vec<R> {
    let dirs: Vec<&RelPath> = table.dirs.keys().map(RelPathBuf::as_path).collect();
    fan_out::over(&dirs, |dir, buffer, found| look(dir, buffer, found))
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
