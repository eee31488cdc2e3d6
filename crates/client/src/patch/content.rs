//! The contents that hunks are applied to, a file's text or a property's value: lines by their positions.
//!
//! Each line's offset and hash are in memory. Keywords are contracted wherever a line is read, so that
//! hunks made elsewhere fit. Reading goes on from line to line as 1.14's does: [`Content::ended`] is set only
//! once a line beyond the last one was requested.

use std::collections::HashMap;
use std::fs::File;
use std::hash::{DefaultHasher, Hasher};
use std::io::{Cursor, Read, Seek, Write};
use std::sync::Arc;

use sapwood_core::exact::Exact;
use sapwood_core::{SvnError, SvnResult, len64};
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

pub(super) fn hash(line: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(line);
    hasher.finish()
}

struct LineStart {
    at: u64,
    /// The hash of the part that is compared.
    hash: u64,
}

/// Contents before a patch.
pub(super) struct Content {
    source: Option<Source<Box<dyn Readable>>>,
    lines: Vec<LineStart>,
    /// The lines with a hash, in order; made when it is first requested.
    by_hash: HashMap<u64, Vec<u64>>,
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
            lines: Vec::new(),
            by_hash: HashMap::new(),
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
        let mut lines = Vec::new();
        let (mut at, mut line) = (0, Vec::new());
        loop {
            let read = source.line(at, u64::MAX, &mut line).map_err(failed)?;
            if read.eof && line.is_empty() {
                break;
            }
            comparison.reduce(&mut line)?;
            lines.push(LineStart { at, hash: hash(&line) });
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
        len64(self.lines.len())
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

    fn line_at(&self, number: u64) -> Option<&LineStart> {
        let at = usize::try_from(number.checked_sub(1)?).ok()?;
        self.lines.get(at)
    }

    /// The hash of a line.
    pub(super) fn hash_at(&self, number: u64) -> Option<u64> {
        self.line_at(number).map(|line| line.hash)
    }

    /// The lines with a hash.
    pub(super) fn with_hash(&mut self, hash: u64) -> &[u64] {
        if self.by_hash.is_empty() {
            for (number, line) in (1..).zip(&self.lines) {
                self.by_hash.entry(line.hash).or_default().push(number);
            }
        }
        self.by_hash.get(&hash).map_or(&[], Vec::as_slice)
    }

    /// Reads the compared part of a line. `false` at the end.
    pub(super) fn read_at(&mut self, number: u64, text: &mut Vec<u8>) -> SvnResult<bool> {
        let Some(at) = self.line_at(number).map(|line| line.at) else { return Ok(false) };
        let Some(source) = &mut self.source else { return Ok(false) };
        source.line(at, u64::MAX, text).map_err(failed)?;
        self.comparison.reduce(text)?;
        Ok(true)
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
        let at = self.line_at(self.current).map(|line| line.at);
        let (Some(at), Some(source)) = (at, &mut self.source) else {
            self.ended = true;
            return Ok(None);
        };
        let read = source.line(at, u64::MAX, text).map_err(failed)?;
        self.comparison.contract(text)?;
        self.current = self.current.plus(1);
        Ok(Some(read.end))
    }
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
    fn spaces_may_be_ignored() {
        let mut content = Content::of_value(b" a b\nab\na\n".to_vec(), true).unwrap();
        assert_eq!(content.with_hash(hash(b"ab")), [1, 2]);
        assert_eq!(copied(&mut content, 0), " a b\nab\na\n");
    }
}
