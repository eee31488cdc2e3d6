//! Hunks: where they are in the patch file and in the texts before and after, and their lines.

use std::io::{Read, Seek};

use sapwood_core::SvnResult;
use sapwood_core::mergeinfo::Mergeinfo;
use sapwood_core::props::names;

use super::header::utf8;
use super::source::LineEnd;
use super::{Operation, Patch, PatchFile, PropPatch, failed};

/// A piece of the patch file, from one offset to another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct ByteRange {
    start: u64,
    end: u64,
}

/// One of the two texts of a hunk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Side {
    /// Its first line; 0 when there is no text.
    pub start: u64,
    /// How many lines it has: as many as were said, but not more than there are.
    pub len: u64,
    /// How many lines there are more or less than were said.
    pub penalty: u64,
    place: ByteRange,
    /// Whether the text ends with its last line, without a line end.
    unended: bool,
}

/// Where the lines of a hunk are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Text {
    /// In the patch file.
    #[default]
    File,
    /// One line that the patch says in other ways: without a line end.
    Line(&'static str),
}

/// A change of some lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Hunk {
    /// Before.
    pub before: Side,
    /// After.
    pub after: Side,
    /// How many lines of context come first.
    pub leading: u64,
    /// How many come last.
    pub trailing: u64,
    place: ByteRange,
    reversed: bool,
    text: Text,
}

/// Which lines of a hunk are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// Those before.
    Before,
    /// Those after.
    After,
    /// All, with the mark that each begins with.
    All,
}

/// Where the reading of a hunk's lines stands.
#[derive(Clone, Copy, Debug)]
pub struct Cursor {
    hunk: Hunk,
    which: Which,
    at: u64,
}

impl Hunk {
    /// A hunk that adds a single line, or removes it.
    #[must_use]
    pub const fn of_line(line: &'static str, adds: bool) -> Self {
        let place = ByteRange { start: 0, end: 0 };
        let none = Side { start: 0, len: 0, penalty: 0, place, unended: false };
        let one = Side { start: 1, len: 1, penalty: 0, place, unended: true };
        let (before, after) = if adds { (none, one) } else { (one, none) };
        let text = Text::Line(line);
        Self { before, after, leading: 0, trailing: 0, place, reversed: false, text }
    }

    pub(super) const fn reverse(&mut self) {
        std::mem::swap(&mut self.before, &mut self.after);
        self.reversed = !self.reversed;
    }

    /// The side that is after (or before), as it stands.
    #[must_use]
    pub const fn side(&self, which: Which) -> &Side {
        match which {
            Which::After => &self.after,
            _ => &self.before,
        }
    }

    /// Begins to read lines.
    #[must_use]
    pub const fn lines(&self, which: Which) -> Cursor {
        let at = match which {
            Which::Before => self.before.place.start,
            Which::After => self.after.place.start,
            Which::All => self.place.start,
        };
        Cursor { hunk: *self, which, at }
    }
}

/// A hunk as it is read.
#[derive(Default)]
struct HunkReader {
    hunk: Hunk,
    inside: bool,
    is_property: bool,
    /// The name above, and what is done to the property.
    property: Option<(String, Operation)>,
    /// Where its lines begin, once there is one.
    start: Option<u64>,
    end: u64,
    /// Lines that are still to come, as the header says.
    left: [u64; 2],
    /// Where the two texts end, if before the hunk does.
    ends: [Option<u64>; 2],
    change_seen: bool,
    last: Last,
    is_mergeinfo: bool,
}

/// What the last line was.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Last {
    #[default]
    Noise,
    Before,
    After,
    Context,
}

/// What to do after a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Next,
    /// The line is not the hunk's.
    Stop,
}

impl<R: Read + Seek> PatchFile<R> {
    /// All hunks of a patch, those of properties by their names.
    pub(super) fn hunks(&mut self, patch: &mut Patch) -> SvnResult<()> {
        let mut last_name = None;
        while let Some(reading) = self.next_hunk()? {
            if !reading.is_property {
                patch.hunks.push(reading.hunk);
                last_name = None;
                continue;
            }
            let (name, operation) = match reading.property {
                Some((name, operation)) => (Some(name), operation),
                None => (last_name.take(), Operation::Unchanged),
            };
            last_name.clone_from(&name);
            // What is written for people to read about mergeinfo cannot be applied.
            if let Some(name) = name.filter(|_| !reading.is_mergeinfo) {
                let new = || PropPatch { operation, hunks: Vec::new() };
                patch.props.entry(name).or_insert_with(new).hunks.push(reading.hunk);
            }
        }
        patch.hunks.sort_by_key(|hunk| hunk.before.start);
        Ok(())
    }

