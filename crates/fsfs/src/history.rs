//! Walking back through the history of one path, and questions about copies.

use std::sync::Arc;

use sapwood_core::FsPath;
use sapwood_core::paths::FsPathBuf;
use sapwood_core::paths::SharedFsPath;
use sapwood_core::{ErrorCode, Revnum};
use sapwood_fsfs_format::{NodeRev, NodeRevId};

use crate::error::{Error, Result};
use crate::filesystem::Filesystem;
use crate::root::Root;

/// The history of one path, interesting places only, youngest first.
#[derive(Debug)]
pub struct History {
    fs: Filesystem,
    at: Option<Step>,
}

/// One location of a history, and what is known about the next steps.
#[derive(Clone, Debug)]
struct Step {
    path: SharedFsPath,
    revision: Revnum,
    /// Whether the place was returned to the caller.
    returned: bool,
    /// When the place is the target of a copy: where the copy came from.
    source: Option<(SharedFsPath, Revnum)>,
    /// When no copy touches the way down to this revision: the node-revision at this place, and
    /// that revision.
    linear: Option<(NodeRevId, Revnum)>,
}

impl Step {
    fn new(path: &FsPath, revision: Revnum, returned: bool) -> Self {
        Self { path: path.into(), revision, returned, source: None, linear: None }
    }
}

#[allow(clippy::missing_errors_doc)]
impl Root {
    /// The history of `path`, starting here. Only for revisions.
    pub fn history(&self, path: &FsPath) -> Result<History> {
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
    pub fn closest_copy(&self, path: &FsPath) -> Result<Option<(Revnum, FsPathBuf)>> {
        closest_copy(self, path)
    }

    /// The revision in which the line of history of the node at `path` began. E160023 for a node
    /// that was made in this transaction.
    pub fn node_origin_rev(&self, path: &FsPath) -> Result<Revnum> {
        node_origin_rev(self, path)
    }
}

impl History {
    fn new(fs: &Filesystem, path: &FsPath, revision: Revnum) -> Self {
        Self { fs: fs.clone(), at: Some(Step::new(path, revision, false)) }
    }

    /// The next older place: the path there, and the revision. `None` at the end, and, unless
    /// `cross_copies`, where the node was copied from another path.
    ///
    /// # Errors
    /// Corruption and system errors.
    pub fn previous(&mut self, cross_copies: bool) -> Result<Option<(FsPathBuf, Revnum)>> {
        Ok(self.step(cross_copies)?.map(|(path, revision)| (path.as_path().to_owned(), revision)))
    }

