//! One tree: a revision, or a transaction.

use std::sync::Arc;

use parking_lot::Mutex;
use sapwood_core::{CancelToken, ErrorCode, NodeKind, Revnum};
use sapwood_fsfs_format::{Directory, IdPart, Location, NodeRev, NodeRevId, TxnId};

use crate::changes::ChangedPaths;
use crate::error::{Error, Result};
use crate::filesystem::{Filesystem, Fs};
use crate::history::History;
use crate::node::Node;

/// The tree of a revision or of a transaction. Paths are canonical fspaths.
#[derive(Clone, Debug)]
pub struct Root {
    pub(crate) fs: Filesystem,
    pub(crate) place: Place,
    pub(crate) dir: Arc<NodeRev>,
    trail: Arc<Mutex<Trail>>,
}

/// The way to the node of a revision that was looked up last: neighbours share most of it.
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
pub(crate) enum Place {
    /// A revision.
    Revision(Revnum),
    /// A transaction: id, name, and the revision it is based on.
    Txn(TxnId, Arc<str>, Revnum),
}

/// Larger directories, in bytes of memory, are not held beyond a request: see [`Root::rest`].
const KEEP_ENTRIES: usize = 16 << 10;
/// Directories deeper than this are taken for a cycle.
pub(crate) const MAX_DEPTH: usize = 4096;

#[allow(clippy::missing_errors_doc)]
impl Root {
    fn new(fs: &Filesystem, place: Place, dir: Arc<NodeRev>) -> Self {
        Self { fs: fs.clone(), place, dir, trail: Arc::default() }
    }

    pub(crate) fn of_revision(fs: &Filesystem, revision: Revnum) -> Result<Self> {
        fs.fs.ensure_exists(revision)?;
        let dir = fs.fs.rev_root(revision)?;
        Ok(Self::new(fs, Place::Revision(revision), dir))
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
        Ok(Self::new(fs, Place::Txn(id, name.into(), base), dir))
    }

    /// The filesystem.
    #[must_use]
    pub fn fs(&self) -> &Filesystem {
        &self.fs
    }
    /// The revision; `None` for a transaction.
    #[must_use]
    pub fn revision(&self) -> Option<Revnum> {
        match self.place {
            Place::Revision(revision) => Some(revision),
            Place::Txn(..) => None,
        }
    }
    /// The revision, or the one that the transaction is based on.
    #[must_use]
    pub fn base_revision(&self) -> Revnum {
        match self.place {
            Place::Revision(revision) | Place::Txn(_, _, revision) => revision,
        }
    }
    /// The transaction's name; `None` for a revision.
    #[must_use]
    pub fn txn_name(&self) -> Option<&str> {
        match &self.place {
            Place::Revision(_) => None,
            Place::Txn(_, name, _) => Some(name),
        }
    }

    fn not_found(&self, path: &str) -> Error {
        let place = match &self.place {
            Place::Revision(revision) => format!("revision {revision}"),
            Place::Txn(_, name, _) => format!("transaction '{name}'"),
        };
        Error::NotFound { place, path: path.to_owned() }
    }

    fn not_directory(&self, path: &str) -> Error {
        let place = match &self.place {
            Place::Revision(revision) => format!("revision {revision}"),
            Place::Txn(_, name, _) => format!("transaction '{name}'"),
        };
        Error::NotDirectory { place, path: path.to_owned(), fs: self.fs.fs.uuid.clone() }
    }

    /// Walks down `path`, showing each node-revision below the root to `visit`. The node-revision
    /// at the end, or how far it went.
    fn walk(
        &self,
        path: &str,
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
        for name in sapwood_core::path::components(path) {
            if here.kind != NodeKind::Dir {
                return Ok(Err(Miss::NotDirectory(done)));
            }
            let entries = self.fs.fs.directory(&here)?;
            let Some(entry) = entries.find(name) else { return Ok(Err(Miss::NotFound)) };
            here = self.fs.fs.node(&entry.id)?;
            visit(&here);
            done = done.saturating_add(name.len()).saturating_add(1);
        }
        Ok(Ok(here))
    }

    fn to_error(&self, path: &str, miss: Miss) -> Error {
        match miss {
            Miss::NotFound => self.not_found(path),
            Miss::NotDirectory(len) => self.not_directory(path.get(..len).unwrap_or(path)),
        }
    }

    /// Lets go of the large directories on the way to what was looked up last. While a request
    /// goes on they are held, whatever the cache does, because the next path is mostly beside the
    /// last one; who keeps a root for as long as a client is connected calls this in between.
    pub fn rest(&self) {
        if let Some(mut trail) = self.trail.try_lock() {
            for step in &mut trail.steps {
                step.entries.take_if(|entries| entries.byte_len() > KEEP_ENTRIES);
            }
        }
    }

    /// The node at `path`; E160013 when there is none, E160016 when a parent is a file.
    pub fn node(&self, path: &str) -> Result<Node> {
        match self.walk(path, |_| {})? {
            Ok(rev) => Ok(Node { fs: self.fs.clone(), path: path.into(), rev }),
            Err(miss) => Err(self.to_error(path, miss)),
        }
    }

