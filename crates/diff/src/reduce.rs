//! Two large texts without most of the lines that they have in common, for an alignment that needs little memory.
//!
//! A long stretch of equal lines is cut: its first lines stay, the rest is left out of both texts. Invariant: the
//! alignment of what is left is that of the whole. States of the alignment on the stretch's own diagonal go
//! through all of it at once, whether it is cut or not. One on another diagonal would have to get through the lines
//! that stay, by edits and by matches with neighbouring lines; [`ReducedTexts::holds`] shows that there are too few of
//! both. Lines that only one text has are stepped over by the alignment, so each line that is left on one side only
//! is looked for in what was cut, and is left there too if it is found.

use std::collections::HashSet;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::io;

use sapwood_core::common::common_prefix;
use sapwood_core::{Cut as _, Exact, len64};

use crate::compare::Range;
use crate::lines::{count_lines, lines};
use crate::normalize::normalize;
use crate::options::Options;
use crate::window::Window;

/// How texts are reduced.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Lines that stay of each equal stretch.
    pub(crate) head: usize,
    /// Bytes in which an equal stretch is looked for after a difference.
    pub(crate) window: usize,
    /// Lines that have to be equal there.
    pub(crate) equal: usize,
}

/// Lines that both texts have one after the other.
#[derive(Debug)]
enum Piece {
    Common { bytes: Vec<u8>, is_head: bool },
    Changed(Vec<u8>, Vec<u8>),
    Dropped { at: u64, bytes: u64, lines: usize },
}

/// Lines that are left out of both texts, before the lines of these numbers.
#[derive(Clone, Copy, Debug)]
struct Gap {
    old: usize,
    new: usize,
    lines: usize,
}

/// The two texts without what was cut.
#[derive(Debug, Default)]
pub(crate) struct ReducedTexts {
    pub(crate) old: Vec<u8>,
    pub(crate) new: Vec<u8>,
    gaps: Vec<Gap>,
    /// The lines that stayed before each cut.
    heads: Vec<Vec<u64>>,
}

/// A text that is read twice.
pub(crate) type Reopen<'r> = &'r dyn Fn() -> io::Result<Window<'r>>;

/// Reduces two texts; `None` when no equal stretch is found after a difference.
pub(crate) fn reduce(
    options: &Options,
    limits: Limits,
    old: Reopen<'_>,
    new: Reopen<'_>,
) -> io::Result<Option<ReducedTexts>> {
    let Some(mut pieces) = Cutter::new(limits).run(old()?, new()?)? else { return Ok(None) };
    let hashes = RandomState::new();
    let hash = |line: &[u8]| hashes.hash_one(&*normalize(line, options));
    let mut wanted = one_sided(&pieces, &hash);
    if !wanted.is_empty() {
        pieces = keep_wanted(pieces, &mut wanted, old()?, &hash)?;
    }
    Ok(Some(assemble(pieces, &hash)))
}

impl ReducedTexts {
    /// Whether an alignment of what is left, which took so many edits at most, is that of the whole.
    pub(crate) fn holds(&self, edits: usize) -> bool {
        self.heads.iter().all(|head| keeps_out(head, edits))
    }

    /// A change of what is left as one of the whole; `None` when it goes over a cut.
    pub(crate) fn whole(&self, change: &Range) -> Option<Range> {
        let (mut dropped_old, mut dropped_new) = (0usize, 0usize);
        for gap in &self.gaps {
            let before = gap.old <= change.old_start && gap.new <= change.new_start;
            let after = gap.old >= change.old_start.plus(change.old_len)
                && gap.new >= change.new_start.plus(change.new_len);
            if before {
                dropped_old = dropped_old.plus(gap.lines);
                dropped_new = dropped_new.plus(gap.lines);
            } else if !after {
                return None;
            }
        }
        Some(Range {
            old_start: change.old_start.plus(dropped_old),
            new_start: change.new_start.plus(dropped_new),
            ..*change
        })
    }
}

