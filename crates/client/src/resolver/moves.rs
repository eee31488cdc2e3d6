//! Moves, as a log shows them: a node that was deleted in the revision in which it was copied. A move may
//! go on in later revisions, in several ways where a node was copied more than once.

use std::cell::RefCell;

use sapwood_core::exact::Exact as _;
use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::{NodeKind, SvnResult, path};

use super::Search;

/// How deep moves within moves of one revision are followed.
const DEPTH: u32 = 64;

/// A node that moved, and its further moves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// The revision that moved it.
    pub revision: u64,
    /// The author of the revision.
    pub author: String,
    /// Where it was, below the repository's root.
    pub from: RelPathBuf,
    /// Where it is since.
    pub to: RelPathBuf,
    /// The revision that it was copied from.
    pub copied_from: u64,
    /// Its kind, if the log has it.
    pub kind: Option<NodeKind>,
    /// The next moves, of which one is the right one.
    pub next: Vec<Move>,
}

impl Move {
    /// The move of something below the node.
    fn of_child(&self, below: &RelPath, kind: Option<NodeKind>) -> Self {
        Self {
            from: self.from.join(below),
            to: self.to.join(below),
            kind,
            next: Vec::new(),
            ..self.clone()
        }
    }
}

/// A path that a revision deleted or replaced.
#[derive(Clone, Debug)]
pub(super) struct DeletedPath {
    pub(super) path: RelPathBuf,
    /// The kind of the node that replaced it.
    pub(super) replaced_by: Option<NodeKind>,
}

/// A path that a revision copied.
#[derive(Clone, Debug)]
pub(super) struct CopiedPath {
    pub(super) from: RelPathBuf,
    pub(super) from_revision: u64,
    pub(super) to: RelPathBuf,
    pub(super) kind: Option<NodeKind>,
}

/// The deletions and copies of a revision.
#[derive(Debug)]
pub(super) struct Revision {
    pub(super) number: u64,
    pub(super) author: String,
    pub(super) gone: Vec<DeletedPath>,
    copied: Vec<CopiedPath>,
    /// Moves out of what moved in the same revision, once they were looked for.
    nested: RefCell<Option<Vec<(RelPathBuf, usize)>>>,
}

impl Revision {
    pub(super) fn new(
        number: u64,
        author: String,
        mut gone: Vec<DeletedPath>,
        mut copied: Vec<CopiedPath>,
    ) -> Self {
        gone.sort_by(|a, b| path::compare(&a.path, &b.path));
        copied.sort_by(|a, b| path::compare(&a.to, &b.to));
        Self { number, author, gone, copied, nested: RefCell::default() }
    }

    fn new_move(&self, from: &RelPath, copy: &CopiedPath) -> Move {
        Move {
            revision: self.number,
            author: self.author.clone(),
            from: from.to_owned(),
            to: copy.to.clone(),
            copied_from: copy.from_revision,
            kind: copy.kind,
            next: Vec::new(),
        }
    }
}

/// Which moves are of interest: by where from and where to.
type MoveFilter<'w> = &'w dyn Fn(&RelPath, &RelPath) -> bool;

