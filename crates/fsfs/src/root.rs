//! One tree: a revision, or a transaction.

use sapwood_core::Exact;
use sapwood_core::FsPath;
use std::sync::Arc;

use parking_lot::Mutex;
use sapwood_core::{CancelToken, NodeKind, PropList, Revnum};
use sapwood_fsfs_format::{Directory, IdPart, Location, NodeRev, NodeRevId, TxnId};

use crate::ancestors::Ancestors;
use crate::error::{Error, Result};
use crate::filesystem::{Filesystem, Fs};
use crate::node::Node;
use sapwood_fs_common::changes::ChangedPaths;

/// The tree of a revision or of a transaction. Paths are canonical fspaths.
#[derive(Clone, Debug)]
pub struct Root {
    pub(crate) fs: Filesystem,
    pub(crate) tree: Tree,
    pub(crate) dir: Arc<NodeRev>,
    trail: Arc<Mutex<Trail>>,
}

/// The path of nodes to the last look-up of a revision: neighbours share most of it.
#[derive(Debug, Default)]
struct Trail {
    path: String,
    steps: Vec<Step>,
}

/// One node on the way, the root directory first.
#[derive(Debug)]
struct Step {
    /// How much of the path leads here.
    end: usize,
    node: Arc<NodeRev>,
    /// A directory's entries, once they were needed.
    entries: Option<Arc<Directory>>,
}

/// Which tree it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Tree {
    /// A revision.
    Revision(Revnum),
    /// A transaction: id, name, and the revision it is based on.
    Txn(TxnId, Arc<str>, Revnum),
}

/// Reads the properties of a node that is shown.
pub type ReadProps<'a> = &'a dyn Fn() -> Result<Arc<PropList>>;

/// Larger directories, in bytes of memory, are not held beyond a request: see [`Root::rest`].
const KEEP_ENTRIES: usize = 16 << 10;

#[allow(clippy::missing_errors_doc, reason = "all: `Error` says what its variants mean")]
impl Filesystem {
    /// The tree of a revision; E160006 when there is no such revision.
    pub fn revision_root(&self, revision: Revnum) -> Result<Root> {
        Root::of_revision(self, revision)
    }

    /// The tree of a transaction; E160007 when there is none of that name.
    pub fn txn_root(&self, name: &str) -> Result<Root> {
        Root::of_txn(self, name)
    }
}

#[allow(clippy::missing_errors_doc, reason = "all: `Error` says what its variants mean")]
impl Root {
    fn new(fs: &Filesystem, place: Tree, dir: Arc<NodeRev>) -> Self {
        Self { fs: fs.clone(), tree: place, dir, trail: Arc::default() }
    }

    pub(crate) fn of_revision(fs: &Filesystem, revision: Revnum) -> Result<Self> {
        fs.fs.ensure_exists(revision)?;
        let dir = fs.fs.rev_root(revision)?;
        Ok(Self::new(fs, Tree::Revision(revision), dir))
    }

    pub(crate) fn of_txn(fs: &Filesystem, name: &str) -> Result<Self> {
        let id = TxnId::parse(name.as_bytes()).map_err(|e| Error::Svn(e.into()))?;
        let no_such = || Error::NoSuchTransaction(name.to_owned());
        let path = fs.fs.file(&fs.fs.layout.txn_dir(&id));
        fs.fs.storage.stamp(&path).map_err(|e| match e.kind() {
            std::io::ErrorKind::NotFound => no_such(),
            _ => Error::io(e, "Can't check path", &path),
        })?;
        let root_id =
            NodeRevId { node: IdPart::ROOT, copy: IdPart::ROOT, location: Location::Txn(id) };
        let dir = fs.fs.node(&root_id)?;
        let base = dir
            .predecessor
            .and_then(|id| id.revision())
            .ok_or_else(|| Error::Corrupt(format!("Transaction '{name}' has no base revision")))?;
        Ok(Self::new(fs, Tree::Txn(id, name.into(), base), dir))
    }

    /// The filesystem.
    #[must_use]
    pub fn fs(&self) -> &Filesystem {
        &self.fs
    }
    /// The revision; `None` for a transaction.
    #[must_use]
    pub fn revision(&self) -> Option<Revnum> {
        match self.tree {
            Tree::Revision(revision) => Some(revision),
            Tree::Txn(..) => None,
        }
    }
    /// The revision, or the one that the transaction is based on.
    #[must_use]
    pub fn base_revision(&self) -> Revnum {
        match self.tree {
            Tree::Revision(revision) | Tree::Txn(_, _, revision) => revision,
        }
    }
    /// The transaction's name; `None` for a revision.
    #[must_use]
    pub fn txn_name(&self) -> Option<&str> {
        match &self.tree {
            Tree::Revision(_) => None,
            Tree::Txn(_, name, _) => Some(name),
        }
    }