/// Whether an alignment that goes on another diagonal than that of equal lines ends among them.
fn keeps_out(head: &[u64], edits: usize) -> bool {
    let half = head.len() / 2;
    if edits >= half {
        return false;
    }
    let mut longest = 0usize;
    let from = half.minus(edits);
    for shift in 1..=edits {
        let mut equal = 0usize;
        for (a, b) in head.tail(from).iter().zip(head.tail(from.plus(shift).min(head.len()))) {
            equal = if a == b { equal.plus(1) } else { 0 };
            longest = longest.max(equal);
        }
        if edits.plus(1).times(longest.plus(1)) >= half {
            return false;
        }
    }
    true
}

/// What the lines of only one of the texts are, as far as they are left.
fn one_sided(pieces: &[Piece], hash: &dyn Fn(&[u8]) -> u64) -> HashSet<u64> {
    let (mut both, mut old, mut new) = (HashSet::new(), HashSet::new(), HashSet::new());
    for piece in pieces {
        match piece {
            Piece::Common { bytes, .. } => both.extend(lines(bytes).map(hash)),
            Piece::Changed(a, b) => {
                old.extend(lines(a).map(hash));
                new.extend(lines(b).map(hash));
            }
            Piece::Dropped { .. } => {}
        }
    }
    old.symmetric_difference(&new).filter(|line| !both.contains(*line)).copied().collect()
}

/// Leaves lines that are wanted in the texts: one of each.
fn keep_wanted(
    pieces: Vec<Piece>,
    wanted: &mut HashSet<u64>,
    mut old: Window<'_>,
    hash: &dyn Fn(&[u8]) -> u64,
) -> io::Result<Vec<Piece>> {
    let mut kept = Vec::new();
    for piece in pieces {
        let Piece::Dropped { at, bytes, .. } = piece else {
            kept.push(piece);
            continue;
        };
        old.skip(at.minus(old.offset()))?;
        let end = at.plus(bytes);
        let (mut from, mut count) = (at, 0usize);
        while old.offset() < end {
            let start = old.offset();
            let line = old.line()?;
            if line.is_empty() {
                break;
            }
            let len = line.len();
            if !wanted.is_empty() && wanted.remove(&hash(line)) {
                let bytes = line.to_vec();
                if count > 0 {
                    kept.push(Piece::Dropped { at: from, bytes: start.minus(from), lines: count });
                }
                kept.push(Piece::Common { bytes, is_head: false });
                (from, count) = (start.plus(len64(len)), 0);
            } else {
                count = count.plus(1);
            }
            old.advance(len);
        }
        if count > 0 {
            kept.push(Piece::Dropped { at: from, bytes: end.minus(from), lines: count });
        }
    }
    Ok(kept)
}

fn assemble(pieces: Vec<Piece>, hash: &dyn Fn(&[u8]) -> u64) -> ReducedTexts {
    let mut reduced = ReducedTexts::default();
    let (mut old, mut new) = (0usize, 0usize);
    let mut head = None;
    for piece in pieces {
        match piece {
            Piece::Common { bytes, is_head } => {
                let count = lines(&bytes).count();
                old = old.plus(count);
                new = new.plus(count);
                reduced.old.extend_from_slice(&bytes);
                reduced.new.extend_from_slice(&bytes);
                if is_head {
                    head = Some(bytes);
                }
            }
            Piece::Changed(a, b) => {
                old = old.plus(lines(&a).count());
                new = new.plus(lines(&b).count());
                reduced.old.extend_from_slice(&a);
                reduced.new.extend_from_slice(&b);
            }
            Piece::Dropped { lines: count, .. } => {
                reduced.gaps.push(Gap { old, new, lines: count });
                reduced.heads.extend(head.take().map(|head| lines(&head).map(hash).collect()));
            }
        }
    }
    reduced
}

/// Goes through both texts and cuts equal stretches.
struct Cutter {
    limits: Limits,
    pieces: Vec<Piece>,
    /// The first lines of the present stretch, and how many.
    head: Vec<u8>,
    head_lines: usize,
    /// What is left out of it: where, how many bytes and lines.
    dropped: (u64, u64, usize),
}

impl Cutter {
    const fn new(limits: Limits) -> Self {
        Self { limits, pieces: Vec::new(), head: Vec::new(), head_lines: 0, dropped: (0, 0, 0) }
    }

