//! All that wc.db knows of the nodes that status looks at.
//!
//! Layers are folded as they come: a node has its BASE layer in place and, rarely, a list of working
//! layers. Repository paths are only kept where they are not what the place of the node says.

mod read;

use std::collections::HashMap;
use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};
use sapwood_core::exact::Exact;
use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::{Depth, Revnum};

pub(super) use self::read::is_implied;
use super::listing::Look;
use super::value::{LastChange, LockInfo};
use crate::db::{Kind, Presence, parent_of};
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

/// The path of a node of the scan.
fn path_of(nodes: &[Node], number: u32) -> Option<&RelPath> {
    usize::try_from(number).ok().and_then(|at| nodes.get(at)).map(|node| node.relpath.as_path())
}

impl Table {
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
            at = parent_of(path);
        }
        true
    }

    /// Whether an external is at or below a path.
    pub(crate) fn is_external(&self, path: &RelPath) -> bool {
        self.externals.binary_search_by(|at| at.as_path().cmp(path)).is_ok()
            || has_below(&self.externals, path)
    }
}

/// The number of names in a path.
pub(crate) fn depth_of(relpath: &RelPath) -> u32 {
    u32::try_from(crate::db::depth_of(relpath)).unwrap_or(u32::MAX)
}

/// Whether there is something below a path among paths in order.
fn has_below(paths: &[RelPathBuf], path: &RelPath) -> bool {
    let above = format!("{path}/");
    let next = paths.partition_point(|at| *at.as_str() < *above);
    paths.get(next).is_some_and(|at| at.starts_with(&above))
}

/// As [`fan_out::over`], of the directories that have children in a table.
pub(crate) fn over_directories<R: Send>(
    table: &Table,
    look: impl Fn(&RelPath, &mut Vec<u8>, &mut Vec<R>) + Sync,
) -> Vec<R> {
    let dirs: Vec<&RelPath> = table.dirs.keys().map(RelPathBuf::as_path).collect();
    fan_out::over(&dirs, |dir, buffer, found| look(dir, buffer, found))
}
