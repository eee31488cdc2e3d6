//! The diff of two texts as ranges of lines.

use sapwood_core::{Cut, Exact};
use std::borrow::Cow;
use std::collections::HashMap;

use crate::lcs::{Match, align};
use crate::lines::lines;
use crate::normalize::normalize;
use crate::options::Options;
use crate::scan::{Ends, scan};

/// So many lines have room in the table of their numbers from the start.
const FEW: usize = 64;

/// A stretch of both texts. Line numbers count from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// Whether the lines are the same on both sides.
    pub common: bool,
    /// The first line in the old text.
    pub old_start: usize,
    /// How many lines of the old text.
    pub old_len: usize,
    /// The first line in the new text.
    pub new_start: usize,
    /// How many lines of the new text.
    pub new_len: usize,
}

/// The stretches that two texts consist of, in order and without gaps. Stretches of change are
/// never next to each other; common ones may be.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diff {
    /// The stretches.
    pub ranges: Vec<Range>,
}

impl Diff {
    /// Whether anything differs.
    #[must_use]
    pub fn has_changes(&self) -> bool {
        self.changes().next().is_some()
    }

    /// The stretches that differ.
    pub fn changes(&self) -> impl Iterator<Item = &Range> {
        self.ranges.iter().filter(|r| !r.common)
    }
}

/// Compares two texts as the reference compares files.
#[must_use]
pub fn compare(options: &Options, old: &[u8], new: &[u8]) -> Diff {
    compare_within(options, old, new, scan(old, new))
}

/// Compares two texts without setting aside their ends first, as the reference compares property
/// values. The hunks may differ from those of [`compare`], and large texts take longer.
#[must_use]
pub fn compare_whole(options: &Options, old: &[u8], new: &[u8]) -> Diff {
    compare_within(options, old, new, Ends { suffix: (old.len(), new.len()), ..Ends::default() })
}

/// As [`compare`]; also how many edits the alignment tried at most, one after the other.
pub(crate) fn compare_counted(options: &Options, old: &[u8], new: &[u8]) -> (Diff, usize) {
    compare_ends(options, old, new, scan(old, new))
}

fn compare_within(options: &Options, old: &[u8], new: &[u8], ends: Ends) -> Diff {
    compare_ends(options, old, new, ends).0
}

fn compare_ends(options: &Options, old: &[u8], new: &[u8], ends: Ends) -> (Diff, usize) {
    let mut numbers = HashMap::new();
    let old_tokens = tokens(options, old, ends.prefix, ends.suffix.0, &mut numbers);
    let new_tokens = tokens(options, new, ends.prefix, ends.suffix.1, &mut numbers);
    let mut runs = Vec::new();
    let prefix = ends.prefix_lines;
    if prefix > 0 {
        runs.push(Match { old: 0, new: 0, len: prefix });
    }
    let (middle, edits) = align(&old_tokens, &new_tokens, numbers.len());
    runs.extend(middle.into_iter().map(|run| Match {
        old: run.old.plus(prefix),
        new: run.new.plus(prefix),
        len: run.len,
    }));
    let old_end = prefix.plus(old_tokens.len());
    let new_end = prefix.plus(new_tokens.len());
    runs.push(Match { old: old_end, new: new_end, len: ends.suffix_lines });
    (from_runs(&runs), edits)
}

/// A number for each line between two offsets; equal lines have equal numbers, whatever text they
/// are in.
pub(crate) fn tokens<'a>(
    options: &Options,
    text: &'a [u8],
    start: usize,
    end: usize,
    numbers: &mut HashMap<Cow<'a, [u8]>, u32>,
) -> Vec<u32> {
    let middle = text.piece(start..end);
    let count = memchr::memchr_iter(b'\n', middle).count().plus(1);
    let mut tokens = Vec::with_capacity(count);
    numbers.reserve(count.min(FEW));
    for line in lines(middle) {
        let next = u32::try_from(numbers.len()).unwrap_or(u32::MAX);
        tokens.push(*numbers.entry(normalize(line, options)).or_insert(next));
    }
    tokens
}

/// Fills the gaps between common runs; the last run, which may be empty, is where both texts end
/// or end in common.
fn from_runs(runs: &[Match]) -> Diff {
    let mut ranges = Vec::new();
    let (mut old, mut new) = (0usize, 0usize);
    for run in runs {
        if old < run.old || new < run.new {
            ranges.push(Range {
                common: false,
                old_start: old,
                old_len: run.old.minus(old),
                new_start: new,
                new_len: run.new.minus(new),
            });
        }
        if run.len > 0 {
            ranges.push(Range {
                common: true,
                old_start: run.old,
                old_len: run.len,
                new_start: run.new,
                new_len: run.len,
            });
        }
        old = run.old.plus(run.len);
        new = run.new.plus(run.len);
    }
    Diff { ranges }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::IgnoreSpace;

    fn changes(options: &Options, old: &str, new: &str) -> Vec<(usize, usize, usize, usize)> {
        compare(options, old.as_bytes(), new.as_bytes())
            .changes()
            .map(|r| (r.old_start, r.old_len, r.new_start, r.new_len))
            .collect()
    }

    #[test]
    fn plain() {
        let plain = Options::default();
        assert_eq!(changes(&plain, "", ""), []);
        assert_eq!(changes(&plain, "a\nb\n", "a\nb\n"), []);
        assert_eq!(changes(&plain, "", "a\nb\n"), [(0, 0, 0, 2)]);
        assert_eq!(changes(&plain, "a\nb\nc\n", "a\nc\n"), [(1, 1, 1, 0)]);
        assert_eq!(changes(&plain, "a\nb", "a\nb\n"), [(1, 1, 1, 1)]);
        assert_eq!(changes(&plain, "a\nb\nc\nd\n", "x\nb\nc\ny\n"), [(0, 1, 0, 1), (3, 1, 3, 1)]);
    }

    #[test]
    fn what_is_ignored_is_common() {
        let space = Options { ignore_space: IgnoreSpace::All, ..Options::default() };
        assert_eq!(changes(&space, " a\nb\n", "a\n b \n"), []);
        let eol = Options { ignore_eol_style: true, ..Options::default() };
        assert_eq!(changes(&eol, "a\r\nb\rc\n", "a\nb\nd\n"), [(2, 1, 2, 1)]);
    }

    #[test]
    fn a_longer_text_loses_no_lines() {
        let old = ["a\n".repeat(100), "\n".into()].concat();
        let new = ["a\n".repeat(300), "\n".into()].concat();
        let diff = compare(&Options::default(), old.as_bytes(), new.as_bytes());
        assert_eq!(diff.ranges.iter().map(|r| r.new_len).sum::<usize>(), 301);
        assert_eq!(diff.ranges.iter().map(|r| r.old_len).sum::<usize>(), 101);
    }
}