    /// The node at `path`, `None` when there is none (also below a file).
    pub fn find(&self, path: &str) -> Result<Option<Node>> {
        let found = self.walk(path, |_| {})?.ok();
        Ok(found.map(|rev| Node { fs: self.fs.clone(), path: path.into(), rev }))
    }

    /// What `path` leads to.
    pub fn kind(&self, path: &str) -> Result<Option<NodeKind>> {
        Ok(self.walk(path, |_| {})?.ok().map(|rev| rev.kind))
    }

    /// All node-revisions from the root directory down to `path`.
    pub(crate) fn walk_all(&self, path: &str) -> Result<Vec<Arc<NodeRev>>> {
        let mut all = vec![Arc::clone(&self.dir)];
        match self.walk(path, |rev| all.push(Arc::clone(rev)))? {
            Ok(_) => Ok(all),
            Err(miss) => Err(self.to_error(path, miss)),
        }
    }

    /// What this revision or transaction changed.
    pub fn changed_paths(&self) -> Result<Arc<ChangedPaths>> {
        match &self.place {
            Place::Revision(revision) => self.fs.changed_paths(*revision),
            Place::Txn(id, ..) => Ok(Arc::new(self.fs.fs.txn_changed_paths(id)?)),
        }
    }

    /// The history of `path`, starting here. Only for revisions.
    pub fn history(&self, path: &str) -> Result<History> {
        let Some(revision) = self.revision() else {
            return Err(Error::new(ErrorCode::FS_NOT_REVISION_ROOT, ""));
        };
        if self.kind(path)?.is_none() {
            return Err(self.not_found(path));
        }
        Ok(History::new(&self.fs, path, revision))
    }

    /// The youngest copy at or above `path` in its history: revision and path of the copy's
    /// target (`svn_fs_closest_copy`).
    pub fn closest_copy(&self, path: &str) -> Result<Option<(Revnum, String)>> {
        crate::history::closest_copy(self, path)
    }

    /// The revision in which the line of history of the node at `path` began. E160023 for a node
    /// that was made in this transaction.
    pub fn node_origin_rev(&self, path: &str) -> Result<Revnum> {
        crate::history::node_origin_rev(self, path)
    }

    /// Explicit `svn:mergeinfo` at and below `path`: calls `found` with each fspath and value,
    /// reading only subtrees that have any.
    pub fn mergeinfo_below(
        &self,
        path: &str,
        cancel: &CancelToken,
        found: &mut dyn FnMut(&str, &[u8]) -> Result<()>,
    ) -> Result<()> {
        let node = self.node(path)?;
        // Nodes still to be looked at, the next one last, with their depth.
        let mut todo = vec![(node, 0usize)];
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
                found(&node.path, value)?;
            }
            let own = i64::from(node.rev.has_mergeinfo);
            if node.rev.kind != NodeKind::Dir || node.rev.mergeinfo_count <= own {
                continue;
            }
            if depth >= MAX_DEPTH {
                return Err(Error::Corrupt(format!("Directory '{}' is too deep", node.path)));
            }
            let entries = node.entries()?;
            for entry in entries.iter().rev() {
                let rev = self.fs.fs.node(&entry.id)?;
                if rev.mergeinfo_count > 0 || rev.has_mergeinfo {
                    let path = sapwood_core::path::join(&node.path, entry.name).into();
                    let child = Node { fs: self.fs.clone(), path, rev };
                    todo.push((child, depth.saturating_add(1)));
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
        path: &str,
        visit: &mut dyn FnMut(&Arc<NodeRev>),
    ) -> Result<std::result::Result<Arc<NodeRev>, Miss>> {
        let path = path.trim_end_matches('/');
        let shared = self.steps.iter().take_while(|step| {
            let (old, new) = (self.path.get(..step.end), path.get(..step.end));
            let ends = matches!(path.as_bytes().get(step.end), None | Some(b'/'));
            old.is_some() && old == new && ends
        });
        self.steps.truncate(shared.count());
        if self.steps.is_empty() {
            self.steps.push(Step { end: 0, node: Arc::clone(root), entries: None });
        }
        self.path.clear();
        self.path.push_str(path);
        self.steps.iter().skip(1).for_each(|step| visit(&step.node));
        loop {
            let Some(here) = self.steps.last_mut() else { return Ok(Err(Miss::NotFound)) };
            let rest = path.get(here.end..).unwrap_or_default();
            let name = rest.trim_start_matches('/');
            if name.is_empty() {
                return Ok(Ok(Arc::clone(&here.node)));
            }
            let slashes = rest.len().saturating_sub(name.len());
            let name = name.split('/').next().unwrap_or_default();
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
            let end = here.end.saturating_add(slashes).saturating_add(name.len());
            self.steps.push(Step { end, node, entries: None });
        }
    }
}

/// Why a walk ended early.
enum Miss {
    NotFound,
    /// The first so many bytes of the path lead to a file.
    NotDirectory(usize),
}