    pub(crate) fn not_found(&self, path: &FsPath) -> Error {
        let place = match &self.tree {
            Tree::Revision(revision) => format!("revision {revision}"),
            Tree::Txn(_, name, _) => format!("transaction '{name}'"),
        };
        Error::NotFound { place, path: path.as_str().to_owned() }
    }

    fn not_directory(&self, path: &str) -> Error {
        let place = match &self.tree {
            Tree::Revision(revision) => format!("revision {revision}"),
            Tree::Txn(_, name, _) => format!("transaction '{name}'"),
        };
        Error::NotDirectory { place, path: path.to_owned(), fs: self.fs.fs.uuid.clone() }
    }

    /// Walks down `path`, showing each node-revision below the root to `visit`. The node-revision
    /// at the end, or how far it went.
    fn walk(
        &self,
        path: &FsPath,
        mut visit: impl FnMut(&Arc<NodeRev>),
    ) -> Result<std::result::Result<Arc<NodeRev>, Miss>> {
        // A transaction may change at any time. Another thread's way is left alone.
        if self.revision().is_some()
            && let Some(mut trail) = self.trail.try_lock()
        {
            return trail.walk(&self.fs.fs, &self.dir, path, &mut visit);
        }
        let mut here = Arc::clone(&self.dir);
        let mut done = 0usize;
        for name in path.names() {
            if here.kind != NodeKind::Dir {
                return Ok(Err(Miss::NotDirectory(done)));
            }
            let entries = self.fs.fs.directory(&here)?;
            let Some(entry) = entries.find(name) else { return Ok(Err(Miss::NotFound)) };
            here = self.fs.fs.node(&entry.id)?;
            visit(&here);
            done = done.plus(name.len()).plus(1);
        }
        Ok(Ok(here))
    }

    fn to_error(&self, path: &FsPath, miss: Miss) -> Error {
        match miss {
            Miss::NotFound => self.not_found(path),
            Miss::NotDirectory(len) => self.not_directory(path.get(..len).unwrap_or(path.as_str())),
        }
    }

    /// Drops the large directories on the path to the last look-up. While a request
    /// goes on they are held, whatever the cache does, because the next path is mostly beside the
    /// last one; a caller that keeps a root for as long as a client is connected calls this in between.
    pub fn rest(&self) {
        if let Some(mut trail) = self.trail.try_lock() {
            for step in &mut trail.steps {
                step.entries.take_if(|entries| entries.byte_len() > KEEP_ENTRIES);
            }
        }
    }

    /// The node at `path`; E160013 when there is none, E160016 when a parent is a file.
    pub fn node(&self, path: &FsPath) -> Result<Node> {
        match self.walk(path, |_| {})? {
            Ok(rev) => Ok(Node { fs: self.fs.clone(), path: path.into(), rev }),
            Err(miss) => Err(self.to_error(path, miss)),
        }
    }

    /// The node at `path`, `None` when there is none (also below a file).
    pub fn find(&self, path: &FsPath) -> Result<Option<Node>> {
        let found = self.walk(path, |_| {})?.ok();
        Ok(found.map(|rev| Node { fs: self.fs.clone(), path: path.into(), rev }))
    }

    /// What `path` leads to.
    pub fn kind(&self, path: &FsPath) -> Result<Option<NodeKind>> {
        Ok(self.walk(path, |_| {})?.ok().map(|rev| rev.kind))
    }

    /// All node-revisions from the root directory down to `path`.
    pub(crate) fn walk_all(&self, path: &FsPath) -> Result<Vec<Arc<NodeRev>>> {
        let mut all = vec![Arc::clone(&self.dir)];
        match self.walk(path, |rev| all.push(Arc::clone(rev)))? {
            Ok(_) => Ok(all),
            Err(miss) => Err(self.to_error(path, miss)),
        }
    }

    /// The node at `path` or above it that is the nearest with explicit mergeinfo, of `path` itself
    /// or only of its parents; `None` when there is none, E160013 when there is no `path`.
    pub fn nearest_mergeinfo(&self, path: &FsPath, parents_only: bool) -> Result<Option<Node>> {
        let chain = self.walk_all(path)?;
        let mut place = path;
        for (above, rev) in chain.iter().rev().enumerate() {
            if above > 0 {
                place = place.parent();
            }
            if rev.has_mergeinfo && !(parents_only && above == 0) {
                let (fs, path) = (self.fs.clone(), place.into());
                return Ok(Some(Node { fs, path, rev: Arc::clone(rev) }));
            }
        }
        Ok(None)
    }

