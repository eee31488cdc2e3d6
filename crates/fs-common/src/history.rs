//! Walking back through the history of one path, and the copies on the way: the same for every engine that records
//! predecessors, created paths and copy roots.

use std::fmt::Debug;

use sapwood_core::paths::{FsPathBuf, SharedFsPath};
use sapwood_core::{ErrorCode, FsPath, Revnum, SvnError};

/// What a walk asks of an engine: committed node-revisions.
pub trait Nodes: Clone + Debug {
    /// Identifies a node-revision.
    type Id: Copy + Debug;
    /// A node-revision.
    type NodeRev;
    /// The engine's errors.
    type Error: From<SvnError>;

    /// The revision in which a node-revision was made; `None` for one of a transaction.
    fn revision(id: &Self::Id) -> Option<Revnum>;

    /// What a node-revision says of its history.
    fn origin(node: &Self::NodeRev) -> Origin<'_, Self::Id>;

    /// Whether both are revisions of one node.
    fn is_same_node(one: &Self::NodeRev, other: &Self::NodeRev) -> bool;

    /// A node-revision.
    ///
    /// # Errors
    /// Corruption and system errors.
    fn node(&self, id: &Self::Id) -> Result<Self::NodeRev, Self::Error>;

    /// The node-revisions from the root directory of a revision down to a path.
    ///
    /// # Errors
    /// E160013 when there is no such path; as [`Nodes::node`].
    fn chain(&self, revision: Revnum, path: &FsPath) -> Result<Vec<Self::NodeRev>, Self::Error>;

    /// The node-revision at a path of a revision, if there is one.
    ///
    /// # Errors
    /// As [`Nodes::node`].
    fn find(&self, revision: Revnum, path: &FsPath) -> Result<Option<Self::NodeRev>, Self::Error>;
}

