//! The contents that hunks are applied to, a file's text or a property's value: lines by their positions.
//!
//! Of each line a hash is in memory, and of one in 64 where it begins. Keywords are contracted wherever a line is read, so that
//! hunks made elsewhere fit. Reading goes on from line to line as 1.14's does: [`Content::ended`] is set only
//! once a line beyond the last one was requested.

use std::fs::File;
use std::hash::{DefaultHasher, Hasher};
use std::io::{Cursor, Read, Seek, Write};
use std::sync::Arc;

use sapwood_core::exact::{Cut, Exact};
use sapwood_core::{ErrorCode, SvnError, SvnResult, len64};
use sapwood_diff::patch::{LineEnd, Source};
use sapwood_wc::translate::{EolStyle, Keywords, Translation, Translator};

use super::output::{IN_MEMORY, unwritten};

/// A text that can be read anywhere.
pub(super) trait Readable: Read + Seek {}
impl<T: Read + Seek> Readable for T {}

/// How lines are compared.
#[derive(Clone, Debug, Default)]
pub(super) struct Comparison {
    pub(super) keywords: Option<Arc<Keywords>>,
    pub(super) ignore_whitespace: bool,
}

impl Comparison {
    /// A line as it is in the repository.
    fn contract(&self, line: &mut Vec<u8>) -> SvnResult<()> {
        if self.keywords.is_some() && line.contains(&b'$') {
            let translator = Translator::new(None, true, self.keywords.clone(), false);
            *line = translator.whole(line)?;
        }
        Ok(())
    }

    /// Reduces a line to the part that is compared.
    pub(super) fn reduce(&self, line: &mut Vec<u8>) -> SvnResult<()> {
        self.contract(line)?;
        if self.ignore_whitespace {
            line.retain(|b| !b.is_ascii_whitespace() && *b != 0x0b);
        }
        Ok(())
    }
}

/// The hash by which lines are found. Equal ones are compared.
pub(super) fn hash(line: &[u8]) -> u32 {
    let mut hasher = DefaultHasher::new();
    hasher.write(line);
    let [a, b, c, d, ..] = hasher.finish().to_le_bytes();
    u32::from_le_bytes([a, b, c, d])
}

/// Of so many lines one offset is kept.
const EVERY: usize = 64;

/// The lines of a text: 4 bytes of memory for each, and 4 more once lines are searched.
#[derive(Default)]
struct Lines {
    /// The hashes of what is compared.
    hashes: Vec<u32>,
    /// Where the first of each [`EVERY`] lines begins.
    offsets: Vec<u64>,
    /// The numbers of all lines in the order of their hashes; made when it is first requested.
    by_hash: Vec<u32>,
    /// A line, and where it begins: lines are mostly read one after the other.
    near: (usize, u64),
}

impl Lines {
    fn add(&mut self, at: u64, hash: u32) {
        if self.hashes.len().is_multiple_of(EVERY) {
            self.offsets.push(at);
        }
        self.hashes.push(hash);
    }

    /// Where the search for the start of a line begins: at which line, and where that is.
    fn before(&self, index: usize) -> Option<(usize, u64)> {
        let mark = index / EVERY;
        let at = *self.offsets.get(mark)?;
        let first = mark * EVERY;
        let near = self.near;
        Some(if (first..=index).contains(&near.0) { near } else { (first, at) })
    }

    /// The numbers of the lines with a hash, of which the first is 1.
    fn with_hash(&mut self, hash: u32) -> &[u32] {
        let hashes = &self.hashes;
        let of = |number: u32| {
            let index = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
            index.and_then(|index| hashes.get(index)).copied()
        };
        if self.by_hash.is_empty() {
            self.by_hash = (1..).take(hashes.len()).collect();
            self.by_hash.sort_unstable_by_key(|number| (of(*number), *number));
        }
        let from = self.by_hash.partition_point(|number| of(*number) < Some(hash));
        let to = self.by_hash.partition_point(|number| of(*number) <= Some(hash));
        self.by_hash.piece(from..to)
    }
}

