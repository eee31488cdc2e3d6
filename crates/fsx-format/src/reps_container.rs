//! Containers of texts: small representations of a packed shard, stored in full beside each other.
//!
//! All texts are pieces of one byte string. An instruction copies a piece of it, or runs other instructions; 1.14
//! never writes the latter. A text that needs a base outside of the container is refused, as by 1.14.

use crate::cursor::Cursor;
use crate::error::{Error, Result};
use crate::limits::INSTRUCTIONS;
use crate::packed::{Coding, Ints, PackedFrame};
use sapwood_core::Exact;
use sapwood_core::len64;

/// A container of texts.
#[derive(Clone, Debug)]
pub struct RepsContainer(PackedFrame);

/// Instructions that were not run: a range of them, and how many bytes it may still produce.
type PendingRun = (usize, usize);

impl RepsContainer {
    /// Bytes of memory that it takes.
    #[must_use]
    pub fn byte_len(&self) -> usize {
        self.0.byte_len()
    }

    /// Reads a whole container.
    ///
    /// # Errors
    /// E160004 when it is malformed.
    pub fn read(bytes: &[u8]) -> Result<Self> {
        let mut cursor = Cursor::new(bytes, "container of representations");
        let packed = PackedFrame::read(&mut cursor)?;
        cursor.finish()?;
        if !packed.ints(0)?.is_empty() {
            return Err(Error::corrupt("Container of representations with bases elsewhere"));
        }
        Ok(Self(packed))
    }

    /// How many texts there are.
    ///
    /// # Errors
    /// E160004 when it is malformed.
    pub fn len(&self) -> Result<usize> {
        Ok(self.0.ints(1)?.len().minus(1))
    }

    /// Whether there is no text.
    ///
    /// # Errors
    /// E160004 when it is malformed.
    pub fn is_empty(&self) -> Result<bool> {
        Ok(self.len()? == 0)
    }

    /// The text at a position, which has at most `limit` bytes.
    ///
    /// # Errors
    /// E160004 when there is none, when it is malformed, or longer than `limit`.
    pub fn get(&self, at: usize, limit: u64) -> Result<Vec<u8>> {
        let wrong = || Error::corrupt(format!("Container of representations has no text {at}"));
        let firsts = self.0.ints(1)?;
        let first = |at: usize| firsts.get(at).and_then(|first| usize::try_from(first).ok());
        let range = first(at).zip(at.checked_add(1).and_then(first));
        let (start, end) = range.filter(|(start, end)| start <= end).ok_or_else(wrong)?;
        self.run((start, end), limit)
    }

    fn run(&self, range: PendingRun, limit: u64) -> Result<Vec<u8>> {
        let wrong = || Error::corrupt("Malformed instruction in container of representations");
        let instructions = self.0.ints(2)?;
        let base = self.0.ints(3)?.get(0).ok_or_else(wrong)?;
        let text = self.0.strings(0)?.get(0).unwrap_or_default();
        let mut out = Vec::new();
        let mut pending = vec![range];
        let mut left = INSTRUCTIONS;
        while let Some((start, end)) = pending.pop() {
            if start == end {
                continue;
            }
            left = left.checked_sub(1).ok_or_else(wrong)?;
            pending.push((start.checked_add(1).ok_or_else(wrong)?, end));
            let [offset, count] = instructions.record::<2>(start).ok_or_else(wrong)?;
            let count = usize::try_from(count).map_err(|_| wrong())?;
            if offset < 0 {
                let from = usize::try_from(offset.unsigned_abs()).map_err(|_| wrong())?;
                pending.push((from, from.checked_add(count).ok_or_else(wrong)?));
                // Nested ranges wait on the stack, so a circle grows it: no text nests that deep.
                if pending.len() > 64 {
                    return Err(wrong());
                }
                continue;
            }
            let from = offset.checked_sub(base).and_then(|from| usize::try_from(from).ok());
            let from = from.ok_or_else(wrong)?;
            let to = from.checked_add(count).ok_or_else(wrong)?;
            out.extend_from_slice(text.get(from..to).ok_or_else(wrong)?);
            if len64(out.len()) > limit {
                return Err(wrong());
            }
        }
        Ok(out)
    }
}

/// Collects texts into a container: each is a list of pieces of the bytes that all of them have together.
#[derive(Clone, Debug, Default)]
pub struct Builder {
    bytes: Vec<u8>,
    /// Offset and length of each piece.
    pieces: Vec<(usize, usize)>,
    /// The first piece of each text.
    firsts: Vec<usize>,
}