    /// As [`History::previous`], the path shared instead of copied.
    ///
    /// # Errors
    /// Corruption and system errors.
    pub fn step(&mut self, cross_copies: bool) -> Result<Option<(SharedFsPath, Revnum)>> {
        while let Some(step) = self.at.take() {
            // The root changes in every revision and is never copied.
            let next = if step.path.is_root() {
                let revision =
                    if step.returned { step.revision.prev() } else { Some(step.revision) };
                revision.map(|revision| Step::new(FsPath::ROOT, revision, true))
            } else {
                self.older(step, cross_copies)?
            };
            let Some(next) = next else { break };
            let found = next.returned.then(|| (next.path.clone(), next.revision));
            self.at = Some(next);
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// The node-revision at the place that was returned last, when it is known without a walk from the
    /// root: that is so wherever no copy is near.
    #[must_use]
    pub fn id(&self) -> Option<NodeRevId> {
        self.at.as_ref()?.linear.map(|(id, _)| id)
    }

    /// The next older step, which need not be one for the caller.
    fn older(&self, step: Step, cross_copies: bool) -> Result<Option<Step>> {
        let fs = &self.fs.fs;
        if let Some((id, next_copy)) = step.linear
            && step.revision > next_copy
        {
            let here = fs.node(&id)?;
            let Some(id) = here.predecessor else { return Ok(None) };
            if let Some(revision) = id.revision().filter(|r| *r > next_copy) {
                // No copy in between: the predecessor's path is the same, and need not be read.
                let path = here.created_path().into();
                let linear = Some((id, next_copy));
                return Ok(Some(Step { path, revision, returned: true, source: None, linear }));
            }
        }
        let mut returned = step.returned;
        let (mut at_path, mut revision) = (step.path, step.revision);
        if let Some((source, source_rev)) = step.source {
            if !cross_copies {
                return Ok(None);
            }
            returned = false;
            (at_path, revision) = (source, source_rev);
        }
        let root = self.fs.revision_root(revision)?;
        let chain = root.walk_all(&at_path)?;
        let Some(mut node) = chain.last().cloned() else { return Ok(None) };
        let mut predecessor = None;
        if Some(revision) == node.id.revision() {
            if !returned {
                return Ok(Some(Step::new(node.created_path(), revision, true)));
            }
            let Some(id) = node.predecessor else { return Ok(None) };
            predecessor = Some(id);
            node = fs.node(&id)?;
        }
        let commit = committed(node.id.revision())?;
        let (copy_rev, copy_path) = youngest_copy_root(&chain)?;
        if copy_rev > commit
            && let Some(copied) =
                self.copy_step(&at_path, copy_rev, &copy_path, revision, returned)?
        {
            return Ok(Some(copied));
        }
        let mut step = Step::new(node.created_path(), commit, true);
        step.linear = predecessor.map(|id| (id, copy_rev));
        Ok(Some(step))
    }

    /// The step to the target of the copy that made `at_path` at or above it.
    fn copy_step(
        &self,
        at_path: &SharedFsPath,
        copy_rev: Revnum,
        copy_path: &FsPath,
        revision: Revnum,
        returned: bool,
    ) -> Result<Option<Step>> {
        let target = self.fs.revision_root(copy_rev)?.node(copy_path)?;
        let Some(below) = at_path.below(target.created_path()) else {
            return Ok(None);
        };
        let Some((source_rev, source)) = target.copied_from() else { return Ok(None) };
        // The target may be the place that was returned last: then only go on from it.
        let again = copy_rev == revision && returned;
        Ok(Some(Step {
            path: at_path.clone(),
            revision: copy_rev,
            returned: !again,
            source: Some((source.join(below).into(), source_rev)),
            linear: None,
        }))
    }
}

/// The revision of what lies in a revision tree, where nothing is of a transaction.
fn committed(revision: Option<Revnum>) -> Result<Revnum> {
    revision.ok_or_else(|| Error::internal("a revision has a node-revision of a transaction"))
}

/// The youngest copy root of a node and its parents, the deepest of equally young ones. `chain` is
/// from the root down.
fn youngest_copy_root(chain: &[Arc<NodeRev>]) -> Result<(Revnum, FsPathBuf)> {
    let mut best: Option<(Revnum, &FsPath)> = None;
    for rev in chain {
        let (revision, path) = rev.copy_root();
        let revision = committed(revision)?;
        if best.is_none_or(|(b, _)| revision >= b) {
            best = Some((revision, path));
        }
    }
    let (revision, path) =
        best.ok_or_else(|| Error::Corrupt("A path has no node-revisions".into()))?;
    Ok((revision, path.to_owned()))
}

/// See [`Root::closest_copy`].
fn closest_copy(root: &Root, at_path: &FsPath) -> Result<Option<(Revnum, FsPathBuf)>> {
    let chain = root.walk_all(at_path)?;
    let Some(node) = chain.last() else { return Ok(None) };
    let (copy_rev, copy_path) = youngest_copy_root(&chain)?;
    if copy_rev == Revnum::ZERO {
        return Ok(None);
    }
    // The node may have been made from nothing since, at the same path.
    let copy_root = root.fs.revision_root(copy_rev)?;
    let Some(then) = copy_root.find(at_path)? else { return Ok(None) };
    if !then.rev.id.is_related(&node.id) {
        return Ok(None);
    }
    // Or in the very revision of the copy, below its target.
    if then.created_rev() == Some(copy_rev) && then.rev.predecessor.is_none() {
        return Ok(None);
    }
    Ok(Some((copy_rev, copy_path)))
}

/// Where the node at `at_path` was before the closest copy.
fn before_copy(root: &Root, at_path: &FsPath) -> Result<Option<(Revnum, FsPathBuf)>> {
    let Some((copy_rev, copy_path)) = closest_copy(root, at_path)? else { return Ok(None) };
    let target = root.fs.revision_root(copy_rev)?.node(&copy_path)?;
    let found = target.copied_from().zip(at_path.below(&copy_path));
    Ok(found.map(|((revision, source), below)| (revision, source.join(below))))
}

/// See [`Root::node_origin_rev`].
fn node_origin_rev(root: &Root, at_path: &FsPath) -> Result<Revnum> {
    let node = root.node(at_path)?;
    let id = node.rev.id.node;
    let Some(made) = id.revision() else {
        return Err(Error::new(ErrorCode::FS_NOT_REVISION_ROOT, ""));
    };
    if made != Revnum::ZERO || id.number() == 0 {
        return Ok(made);
    }
    // An id of formats 1 and 2 lacks it. It may be known already.
    let fs = &root.fs.fs;
    let path = fs.file(&sapwood_fsfs_format::Layout::node_origins_file(id));
    if let Ok(bytes) = fs.storage.read(&path, 1 << 26)
        && let Ok(Some(origin)) = sapwood_fsfs_format::node_origins::find(&bytes, id)
        && let Some(revision) = origin.revision()
    {
        return Ok(revision);
    }
    // Copies of parents are rarer than changes: go back by copies first.
    let mut now = root.clone();
    let mut now_path = at_path.to_owned();
    while let Some((revision, path)) = before_copy(&now, &now_path)? {
        if revision >= now.base_revision() {
            return Err(Error::Corrupt(format!("'{now_path}' is copied from its own future")));
        }
        now = root.fs.revision_root(revision)?;
        now_path = path;
    }
    let mut rev = now.node(&now_path)?.rev;
    while let Some(id) = rev.predecessor {
        let older = fs.node(&id)?;
        if older.predecessor_count >= rev.predecessor_count {
            return Err(Error::Corrupt(format!("Predecessors of '{}' go round", rev.id)));
        }
        rev = older;
    }
    rev.id
        .revision()
        .ok_or_else(|| Error::Corrupt(format!("Predecessor '{}' is in a transaction", rev.id)))
}
