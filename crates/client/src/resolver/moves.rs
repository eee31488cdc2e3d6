//! Moves, as a log tells them: a node that was deleted in the revision in which it was copied. A move may
//! go on in later revisions, in several ways where a node was copied more than once.

use std::cell::RefCell;

use sapwood_core::{NodeKind, SvnResult, path};

use super::Search;

/// How deep moves within moves of one revision are followed.
const DEPTH: u32 = 64;

/// A node that moved, and where it went on from there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Move {
    /// The revision that moved it.
    pub revision: u64,
    /// The author of the revision.
    pub author: String,
    /// Where it was, below the repository's root.
    pub from: String,
    /// Where it is since.
    pub to: String,
    /// The revision that it was copied from.
    pub copied_from: u64,
    /// What it is, if the log says it.
    pub kind: Option<NodeKind>,
    /// The next moves, of which one is the right one.
    pub next: Vec<Move>,
}

impl Move {
    /// The move of something below the node.
    fn of_child(&self, below: &str, kind: Option<NodeKind>) -> Self {
        Self {
            from: path::join(&self.from, below),
            to: path::join(&self.to, below),
            kind,
            next: Vec::new(),
            ..self.clone()
        }
    }
}

/// A path that a revision deleted or replaced.
#[derive(Clone, Debug)]
pub(super) struct Gone {
    pub(super) path: String,
    /// What it was replaced by.
    pub(super) replaced_by: Option<NodeKind>,
}

/// A path that a revision copied.
#[derive(Clone, Debug)]
pub(super) struct Copied {
    pub(super) from: String,
    pub(super) from_revision: u64,
    pub(super) to: String,
    pub(super) kind: Option<NodeKind>,
}

/// What a revision deleted and copied.
#[derive(Debug)]
pub(super) struct Revision {
    pub(super) number: u64,
    pub(super) author: String,
    pub(super) gone: Vec<Gone>,
    copied: Vec<Copied>,
    /// Moves out of what moved in the same revision, once they were looked for.
    nested: RefCell<Option<Vec<(String, usize)>>>,
}

impl Revision {
    pub(super) fn new(
        number: u64,
        author: String,
        mut gone: Vec<Gone>,
        mut copied: Vec<Copied>,
    ) -> Self {
        gone.sort_by(|a, b| path::compare(&a.path, &b.path));
        copied.sort_by(|a, b| path::compare(&a.to, &b.to));
        Self { number, author, gone, copied, nested: RefCell::default() }
    }

