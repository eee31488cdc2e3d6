//! Unified diffs of files that are too large to be held in memory whole.
//!
//! The texts are read several times from their start. The first reading finds what they have in common
//! at the start, the second what they have in common at the end; only what lies between, with some lines
//! on both sides, is taken into memory and compared in the usual way. Invariant: what is printed is what
//! [`crate::unified()`] prints of the whole texts. When one of the texts is empty nothing is held at all.

use sapwood_core::{Cut, Exact, len64};
use std::collections::VecDeque;
use std::io::{self, Read, Write};

use crate::Style;
use crate::compare::compare;
use crate::options::Options;
use crate::unified::{NO_NEWLINE, Start, may_start_function, write_hunks_from};

/// How many lines of a common start or end are compared all the same: more than the reference sets
/// back of a common end (50) and than it may need around that.
const MARGIN: usize = 64;
/// How much of a line is kept that may name a function; more than is ever shown.
const LINE_HEAD: usize = 256;
/// How much is read at a time, in bytes.
const PIECE: usize = 64 * 1024;

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

/// Compares two texts and writes the hunks, if there are any, after what `head` gives. Says whether
/// there are any.
///
/// # Errors
/// Those of reading, of writing, and of `head`.
pub fn unified_large<E: From<io::Error>>(
    options: &Options,
    old: &dyn LargeText,
    new: &dyn LargeText,
    head: &mut dyn FnMut() -> Result<Vec<u8>, E>,
    out: &mut dyn Write,
) -> Result<bool, E> {
    match (old.is_empty(), new.is_empty()) {
        (true, true) => Ok(false),
        (true, false) => one_sided(b'+', new, head, out).map(|()| true),
        (false, true) => one_sided(b'-', old, head, out).map(|()| true),
        (false, false) => {
            let margin = MARGIN.saturating_add(options.context);
            let start = common_start(old, new, margin)?;
            let end = match start.is_whole_text {
                true => 0,
                false => common_end(old, new, start.offset, margin)?,
            };
            let old_middle = middle(old, start.offset, end)?;
            let new_middle = middle(new, start.offset, end)?;
            let diff = compare(options, &old_middle, &new_middle);
            if !diff.has_changes() {
                return Ok(false);
            }
            out.write_all(&head()?)?;
            let mut hunks = Vec::new();
            let from = Start { line: start.lines, function: start.function };
            let texts = (old_middle.as_slice(), new_middle.as_slice());
            write_hunks_from(from, &diff, options, Style::File, texts, &mut hunks);
            out.write_all(&hunks)?;
            Ok(true)
        }
    }
}

/// A text that came or went whole: one hunk.
fn one_sided<E: From<io::Error>>(
    mark: u8,
    text: &dyn LargeText,
    head: &mut dyn FnMut() -> Result<Vec<u8>, E>,
    out: &mut dyn Write,
) -> Result<(), E> {
    let lines = marked_lines(mark, text, &mut io::sink())?;
    out.write_all(&head()?)?;
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
                    from = Some(at.plus(u64::try_from(passed).unwrap_or(u64::MAX)));
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
    let piece = u64::try_from(PIECE).unwrap_or(u64::MAX);
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

fn skip(reader: &mut dyn Read, len: u64) -> io::Result<()> {
    io::copy(&mut reader.take(len), &mut io::sink()).map(drop)
}

/// What is left of a text without so many bytes at its start and end.
fn middle(text: &dyn LargeText, start: u64, end: u64) -> io::Result<Vec<u8>> {
    let mut reader = text.open()?;
    skip(&mut *reader, start)?;
    let mut bytes = Vec::new();
    let len = text.len().minus(start).minus(end);
    reader.take(len).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unified;
    use proptest::prelude::*;

    struct Bytes(Vec<u8>);

    impl LargeText for Bytes {
        fn len(&self) -> u64 {
            u64::try_from(self.0.len()).unwrap()
        }
        fn open(&self) -> io::Result<Box<dyn Read + '_>> {
            Ok(Box::new(self.0.as_slice()))
        }
    }

    fn same(options: &Options, old: &[u8], new: &[u8]) {
        let (mut wanted, mut found) = (Vec::new(), Vec::new());
        let any = unified(options, old, new, &mut wanted);
        let mut begun = 0;
        let (a, b) = (Bytes(old.to_vec()), Bytes(new.to_vec()));
        let mut head = || -> io::Result<Vec<u8>> {
            begun += 1;
            Ok(Vec::new())
        };
        let large = unified_large(options, &a, &b, &mut head, &mut found).unwrap();
        assert_eq!(String::from_utf8_lossy(&found), String::from_utf8_lossy(&wanted));
        assert_eq!((large, begun), (any, i32::from(any)));
    }

    #[test]
    fn files_that_come_and_go() {
        let plain = Options::default();
        for text in ["a\n", "a", "a\nb", "a\r\nb\r\n", "a\rb\r", "\r\n\r", "\n\n\nx"] {
            same(&plain, b"", text.as_bytes());
            same(&plain, text.as_bytes(), b"");
            let long = text.repeat(50_000);
            same(&plain, b"", long.as_bytes());
            same(&plain, long.as_bytes(), b"");
        }
        same(&plain, b"", b"");
    }

    /// A text of `len` lines, some of which are like others.
    fn text(len: usize, kinds: usize, ending: &str) -> Vec<String> {
        let name = |n: usize| match n % 7 {
            0 => format!("int function{}(void){ending}", n % kinds),
            _ => format!("  line {}{ending}", n % kinds),
        };
        (0..len).map(name).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(150))]
        #[test]
        fn the_same_as_in_memory(
            len in 0usize..1200,
            kinds in 1usize..300,
            ending in prop::sample::select(vec!["\n", "\r\n", "\r"]),
            edits in prop::collection::vec((0usize..1200, 0usize..5, 0usize..200), 0..6),
            context in 0usize..5,
            show_c_function: bool,
            cut: bool,
        ) {
            let old = text(len, kinds, ending);
            let mut new = old.clone();
            for (at, what, count) in edits {
                let at = at.min(new.len());
                match what {
                    0 => drop(new.drain(at..(at + count).min(new.len()))),
                    1 => drop(new.splice(at..at, text(count, kinds, ending))),
                    2 => new.insert(at, format!("new {count}\n")),
                    3 if at < new.len() => new[at] = format!("other {count}\n"),
                    _ => new.extend(text(count, kinds, "\n")),
                }
            }
            let (old, mut new) = (old.concat(), new.concat());
            if cut {
                new.pop();
            }
            let options = Options { context, show_c_function, ..Options::default() };
            same(&options, old.as_bytes(), new.as_bytes());
            same(&options, new.as_bytes(), old.as_bytes());
        }
    }
}
