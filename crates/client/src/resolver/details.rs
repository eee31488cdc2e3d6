//! What is known of both sides of a tree conflict: the author of the change, its time, and where the node is now.

use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::{NodeKind, SvnResult};
use sapwood_wc::conflict::{Action, Operation, Reason};
use sapwood_wc::view::Status;

use super::TreeConflict;
use super::moves::Move;
use super::moves::before;

/// Where a node may have moved to: paths of the repository, the first in the order of paths first, with the
/// nodes of the working copy that stand for them, the likeliest first.
#[derive(Clone, Debug, Default)]
pub struct Targets {
    pub(super) places: Vec<(RelPathBuf, Vec<RelPathBuf>)>,
    /// Which location was chosen.
    pub(super) place: usize,
    /// Which node of it.
    pub(super) node: usize,
}

/// The details of the incoming change, from the log.
#[derive(Clone, Debug)]
pub enum IncomingDetails {
    /// A deletion, or a reverted addition.
    Deletion(Deletion),
    /// An addition, or a reverted deletion.
    Addition(Addition),
    /// Edits, the oldest first.
    Edits(Vec<Edit>),
}

/// An incoming deletion.
#[derive(Clone, Debug)]
pub struct Deletion {
    /// The revision that deleted the node.
    pub deleted: Option<u64>,
    /// The revision that added it; what came is that revision taken back.
    pub added: Option<u64>,
    /// The author of either.
    pub author: String,
    /// The path in the repository.
    pub relpath: RelPathBuf,
    /// The kind of the node that replaced it.
    pub replaced_by: Option<NodeKind>,
    /// Where it moved to, if it did.
    pub moves: Option<Vec<Move>>,
    /// The nodes that stand for that in the working copy.
    pub targets: Targets,
}

/// An incoming addition.
#[derive(Clone, Debug)]
pub struct Addition {
    /// The revision that added the node, and its author.
    pub added: Option<(u64, String)>,
    /// The revision that deleted it, and its author.
    pub deleted: Option<(u64, String)>,
    /// The path in the repository, where it began.
    pub relpath: RelPathBuf,
}

/// A revision that changed the node.
#[derive(Clone, Debug)]
pub struct Edit {
    /// The revision.
    pub revision: u64,
    /// Its author.
    pub author: String,
}

/// The details of the local side.
#[derive(Clone, Debug)]
pub enum Local {
    /// The node is missing here.
    Missing(MissingDetails),
    /// Copies of a node that was moved away: of which one is where it is now.
    Copies {
        /// Where they are, below the working copy's root.
        paths: Vec<RelPathBuf>,
        /// The one that was chosen.
        chosen: usize,
    },
}

/// What happened to a missing node.
#[derive(Clone, Debug, Default)]
pub struct MissingDetails {
    /// The revision that deleted it on this branch, its author, and the path in the repository.
    pub deleted: Option<(u64, String, RelPathBuf)>,
    /// Where it moved to on this branch.
    pub moves: Option<Vec<Move>>,
    /// The nodes that stand for that in the working copy.
    pub targets: Targets,
    /// Where it was moved on the other branch.
    pub sibling_moves: Option<Vec<Move>>,
    /// Nodes of the working copy that are the same one, not moved.
    pub siblings: Vec<RelPathBuf>,
    /// The one that was chosen.
    pub chosen_sibling: usize,
}

impl IncomingDetails {
    /// The targets of an incoming move.
    pub(super) const fn targets(&self) -> Option<&Targets> {
        match self {
            Self::Deletion(deletion) if deletion.moves.is_some() => Some(&deletion.targets),
            _ => None,
        }
    }
}