/// What a node-revision says of its history.
#[derive(Clone, Copy, Debug)]
pub struct Origin<'a, Id> {
    /// Its id.
    pub id: Id,
    /// The node-revision before it.
    pub predecessor: Option<Id>,
    /// The path at which it was made.
    pub created_path: &'a FsPath,
    /// The root of the youngest copy that it is part of; no revision when that is in a transaction.
    pub copy_root: (Option<Revnum>, &'a FsPath),
    /// Where it was copied from.
    pub copied_from: Option<(Revnum, &'a FsPath)>,
}

/// The history of one path, interesting places only, youngest first.
#[derive(Debug)]
pub struct History<N: Nodes> {
    nodes: N,
    at: Option<Step<N::Id>>,
}

/// One location of a history, and what is known about the next steps.
#[derive(Clone, Debug)]
struct Step<Id> {
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

impl<Id> Step<Id> {
    fn new(path: &FsPath, revision: Revnum, returned: bool) -> Self {
        Self { path: path.into(), revision, returned, source: None, linear: None }
    }
}

/// A place: a path and its revision.
pub type Position<P> = (P, Revnum);

impl<N: Nodes> History<N> {
    /// The history of `path`, which is in `revision`, from there on.
    #[must_use]
    pub fn new(nodes: &N, path: &FsPath, revision: Revnum) -> Self {
        Self { nodes: nodes.clone(), at: Some(Step::new(path, revision, false)) }
    }

    /// The next older place: the path there, and the revision. `None` at the end, and, unless
    /// `cross_copies`, where the node was copied from another path.
    ///
    /// # Errors
    /// Corruption and system errors.
    pub fn step(&mut self, cross_copies: bool) -> Result<Option<Position<SharedFsPath>>, N::Error> {
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
    pub fn id(&self) -> Option<N::Id> {
        self.at.as_ref()?.linear.map(|(id, _)| id)
    }

    /// The predecessor, where it is certain that no copy lies between: `Err` with the step when it is not.
    fn along(&self, step: Step<N::Id>) -> Result<Along<N::Id>, N::Error> {
        let Some((id, next_copy)) = step.linear.filter(|(_, copy)| step.revision > *copy) else {
            return Ok(Err(step));
        };
        let here = self.nodes.node(&id)?;
        let here = N::origin(&here);
        let Some(before) = here.predecessor else { return Ok(Ok(None)) };
        let Some(revision) = N::revision(&before).filter(|r| *r > next_copy) else {
            return Ok(Err(step));
        };
        // The predecessor's path is the same, and need not be read.
        let linear = Some((before, next_copy));
        let path = here.created_path.into();
        Ok(Ok(Some(Step { path, revision, returned: true, source: None, linear })))
    }

    /// The next older step, which need not be one for the caller.
    fn older(
        &self,
        step: Step<N::Id>,
        cross_copies: bool,
    ) -> Result<Option<Step<N::Id>>, N::Error> {
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
        let chain = self.nodes.chain(revision, &at_path)?;
        let Some(last) = chain.last() else { return Ok(None) };
        let mut here = N::origin(last);
        let before;
        let mut predecessor = None;
        if N::revision(&here.id) == Some(revision) {
            if !returned {
                return Ok(Some(Step::new(here.created_path, revision, true)));
            }
            let Some(id) = here.predecessor else { return Ok(None) };
            predecessor = Some(id);
            before = self.nodes.node(&id)?;
            here = N::origin(&before);
        }
        let commit = committed::<N>(N::revision(&here.id))?;
        let (copy_rev, copy_path) = youngest_copy_root::<N>(&chain)?;
        if copy_rev > commit
            && let Some(copied) =
                self.copy_step(&at_path, (copy_path, copy_rev), revision, returned)?
        {
            return Ok(Some(copied));
        }
        let mut step = Step::new(here.created_path, commit, true);
        step.linear = predecessor.map(|id| (id, copy_rev));
        Ok(Some(step))
    }

    /// The step to the target of the copy that made `at_path` at or above it.
    fn copy_step(
        &self,
        at_path: &SharedFsPath,
        (copy_path, copy_rev): Position<&FsPath>,
        revision: Revnum,
        returned: bool,
    ) -> Result<Option<Step<N::Id>>, N::Error> {
        let chain = self.nodes.chain(copy_rev, copy_path)?;
        let Some(target) = chain.last().map(N::origin) else { return Ok(None) };
        let Some(below) = at_path.below(target.created_path) else {
            return Ok(None);
        };
        let Some((source_rev, source)) = target.copied_from else { return Ok(None) };
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

/// The next step, or the one that has to be taken another way.
type Along<Id> = Result<Option<Step<Id>>, Step<Id>>;

fn corrupt(sentence: &str) -> SvnError {
    SvnError::new(ErrorCode::FS_CORRUPT, sentence)
}

/// The revision of what lies in a revision tree, where nothing is of a transaction.
fn committed<N: Nodes>(revision: Option<Revnum>) -> Result<Revnum, N::Error> {
    revision
        .ok_or_else(|| corrupt("Node-revision of a transaction in the tree of a revision").into())
}

/// The youngest copy root of a node and its parents, the deepest of equally young ones. `chain` is
/// from the root down.
fn youngest_copy_root<N: Nodes>(chain: &[N::NodeRev]) -> Result<(Revnum, &FsPath), N::Error> {
    let mut best: Option<(Revnum, &FsPath)> = None;
    for node in chain {
        let (revision, path) = N::origin(node).copy_root;
        let revision = committed::<N>(revision)?;
        if best.is_none_or(|(b, _)| revision >= b) {
            best = Some((revision, path));
        }
    }
    best.ok_or_else(|| corrupt("A path has no node-revisions").into())
}

/// The youngest copy at or above the path in its history: revision and path of the copy's target
/// (`svn_fs_closest_copy`). `chain` leads from the root directory to the path.
///
/// # Errors
/// Corruption and system errors.
pub fn closest_copy<N: Nodes>(
    nodes: &N,
    chain: &[N::NodeRev],
    at_path: &FsPath,
) -> Result<Option<(Revnum, FsPathBuf)>, N::Error> {
    let Some(node) = chain.last() else { return Ok(None) };
    let (copy_rev, copy_path) = youngest_copy_root::<N>(chain)?;
    if copy_rev == Revnum::ZERO {
        return Ok(None);
    }
    // The node may have been made from nothing since, at the same path.
    let Some(then) = nodes.find(copy_rev, at_path)? else { return Ok(None) };
    if !N::is_same_node(&then, node) {
        return Ok(None);
    }
    // Or in the very revision of the copy, below its target.
    let then = N::origin(&then);
    if N::revision(&then.id) == Some(copy_rev) && then.predecessor.is_none() {
        return Ok(None);
    }
    Ok(Some((copy_rev, copy_path.to_owned())))
}
