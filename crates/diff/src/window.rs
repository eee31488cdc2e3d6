//! A text that is read from its start to its end, with as much of what comes next at hand as is needed.

use std::io::{self, Read};

use sapwood_core::{Cut, Exact, len64};

use crate::lines::count_lines;

/// How much is read at a time, in bytes.
const PIECE: usize = 64 << 10;

/// A text and how far it was read.
pub(crate) struct Window<'t> {
    reader: Box<dyn Read + 't>,
    buffer: Vec<u8>,
    /// How much of the buffer was passed.
    passed: usize,
    offset: u64,
    at_end: bool,
}

impl<'t> Window<'t> {
    pub(crate) fn new(reader: Box<dyn Read + 't>) -> Self {
        Self { reader, buffer: Vec::new(), passed: 0, offset: 0, at_end: false }
    }

    /// How much was passed, in bytes.
    pub(crate) const fn offset(&self) -> u64 {
        self.offset
    }

    /// What is at hand.
    pub(crate) fn data(&self) -> &[u8] {
        self.buffer.tail(self.passed)
    }

    /// Whether what is at hand is the rest of the text.
    pub(crate) const fn is_at_end(&self) -> bool {
        self.at_end
    }

    /// Reads until so many bytes are at hand, or the rest of the text.
    pub(crate) fn fill(&mut self, wanted: usize) -> io::Result<()> {
        if self.at_end || self.data().len() >= wanted {
            return Ok(());
        }
        self.buffer.drain(..self.passed);
        self.passed = 0;
        // Room for more than what is wanted: the rest is moved less often.
        let goal = wanted.plus(PIECE);
        let room = len64(goal.minus(self.buffer.len()));
        let read = Read::take(&mut *self.reader, room).read_to_end(&mut self.buffer)?;
        self.at_end = len64(read) < room;
        Ok(())
    }

    /// Passes so many bytes of what is at hand.
    pub(crate) fn advance(&mut self, len: usize) {
        self.passed = self.passed.plus(len).min(self.buffer.len());
        self.offset = self.offset.plus(len64(len));
    }

    /// Passes so many bytes.
    pub(crate) fn skip(&mut self, mut len: u64) -> io::Result<()> {
        while len > 0 {
            self.fill(1)?;
            let here = self.data().len().min(sapwood_core::exact::clamped(len));
            if here == 0 {
                break;
            }
            self.advance(here);
            len = len.minus(len64(here));
        }
        Ok(())
    }

    /// The next line, without passing it; empty at the end.
    pub(crate) fn line(&mut self) -> io::Result<&[u8]> {
        let mut wanted = 1usize;
        loop {
            self.fill(wanted)?;
            let data = self.data();
            let len = match memchr::memchr2(b'\n', b'\r', data) {
                Some(at) if data.get(at) == Some(&b'\n') => Some(at.plus(1)),
                Some(at) => match data.get(at.plus(1)) {
                    Some(b'\n') => Some(at.plus(2)),
                    Some(_) => Some(at.plus(1)),
                    None => None,
                },
                None => None,
            };
            match len {
                Some(len) => return Ok(self.data().head(len)),
                None if self.at_end => return Ok(self.data()),
                None => wanted = data.len().plus(PIECE),
            }
        }
    }

    /// Passes up to so many lines; how many there were.
    pub(crate) fn skip_lines(&mut self, count: usize) -> io::Result<usize> {
        self.pass_lines(count, &mut |_| Ok(()))
    }

    /// The same; `take` gets them, some at a time.
    pub(crate) fn pass_lines(
        &mut self,
        count: usize,
        take: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<usize> {
        let mut passed = 0usize;
        while passed < count {
            self.fill(1)?;
            let data = self.data();
            let piece = data.head(PIECE.min(data.len()));
            let end = memchr::memrchr(b'\n', piece).map_or(0, |at| at.plus(1));
            let whole = piece.head(end);
            let here = count_lines(whole);
            if here > 0 && passed.plus(here) <= count {
                take(whole)?;
                self.advance(end);
                passed = passed.plus(here);
                continue;
            }
            let line = self.line()?;
            let len = line.len();
            if len == 0 {
                break;
            }
            take(line)?;
            self.advance(len);
            passed = passed.plus(1);
        }
        Ok(passed)
    }
}
