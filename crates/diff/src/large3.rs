//! Three texts that are too large to be held in memory. They are read several times from their start: for what all three
//! have in common at both ends, for the lines between, and when the result is written.
//!
//! Of a line between the ends only its number is kept, which is found by 96 bits of a hash whose key is secret and
//! new each time. Invariant: the result is that of [`crate::diff3()`]; two of ten million lines would have the same hash once in
//! ten million million comparisons.

use std::collections::HashMap;
use std::collections::hash_map::RandomState;
use std::fs::File;
use std::hash::BuildHasher;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use sapwood_core::common::common_prefix;
use sapwood_core::exact::clamped;
use sapwood_core::{Cut, Exact, len64};

use crate::diff3::{Diff3, of_tokens};
use crate::large::{LargeText, skip, window};
use crate::lines::has_ending;
use crate::normalize::normalize;
use crate::options::Options;
use crate::scan::{EndsOfAll, KEPT_LINES};
use crate::window::Window;

/// How much is read at a time, in bytes.
const PIECE: usize = 64 << 10;

/// A text in a file.
#[derive(Clone, Debug)]
pub struct FileText {
    path: PathBuf,
    len: u64,
}

impl FileText {
    /// The text of a file, which does not change meanwhile.
    ///
    /// # Errors
    /// When its length cannot be found out.
    pub fn new(path: &Path) -> io::Result<Self> {
        Ok(Self { path: path.to_owned(), len: path.metadata()?.len() })
    }
}

impl LargeText for FileText {
    fn len(&self) -> u64 {
        self.len
    }

    fn open(&self) -> io::Result<Box<dyn Read + '_>> {
        Ok(Box::new(File::open(&self.path)?))
    }
}

/// Compares an original with the modified text and the latest one, as [`crate::diff3()`] does.
///
/// # Errors
/// Those of reading.
pub fn diff3_large(options: &Options, texts: [&dyn LargeText; 3]) -> io::Result<Diff3> {
    let ends = Ends::of(texts)?;
    let mut numbers = Numbers::default();
    let [original, modified, latest] = texts;
    let original = numbers.of_text(options, original, &ends)?;
    let modified = numbers.of_text(options, modified, &ends)?;
    let latest = numbers.of_text(options, latest, &ends)?;
    let count = numbers.known.len();
    drop(numbers);
    let ends = EndsOfAll {
        prefix_lines: ends.prefix_lines,
        suffix_lines: ends.suffix_lines,
        ..EndsOfAll::default()
    };
    Ok(of_tokens([&original, &modified, &latest], count, &ends))
}

/// Numbers of lines: equal lines have equal numbers, whatever text they are in.
#[derive(Default)]
struct Numbers {
    known: HashMap<[u32; 3], u32>,
    hashes: [RandomState; 2],
}

impl Numbers {
    fn of_text(
        &mut self,
        options: &Options,
        text: &dyn LargeText,
        ends: &Ends,
    ) -> io::Result<Vec<u32>> {
        let mut rest = window(text, ends.prefix, ends.suffix)?;
        let mut found = Vec::new();
        loop {
            let line = rest.line()?;
            let len = line.len();
            if len == 0 {
                return Ok(found);
            }
            let next = u32::try_from(self.known.len()).unwrap_or(u32::MAX);
            let key = self.key(&normalize(line, options));
            found.push(*self.known.entry(key).or_insert(next));
            rest.advance(len);
        }
    }

    fn key(&self, line: &[u8]) -> [u32; 3] {
        let [first, second] = self.hashes.each_ref().map(|hash| hash.hash_one(line).to_le_bytes());
        let word = |from: [u8; 8], high: bool| {
            let [a, b, c, d, e, f, g, h] = from;
            u32::from_le_bytes(if high { [e, f, g, h] } else { [a, b, c, d] })
        };
        [word(first, false), word(first, true), word(second, false)]
    }
}

/// What three texts have in common at both ends, as [`crate::scan::scan_all`] finds it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Ends {
    /// In bytes.
    prefix: u64,
    prefix_lines: usize,
    /// In bytes.
    suffix: u64,
    suffix_lines: usize,
}

impl Ends {
    fn of(texts: [&dyn LargeText; 3]) -> io::Result<Self> {
        let shortest = texts.iter().map(|text| text.len()).min().unwrap_or(0);
        if shortest == 0 {
            return Ok(Self::default());
        }
        let common = common_start(texts)?;
        let mut ends = Self::default();
        ends.take_prefix(texts, common)?;
        if common < shortest {
            ends.take_suffix(texts, shortest)?;
        }
        Ok(ends)
    }

    /// The whole lines of the first `common` bytes, which all three have.
    fn take_prefix(&mut self, texts: [&dyn LargeText; 3], common: u64) -> io::Result<()> {
        let [first, ..] = texts;
        let mut start = Window::new(Box::new(first.open()?.take(common)));
        let (mut before, mut ends_in_cr) = (0, false);
        loop {
            let line = start.line()?;
            let len = line.len();
            if len == 0 || !has_ending(line) {
                break;
            }
            ends_in_cr = line.ends_with(b"\r");
            start.advance(len);
            before = self.prefix;
            self.prefix = start.offset();
            self.prefix_lines = self.prefix_lines.plus(1);
        }
        // A carriage return of which only one text goes on with a newline does not end a line yet.
        if ends_in_cr && self.prefix == common {
            for text in texts {
                let mut next = [0];
                let mut reader = text.open()?;
                skip(&mut *reader, common)?;
                if reader.read(&mut next)? == 1 && next == *b"\n" {
                    self.prefix = before;
                    self.prefix_lines = self.prefix_lines.minus(1);
                    break;
                }
            }
        }
        Ok(())
    }