/// Contents before a patch.
pub(super) struct Content {
    source: Option<Source<Box<dyn Readable>>>,
    lines: Lines,
    pub(super) comparison: Comparison,
    /// The end of all lines, if it is prescribed.
    line_end: Option<&'static [u8]>,
    /// The line that is read next; the first is 1.
    current: u64,
    ended: bool,
}

impl Content {
    /// Contents that are not there.
    pub(super) fn none() -> Self {
        Self {
            source: None,
            lines: Lines::default(),
            comparison: Comparison::default(),
            line_end: None,
            current: 1,
            ended: false,
        }
    }

    /// A property's value.
    pub(super) fn of_value(value: Vec<u8>, ignore_whitespace: bool) -> SvnResult<Self> {
        let comparison = Comparison { keywords: None, ignore_whitespace };
        Self::of(Box::new(Cursor::new(value)), comparison, None)
    }

    /// A file in its working form, and how long it is. A short one is read at once.
    pub(super) fn of_file(
        (mut file, len): (File, u64),
        translation: &Translation,
        ignore_whitespace: bool,
    ) -> SvnResult<Self> {
        let line_end: Option<&[u8]> = match translation.eol {
            EolStyle::Native => Some(b"\n"),
            EolStyle::Fixed(eol) => Some(eol.bytes()),
            EolStyle::None | EolStyle::Unknown => None,
        };
        let comparison = Comparison { keywords: translation.keywords.clone(), ignore_whitespace };
        let len = sapwood_core::exact::clamped(len);
        if len > IN_MEMORY {
            return Self::of(Box::new(file), comparison, line_end);
        }
        let mut text = Vec::with_capacity(len.plus(1));
        // Its length is known: asked of the file itself, it would be looked at twice more.
        (&mut file).take(u64::MAX).read_to_end(&mut text).map_err(failed)?;
        Self::of(Box::new(Cursor::new(text)), comparison, line_end)
    }

    fn of(
        text: Box<dyn Readable>,
        comparison: Comparison,
        line_end: Option<&'static [u8]>,
    ) -> SvnResult<Self> {
        let mut source = Source::new(text);
        let mut lines = Lines::default();
        let (mut at, mut line) = (0, Vec::new());
        loop {
            let read = source.line(at, u64::MAX, &mut line).map_err(failed)?;
            if read.eof && line.is_empty() {
                break;
            }
            comparison.reduce(&mut line)?;
            if u32::try_from(lines.hashes.len()).is_ok_and(|count| count < u32::MAX) {
                lines.add(at, hash(&line));
            } else {
                let message = "A file with more than 4,294,967,295 lines cannot be patched";
                return Err(SvnError::new(ErrorCode::UNSUPPORTED_FEATURE, message));
            }
            at = read.next;
        }
        Ok(Self { source: Some(source), lines, comparison, line_end, ..Self::none() })
    }

    /// Whether there is anything to read.
    pub(super) const fn existed(&self) -> bool {
        self.source.is_some()
    }

    /// The number of lines.
    pub(super) fn count(&self) -> u64 {
        len64(self.lines.hashes.len())
    }

    pub(super) const fn current(&self) -> u64 {
        self.current
    }

    /// Whether a line beyond the end was requested.
    pub(super) const fn ended(&self) -> bool {
        self.ended
    }

