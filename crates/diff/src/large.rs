//! Unified diffs of files that are too large to be held in memory whole.
//!
//! The texts are read several times from their start. The first reading finds what they have in common
//! at the start, the second what they have in common at the end; only what lies between, with some lines
//! on both sides, is compared: a little of it in memory, more of it without its long equal stretches
//! ([`mod@crate::reduce`]). The last reading prints. Invariant: what is printed is what
//! [`crate::unified()`] prints of the whole texts. When one of the texts is empty nothing is held at all.

use sapwood_core::{Cut, Exact, len64};
use std::collections::VecDeque;
use std::io::{self, Read, Write};

use crate::compare::{Range, compare, compare_counted};
use crate::options::Options;
use crate::reduce::{Limits, reduce};
use crate::unified::{NO_NEWLINE, Start, may_start_function, write_hunks_streamed};
use crate::window::Window;

/// How many lines of a common start or end are compared all the same: more than the reference sets
/// back of a common end (50) and than it may need around that.
const MARGIN: usize = 64;
/// How much of a line is kept that may name a function; more than is ever shown.
const LINE_HEAD: usize = 256;
/// How much is read at a time, in bytes.
const PIECE: usize = 64 * 1024;
/// Middles that are no longer together are compared in memory, in bytes.
const IN_MEMORY: u64 = 4 << 20;
/// How longer ones are reduced, one way after the other.
const REDUCED: [Limits; 2] = [
    Limits { head: 4096, window: 1 << 20, equal: 16 },
    Limits { head: 65_536, window: 4 << 20, equal: 16 },
];

/// A text that can be read from its start as often as it takes.
pub trait LargeText {
    /// Its length in bytes.
    fn len(&self) -> u64;

    /// Whether there is nothing in it.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Begins to read it.
    ///
    /// # Errors
    /// Whatever opening it meets.
    fn open(&self) -> io::Result<Box<dyn Read + '_>>;
}

impl LargeText for &[u8] {
    fn len(&self) -> u64 {
        len64((**self).len())
    }

    fn open(&self) -> io::Result<Box<dyn Read + '_>> {
        Ok(Box::new(*self))
    }
}

/// What differs between two large texts.
pub struct LargeDiff<'t> {
    options: Options,
    old: &'t dyn LargeText,
    new: &'t dyn LargeText,
    /// What both have before the lines that the changes are counted from.
    start: CommonStart,
    changes: Vec<Range>,
}

impl<'t> LargeDiff<'t> {
    /// Compares two texts.
    ///
    /// # Errors
    /// Those of reading.
    pub fn new(
        options: Options,
        old: &'t dyn LargeText,
        new: &'t dyn LargeText,
    ) -> io::Result<Self> {
        Self::within(options, old, new, IN_MEMORY, &REDUCED)
    }

    fn within(
        options: Options,
        old: &'t dyn LargeText,
        new: &'t dyn LargeText,
        in_memory: u64,
        reduced: &[Limits],
    ) -> io::Result<Self> {
        let mut diff =
            Self { options, old, new, start: CommonStart::default(), changes: Vec::new() };
        if old.is_empty() || new.is_empty() {
            return Ok(diff);
        }
        let margin = MARGIN.saturating_add(options.context);
        diff.start = common_start(old, new, margin)?;
        let end = match diff.start.is_whole_text {
            true if old.len() == new.len() => return Ok(diff),
            true => 0,
            false => common_end(old, new, diff.start.offset, margin)?,
        };
        let middle = Middle { options, start: diff.start.offset, end, old, new };
        diff.changes = middle.changes(in_memory, reduced)?;
        Ok(diff)
    }

    /// Whether anything differs.
    #[must_use]
    pub fn has_changes(&self) -> bool {
        !self.changes.is_empty() || self.old.is_empty() != self.new.is_empty()
    }

    /// The stretches that differ, as [`crate::compare()`] finds them.
    ///
    /// # Errors
    /// Those of reading.
    pub fn changes(&self) -> io::Result<Vec<Range>> {
        let count = |text: &dyn LargeText| window(text, 0, 0)?.skip_lines(usize::MAX);
        if self.old.is_empty() || self.new.is_empty() {
            let (old_len, new_len) = (count(self.old)?, count(self.new)?);
            let all = Range { common: false, old_start: 0, old_len, new_start: 0, new_len };
            return Ok(Vec::from_iter(self.has_changes().then_some(all)));
        }
        let before = self.start.lines;
        let whole = |change: &Range| Range {
            old_start: change.old_start.plus(before),
            new_start: change.new_start.plus(before),
            ..*change
        };
        Ok(self.changes.iter().map(whole).collect())
    }