    fn next_hunk(&mut self) -> SvnResult<Option<HunkReader>> {
        let mut reading = HunkReader::default();
        let mut line = Vec::new();
        let mut last_end = LineEnd::None;
        loop {
            let here = self.at;
            let read = self.line_at(here, &mut line)?;
            let step = if line.first() == Some(&b'\\') {
                if reading.inside {
                    reading.take_unended(here.saturating_sub(last_end.len()));
                }
                Step::Next
            } else if reading.inside {
                reading.take_line(here, &line, read.eof, self.how.ignore_whitespace)
            } else {
                reading.take_outside(&line)?
            };
            if step == Step::Stop {
                // What ends a hunk may begin another, or another patch. (1.14 takes a last line that has no
                // end into the hunk, whatever it is.)
                reading.end = here;
                self.at = here;
                break;
            }
            self.at = read.next;
            if read.eof && line.is_empty() {
                break;
            }
            last_end = read.end;
        }
        Ok(reading.finish())
    }

    /// The next line of a hunk, and what ends it; `None` after the last one. The text has no mark, but for
    /// [`Which::All`].
    ///
    /// # Errors
    /// Those of the file.
    pub fn line(&mut self, cursor: &mut Cursor, text: &mut Vec<u8>) -> SvnResult<Option<LineEnd>> {
        if let Text::Line(line) = cursor.hunk.text {
            return Ok(cursor.single(line, text));
        }
        let which = cursor.which;
        let (place, unended, unwanted) = cursor.range();
        while cursor.at < place.end {
            let limit = place.end.saturating_sub(cursor.at);
            let read = self.source.line(cursor.at, limit, text).map_err(failed)?;
            cursor.at = if read.eof { place.end } else { read.next };
            let mark = text.first().copied();
            if which != Which::All && (mark == Some(unwanted) || mark == Some(b'\\')) {
                continue;
            }
            if text.is_empty() && read.eof {
                break;
            }
            let mut end = read.end;
            if end.is_empty() && !unended {
                end = self.usual_end()?;
            }
            match (which, mark) {
                (Which::All, Some(b'+' | b'-')) if cursor.hunk.reversed => {
                    let other = if mark == Some(b'+') { b'-' } else { b'+' };
                    text.splice(..1, [other]);
                }
                (Which::Before | Which::After, Some(b'+' | b'-' | b' ')) => drop(text.drain(..1)),
                _ => {}
            }
            return Ok(Some(end));
        }
        text.clear();
        Ok(None)
    }
}

impl Cursor {
    /// Where the lines are, whether the last one is not ended, and which mark lines of the other side have.
    const fn range(&self) -> (ByteRange, bool, u8) {
        let (plus, minus) = if self.hunk.reversed { (b'-', b'+') } else { (b'+', b'-') };
        match self.which {
            Which::Before => (self.hunk.before.place, self.hunk.before.unended, plus),
            Which::After => (self.hunk.after.place, self.hunk.after.unended, minus),
            Which::All => (self.hunk.place, false, b'\\'),
        }
    }

    fn single(&mut self, line: &str, text: &mut Vec<u8>) -> Option<LineEnd> {
        text.clear();
        let adds = self.hunk.after.len > 0;
        let count = self.at;
        self.at = count.saturating_add(1);
        match (self.which, count) {
            (Which::Before, 0) if !adds => text.extend_from_slice(line.as_bytes()),
            (Which::After, 0) if adds => text.extend_from_slice(line.as_bytes()),
            (Which::All, 0) => {
                text.push(if adds { b'+' } else { b'-' });
                text.extend_from_slice(line.as_bytes());
                return Some(LineEnd::Lf);
            }
            (Which::All, 1) => {
                text.extend_from_slice(b"\\ No newline at end of hunk");
                return Some(LineEnd::Lf);
            }
            _ => return None,
        }
        Some(LineEnd::None)
    }
}

impl HunkReader {
    /// A line that says that the one above has no line end.
    fn take_unended(&mut self, text_end: u64) {
        let [before, after] = &mut self.ends;
        if self.last != Last::After {
            self.hunk.before.unended = true;
            if self.last != Last::Noise {
                before.get_or_insert(text_end);
            }
        }
        if self.last != Last::Before {
            self.hunk.after.unended = true;
            if self.last != Last::Noise {
                after.get_or_insert(text_end);
            }
        }
    }

    fn take_line(&mut self, here: u64, line: &[u8], eof: bool, lenient: bool) -> Step {
        if let Some(step) = self.take_mergeinfo(here, line) {
            return step;
        }
        let [before, after] = self.left;
        let mark = line.first().copied();
        let doubled = line.get(1) == line.first();
        let both = before > 0 && after > 0;
        let chopped =
            both && ((!eof && line.is_empty()) || (lenient && !matches!(mark, Some(b'+' | b'-'))));
        let kind = match mark {
            _ if chopped => Last::Context,
            Some(b' ') => Last::Context,
            // Two of them beyond the end are the names of the next file.
            Some(b'-') if before > 0 || !doubled => Last::Before,
            Some(b'+') if after > 0 || !doubled => Last::After,
            _ => return Step::Stop,
        };
        self.start.get_or_insert(here);
        if kind == Last::Context {
            let count =
                if self.change_seen { &mut self.hunk.trailing } else { &mut self.hunk.leading };
            *count = count.saturating_add(1);
        } else {
            self.change_seen = true;
            self.hunk.trailing = 0;
        }
        let [before, after] = &mut self.left;
        if kind != Last::After {
            count_line(before, &mut self.hunk.before);
        }
        if kind != Last::Before {
            count_line(after, &mut self.hunk.after);
        }
        self.last = kind;
        Step::Next
    }