    fn made(&self, from: &str, copy: &Copied) -> Move {
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
type Wanted<'w> = &'w dyn Fn(&str, &str) -> bool;

impl Search<'_> {
    /// The moves of a revision that are of interest, without those out of other moves.
    fn plain_moves(&self, revision: &Revision, wanted: Wanted<'_>) -> SvnResult<Vec<Move>> {
        let mut moves = Vec::new();
        for gone in &revision.gone {
            for copy in revision.copied.iter().filter(|copy| wanted(&gone.path, &copy.to)) {
                let deleted = (gone.path.as_str(), revision.number);
                let source = (copy.from.as_str(), copy.from_revision);
                let moved = if copy.from == gone.path {
                    self.repository.was_at(self.ctx, deleted, source, true)?
                } else {
                    // It may have been moved elsewhere, and merged here.
                    let deleted = (deleted.0, super::repository::before(deleted.1));
                    self.repository.meeting(self.ctx, source, deleted)?.is_some()
                };
                if moved {
                    moves.push(revision.made(&gone.path, copy));
                }
            }
        }
        Ok(moves)
    }

    /// Nodes that were moved out of a directory that moved in the same revision: where from, and the
    /// place of the copy.
    fn nested_moves(&self, revision: &Revision) -> SvnResult<Vec<(String, usize)>> {
        if let Some(known) = &*revision.nested.borrow() {
            return Ok(known.clone());
        }
        let mut nested = Vec::new();
        for gone in &revision.gone {
            let inside =
                |copy: &Copied| copy.to != gone.path && path::is_ancestor(&copy.to, &gone.path);
            if !revision.copied.iter().any(inside) {
                continue;
            }
            let Some(outer) = self.move_of(&gone.path, revision, false, DEPTH)? else { continue };
            let below = path::skip_ancestor(&outer.to, &gone.path).unwrap_or("");
            if below.is_empty() {
                continue;
            }
            let along = path::join(&outer.from, below);
            for (at, copy) in revision.copied.iter().enumerate().filter(|(_, c)| c.from == along) {
                let deleted = (along.as_str(), revision.number);
                let source = (copy.from.as_str(), copy.from_revision);
                if self.repository.was_at(self.ctx, deleted, source, true)? {
                    nested.push((along.clone(), at));
                }
            }
        }
        *revision.nested.borrow_mut() = Some(nested.clone());
        Ok(nested)
    }

    /// All moves of a revision that are of interest.
    pub(super) fn moves(&self, revision: &Revision, wanted: Wanted<'_>) -> SvnResult<Vec<Move>> {
        if revision.gone.is_empty() || revision.copied.is_empty() {
            return Ok(Vec::new());
        }
        let mut moves = self.plain_moves(revision, wanted)?;
        for (from, at) in self.nested_moves(revision)? {
            let copy = revision.copied.get(at).filter(|copy| wanted(&from, &copy.to));
            moves.extend(copy.map(|copy| revision.made(&from, copy)));
        }
        Ok(moves)
    }

    /// The move of a revision that took a path away, or that brought the nearest directory above it.
    pub(super) fn move_of(
        &self,
        relpath: &str,
        revision: &Revision,
        nested: bool,
        depth: u32,
    ) -> SvnResult<Option<Move>> {
        let wanted = |from: &str, to: &str| from == relpath || path::is_ancestor(to, relpath);
        let moves = match nested {
            true => self.moves(revision, &wanted)?,
            false => self.plain_moves(revision, &wanted)?,
        };
        let exact = |found: &&Move| found.from == relpath || found.to == relpath;
        if let Some(found) = moves.iter().find(exact) {
            return Ok(Some(found.clone()));
        }
        let below = |found: &Move| path::skip_ancestor(&found.to, relpath).map(str::to_owned);
        let nearest = moves.iter().filter_map(|found| Some((below(found)?, found)));
        let nearest = nearest.min_by_key(|(below, _)| path::components(below).count());
        let Some((below, nearest)) = nearest else { return Ok(None) };
        if let Some(depth) = depth.checked_sub(1) {
            let along = path::join(&nearest.from, &below);
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
        relpath: &str,
        revision: u64,
        revisions: &[Revision],
    ) -> SvnResult<Option<Vec<Move>>> {
        let Some(at) = revisions.iter().find(|found| found.number == revision) else {
            return Ok(None);
        };
        let inside = |to: &str| to != relpath && path::is_ancestor(to, relpath);
        let mut found = Vec::new();
        for one in self.moves(at, &|from, to| from == relpath || inside(to))? {
            if one.from == relpath {
                found.push(one);
            } else if let Some(below) = path::skip_ancestor(&one.to, relpath) {
                found.extend(self.move_of(&path::join(&one.from, below), at, true, DEPTH)?);
            }
        }
        for one in &mut found {
            self.follow(one, revisions)?;
        }
        Ok((!found.is_empty()).then_some(found))
    }

    /// Finds out where a node that moved went on to.
    fn follow(&self, moved: &mut Move, revisions: &[Revision]) -> SvnResult<()> {
        for revision in revisions.iter().rev().filter(|r| r.number > moved.revision) {
            let wanted = |from: &str, _: &str| path::is_ancestor(from, &moved.to);
            for one in self.moves(revision, &wanted)? {
                let Some(below) = path::skip_ancestor(&one.from, &moved.to) else { continue };
                let deleted = (moved.to.as_str(), one.revision);
                let source = (moved.from.as_str(), moved.copied_from);
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
        (relpath, peg): (&str, u64),
        kind: Option<NodeKind>,
        oldest: u64,
    ) -> SvnResult<Vec<Move>> {
        if peg <= oldest {
            return Ok(Vec::new());
        }
        let revisions = self.scan(relpath, peg, oldest)?;
        let mut latest = Vec::new();
        for revision in revisions.iter() {
            for one in self.moves(revision, &|_, to| path::is_ancestor(to, relpath))? {
                if one.revision != peg {
                    let there = (relpath, one.revision);
                    let met = self.repository.meeting(self.ctx, (relpath, peg), there)?;
                    if met != Some(one.revision) {
                        continue;
                    }
                }
                let below = path::skip_ancestor(&one.to, relpath).unwrap_or("");
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
                let wanted = |_: &str, to: &str| path::is_ancestor(&first.from, to);
                for one in self.moves(revision, &wanted)? {
                    let Some(below) = path::skip_ancestor(&first.from, &one.to) else { continue };
                    let deleted = path::join(&first.from, below);
                    let source = (one.from.as_str(), one.copied_from);
                    let deleted = (deleted.as_str(), first.revision);
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