    /// Writes the hunks.
    ///
    /// # Errors
    /// Those of reading and of writing.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        match (self.old.is_empty(), self.new.is_empty()) {
            (true, true) => Ok(()),
            (true, false) => one_sided(b'+', self.new, out),
            (false, true) => one_sided(b'-', self.old, out),
            (false, false) => {
                let function = self.start.function.clone();
                let from = Start { line: self.start.lines, function };
                let texts = (
                    window(self.old, self.start.offset, 0)?,
                    window(self.new, self.start.offset, 0)?,
                );
                write_hunks_streamed(from, &self.changes, &self.options, texts, out)
            }
        }
    }
}

impl std::fmt::Debug for LargeDiff<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LargeDiff").field("changes", &self.changes).finish_non_exhaustive()
    }
}

/// What is between the common start and the common end.
struct Middle<'t> {
    options: Options,
    start: u64,
    end: u64,
    old: &'t dyn LargeText,
    new: &'t dyn LargeText,
}

impl Middle<'_> {
    fn changes(&self, in_memory: u64, limits: &[Limits]) -> io::Result<Vec<Range>> {
        let len = |text: &dyn LargeText| text.len().minus(self.start).minus(self.end);
        if len(self.old).plus(len(self.new)) > in_memory {
            for limits in limits {
                if let Some(changes) = self.reduced(*limits)? {
                    return Ok(changes);
                }
            }
        }
        let old = middle(self.old, self.start, self.end)?;
        let new = middle(self.new, self.start, self.end)?;
        Ok(compare(&self.options, &old, &new).changes().copied().collect())
    }

    /// The changes, found in texts without most of what is equal; `None` when that cannot be.
    fn reduced(&self, limits: Limits) -> io::Result<Option<Vec<Range>>> {
        let old = || window(self.old, self.start, self.end);
        let new = || window(self.new, self.start, self.end);
        let Some(reduced) = reduce(&self.options, limits, &old, &new)? else { return Ok(None) };
        let (diff, edits) = compare_counted(&self.options, &reduced.old, &reduced.new);
        if !reduced.holds(edits) {
            return Ok(None);
        }
        Ok(diff.changes().map(|change| reduced.whole(change)).collect())
    }
}

/// A text that came or went whole: one hunk.
fn one_sided(mark: u8, text: &dyn LargeText, out: &mut dyn Write) -> io::Result<()> {
    let lines = marked_lines(mark, text, &mut io::sink())?;
    let range = if lines == 1 { "1".to_owned() } else { format!("1,{lines}") };
    match mark {
        b'+' => writeln!(out, "@@ -0,0 +{range} @@")?,
        _ => writeln!(out, "@@ -{range} +0,0 @@")?,
    }
    marked_lines(mark, text, out)?;
    Ok(())
}

/// Writes all lines of a text with a mark before each, and counts them.
fn marked_lines(mark: u8, text: &dyn LargeText, out: &mut dyn Write) -> io::Result<u64> {
    let mut reader = text.open()?;
    let mut buffer = vec![0; PIECE];
    let (mut lines, mut in_line, mut after_cr) = (0u64, false, false);
    loop {
        let len = reader.read(&mut buffer)?;
        let mut piece = buffer.head(len);
        if piece.is_empty() {
            break;
        }
        while let Some(first) = piece.first() {
            if std::mem::take(&mut after_cr) {
                in_line = false;
                if *first == b'\n' {
                    out.write_all(b"\n")?;
                    piece = piece.tail(1);
                    continue;
                }
            }
            if !in_line {
                out.write_all(&[mark])?;
                lines += 1;
                in_line = true;
            }
            let end = memchr::memchr2(b'\n', b'\r', piece);
            let (line, rest) = piece
                .split_at_checked(end.map_or(piece.len(), |at| at.plus(1)))
                .unwrap_or((piece, &[]));
            out.write_all(line)?;
            match end.and(line.last()) {
                Some(b'\r') => after_cr = true,
                Some(_) => in_line = false,
                None => {}
            }
            piece = rest;
        }
    }
    if in_line && !after_cr {
        out.write_all(NO_NEWLINE)?;
    }
    Ok(lines)
}

/// Where the comparison begins.
#[derive(Clone, Debug, Default)]
struct CommonStart {
    /// In bytes.
    offset: u64,
    /// Lines before it.
    lines: usize,
    /// The last line before it that may be the start of a function.
    function: Vec<u8>,
    /// Whether one of the texts goes no further than what they have in common.
    is_whole_text: bool,
}