impl Search<'_> {
    /// The moves of a revision that are of interest, without those out of other moves.
    fn plain_moves(&self, revision: &Revision, wanted: MoveFilter<'_>) -> SvnResult<Vec<Move>> {
        let mut moves = Vec::new();
        for gone in &revision.gone {
            for copy in revision.copied.iter().filter(|copy| wanted(&gone.path, &copy.to)) {
                let deleted = (gone.path.as_path(), revision.number);
                let source = (copy.from.as_path(), copy.from_revision);
                let moved = if copy.from == gone.path {
                    self.repository.was_at(self.ctx, deleted, source, true)?
                } else {
                    // It may have been moved elsewhere, and merged here.
                    let deleted = (deleted.0, before(deleted.1));
                    self.repository.meeting(self.ctx, source, deleted)?.is_some()
                };
                if moved {
                    moves.push(revision.new_move(&gone.path, copy));
                }
            }
        }
        Ok(moves)
    }

    /// Nodes that were moved out of a directory that moved in the same revision: where from, and the
    /// location of the copy.
    fn nested_moves(&self, revision: &Revision) -> SvnResult<Vec<(RelPathBuf, usize)>> {
        if let Some(known) = &*revision.nested.borrow() {
            return Ok(known.clone());
        }
        let mut nested = Vec::new();
        for gone in &revision.gone {
            let inside =
                |copy: &CopiedPath| copy.to != gone.path && gone.path.is_at_or_below(&copy.to);
            if !revision.copied.iter().any(inside) {
                continue;
            }
            let Some(outer) = self.move_of(&gone.path, revision, false, DEPTH)? else { continue };
            let below = gone.path.below(&outer.to).unwrap_or(RelPath::ROOT);
            if below.is_empty() {
                continue;
            }
            let along = outer.from.join(below);
            for (at, copy) in revision.copied.iter().enumerate().filter(|(_, c)| c.from == along) {
                let deleted = (along.as_path(), revision.number);
                let source = (copy.from.as_path(), copy.from_revision);
                if self.repository.was_at(self.ctx, deleted, source, true)? {
                    nested.push((along.clone(), at));
                }
            }
        }
        *revision.nested.borrow_mut() = Some(nested.clone());
        Ok(nested)
    }

    /// All moves of a revision that are of interest.
    pub(super) fn moves(
        &self,
        revision: &Revision,
        wanted: MoveFilter<'_>,
    ) -> SvnResult<Vec<Move>> {
        if revision.gone.is_empty() || revision.copied.is_empty() {
            return Ok(Vec::new());
        }
        let mut moves = self.plain_moves(revision, wanted)?;
        for (from, at) in self.nested_moves(revision)? {
            let copy = revision.copied.get(at).filter(|copy| wanted(&from, &copy.to));
            moves.extend(copy.map(|copy| revision.new_move(&from, copy)));
        }
        Ok(moves)
    }

    /// The move of a revision that moved a path away, or that moved the nearest directory above it here.
    pub(super) fn move_of(
        &self,
        relpath: &RelPath,
        revision: &Revision,
        nested: bool,
        depth: u32,
    ) -> SvnResult<Option<Move>> {
        let wanted = |from: &RelPath, to: &RelPath| from == relpath || relpath.is_at_or_below(to);
        let moves = match nested {
            true => self.moves(revision, &wanted)?,
            false => self.plain_moves(revision, &wanted)?,
        };
        let exact = |found: &&Move| found.from == relpath || found.to == relpath;
        if let Some(found) = moves.iter().find(exact) {
            return Ok(Some(found.clone()));
        }
        let below = |found: &Move| relpath.below(&found.to).map(RelPath::to_owned);
        let nearest = moves.iter().filter_map(|found| Some((below(found)?, found)));
        let nearest = nearest.min_by_key(|(below, _)| path::components(below).count());
        let Some((below, nearest)) = nearest else { return Ok(None) };
        if let Some(depth) = depth.checked_sub(1) {
            let along = nearest.from.join(&below);
            if let Some(nearer) = self.move_of(&along, revision, nested, depth)? {
                return Ok(Some(nearer));
            }
        }
        Ok(Some(nearest.clone()))
    }

    /// The moves that took a path away in a revision, and where they went on to; `None` when it did not
    /// move. `revisions` come from the youngest on.
    pub(super) fn moves_from(
        &self,
        relpath: &RelPath,
        revision: u64,
        revisions: &[Revision],
    ) -> SvnResult<Option<Vec<Move>>> {
        let Some(at) = revisions.iter().find(|found| found.number == revision) else {
            return Ok(None);
        };
        let inside = |to: &RelPath| to != relpath && relpath.is_at_or_below(to);
        let mut found = Vec::new();
        for one in self.moves(at, &|from, to| from == relpath || inside(to))? {
            if one.from == relpath {
                found.push(one);
            } else if let Some(below) = relpath.below(&one.to) {
                found.extend(self.move_of(&one.from.join(below), at, true, DEPTH)?);
            }
        }
        for one in &mut found {
            self.follow(one, revisions)?;
        }
        Ok((!found.is_empty()).then_some(found))
    }

    /// Finds the further moves of a node that moved.
    fn follow(&self, moved: &mut Move, revisions: &[Revision]) -> SvnResult<()> {
        for revision in revisions.iter().rev().filter(|r| r.number > moved.revision) {
            let wanted = |from: &RelPath, _: &RelPath| moved.to.is_at_or_below(from);
            for one in self.moves(revision, &wanted)? {
                let Some(below) = moved.to.below(&one.from) else { continue };
                let deleted = (moved.to.as_path(), one.revision);
                let source = (moved.from.as_path(), moved.copied_from);
                if self.repository.was_at(self.ctx, deleted, source, false)? {
                    moved.next.push(one.of_child(below, moved.kind));
                }
            }
            if !moved.next.is_empty() {
                break;
            }
        }
        moved.next.iter_mut().try_for_each(|next| self.follow(next, revisions))
    }

    /// The moves that brought a node to where it is in `peg`, each from its beginning, as far as they
    /// are younger than `oldest`.
    pub(super) fn moves_to(
        &self,
        (relpath, peg): (&RelPath, u64),
        kind: Option<NodeKind>,
        oldest: u64,
    ) -> SvnResult<Vec<Move>> {
        if peg <= oldest {
            return Ok(Vec::new());
        }
        let revisions = self.scan(relpath, peg, oldest)?;
        let mut latest = Vec::new();
        for revision in revisions.iter() {
            for one in self.moves(revision, &|_, to| relpath.is_at_or_below(to))? {
                if one.revision != peg {
                    let there = (relpath, one.revision);
                    let met = self.repository.meeting(self.ctx, (relpath, peg), there)?;
                    if met != Some(one.revision) {
                        continue;
                    }
                }
                let below = relpath.below(&one.to).unwrap_or(RelPath::ROOT);
                latest.push(one.of_child(below, kind));
            }
            if !latest.is_empty() {
                break;
            }
        }
        latest.into_iter().map(|one| self.beginning(one, &revisions)).collect()
    }

    /// The first move of the line that a move ends.
    fn beginning(&self, last: Move, revisions: &[Revision]) -> SvnResult<Move> {
        let mut first = last;
        'back: loop {
            for revision in revisions.iter().filter(|r| r.number < first.revision) {
                let wanted = |_: &RelPath, to: &RelPath| to.is_at_or_below(&first.from);
                for one in self.moves(revision, &wanted)? {
                    let Some(below) = one.to.below(&first.from) else { continue };
                    let deleted = first.from.join(below);
                    let source = (one.from.as_path(), one.copied_from);
                    let deleted = (deleted.as_path(), first.revision);
                    if self.repository.was_at(self.ctx, deleted, source, false)? {
                        let mut earlier = one.of_child(below, first.kind);
                        earlier.next.push(first);
                        first = earlier;
                        continue 'back;
                    }
                }
            }
            return Ok(first);
        }
    }
}

/// The revision before one; the first has none before it that is of use.
pub(super) fn before(revision: u64) -> u64 {
    revision.max(2).minus(1)
}