    /// Shows the parents of `path` to `each`, the nearest first: the fspath, and a way to its
    /// properties. E160013 when there is no parent.
    pub fn parents(
        &self,
        path: &FsPath,
        each: &mut dyn FnMut(&FsPath, ReadProps<'_>) -> Result<()>,
    ) -> Result<()> {
        if path.is_root() {
            return Ok(());
        }
        let mut place = path.parent();
        for rev in self.walk_all(place)?.iter().rev() {
            each(place, &|| match rev.props {
                Some(_) => self.fs.fs.props(rev),
                None => Ok(Arc::default()),
            })?;
            place = place.parent();
        }
        Ok(())
    }

    /// What this revision or transaction changed.
    pub fn changed_paths(&self) -> Result<Arc<ChangedPaths>> {
        match &self.tree {
            Tree::Revision(revision) => self.fs.changed_paths(*revision),
            Tree::Txn(id, ..) => Ok(Arc::new(self.fs.fs.txn_changed_paths(id)?)),
        }
    }

    /// Explicit `svn:mergeinfo` at and below `path`: calls `found` with each fspath and value,
    /// reading only subtrees that have any.
    pub fn mergeinfo_below(
        &self,
        path: &FsPath,
        cancel: &CancelToken,
        found: &mut dyn FnMut(&FsPath, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let node = self.node(path)?;
        // Nodes still to be looked at, the next one last, with their depth.
        let mut todo = vec![(node, 0usize)];
        let mut above = Ancestors::default();
        while let Some((node, depth)) = todo.pop() {
            cancel.check()?;
            if node.rev.has_mergeinfo {
                let props = node.props()?;
                let value = props.get(sapwood_core::props::names::MERGEINFO).ok_or_else(|| {
                    Error::Corrupt(format!(
                        "Node-revision #'{}' claims to have mergeinfo but doesn't",
                        node.rev.id
                    ))
                })?;
                found(node.path(), value)?;
            }
            let own = i64::from(node.rev.has_mergeinfo);
            if node.rev.kind != NodeKind::Dir || node.rev.mergeinfo_count <= own {
                continue;
            }
            above.enter(depth, &node.rev.id)?;
            let entries = node.entries()?;
            for entry in entries.iter().rev() {
                let rev = self.fs.fs.node(&entry.id)?;
                if rev.mergeinfo_count > 0 || rev.has_mergeinfo {
                    let path = node.path.child(entry.name).into();
                    let child = Node { fs: self.fs.clone(), path, rev };
                    todo.push((child, depth.plus(1)));
                }
            }
        }
        Ok(())
    }
}

impl Trail {
    /// As [`Root::walk`], from where the way to `path` leaves the last one.
    fn walk(
        &mut self,
        fs: &Fs,
        root: &Arc<NodeRev>,
        path: &FsPath,
        visit: &mut dyn FnMut(&Arc<NodeRev>),
    ) -> Result<std::result::Result<Arc<NodeRev>, Miss>> {
        let path = path.trim_end_matches('/');
        // The paths are compared once, and not for each step: they may be as long as a request.
        let bytes = path.as_bytes();
        let pairs = self.path.bytes().zip(bytes);
        let same = pairs.take_while(|(old, new)| old == *new).count();
        let within = self.steps.partition_point(|step| step.end <= same);
        let ends = |step: &Step| matches!(bytes.get(step.end), None | Some(b'/'));
        let last = self.steps.get(..within).and_then(<[Step]>::last);
        // Before the last one, the old path goes on with a slash, and so does the new one.
        let whole = last.is_none_or(ends);
        self.steps.truncate(if whole { within } else { within.saturating_sub(1) });
        if self.steps.is_empty() {
            self.steps.push(Step { end: 0, node: Arc::clone(root), entries: None });
        }
        self.path.clear();
        self.path.push_str(path);
        self.steps.iter().skip(1).for_each(|step| visit(&step.node));
        loop {
            let Some(here) = self.steps.last_mut() else { return Ok(Err(Miss::NotFound)) };
            let rest = path
                .get(here.end..)
                .ok_or_else(|| Error::internal("a step ends beyond its path"))?;
            let name = rest.trim_start_matches('/');
            if name.is_empty() {
                return Ok(Ok(Arc::clone(&here.node)));
            }
            let slashes = rest.len().minus(name.len());
            let name = name.split('/').next().unwrap_or("");
            if here.node.kind != NodeKind::Dir {
                return Ok(Err(Miss::NotDirectory(here.end)));
            }
            let entries = match &mut here.entries {
                Some(entries) => entries,
                none => none.insert(fs.directory(&here.node)?),
            };
            let Some(entry) = entries.find(name) else { return Ok(Err(Miss::NotFound)) };
            let node = fs.node(&entry.id)?;
            visit(&node);
            let end = here.end.plus(slashes).plus(name.len());
            self.steps.push(Step { end, node, entries: None });
        }
    }
}

/// Why a walk ended early.
enum Miss {
    NotFound,
    /// The bytes of the path that lead to a file.
    NotDirectory(usize),
}
