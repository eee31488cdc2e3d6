//! When a node was deleted, replaced or moved away.

use sapwood_core::notify::{Action, Notify};
use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::{NodeKind, Revnum, SvnResult};
use std::rc::Rc;

use super::Search;
use super::moves::before;
use super::moves::{Move, Revision};

/// The way in which a node was deleted.
#[derive(Clone, Debug)]
pub(super) struct Deletion {
    pub(super) revision: u64,
    pub(super) author: String,
    /// The kind of the node that replaced it.
    pub(super) replaced_by: Option<NodeKind>,
    /// Where it moved to, if it did.
    pub(super) moves: Option<Vec<Move>>,
}

impl Search<'_> {
    /// Reports how far the search is.
    pub(super) fn progress(&self, revision: u64) {
        let shown = self.victim.to_string_lossy();
        let notice = Notify::new(Action::TreeConflictDetailsProgress, &shown);
        self.ctx.notify(&Notify { revision: Some(Revnum(revision)), ..notice });
    }

    /// The deletions and copies in the revisions of a path, the youngest first.
    pub(super) fn scan(
        &self,
        relpath: &RelPath,
        youngest: u64,
        oldest: u64,
    ) -> SvnResult<Rc<Vec<Revision>>> {
        let revisions = self.repository.scan(self.ctx, relpath, youngest, oldest)?;
        revisions.iter().for_each(|revision| self.progress(revision.number));
        Ok(revisions)
    }

    /// The youngest revision not younger than `youngest`, and younger than `oldest`, that deleted the node
    /// at a path, or moved it away with `moves`. It must be related to a node, if one is given.
    pub(super) fn deletion(
        &self,
        relpath: &RelPath,
        (youngest, oldest): (u64, u64),
        related: Option<(&RelPath, u64)>,
        moves: bool,
    ) -> SvnResult<Option<Deletion>> {
        if youngest <= oldest {
            return Ok(None);
        }
        let revisions = self.scan(relpath.parent(), youngest, oldest)?;
        let mut at = relpath.to_owned();
        let mut last: Option<Move> = None;
        for revision in revisions.iter() {
            if moves {
                self.progress(revision.number);
            }
            let gone = revision.gone.iter().find(|gone| gone.path == at);
            if let Some(gone) = gone
                && self.is_related(&at, revision.number, related)?
            {
                let number = revision.number;
                let found = if moves { self.moves_from(&at, number, &revisions)? } else { None };
                return Ok(Some(Deletion {
                    revision: number,
                    author: revision.author.clone(),
                    replaced_by: gone.replaced_by,
                    moves: found,
                }));
            }
            if moves && let Some(found) = self.move_of(&at, revision, true, 64)? {
                // Before, it was elsewhere.
                if let Some(below) = at.below(&found.to) {
                    at = found.from.join(below);
                }
                last = Some(found);
            }
        }
        let Some(last) = last else { return Ok(None) };
        let moves = self.moves_from(&at, last.revision, &revisions)?;
        Ok(Some(Deletion {
            revision: last.revision,
            author: last.author,
            replaced_by: None,
            moves,
        }))
    }

    fn is_related(
        &self,
        at: &RelPath,
        revision: u64,
        related: Option<(&RelPath, u64)>,
    ) -> SvnResult<bool> {
        let Some(related) = related else { return Ok(true) };
        let met = self.repository.meeting(self.ctx, related, (at, before(revision)))?;
        Ok(met.is_some())
    }

    /// An existing node to compare others with: the younger one, or its last location if it was deleted.
    pub(super) fn existing(
        &self,
        younger: (&RelPath, u64),
        older: Option<(&RelPath, u64)>,
    ) -> SvnResult<Option<(RelPathBuf, u64)>> {
        let (relpath, revision) = younger;
        if self.repository.kind(self.ctx, relpath, revision)?.is_some() {
            return Ok(Some((relpath.to_owned(), revision)));
        }
        let found = self.deletion(relpath, (revision, 0), older, true)?;
        Ok(found.map(|found| (relpath.to_owned(), before(found.revision))))
    }
}
