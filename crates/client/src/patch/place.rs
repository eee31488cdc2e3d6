//! Where a hunk fits: at the line that it says, near it, or nowhere; or whether it was applied already.
//!
//! Positions are line numbers, 0 for none. Where a hunk could go is found by the rarest of its lines, so that the
//! cost of a search is that of the few places where this line is, not of the file; which of these places is taken
//! is 1.14's choice: the nearest, the one before rather than the one after.

use sapwood_core::len64;
use std::collections::BTreeMap;
use std::fs::File;
use std::ops::Range;

use sapwood_core::SvnResult;
use sapwood_core::exact::{Cut, Exact};
use sapwood_diff::patch::{Hunk, Operation, PatchFile, Which};

use super::content::{Content, hash};

/// The most lines of context at each end of a hunk that need not fit.
const MAX_FUZZ: u64 = 2;

/// The outcome for a hunk.
#[derive(Clone, Copy, Debug)]
pub(super) struct HunkPosition {
    pub(super) hunk: Hunk,
    /// The line where it fits.
    pub(super) line: u64,
    pub(super) rejected: bool,
    pub(super) already_applied: bool,
    /// Lines of context that did not fit, as they are reported: with a penalty for wrong numbers.
    pub(super) reported_fuzz: u64,
    /// The same, as it is.
    pub(super) fuzz: u64,
}

/// The content that a hunk of a text or property is tried on.
#[derive(Clone, Copy, Debug)]
pub(super) struct Around {
    pub(super) is_prop: bool,
    pub(super) operation: Operation,
    /// Whether the file is deleted locally.
    pub(super) deleted: bool,
    /// The state of the path for a hunk that makes a new file.
    pub(super) obstacle: Obstacle,
}

/// What is at the path of a new file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Obstacle {
    /// Nothing, or an empty file.
    None,
    /// A file under version control.
    Versioned,
    /// Another file.
    Other,
}

/// The hunks that have a place.
#[derive(Debug, Default)]
pub(super) struct TakenLines {
    /// By first line: how many lines before and after.
    by_line: BTreeMap<u64, [u64; 2]>,
    longest: u64,
    /// Where the last one ends.
    end: Option<u64>,
}

impl TakenLines {
    pub(super) fn add(&mut self, placed: &HunkPosition) {
        if placed.rejected {
            return;
        }
        let hunk = &placed.hunk;
        let both = self.by_line.entry(placed.line).or_default();
        for (known, side) in both.iter_mut().zip([hunk.before.len, hunk.after.len]) {
            *known = side.max(*known);
            self.longest = self.longest.max(side);
        }
        self.end = Some(placed.line.wrapping_add(hunk.before.len));
    }

    fn has(&self, line: u64, which: Which) -> bool {
        let from = line.saturating_sub(self.longest);
        self.by_line.range(from..=line).any(|(start, [before, after])| {
            let len = if which == Which::After { after } else { before };
            line < start.saturating_add(*len)
        })
    }
}

/// One side of a hunk, by the hashes of its lines.
struct Pattern {
    which: Which,
    hashes: Vec<u32>,
}

/// A search for a hunk's position.
pub(super) struct Search<'s> {
    pub(super) file: &'s mut PatchFile<File>,
    pub(super) content: &'s mut Content,
    pub(super) taken: &'s TakenLines,
    pub(super) around: Around,
    pub(super) hunk: Hunk,
}

