//! Lines of a file at any offset, through a block of it that is in memory.

use sapwood_core::{Cut, Exact};
use std::io::{self, Read, Seek, SeekFrom};

/// How much of the file is in memory.
const BLOCK: usize = 64 << 10;

/// What ends a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LineEnd {
    /// The text, or the range that is read, ends with it.
    #[default]
    None,
    /// `\n`.
    Lf,
    /// `\r`.
    Cr,
    /// `\r\n`.
    CrLf,
}

impl LineEnd {
    /// Its bytes.
    #[must_use]
    pub const fn bytes(self) -> &'static [u8] {
        match self {
            Self::None => b"",
            Self::Lf => b"\n",
            Self::Cr => b"\r",
            Self::CrLf => b"\r\n",
        }
    }

    /// How many bytes it has.
    #[must_use]
    pub const fn len(self) -> u64 {
        match self {
            Self::None => 0,
            Self::Lf | Self::Cr => 1,
            Self::CrLf => 2,
        }
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(self) -> bool {
        matches!(self, Self::None)
    }
}

/// What was read besides a line's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Read1 {
    /// What ended it.
    pub end: LineEnd,
    /// Where the next one begins.
    pub next: u64,
    /// Whether the end of what can be read was met before a line end.
    pub eof: bool,
}

/// A file that is read line by line from any offset.
#[derive(Debug)]
pub struct Source<R> {
    file: R,
    /// What is in memory, and where it begins.
    block: Vec<u8>,
    start: u64,
    /// Where the file stands.
    at: u64,
}

impl<R: Read + Seek> Source<R> {
    /// Nothing is read yet.
    pub const fn new(file: R) -> Self {
        Self { file, block: Vec::new(), start: 0, at: u64::MAX }
    }

    /// What is in memory from an offset on; empty at the end of the file.
    ///
    /// # Errors
    /// Those of the file.
    pub fn bytes(&mut self, at: u64) -> io::Result<&[u8]> {
        let inside = at.checked_sub(self.start).and_then(|n| usize::try_from(n).ok());
        let inside = match inside.filter(|n| *n < self.block.len()) {
            Some(inside) => inside,
            None => {
                self.load(at)?;
                0
            }
        };
        Ok(self.block.tail(inside))
    }

    fn load(&mut self, at: u64) -> io::Result<()> {
        self.block.resize(BLOCK, 0);
        if self.at != at {
            self.at = u64::MAX;
            self.file.seek(SeekFrom::Start(at))?;
        }
        let len = loop {
            match self.file.read(&mut self.block) {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                other => break other,
            }
        };
        self.block.truncate(*len.as_ref().unwrap_or(&0));
        self.start = at;
        self.at = at.plus(sapwood_core::exact::len64(len?));
        Ok(())
    }

    /// Reads the line that begins at an offset into `text`, of at most `limit` bytes with its end.
    ///
    /// # Errors
    /// Those of the file.
    pub fn line(&mut self, at: u64, limit: u64, text: &mut Vec<u8>) -> io::Result<Read1> {
        text.clear();
        let stop = at.saturating_add(limit);
        let mut at = at;
        while at < stop {
            let room = sapwood_core::exact::clamped(stop.minus(at));
            let found = self.bytes(at)?;
            let found = found.get(..room.min(found.len())).unwrap_or_default();
            if found.is_empty() {
                break;
            }
            let len = memchr::memchr2(b'\n', b'\r', found);
            let plain = found.get(..len.unwrap_or(found.len())).unwrap_or_default();
            text.extend_from_slice(plain);
            let end = len.and_then(|len| found.get(len)).copied();
            at = at.plus(u64::try_from(plain.len()).unwrap_or_default());
            if let Some(byte) = end {
                let end = self.line_end(byte, at, stop)?;
                return Ok(Read1 { end, next: at.plus(end.len()), eof: false });
            }
        }
        Ok(Read1 { end: LineEnd::None, next: at, eof: true })
    }

    fn line_end(&mut self, byte: u8, at: u64, stop: u64) -> io::Result<LineEnd> {
        let after = at.plus(1);
        if byte == b'\n' {
            return Ok(LineEnd::Lf);
        }
        if after < stop && self.bytes(after)?.first() == Some(&b'\n') {
            return Ok(LineEnd::CrLf);
        }
        Ok(LineEnd::Cr)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &[u8]) -> Vec<(String, LineEnd)> {
        let mut source = Source::new(io::Cursor::new(text));
        let (mut at, mut line, mut all) = (0, Vec::new(), Vec::new());
        loop {
            let read = source.line(at, u64::MAX, &mut line).unwrap();
            if read.eof && line.is_empty() {
                return all;
            }
            all.push((String::from_utf8(line.clone()).unwrap(), read.end));
            at = read.next;
        }
    }

    #[test]
    fn all_line_ends() {
        let found = lines(b"a\nb\r\nc\rd\r\r\n\ne");
        let want = [
            ("a", LineEnd::Lf),
            ("b", LineEnd::CrLf),
            ("c", LineEnd::Cr),
            ("d", LineEnd::Cr),
            ("", LineEnd::CrLf),
            ("", LineEnd::Lf),
            ("e", LineEnd::None),
        ];
        assert_eq!(found, want.map(|(text, end)| (text.to_owned(), end)));
        assert!(lines(b"").is_empty());
    }

    #[test]
    fn lines_longer_than_a_block() {
        let long = "x".repeat(BLOCK * 2 + 5);
        let text = format!("{long}\r\ny\n{}\r\nz", "y".repeat(BLOCK - 2));
        let found = lines(text.as_bytes());
        assert_eq!(found.len(), 4);
        assert_eq!(found[0], (long, LineEnd::CrLf));
        assert_eq!(found[2].1, LineEnd::CrLf);
    }

    #[test]
    fn not_beyond_the_limit() {
        let mut source = Source::new(io::Cursor::new(b"ab\r\nc"));
        let mut line = Vec::new();
        let read = source.line(0, 3, &mut line).unwrap();
        assert_eq!((line.as_slice(), read.end, read.next), (&b"ab"[..], LineEnd::Cr, 3));
        let read = source.line(1, 1, &mut line).unwrap();
        assert_eq!((line.as_slice(), read.eof, read.next), (&b"b"[..], true, 2));
    }
}