/// Finds a place `margin` lines before the first difference.
fn common_start(
    old: &dyn LargeText,
    new: &dyn LargeText,
    margin: usize,
) -> io::Result<CommonStart> {
    let mut places: VecDeque<CommonStart> = VecDeque::new();
    let mut at = CommonStart::default();
    let (mut head, mut after_cr) = (Vec::new(), false);
    let mut differ = false;
    lockstep(&mut *old.open()?, &mut *new.open()?, &mut |a, b| {
        let common = sapwood_core::common::common_prefix(a, b);
        differ = common < a.len();
        let mut rest = a.head(common);
        while !rest.is_empty() {
            let end = memchr::memchr2(b'\n', b'\r', rest);
            let (line, after) = rest
                .split_at_checked(end.map_or(rest.len(), |at| at.plus(1)))
                .unwrap_or((rest, &[]));
            rest = after;
            let continues = std::mem::replace(&mut after_cr, false) && line == b"\n";
            at.offset = at.offset.plus(len64(line.len()));
            if !continues {
                let room = LINE_HEAD.minus(head.len()).min(line.len());
                head.extend_from_slice(line.head(room));
                if end.is_none() {
                    continue;
                }
                at.lines += 1;
                if may_start_function(&head) {
                    at.function.clone_from(&head);
                }
                head.clear();
                after_cr = line.last() == Some(&b'\r');
            }
            // After a carriage return a newline may follow, which belongs to the same line.
            if line.last() == Some(&b'\n') {
                if places.len() > margin {
                    places.pop_front();
                }
                places.push_back(at.clone());
            }
        }
        !differ
    })?;
    let place = if places.len() > margin { places.pop_front() } else { None };
    Ok(CommonStart { is_whole_text: !differ, ..place.unwrap_or_default() })
}

/// How many bytes at the end of both texts need not be looked at: what follows after more than
/// `margin` lines without a difference. Nothing before `start` is counted.
fn common_end(
    old: &dyn LargeText,
    new: &dyn LargeText,
    start: u64,
    margin: usize,
) -> io::Result<u64> {
    // The common start was left `margin` lines behind `start`: so many more lie between.
    let wanted = margin.times(2).plus(2);
    let room = old.len().min(new.len()).minus(start);
    let (mut old_reader, mut new_reader) = (old.open()?, new.open()?);
    skip(&mut *old_reader, old.len().minus(room))?;
    skip(&mut *new_reader, new.len().minus(room))?;
    let (mut at, mut lines, mut from) = (0u64, 0usize, None);
    lockstep(&mut *old_reader, &mut *new_reader, &mut |a, b| {
        let mut same = 0;
        if a != b {
            let last = a.iter().zip(b).rposition(|(x, y)| x != y);
            same = last.map_or(0, |last| last.plus(1));
            (lines, from) = (0, None);
        }
        let tail = a.tail(same);
        if from.is_none() {
            for newline in memchr::memchr_iter(b'\n', tail) {
                lines += 1;
                if lines == wanted {
                    let passed = same.plus(newline).plus(1);
                    from = Some(at.plus(len64(passed)));
                    break;
                }
            }
        }
        at = at.plus(len64(a.len()));
        true
    })?;
    Ok(from.map_or(0, |from| room.minus(from)))
}

/// Reads both to the end of the shorter one, in pieces of equal length, while `each` wants more.
fn lockstep(
    old: &mut dyn Read,
    new: &mut dyn Read,
    each: &mut dyn FnMut(&[u8], &[u8]) -> bool,
) -> io::Result<()> {
    let piece = len64(PIECE);
    let (mut a, mut b) = (Vec::with_capacity(PIECE), Vec::with_capacity(PIECE));
    loop {
        a.clear();
        b.clear();
        Read::take(&mut *old, piece).read_to_end(&mut a)?;
        Read::take(&mut *new, piece).read_to_end(&mut b)?;
        let len = a.len().min(b.len());
        let more = match (a.get(..len), b.get(..len)) {
            (Some(a), Some(b)) if !a.is_empty() => each(a, b),
            _ => false,
        };
        if !more || len < PIECE {
            return Ok(());
        }
    }
}

pub(crate) fn skip(reader: &mut dyn Read, len: u64) -> io::Result<()> {
    io::copy(&mut reader.take(len), &mut io::sink()).map(drop)
}

/// What is left of a text without so many bytes at its start and end, as it is read.
pub(crate) fn window(text: &dyn LargeText, start: u64, end: u64) -> io::Result<Window<'_>> {
    let mut reader = text.open()?;
    skip(&mut *reader, start)?;
    let len = text.len().minus(start).minus(end);
    Ok(Window::new(Box::new(reader.take(len))))
}

/// The same, whole.
fn middle(text: &dyn LargeText, start: u64, end: u64) -> io::Result<Vec<u8>> {
    let mut reader = text.open()?;
    skip(&mut *reader, start)?;
    let mut bytes = Vec::new();
    let len = text.len().minus(start).minus(end);
    reader.take(len).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests;
