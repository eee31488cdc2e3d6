//! The lines of a difference that are shown: changes with a few lines around them, as far as the page's limits allow.

use sapwood_core::exact::Exact as _;
use sapwood_diff::{IgnoreSpace, Options, Range, compare};

use crate::budget::{self, Budget};
use crate::text;

/// Unchanged lines around changes.
const CONTEXT: usize = 3;

/// A line and its number in its text, from 0.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line<'t> {
    pub(super) at: usize,
    pub(super) text: &'t [u8],
}

/// Lines that belong together.
#[derive(Debug)]
pub(super) enum Piece<'t> {
    /// One line that is the same on both sides (or differs in white space that does not count).
    Same(Line<'t>, Line<'t>),
    /// Lines that were replaced by others.
    Change(Vec<Line<'t>>, Vec<Line<'t>>),
}

impl Piece<'_> {
    /// The numbers of its first lines, from 0, where it has one on both sides.
    pub(super) fn first(&self) -> Option<(usize, usize)> {
        match self {
            Self::Same(old, new) => Some((old.at, new.at)),
            Self::Change(..) => None,
        }
    }

    /// The numbers of the lines behind it, likewise.
    pub(super) fn end(&self) -> Option<(usize, usize)> {
        self.first().map(|(old, new)| (old.plus(1), new.plus(1)))
    }
}

/// What is shown of a difference.
#[derive(Debug, Default)]
pub(super) struct Hunks<'t> {
    pub(super) all: Vec<Vec<Piece<'t>>>,
    /// Whether there is more.
    pub(super) is_cut: bool,
    /// Whether any line differs.
    pub(super) has_changes: bool,
}

/// How many lines and bytes may be shown, and how many are.
struct Room {
    most_lines: usize,
    most_bytes: usize,
    lines: usize,
    bytes: usize,
}

impl Room {
    /// Takes one more line, if there is room for it.
    fn take(&mut self, line: &Line<'_>) -> bool {
        if self.lines >= self.most_lines || self.bytes >= self.most_bytes {
            return false;
        }
        self.lines = self.lines.plus(1);
        self.bytes = self.bytes.plus(line.text.len().min(budget::LINE));
        true
    }
}

/// Compares two texts.
pub(super) fn hunks<'t>(
    old: &'t [u8],
    new: &'t [u8],
    ignores_space: bool,
    budget: &Budget,
) -> Hunks<'t> {
    let ignore_space = if ignores_space { IgnoreSpace::All } else { IgnoreSpace::None };
    let options = Options { context: CONTEXT, ignore_space, ..Options::default() };
    let diff = compare(&options, old, new);
    let (old, new): (Vec<&[u8]>, Vec<&[u8]>) =
        (text::lines(old).collect(), text::lines(new).collect());
    let (most_lines, most_bytes) = budget.left();
    let mut room = Room { most_lines, most_bytes, lines: 0, bytes: 0 };
    let mut hunks = Hunks { has_changes: diff.has_changes(), ..Hunks::default() };
    let ranges = joined(&diff.ranges);
    for (at, range) in ranges.iter().enumerate() {
        let is_last = at.plus(1) == ranges.len();
        let fits = if range.common {
            common(&mut hunks.all, range, (at == 0, is_last), (&old, &new), &mut room)
        } else {
            change(&mut hunks.all, range, (&old, &new), &mut room)
        };
        if !fits {
            hunks.is_cut = true;
            break;
        }
    }
    budget.take(room.lines, room.bytes);
    hunks.all.retain(|hunk| !hunk.is_empty());
    hunks
}

/// The ranges, those without changes that follow each other as one: a comparison may end one anywhere.
fn joined(ranges: &[Range]) -> Vec<Range> {
    let mut all: Vec<Range> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match all.last_mut().filter(|last| last.common && range.common) {
            Some(last) => {
                last.old_len = last.old_len.plus(range.old_len);
                last.new_len = last.new_len.plus(range.new_len);
            }
            None => all.push(*range),
        }
    }
    all
}

fn line<'t>(lines: &[&'t [u8]], at: usize) -> Line<'t> {
    Line { at, text: lines.get(at).copied().unwrap_or(&[]) }
}

fn push<'t>(hunks: &mut Vec<Vec<Piece<'t>>>, piece: Piece<'t>) {
    match hunks.last_mut() {
        Some(hunk) => hunk.push(piece),
        None => hunks.push(vec![piece]),
    }
}

/// Adds lines that differ; `false` where not all of them fit.
fn change<'t>(
    hunks: &mut Vec<Vec<Piece<'t>>>,
    range: &Range,
    (old, new): (&[&'t [u8]], &[&'t [u8]]),
    room: &mut Room,
) -> bool {
    let mut fits = true;
    let mut side = |lines: &[&'t [u8]], start: usize, len: usize| -> Vec<Line<'t>> {
        let all = (start..start.plus(len)).map(|at| line(lines, at));
        let taken: Vec<Line<'t>> = all.take_while(|line| room.take(line)).collect();
        fits &= taken.len() == len;
        taken
    };
    let olds = side(old, range.old_start, range.old_len);
    let news = side(new, range.new_start, range.new_len);
    if !olds.is_empty() || !news.is_empty() {
        push(hunks, Piece::Change(olds, news));
    }
    fits
}

/// Adds the unchanged lines next to changes; a new hunk begins where others are left out.
fn common<'t>(
    hunks: &mut Vec<Vec<Piece<'t>>>,
    range: &Range,
    (is_first, is_last): (bool, bool),
    (old, new): (&[&'t [u8]], &[&'t [u8]]),
    room: &mut Room,
) -> bool {
    let len = range.new_len;
    let head = if is_first { 0 } else { CONTEXT.min(len) };
    let tail = if is_last { 0 } else { CONTEXT.min(len) };
    let is_whole = head.plus(tail) >= len;
    let (head, tail) = if is_whole { (len, len) } else { (head, len.minus(tail)) };
    for at in (0..head).chain(tail..len) {
        if !is_whole && at == tail {
            hunks.push(Vec::new());
        }
        let new = line(new, range.new_start.plus(at));
        if !room.take(&new) {
            return false;
        }
        push(hunks, Piece::Same(line(old, range.old_start.plus(at)), new));
    }
    if !is_whole && tail == len {
        hunks.push(Vec::new());
    }
    true
}