    /// A line about mergeinfo as svn prints it for people, in whatever language: `/PATH:rRANGES` in it.
    fn take_mergeinfo(&mut self, here: u64, line: &[u8]) -> Option<Step> {
        let (name, _) = self.property.as_ref().filter(|_| self.is_property)?;
        if name != names::MERGEINFO {
            return None;
        }
        if !says_mergeinfo(line) {
            return self.is_mergeinfo.then_some(Step::Stop);
        }
        self.start.get_or_insert(here);
        self.is_mergeinfo = true;
        Some(Step::Next)
    }

    fn take_outside(&mut self, line: &[u8]) -> SvnResult<Step> {
        for (mark, is_property) in [("@@", false), ("##", true)] {
            if line.starts_with(mark.as_bytes()) {
                if let Some((before, after)) = header(line, mark) {
                    self.inside = true;
                    self.is_property = is_property;
                    self.left = [before.1, after.1];
                    (self.hunk.before.start, self.hunk.before.len) = before;
                    (self.hunk.after.start, self.hunk.after.len) = after;
                }
                return Ok(Step::Next);
            }
        }
        let marks = [
            ("Added: ", Operation::Added),
            ("Deleted: ", Operation::Deleted),
            ("Modified: ", Operation::Modified),
        ];
        for (mark, operation) in marks {
            if let Some(rest) = line.strip_prefix(mark.as_bytes()) {
                let name = prop_name(rest)?;
                self.property = match (name, self.property.take()) {
                    (Some(name), _) => Some((name.to_owned(), operation)),
                    (None, _) => None,
                };
                return Ok(Step::Next);
            }
        }
        let next = line.starts_with(b"--- ") || line.starts_with(b"diff --git ");
        Ok(if next { Step::Stop } else { Step::Next })
    }

    /// What was read, if it is a hunk with lines.
    fn finish(self) -> Option<Self> {
        let start = self.start.filter(|start| *start < self.end)?;
        let mut hunk = self.hunk;
        let [before_left, after_left] = self.left;
        let [before_end, after_end] = self.ends;
        hunk.place = ByteRange { start, end: self.end };
        for (side, left, end) in
            [(&mut hunk.before, before_left, before_end), (&mut hunk.after, after_left, after_end)]
        {
            side.len = side.len.saturating_sub(left);
            side.penalty = side.penalty.saturating_add(left);
            side.place = ByteRange { start, end: end.unwrap_or(self.end) };
        }
        Some(Self { hunk, ..self })
    }
}

/// Counts a line of one side. One more than was said is taken, for a penalty.
const fn count_line(left: &mut u64, side: &mut Side) {
    match left.checked_sub(1) {
        Some(fewer) => *left = fewer,
        None => {
            side.len = side.len.saturating_add(1);
            side.penalty = side.penalty.saturating_add(1);
        }
    }
}

fn says_mergeinfo(line: &[u8]) -> bool {
    let (Some(slash), Some(colon)) = (memchr::memchr(b'/', line), memchr::memrchr(b':', line))
    else {
        return false;
    };
    let ranges = line.get(colon..).and_then(|rest| rest.strip_prefix(b":r"));
    let (Some(source), Some(ranges)) = (line.get(slash..=colon), ranges) else { return false };
    let end = ranges.iter().position(u8::is_ascii_whitespace).unwrap_or(ranges.len());
    let ranges = ranges.get(..end).unwrap_or_default();
    Mergeinfo::parse(&[source, ranges].concat()).is_ok()
}

/// The first line and the number of lines, of both texts.
type Header = ((u64, u64), (u64, u64));

/// `@@ -1,2 +1,3 @@` and whatever follows.
fn header(line: &[u8], mark: &str) -> Option<Header> {
    let rest = line.strip_prefix(mark.as_bytes())?.strip_prefix(b" -")?;
    let at = memchr::memchr(b' ', rest)?;
    let before = range(rest.get(..at)?)?;
    let rest = rest.get(at..)?.strip_prefix(b" +")?;
    let at = memchr::memchr(b' ', rest)?;
    let after = range(rest.get(..at)?)?;
    rest.get(at..)?.strip_prefix(b" ")?.starts_with(mark.as_bytes()).then_some((before, after))
}

/// `START,LENGTH`, or `START` for one line.
fn range(text: &[u8]) -> Option<(u64, u64)> {
    let text = std::str::from_utf8(text).ok()?;
    let number = |text: &str| text.parse::<u64>().ok().filter(|n| i64::try_from(*n).is_ok());
    match text.split_once(',') {
        Some((start, len)) => Some((number(start)?, number(len)?)),
        None => Some((number(text)?, 1)),
    }
}

fn prop_name(text: &[u8]) -> SvnResult<Option<&str>> {
    let text = utf8(text)?;
    let stripped = text.trim_ascii();
    Ok([text, stripped].into_iter().find(|name| names::is_valid(name)))
}

#[cfg(test)]
mod tests;