    /// The common end without its first lines. The byte after the common start is never part of it.
    fn take_suffix(&mut self, texts: [&dyn LargeText; 3], shortest: u64) -> io::Result<()> {
        let room = shortest.minus(self.prefix).minus(1);
        let common = common_end(texts, room)?;
        let [first, ..] = texts;
        let mut end = window(first, first.len().minus(common), 0)?;
        let kept = clamped(KEPT_LINES).plus(1);
        if end.skip_lines(kept)? < kept || end.offset() >= common {
            return Ok(());
        }
        self.suffix = common.minus(end.offset());
        self.suffix_lines = end.skip_lines(usize::MAX)?;
        Ok(())
    }
}

/// How many bytes all three have in common at their start.
fn common_start(texts: [&dyn LargeText; 3]) -> io::Result<u64> {
    let mut common = 0;
    lockstep(texts, [0; 3], &mut |a, b, c| {
        let same = common_prefix(a, b).min(common_prefix(a, c));
        common = common.plus(len64(same));
        same == a.len()
    })?;
    Ok(common)
}

/// How many of the last `room` bytes all three have in common at their end.
fn common_end(texts: [&dyn LargeText; 3], room: u64) -> io::Result<u64> {
    let (mut at, mut differs) = (0u64, 0u64);
    lockstep(texts, texts.map(|text| text.len().minus(room)), &mut |a, b, c| {
        if a != b || a != c {
            let last = a.iter().zip(b).zip(c).rposition(|((x, y), z)| x != y || x != z);
            differs = at.plus(last.map_or(0, |last| len64(last).plus(1)));
        }
        at = at.plus(len64(a.len()));
        true
    })?;
    Ok(room.minus(differs))
}

/// Takes pieces of equal length of three texts.
type TakePieces<'t> = &'t mut dyn FnMut(&[u8], &[u8], &[u8]) -> bool;

/// Reads all three from these places to the end of the shortest one, in pieces, while `each` wants more.
fn lockstep(texts: [&dyn LargeText; 3], from: [u64; 3], each: TakePieces<'_>) -> io::Result<()> {
    let mut readers = Vec::new();
    for (text, from) in texts.iter().zip(from) {
        let mut reader = text.open()?;
        skip(&mut *reader, from)?;
        readers.push(reader);
    }
    let mut pieces = [const { Vec::new() }; 3];
    loop {
        for (reader, piece) in readers.iter_mut().zip(&mut pieces) {
            piece.clear();
            Read::take(&mut *reader, len64(PIECE)).read_to_end(piece)?;
        }
        let len = pieces.iter().map(Vec::len).min().unwrap_or(0);
        let [a, b, c] = pieces.each_ref().map(|piece| piece.head(len));
        if a.is_empty() || !each(a, b, c) || len < PIECE {
            return Ok(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::IgnoreSpace;
    use crate::scan::{scan_all, start};
    use crate::{ConflictStyle, Labels, diff3, write_merged, write_merged_large};
    use proptest::prelude::*;

    fn same(options: &Options, texts: [&[u8]; 3]) {
        let [a, b, c] = texts;
        let large: [&dyn LargeText; 3] = [&a, &b, &c];
        let ends = scan_all(&texts);
        let found = Ends::of(large).unwrap();
        assert_eq!((found.prefix, found.prefix_lines), (len64(ends.prefix), ends.prefix_lines));
        assert_eq!(found.suffix, len64(a.len() - start(&ends, 0, a)), "{texts:?}");
        assert_eq!(found.suffix_lines, ends.suffix_lines);
        let wanted = diff3(options, a, b, c);
        let merged = diff3_large(options, large).unwrap();
        assert_eq!(merged, wanted);
        let labels = Labels { modified: "<", original: "|", separator: "=", latest: ">" };
        for style in [
            ConflictStyle::ModifiedOriginalLatest,
            ConflictStyle::ResolvedModifiedLatest,
            ConflictStyle::OnlyConflicts,
            ConflictStyle::Latest,
        ] {
            let (mut whole, mut read) = (Vec::new(), Vec::new());
            write_merged(&mut whole, &wanted, (a, b, c), &labels, style).unwrap();
            write_merged_large(&mut read, &merged, large, &labels, style).unwrap();
            assert_eq!(whole, read);
        }
    }

    fn text() -> impl Strategy<Value = Vec<u8>> {
        let line = prop::sample::select(vec!["a", "b", " c", "\r", "\n", "\r\n"]);
        prop::collection::vec(line, 0..30).prop_map(|lines| lines.concat().into_bytes())
    }

    proptest! {
        #[test]
        fn as_in_memory(
            start in text(), end in text(), middles in [text(), text(), text()],
            repeated in 0..60usize, spaces in prop::bool::ANY,
        ) {
            let end = end.repeat(repeated);
            let texts = middles.map(|middle| [start.as_slice(), &middle, &end].concat());
            let ignore_space = if spaces { IgnoreSpace::All } else { IgnoreSpace::None };
            let options = Options { ignore_space, ..Options::default() };
            same(&options, [&texts[0], &texts[1], &texts[2]]);
        }
    }

    #[test]
    fn more_than_a_piece() {
        let lines = |changed: &[usize]| -> Vec<u8> {
            let line = |n: usize| match changed.contains(&n) {
                true => format!("line {n} of {changed:?}\n"),
                false => format!("line {n}\n"),
            };
            (0..30_000).flat_map(|n| line(n).into_bytes()).collect()
        };
        let texts = [lines(&[]), lines(&[9_000, 20_000]), lines(&[12_000, 20_000])];
        same(&Options::default(), [&texts[0], &texts[1], &texts[2]]);
    }
}