    fn run(mut self, mut old: Window<'_>, mut new: Window<'_>) -> io::Result<Option<Vec<Piece>>> {
        loop {
            old.fill(self.limits.window)?;
            new.fill(self.limits.window)?;
            let (a, b) = (old.data(), new.data());
            let common = common_prefix(a, b);
            let end = memchr::memrchr(b'\n', a.head(common)).map_or(0, |at| at.plus(1));
            let ends = |this: &Window<'_>, other: &[u8]| this.is_at_end() && common < other.len();
            let differ = common < a.len().min(b.len())
                || (common == a.len() && ends(&old, b))
                || (common == b.len() && ends(&new, a));
            if a.is_empty() && b.is_empty() {
                self.end_stretch();
                return Ok(Some(self.pieces));
            }
            if end > 0 {
                self.equal(old.offset(), a.head(end));
                old.advance(end);
                new.advance(end);
                if !differ {
                    continue;
                }
                old.fill(self.limits.window)?;
                new.fill(self.limits.window)?;
            } else if !(differ || old.is_at_end() && new.is_at_end()) {
                // A line that is longer than the window.
                return Ok(None);
            }
            self.end_stretch();
            let (a, b) = (old.data(), new.data());
            let rest = old.is_at_end() && new.is_at_end();
            let (skip_a, skip_b) = match meet(a, b, self.limits.equal) {
                Some(both) => both,
                None if rest => (a.len(), b.len()),
                None => return Ok(None),
            };
            self.pieces.push(Piece::Changed(a.head(skip_a).to_vec(), b.head(skip_b).to_vec()));
            old.advance(skip_a);
            new.advance(skip_b);
        }
    }

    /// Takes whole lines that are equal, which begin at `at` in the old text.
    fn equal(&mut self, at: u64, bytes: &[u8]) {
        let mut stay = 0usize;
        for newline in memchr::memchr_iter(b'\n', bytes) {
            if self.head_lines >= self.limits.head {
                break;
            }
            self.head_lines = self.head_lines.plus(1);
            stay = newline.plus(1);
        }
        self.head.extend_from_slice(bytes.head(stay));
        let rest = bytes.tail(stay);
        if rest.is_empty() {
            return;
        }
        if self.dropped.1 == 0 {
            self.dropped.0 = at.plus(len64(stay));
        }
        self.dropped.1 = self.dropped.1.plus(len64(rest.len()));
        self.dropped.2 = self.dropped.2.plus(count_lines(rest));
    }

    fn end_stretch(&mut self) {
        if !self.head.is_empty() {
            let bytes = std::mem::take(&mut self.head);
            self.pieces.push(Piece::Common { bytes, is_head: true });
        }
        let (at, bytes, lines) = std::mem::take(&mut self.dropped);
        if bytes > 0 {
            self.pieces.push(Piece::Dropped { at, bytes, lines });
        }
        self.head_lines = 0;
    }
}

/// How much of two texts is before `equal` lines that both have; of the old text as little as can be.
fn meet(old: &[u8], new: &[u8], equal: usize) -> Option<(usize, usize)> {
    /// How many places of a line in the new text are tried.
    const TRIES: usize = 8;
    let mut places: std::collections::HashMap<&[u8], Vec<usize>> = std::collections::HashMap::new();
    for (at, line) in whole_lines(new) {
        let known = places.entry(line).or_default();
        if known.len() < TRIES {
            known.push(at);
        }
    }
    for (at, line) in whole_lines(old) {
        for there in places.get(line).into_iter().flatten() {
            let (a, b) = (old.tail(at), new.tail(*there));
            let common = a.head(common_prefix(a, b));
            if memchr::memchr_iter(b'\n', common).take(equal).count() == equal {
                return Some((at, *there));
            }
        }
    }
    None
}

/// The lines that end with a newline, with their places.
fn whole_lines(text: &[u8]) -> impl Iterator<Item = (usize, &[u8])> {
    let mut at = 0usize;
    std::iter::from_fn(move || {
        let rest = text.tail(at);
        let len = memchr::memchr(b'\n', rest)?.plus(1);
        let line = rest.head(len);
        let start = at;
        at = at.plus(len);
        Some((start, line))
    })
}