impl Search<'_> {
    /// Looks for the position of the hunk, with more and more fuzz. `offset` is how far (wrapping) the hunk before
    /// it was from where it said.
    pub(super) fn place(&mut self, offset: u64, most_fuzz: Option<u64>) -> SvnResult<HunkPosition> {
        let before = self.pattern(Which::Before)?;
        let after = self.pattern(Which::After)?;
        let mut fuzz = 0;
        loop {
            let (line, already_applied) = self.place_with(&before, &after, fuzz, offset)?;
            let rejected = line == 0;
            if !rejected || already_applied || fuzz >= most_fuzz.unwrap_or(MAX_FUZZ) {
                return Ok(HunkPosition {
                    hunk: self.hunk,
                    line,
                    rejected,
                    already_applied,
                    reported_fuzz: fuzz,
                    fuzz: fuzz.saturating_sub(self.hunk.after.penalty),
                });
            }
            fuzz = fuzz.plus(1);
        }
    }

    fn pattern(&mut self, which: Which) -> SvnResult<Pattern> {
        let mut cursor = self.hunk.lines(which);
        let mut hashes = Vec::new();
        let mut line = Vec::new();
        while self.file.line(&mut cursor, &mut line)?.is_some() {
            self.content.comparison.reduce(&mut line)?;
            hashes.push(hash(&line));
        }
        Ok(Pattern { which, hashes })
    }

    fn place_with(
        &mut self,
        before: &Pattern,
        after: &Pattern,
        fuzz: u64,
        offset: u64,
    ) -> SvnResult<(u64, bool)> {
        let start = self.hunk.before.start.wrapping_add(offset);
        if start == 0 {
            return self.place_new(after, fuzz);
        }
        if !self.content.existed() {
            // There is nothing to change, but a file that the patch deletes is already deleted.
            return Ok((0, self.hunk.after.start == 0));
        }
        let exact = self.scan(before, start..start.saturating_add(1), true, fuzz)?;
        if exact != start {
            return self.place_elsewhere(before, after, fuzz, start);
        }
        let hunk = &self.hunk;
        let bare = hunk.leading == 0 || hunk.trailing == 0;
        if fuzz > 0 || !bare || hunk.after.len <= hunk.before.len {
            return Ok((exact, false));
        }
        // Too little context to see whether these lines were added already.
        let at = hunk.after.start;
        let again = self.scan(after, at..at.saturating_add(1), true, fuzz)?;
        Ok((exact, again == at))
    }

    /// The position of a hunk that makes something new: the first line, where nothing is.
    fn place_new(&mut self, after: &Pattern, fuzz: u64) -> SvnResult<(u64, bool)> {
        let compares = match (self.around.is_prop, self.around.obstacle) {
            _ if fuzz > 0 => return Ok((0, false)),
            (true, _) => self.content.existed(),
            (false, Obstacle::None) => false,
            (false, Obstacle::Versioned) => true,
            (false, Obstacle::Other) => return Ok((0, false)),
        };
        if !compares {
            return Ok((1, false));
        }
        let len = len64(after.hashes.len());
        let same = len == self.content.count() && (len == 0 || self.fits(after, 1, 0, true)?);
        Ok((u64::from(same), same))
    }

    fn place_elsewhere(
        &mut self,
        before: &Pattern,
        after: &Pattern,
        fuzz: u64,
        start: u64,
    ) -> SvnResult<(u64, bool)> {
        if fuzz == 0 {
            let at = self.hunk.after.start;
            let whole = matches!(self.around.operation, Operation::Unchanged | Operation::Deleted);
            if at == 0 && whole {
                if self.around.deleted {
                    return Ok((0, true));
                }
            } else if self.scan(after, at..at.saturating_add(1), true, fuzz)? == at {
                return Ok((at, true));
            }
        }
        Ok((self.nearest(before, fuzz, start)?, false))
    }

    /// The position that is nearest to where the hunk says: first looked for between the hunk before it and there, then
    /// after that, then before the hunk before it.
    fn nearest(&mut self, before: &Pattern, fuzz: u64, start: u64) -> SvnResult<u64> {
        let from = self.taken.end.unwrap_or(1);
        let mut found = self.scan(before, from..start, false, fuzz)?;
        let until = match found {
            0 => u64::MAX,
            found => start.wrapping_add(start.wrapping_sub(found)),
        };
        let later = self.scan(before, start.saturating_add(1)..until, true, fuzz)?;
        let nearer = found == 0 || later.wrapping_sub(start) < start.wrapping_sub(found);
        if later != 0 && nearer {
            found = later;
        }
        let distance = found.wrapping_sub(start);
        let worse = found > start && distance > start.wrapping_sub(from);
        if from > 1 && (found == 0 || worse) {
            let least = if found != 0 && distance < start {
                start.wrapping_sub(distance).wrapping_add(1)
            } else {
                1
            };
            let earlier = self.scan(before, least..from.wrapping_sub(1), false, fuzz)?;
            if earlier != 0 {
                found = earlier;
            }
        }
        Ok(found)
    }

    /// The first line (or the last one) of a range where a pattern fits and no other hunk is.
    fn scan(
        &mut self,
        pattern: &Pattern,
        range: Range<u64>,
        first: bool,
        fuzz: u64,
    ) -> SvnResult<u64> {
        let Some(fuzz) = fuzz.checked_sub(self.hunk.after.penalty) else { return Ok(0) };
        let len = len64(pattern.hashes.len());
        let Some(room) = self.content.count().checked_sub(len).filter(|_| len > 0) else {
            return Ok(0);
        };
        let range = range.start.max(1)..range.end.min(room.saturating_add(2));
        if range.is_empty() {
            return Ok(0);
        }
        if range.end.saturating_sub(range.start) == 1 {
            let line = range.start;
            let fits = self.fits(pattern, line, fuzz, false)?;
            return Ok(if fits { line } else { 0 });
        }
        let candidates = self.candidates(pattern, &range, fuzz);
        let mut candidates: Box<dyn Iterator<Item = u64>> = match candidates {
            None => Box::new(range),
            Some(found) => Box::new(found.into_iter()),
        };
        if !first {
            let all: Vec<u64> = candidates.collect();
            candidates = Box::new(all.into_iter().rev());
        }
        for line in candidates {
            if self.fits(pattern, line, fuzz, false)? {
                return Ok(line);
            }
        }
        Ok(0)
    }

    /// Where in a range the pattern could begin, by the rarest of its lines; `None` when no line must fit.
    fn candidates(&mut self, pattern: &Pattern, range: &Range<u64>, fuzz: u64) -> Option<Vec<u64>> {
        let mut rarest: Option<(usize, u64, u32)> = None;
        for (number, hash) in (1_u64..).zip(&pattern.hashes) {
            if self.is_free(pattern.which, number, fuzz) {
                continue;
            }
            let count = self.content.with_hash(*hash).len();
            if rarest.is_none_or(|(least, ..)| count < least) {
                rarest = Some((count, number, *hash));
            }
        }
        let (_, number, hash) = rarest?;
        let shift = number.minus(1);
        let lines = self.content.with_hash(hash);
        let before =
            |end: u64| lines.partition_point(|line| u64::from(*line) < end.saturating_add(shift));
        let lines = lines.piece(before(range.start)..before(range.end));
        Some(lines.iter().map(|line| u64::from(*line).minus(shift)).collect())
    }

    /// Whether a line of the hunk need not fit.
    const fn is_free(&self, which: Which, number: u64, fuzz: u64) -> bool {
        let hunk = &self.hunk;
        let first = number <= fuzz && hunk.leading > fuzz;
        let last = match hunk.side(which).len.checked_sub(fuzz) {
            Some(until) => number > until && hunk.trailing > fuzz,
            None => false,
        };
        first || last
    }

    fn fits(&mut self, pattern: &Pattern, line: u64, fuzz: u64, taken: bool) -> SvnResult<bool> {
        for (number, hash) in (1_u64..).zip(&pattern.hashes) {
            let at = line.saturating_add(number).saturating_sub(1);
            let same = self.content.hash_at(at) == Some(*hash);
            if !same && !self.is_free(pattern.which, number, fuzz) {
                return Ok(false);
            }
        }
        if !taken && self.taken.has(line, pattern.which) {
            return Ok(false);
        }
        self.is_same(pattern.which, line, fuzz)
    }

    /// The same by the lines themselves: equal hashes may be made on purpose.
    fn is_same(&mut self, which: Which, line: u64, fuzz: u64) -> SvnResult<bool> {
        let mut cursor = self.hunk.lines(which);
        let (mut here, mut there) = (Vec::new(), Vec::new());
        for number in 1_u64.. {
            if self.file.line(&mut cursor, &mut there)?.is_none() {
                break;
            }
            let at = line.saturating_add(number).saturating_sub(1);
            if self.is_free(which, number, fuzz) {
                continue;
            }
            self.content.comparison.reduce(&mut there)?;
            if !self.content.read_at(at, &mut here)? || here != there {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