impl TreeConflict<'_> {
    /// The incoming deletion, if that is what came.
    #[must_use]
    pub const fn deletion(&self) -> Option<&Deletion> {
        match &self.incoming {
            Some(IncomingDetails::Deletion(deletion)) => Some(deletion),
            _ => None,
        }
    }

    /// The details of a missing node.
    #[must_use]
    pub const fn missing(&self) -> Option<&MissingDetails> {
        match &self.local {
            Some(Local::Missing(missing)) => Some(missing),
            _ => None,
        }
    }

    /// The location of the node's parent in the repository, if it exists.
    fn parent_place(&self) -> SvnResult<Option<(RelPathBuf, u64)>> {
        let Some(view) = self.wc.view(self.relpath.parent())? else { return Ok(None) };
        let row = match view.status() {
            Status::Normal | Status::Incomplete => Some(view.top()),
            Status::Deleted => view.base(),
            _ => None,
        };
        Ok(row.and_then(|row| Some((row.repos_path.clone()?, row.revision?.0))))
    }

    pub(super) fn incoming_details(&self) -> SvnResult<Option<IncomingDetails>> {
        match self.action {
            Action::Delete | Action::Replace => {
                let Some(mut found) = self.incoming_deletion()? else { return Ok(None) };
                if let (Some(moves), Some(new)) = (&found.moves, self.new_place()) {
                    found.targets = self.targets_of(moves, self.victim, new)?;
                }
                Ok(Some(IncomingDetails::Deletion(found)))
            }
            Action::Add => Ok(self.incoming_addition()?.map(IncomingDetails::Addition)),
            Action::Edit => Ok(self.incoming_edits()?.map(IncomingDetails::Edits)),
        }
    }

    fn incoming_deletion(&self) -> SvnResult<Option<Deletion>> {
        let (Some(old), Some(new)) = (self.old_place(), self.new_place()) else { return Ok(None) };
        if old.1 >= new.1 {
            return self.reverse_addition(old, new.1);
        }
        let search = self.search();
        let found = match self.operation {
            Some(Operation::Update) => {
                let Some((parent, peg)) = self.parent_place()? else { return Ok(None) };
                let gone = self.new_kind().is_none();
                let related = if gone { search.existing(new, Some(old))? } else { None };
                let end = if gone { 0 } else { old.1 };
                let end = if end >= peg { before(peg) } else { end };
                let relpath = parent.join(RelPath::new(self.relpath.name())?);
                let related = related.as_ref().map(|(at, revision)| (at.as_path(), *revision));
                search.deletion(&relpath, (peg, end), related, true)?
            }
            Some(Operation::Switch | Operation::Merge) => {
                search.deletion(new.0, (new.1, old.1), Some(old), true)?
            }
            None => None,
        };
        Ok(found.map(|found| Deletion {
            deleted: Some(found.revision),
            added: None,
            author: found.author,
            relpath: new.0.to_owned(),
            replaced_by: found.replaced_by,
            moves: found.moves,
            targets: Targets::default(),
        }))
    }

    /// An addition that is taken back: the change goes back in history.
    fn reverse_addition(
        &self,
        (relpath, peg): (&RelPath, u64),
        oldest: u64,
    ) -> SvnResult<Option<Deletion>> {
        if self.operation.is_none() {
            return Ok(None);
        }
        let repository = &self.repository;
        let search = self.search();
        let progress = |revision| search.progress(revision);
        let segments = repository.segments(self.ctx, relpath, peg, oldest, &progress)?;
        let Some((added, began)) = segments.last() else { return Ok(None) };
        let mut replaced_by = None;
        let was = repository.kind(self.ctx, relpath, before(*added))?;
        if *added > 0 && was.is_some() {
            replaced_by = repository.kind(self.ctx, relpath, *added)?;
        }
        Ok(Some(Deletion {
            deleted: None,
            added: Some(*added),
            author: repository.author(self.ctx, relpath, *added)?,
            relpath: began.clone(),
            replaced_by,
            moves: None,
            targets: Targets::default(),
        }))
    }

    fn incoming_addition(&self) -> SvnResult<Option<Addition>> {
        let Some(new) = self.new_place() else { return Ok(None) };
        if self.is_update_or_switch() {
            return self.addition_of_update(new);
        }
        let Some(old) = self.old_place().filter(|old| self.is_merge() && old.0 == new.0) else {
            return Ok(None);
        };
        if old.1 < new.1 {
            return self.addition_since(new, old.1);
        }
        if old.1 == new.1 {
            return Ok(None);
        }
        let found = self.search().deletion(old.0, (old.1, new.1), None, true)?;
        Ok(found.map(|found| Addition {
            added: None,
            deleted: Some((found.revision, found.author)),
            relpath: new.0.to_owned(),
        }))
    }

    /// The start of a node's history, not before `oldest`.
    fn addition_since(
        &self,
        (relpath, peg): (&RelPath, u64),
        oldest: u64,
    ) -> SvnResult<Option<Addition>> {
        let search = self.search();
        let progress = |revision| search.progress(revision);
        let segments = self.repository.segments(self.ctx, relpath, peg, oldest, &progress)?;
        let Some((added, began)) = segments.last() else { return Ok(None) };
        let author = self.repository.author(self.ctx, relpath, *added)?;
        Ok(Some(Addition { added: Some((*added, author)), deleted: None, relpath: began.clone() }))
    }

    /// It is not recorded whether an update went forward or back, so both are reported.
    fn addition_of_update(&self, (relpath, peg): (&RelPath, u64)) -> SvnResult<Option<Addition>> {
        let Some(mut found) = self.addition_since((relpath, peg), 0)? else { return Ok(None) };
        let youngest = self.repository.youngest(self.ctx, relpath)?;
        if peg < youngest
            && let Some(gone) = self.repository.deleted_after(self.ctx, relpath, peg, youngest)?
        {
            found.deleted = Some((gone, self.repository.author(self.ctx, relpath, gone)?));
        }
        Ok(Some(found))
    }

    fn incoming_edits(&self) -> SvnResult<Option<Vec<Edit>>> {
        let (Some(old), Some(new)) = (self.old_place(), self.new_place()) else { return Ok(None) };
        let forward = old.1 < new.1;
        let relpath = match self.operation {
            Some(Operation::Update) => {
                let kind = if forward { self.new_kind() } else { self.old_kind() };
                if kind.is_none() {
                    return Ok(None);
                }
                if forward { new.0 } else { old.0 }
            }
            _ => new.0,
        };
        let search = self.search();
        let mut edits = Vec::new();
        let (first, last) = (old.1.min(new.1), old.1.max(new.1));
        self.repository.log(self.ctx, relpath, first, last, &mut |revision, author, changes| {
            search.progress(revision);
            if !changes.is_empty() {
                edits.push(Edit { revision, author });
            }
            Ok(())
        })?;
        Ok(Some(edits))
    }

    pub(super) fn local_details(&self) -> SvnResult<Option<Local>> {
        match self.reason {
            Reason::Missing => Ok(self.missing_details()?.map(Local::Missing)),
            Reason::MovedAway if self.operation == Some(Operation::Update) => {
                let Some((relpath, _)) = self.old_place() else { return Ok(None) };
                let kind = self.old_kind();
                let paths = self.wc.copies_of(relpath, kind)?;
                Ok(Some(Local::Copies { paths, chosen: 0 }))
            }
            _ => Ok(None),
        }
    }

    /// What happened to a missing node: it was deleted or moved on this branch, or moved on the
    /// other one.
    fn missing_details(&self) -> SvnResult<Option<MissingDetails>> {
        let (Some(old), Some(new)) = (self.old_place(), self.new_place()) else { return Ok(None) };
        let Some((parent, peg)) = self.parent_place()? else { return Ok(None) };
        let (younger, older) = if old.1 < new.1 { (new, old) } else { (old, new) };
        let kind = if old.1 < new.1 { self.new_kind() } else { self.old_kind() };
        let search = self.search();
        let Some((at, revision)) = search.existing(younger, Some(older))? else { return Ok(None) };
        let related = (at.as_path(), revision);
        let met = self.repository.nearest_meeting(self.ctx, related, (&parent, peg))?;
        let since = |youngest: u64| match met {
            Some(met) if met >= youngest => before(youngest),
            Some(met) => met,
            None => 0,
        };
        let relpath = parent.join(RelPath::new(self.relpath.name())?);
        let range = (peg, since(peg));
        let deletion = search.deletion(&relpath, range, Some(related), met.is_some())?;
        let mut missing = MissingDetails::default();
        let Some(deletion) = deletion else {
            let related_kind = self.repository.kind(self.ctx, &at, revision)?;
            let moves = search.moves_to(related, related_kind, since(revision))?;
            if moves.is_empty() {
                return Ok(None);
            }
            missing.siblings = self.siblings_of(&moves, kind, younger)?;
            missing.sibling_moves = Some(moves);
            return Ok(Some(missing));
        };
        if let Some(moves) = &deletion.moves {
            missing.targets = self.targets_of(moves, self.new_kind(), new)?;
        }
        missing.deleted = Some((deletion.revision, deletion.author, relpath));
        missing.moves = deletion.moves;
        Ok(Some(missing))
    }
}
