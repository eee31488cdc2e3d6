//! Walking back through the history of one path, and questions about copies.

use std::sync::Arc;

use sapwood_core::paths::{FsPathBuf, SharedFsPath};
use sapwood_core::{ErrorCode, FsPath, Revnum, SvnError};
use sapwood_fsx_format::{Id, NodeRev};

use crate::error::{Error, Result};
use crate::filesystem::Filesystem;
use crate::tree::Root;

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
    linear: Option<(Id, Revnum)>,
}

impl Step {
    fn new(path: &FsPath, revision: Revnum, returned: bool) -> Self {
        Self { path: path.into(), revision, returned, source: None, linear: None }
    }
}

#[allow(clippy::missing_errors_doc)]
impl Root {
    /// The history of `path`, starting here.
    pub fn history(&self, path: &FsPath) -> Result<History> {
        if self.kind(path)?.is_none() {
            return Err(self.not_found(path));
        }
        Ok(History { fs: self.fs.clone(), at: Some(Step::new(path, self.revision, false)) })
    }

    /// The youngest copy at or above `path` in its history: revision and path of the copy's
    /// target (`svn_fs_closest_copy`).
    pub fn closest_copy(&self, path: &FsPath) -> Result<Option<(Revnum, FsPathBuf)>> {
        let chain = self.walk_all(path)?;
        let Some(node) = chain.last() else { return Ok(None) };
        let (copy_rev, copy_path) = youngest_copy_root(&chain)?;
        if copy_rev == Revnum::ZERO {
            return Ok(None);
        }
        // The node may have been made from nothing since, at the same path.
        let copy_root = self.fs.revision_root(copy_rev)?;
        let Some(then) = copy_root.find(path)? else { return Ok(None) };
        if then.rev.node != node.node {
            return Ok(None);
        }
        // Or in the very revision of the copy, below its target.
        if then.created_rev() == Some(copy_rev) && then.rev.predecessor.is_none() {
            return Ok(None);
        }
        Ok(Some((copy_rev, copy_path)))
    }

    /// The revision in which the line of history of the node at `path` began.
    pub fn node_origin_rev(&self, path: &FsPath) -> Result<Revnum> {
        let node = self.node(path)?.rev.node;
        node.change_set
            .revision()
            .ok_or_else(|| SvnError::new(ErrorCode::FS_NOT_REVISION_ROOT, "").into())
    }
}

impl History {
    /// The next older place: the path there, and the revision. `None` at the end, and, unless
    /// `cross_copies`, where the node was copied from another path.
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
    /// root.
    #[must_use]
    pub fn id(&self) -> Option<Id> {
        self.at.as_ref()?.linear.map(|(id, _)| id)
    }

    /// The predecessor, where it is certain that no copy lies between: `Err` with the step when it is not.
    fn along(&self, step: Step) -> Result<std::result::Result<Option<Step>, Step>> {
        let Some((id, next_copy)) = step.linear.filter(|(_, copy)| step.revision > *copy) else {
            return Ok(Err(step));
        };
        let here = self.fs.node_rev(id)?;
        let Some(before) = here.predecessor else { return Ok(Ok(None)) };
        let Some(revision) = before.change_set.revision().filter(|r| *r > next_copy) else {
            return Ok(Err(step));
        };
        let path = FsPath::trusted(&here.created_path).into();
        let linear = Some((before, next_copy));
        Ok(Ok(Some(Step { path, revision, returned: true, source: None, linear })))
    }

    /// The next older step, which need not be one for the caller.
    fn older(&self, step: Step, cross_copies: bool) -> Result<Option<Step>> {
        let step = match self.along(step)? {
            Ok(next) => return Ok(next),
            Err(step) => step,
        };
        let mut returned = step.returned;
        let (mut at_path, mut revision) = (step.path, step.revision);
        if let Some((source, source_rev)) = step.source {
            if !cross_copies {
                return Ok(None);
            }
            returned = false;
            (at_path, revision) = (source, source_rev);
        }
        let chain = self.fs.revision_root(revision)?.walk_all(&at_path)?;
        let Some(mut node) = chain.last().map(Arc::clone) else { return Ok(None) };
        let mut predecessor = None;
        if node.id.change_set.revision() == Some(revision) {
            if !returned {
                let path = FsPath::trusted(&node.created_path);
                return Ok(Some(Step::new(path, revision, true)));
            }
            let Some(id) = node.predecessor else { return Ok(None) };
            predecessor = Some(id);
            node = self.fs.node_rev(id)?;
        }
        let commit = committed(&node)?;
        let (copy_rev, copy_path) = youngest_copy_root(&chain)?;
        if copy_rev > commit
            && let Some(copied) =
                self.copy_step(&at_path, copy_rev, &copy_path, revision, returned)?
        {
            return Ok(Some(copied));
        }
        let mut step = Step::new(FsPath::trusted(&node.created_path), commit, true);
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
fn committed(rev: &NodeRev) -> Result<Revnum> {
    rev.id.change_set.revision().ok_or_else(|| {
        Error::Corrupt(format!("Node-revision '{}' of a transaction in a revision", rev.id))
    })
}

/// The youngest copy root of a node and its parents, the deepest of equally young ones. `chain` is
/// from the root down.
fn youngest_copy_root(chain: &[Arc<NodeRev>]) -> Result<(Revnum, FsPathBuf)> {
    let mut best: Option<(Revnum, &str)> = None;
    for rev in chain {
        let (revision, path) = match &rev.copy_root {
            Some((revision, path)) => (*revision, &**path),
            None => (committed(rev)?, &*rev.created_path),
        };
        if best.is_none_or(|(b, _)| revision >= b) {
            best = Some((revision, path));
        }
    }
    let (revision, path) =
        best.ok_or_else(|| Error::Corrupt("A path has no node-revisions".into()))?;
    Ok((revision, FsPath::trusted(path).to_owned()))
}