impl Builder {
    /// How many texts there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.firsts.len()
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.firsts.is_empty()
    }

    /// The bytes that there are.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// How many pieces there are.
    #[must_use]
    pub const fn pieces(&self) -> usize {
        self.pieces.len()
    }

    /// Begins a text: pieces that follow are its.
    pub fn begin(&mut self) {
        self.firsts.push(self.pieces.len());
    }

    /// Adds a piece that is there already.
    pub fn repeat(&mut self, offset: usize, len: usize) {
        // Neighbours are one piece, if they are of one text.
        let is_first = self.firsts.last() == Some(&self.pieces.len());
        match self.pieces.last_mut().filter(|_| !is_first) {
            Some((at, before)) if at.plus(*before) == offset => *before = before.plus(len),
            _ if len > 0 => self.pieces.push((offset, len)),
            _ => {}
        }
    }

    /// Adds a piece that is new.
    pub fn add(&mut self, bytes: &[u8]) {
        let offset = self.bytes.len();
        self.bytes.extend_from_slice(bytes);
        self.repeat(offset, bytes.len());
    }

    /// Appends the container.
    ///
    /// # Errors
    /// E160004 for texts that are too long together.
    pub fn write(&self, out: &mut Vec<u8>) -> Result<()> {
        let int = |len: usize| i64::try_from(len).map_err(|_| Error::corrupt("Text out of range"));
        let bases = [Coding::SignedDelta, Coding::Delta, Coding::Delta, Coding::Delta];
        let mut firsts = Ints::new(Coding::Delta);
        let mut instructions = Ints::split(&[Coding::SignedDelta, Coding::Plain]);
        for first in self.firsts.iter().chain([&self.pieces.len()]) {
            firsts.push(int(*first)?);
        }
        for (offset, len) in &self.pieces {
            instructions.push_record([int(*offset)?, int(*len)?]);
        }
        let misc = Ints::Flat(Coding::Plain, vec![0]);
        let ints = vec![Ints::split(&bases), firsts, instructions, misc];
        let mut packed = PackedFrame { ints, strings: Vec::new() };
        packed.push_strings([self.bytes.as_slice()]);
        packed.write(out).map_err(|error| Error::corrupt(error.to_string()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways() {
        let texts: [&[u8]; 4] = [b"one", b"", b"three", &[5; 3000]];
        let mut bytes = Vec::new();
        let mut builder = Builder::default();
        for text in texts {
            builder.begin();
            // The last one is made of the same piece three times.
            builder.add(text.get(..1000).unwrap_or(text));
            let at = builder.bytes().len().saturating_sub(1000);
            (1..text.len() / 1000).for_each(|_| builder.repeat(at, 1000));
        }
        assert_eq!((builder.len(), builder.pieces()), (4, 5));
        builder.write(&mut bytes).unwrap();
        let container = RepsContainer::read(&bytes).unwrap();
        assert_eq!(container.len(), Ok(4));
        for (at, text) in texts.iter().enumerate() {
            assert_eq!(container.get(at, 1 << 20).as_deref(), Ok(*text));
        }
        assert!(container.get(4, 9).is_err());
        assert!(container.get(3, 2999).is_err(), "longer than its limit");
    }

    fn with_instructions(instructions: &[(i64, i64)]) -> RepsContainer {
        let mut stream = Ints::split(&[Coding::SignedDelta, Coding::Plain]);
        for (offset, count) in instructions {
            stream.push(*offset);
            stream.push(*count);
        }
        let firsts = Ints::Flat(Coding::Delta, vec![0, 2]);
        let bases = Ints::split(&[Coding::Delta; 4]);
        let mut packed = PackedFrame {
            ints: vec![bases, firsts, stream, Ints::Flat(Coding::Plain, vec![0])],
            strings: Vec::new(),
        };
        packed.push_strings([&b"abcdef"[..]]);
        RepsContainer(packed)
    }

    #[test]
    fn instructions_may_run_others_but_not_for_ever() {
        let nested = with_instructions(&[(-2, 2), (5, 1), (0, 2), (3, 1)]);
        assert_eq!(nested.get(0, 100).unwrap(), b"abdf");
        assert!(with_instructions(&[(0, 1), (-1, 1)]).get(0, 100).is_err(), "a circle");
        assert!(with_instructions(&[(0, 7), (0, 1)]).get(0, 100).is_err(), "beyond the text");
    }
}