    /// The line end for lines that come from a patch.
    pub(super) fn line_end<'l>(&self, own: &'l [u8]) -> &'l [u8]
    where
        'static: 'l,
    {
        self.line_end.unwrap_or(own)
    }

    /// The hash of a line.
    pub(super) fn hash_at(&self, number: u64) -> Option<u32> {
        self.lines.hashes.get(index(number)?).copied()
    }

    /// The numbers of the lines with a hash, in order.
    pub(super) fn with_hash(&mut self, hash: u32) -> &[u32] {
        self.lines.with_hash(hash)
    }

    /// Reads the compared part of a line. `false` at the end.
    pub(super) fn read_at(&mut self, number: u64, text: &mut Vec<u8>) -> SvnResult<bool> {
        let read = self.read_line(number, text)?;
        self.comparison.reduce(text)?;
        Ok(read.is_some())
    }

    /// Reads a line as it is, and its end. `None` when there is no such line.
    fn read_line(&mut self, number: u64, text: &mut Vec<u8>) -> SvnResult<Option<LineEnd>> {
        text.clear();
        let wanted = index(number).filter(|wanted| *wanted < self.lines.hashes.len());
        let (Some(wanted), Some(source)) = (wanted, &mut self.source) else { return Ok(None) };
        let Some((mut line, mut at)) = self.lines.before(wanted) else { return Ok(None) };
        loop {
            let read = source.line(at, u64::MAX, text).map_err(failed)?;
            if line == wanted {
                self.lines.near = (line.plus(1), read.next);
                return Ok(Some(read.end));
            }
            (line, at) = (line.plus(1), read.next);
        }
    }

    /// Goes to a line, or as near to it as there are lines.
    pub(super) fn seek(&mut self, line: u64) {
        if line == self.current {
            return;
        }
        let (saved, saved_end) = (self.current, self.ended);
        let last = self.count().plus(1);
        self.ended |= line > last;
        self.current = line.min(last);
        if saved_end && saved > self.current {
            self.ended = false;
        }
    }

    /// Copies lines up to one that is left, or all for 0.
    pub(super) fn copy_to(&mut self, line: u64, out: &mut dyn Write) -> SvnResult<()> {
        let mut text = Vec::new();
        while (self.current < line || line == 0) && !self.ended {
            let Some(end) = self.read_next(&mut text)? else { break };
            let end = self.line_end.unwrap_or(end.bytes());
            out.write_all(&text).and_then(|()| out.write_all(end)).map_err(unwritten)?;
        }
        Ok(())
    }

    fn read_next(&mut self, text: &mut Vec<u8>) -> SvnResult<Option<LineEnd>> {
        let Some(end) = self.read_line(self.current, text)? else {
            self.ended = true;
            return Ok(None);
        };
        self.comparison.contract(text)?;
        self.current = self.current.plus(1);
        Ok(Some(end))
    }
}

/// The index of a line by its number.
fn index(number: u64) -> Option<usize> {
    usize::try_from(number.checked_sub(1)?).ok()
}

fn failed(error: std::io::Error) -> SvnError {
    SvnError::io(&error, "Can't read a file to patch")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn copied(content: &mut Content, to: u64) -> String {
        let mut out = Vec::new();
        content.copy_to(to, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn lines_are_copied_as_they_are() {
        let mut content = Content::of_value(b"a\r\nb\rc".to_vec(), false).unwrap();
        assert_eq!(content.count(), 3);
        assert_eq!(copied(&mut content, 2), "a\r\n");
        content.seek(3);
        assert_eq!(copied(&mut content, 0), "c");
        assert!(content.ended());
        content.seek(9);
        assert_eq!(content.current(), 4);
        content.seek(1);
        assert!(!content.ended());
    }

    #[test]
    fn lines_are_found_in_any_order() {
        let text: String = (1..=200).map(|n| format!("line {}\n", n % 50)).collect();
        let mut content = Content::of_value(text.into_bytes(), false).unwrap();
        assert_eq!(content.with_hash(hash(b"line 7")), [7, 57, 107, 157]);
        assert!(content.with_hash(hash(b"none")).is_empty());
        let mut line = Vec::new();
        for number in [200, 1, 64, 65, 66, 129, 128, 3, 4] {
            assert!(content.read_at(number, &mut line).unwrap());
            assert_eq!(line, format!("line {}", number % 50).into_bytes());
        }
        assert!(
            !content.read_at(201, &mut line).unwrap() && !content.read_at(0, &mut line).unwrap()
        );
    }

    #[test]
    fn spaces_may_be_ignored() {
        let mut content = Content::of_value(b" a b\nab\na\n".to_vec(), true).unwrap();
        assert_eq!(content.with_hash(hash(b"ab")), [1, 2]);
        assert_eq!(copied(&mut content, 0), " a b\nab\na\n");
    }
}
