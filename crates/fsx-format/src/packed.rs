//! Packed data: the frame of all containers, of manifests and of packs of revision properties.
//!
//! A frame has streams of integers, which may be dealt out to sub-streams in turn, and streams of byte strings, whose lengths are a
//! stream of integers. A description of all streams comes first, then a block for each top-level stream: the integer streams,
//! then the byte streams. A block is compressed by zlib where that makes it smaller.
//!
//! Before anything is decompressed, the sum of the lengths in the description is checked against a limit.

use sapwood_core::Exact;
use sapwood_core::exact::{len64, signed};
use std::io::{Read as _, Write as _};

use crate::cursor::{Cursor, put_big, put_little, unzigzag, zigzag};
use crate::error::{Error, Result};
use crate::limits::{PACKED_LEN, STREAM_DEPTH, STREAMS};

/// How the integers of a stream are coded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coding {
    /// As they are.
    Plain,
    /// As signed numbers.
    Signed,
    /// As differences to the integer before.
    Delta,
    /// As differences; their users take the integers for signed ones.
    SignedDelta,
}

impl Coding {
    const fn bits(self) -> u64 {
        match self {
            Self::Plain => 0,
            Self::Delta => 1,
            Self::Signed => 2,
            Self::SignedDelta => 3,
        }
    }

    const fn of_bits(bits: u64) -> Self {
        match bits & 3 {
            0 => Self::Plain,
            1 => Self::Delta,
            2 => Self::Signed,
            _ => Self::SignedDelta,
        }
    }
}

/// A stream of integers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ints {
    /// Integers of its own.
    Flat(Coding, Vec<i64>),
    /// Sub-streams, to which integers were dealt out in turn.
    Split(Vec<Self>),
}

impl Ints {
    /// A stream without integers.
    #[must_use]
    pub const fn new(coding: Coding) -> Self {
        Self::Flat(coding, Vec::new())
    }

    /// A stream with sub-streams of these codings, without integers.
    #[must_use]
    pub fn split(codings: &[Coding]) -> Self {
        Self::Split(codings.iter().map(|coding| Self::new(*coding)).collect())
    }

    /// How many integers there are, those of sub-streams included.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Flat(_, items) => items.len(),
            Self::Split(parts) => parts.iter().map(Self::len).sum(),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of memory that they take.
    #[must_use]
    pub fn byte_len(&self) -> usize {
        self.len().times(size_of::<i64>())
    }

    /// The integer at a position.
    #[must_use]
    pub fn get(&self, at: usize) -> Option<i64> {
        match self {
            Self::Flat(_, items) => items.get(at).copied(),
            Self::Split(parts) => {
                let part = parts.get(at.checked_rem(parts.len())?)?;
                part.get(at.checked_div(parts.len())?)
            }
        }
    }

    /// The `N` integers of the record at a position, in streams whose integers belong together by `N`.
    #[must_use]
    pub fn record<const N: usize>(&self, at: usize) -> Option<[i64; N]> {
        let start = at.checked_mul(N)?;
        let mut record = [0; N];
        for (offset, slot) in record.iter_mut().enumerate() {
            *slot = self.get(start.checked_add(offset)?)?;
        }
        Some(record)
    }

    /// Appends an integer.
    pub fn push(&mut self, value: i64) {
        let len = self.len();
        match self {
            Self::Flat(_, items) => items.push(value),
            Self::Split(parts) => {
                let at = len.checked_rem(parts.len()).unwrap_or_default();
                if let Some(part) = parts.get_mut(at) {
                    part.push(value);
                }
            }
        }
    }

    /// Appends integers that belong together, to a stream that has only such.
    pub(crate) fn push_record<const N: usize>(&mut self, record: [i64; N]) {
        match self {
            Self::Split(parts) if parts.len() == N => {
                parts.iter_mut().zip(record).for_each(|(part, value)| part.push(value));
            }
            _ => record.into_iter().for_each(|value| self.push(value)),
        }
    }

    fn describe(&self, coded: &mut Vec<u8>, out: &mut Vec<u8>) {
        match self {
            Self::Flat(coding, items) => {
                let start = coded.len();
                encode(*coding, items, coded);
                put_little(out, coding.bits());
                put_little(out, len64(items.len()));
                put_little(out, len64(coded.len().minus(start)));
            }
            Self::Split(parts) => {
                put_little(out, len64(parts.len()).times(4));
                let nested = parts.iter().any(|part| matches!(part, Self::Split(_)));
                put_little(out, if nested { 0 } else { len64(self.len()) });
                put_little(out, 0);
                parts.iter().for_each(|part| part.describe(coded, out));
            }
        }
    }
}

fn encode(coding: Coding, items: &[i64], out: &mut Vec<u8>) {
    let mut before = 0i64;
    for item in items {
        let coded = match coding {
            Coding::Plain => item.cast_unsigned(),
            Coding::Signed => zigzag(*item),
            Coding::Delta | Coding::SignedDelta => zigzag(item.wrapping_sub(before)),
        };
        before = *item;
        put_little(out, coded);
    }
}

/// A stream of byte strings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Strings {
    /// The index, among the integer streams, of their lengths.
    lengths: usize,
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

impl Strings {
    /// How many strings there are.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The string at a position.
    #[must_use]
    pub fn get(&self, at: usize) -> Option<&[u8]> {
        let start = match at.checked_sub(1) {
            Some(before) => *self.ends.get(before)?,
            None => 0,
        };
        self.bytes.get(start..*self.ends.get(at)?)
    }
}

/// All streams of a frame.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PackedFrame {
    /// Streams of integers, those that are lengths included.
    pub ints: Vec<Ints>,
    /// Streams of byte strings.
    pub strings: Vec<Strings>,
}

impl PackedFrame {
    /// Bytes of memory that they take.
    #[must_use]
    pub fn byte_len(&self) -> usize {
        let ints = self.ints.iter().map(Ints::byte_len).sum::<usize>();
        let strings = self
            .strings
            .iter()
            .map(|strings| strings.bytes.len().plus(strings.ends.len().times(size_of::<usize>())));
        ints.plus(strings.sum())
    }
}

/// The description of an integer stream.
struct Shape {
    coding: Coding,
    count: u64,
    len: u64,
    parts: Vec<Self>,
}

impl Shape {
    fn read(tree: &mut Cursor<'_>, budget: &mut Budget, depth: usize) -> Result<Self> {
        if depth > STREAM_DEPTH {
            return Err(Error::corrupt("Packed data with too many levels of streams"));
        }
        budget.stream()?;
        let kind = tree.little()?;
        let (count, len) = (tree.little()?, tree.little()?);
        budget.bytes(len)?;
        let parts = (0..kind >> 2).map(|_| Self::read(tree, budget, depth.plus(1)));
        let parts = parts.collect::<Result<Vec<_>>>()?;
        let items = parts.iter().map(|part| part.count).try_fold(0u64, u64::checked_add);
        // The count is 0 where integers were given to the sub-streams directly.
        if !parts.is_empty() && (len != 0 || (count != 0 && items != Some(count))) {
            return Err(Error::corrupt("Packed data whose sub-streams do not add up"));
        }
        Ok(Self { coding: Coding::of_bits(kind), count, len, parts })
    }

    fn load(&self, block: &mut Cursor<'_>) -> Result<Ints> {
        if !self.parts.is_empty() {
            let parts = self.parts.iter().map(|part| part.load(block));
            return Ok(Ints::Split(parts.collect::<Result<_>>()?));
        }
        let mut own = Cursor::new(block.take(self.len)?, "packed integers");
        // Each integer takes a byte at least.
        if self.count > self.len {
            return Err(Error::UnexpectedEnd("packed integers"));
        }
        let mut items = Vec::with_capacity(usize::try_from(self.count).unwrap_or(0));
        let mut before = 0i64;
        for _ in 0..self.count {
            let coded = own.little()?;
            before = match self.coding {
                Coding::Plain => coded.cast_signed(),
                Coding::Signed => unzigzag(coded),
                Coding::Delta | Coding::SignedDelta => before.wrapping_add(unzigzag(coded)),
            };
            items.push(before);
        }
        own.finish()?;
        Ok(Ints::Flat(self.coding, items))
    }

    /// How many bytes the stream and its sub-streams have.
    fn total(&self) -> u64 {
        self.parts.iter().map(Self::total).fold(self.len, u64::saturating_add)
    }
}

/// What a description may still ask for.
struct Budget {
    streams: usize,
    bytes: u64,
}

impl Budget {
    fn stream(&mut self) -> Result<()> {
        let left = self.streams.checked_sub(1);
        self.streams = left.ok_or_else(|| Error::corrupt("Packed data with too many streams"))?;
        Ok(())
    }

    fn bytes(&mut self, len: u64) -> Result<()> {
        let too_large = || Error::TooLarge { what: "packed data", size: len, limit: PACKED_LEN };
        self.bytes = self.bytes.checked_sub(len).ok_or_else(too_large)?;
        Ok(())
    }
}

impl PackedFrame {
    /// Reads the frame that the cursor is at.
    ///
    /// # Errors
    /// E160004 when it is malformed or longer than [`PACKED_LEN`].
    pub fn read(cursor: &mut Cursor<'_>) -> Result<Self> {
        let len = cursor.little()?;
        let mut tree = Cursor::new(cursor.take(len)?, "description of packed data");
        let mut budget = Budget { streams: STREAMS, bytes: PACKED_LEN };
        let count = tree.little()?;
        let shapes = (0..count).map(|_| Shape::read(&mut tree, &mut budget, 0));
        let shapes = shapes.collect::<Result<Vec<_>>>()?;
        let mut texts = Vec::new();
        for _ in 0..tree.little()? {
            budget.stream()?;
            if tree.little()? != 0 {
                return Err(Error::corrupt("Packed data with sub-streams of strings"));
            }
            let (lengths, bytes) = (tree.little()?, tree.little()?);
            budget.bytes(bytes)?;
            texts.push((lengths, bytes));
        }
        tree.finish()?;
        let ints = shapes.iter().map(|shape| {
            let block = read_block(cursor, shape.total())?;
            let mut block = Cursor::new(&block, "packed integers");
            let ints = shape.load(&mut block)?;
            block.finish()?;
            Ok(ints)
        });
        let ints = ints.collect::<Result<Vec<_>>>()?;
        let strings = texts.iter().map(|(lengths, len)| {
            let bytes = read_block(cursor, *len)?;
            cut(bytes, *lengths, &ints)
        });
        let strings = strings.collect::<Result<Vec<_>>>()?;
        Ok(Self { ints, strings })
    }

    /// Adds a stream of strings, and the stream of their lengths.
    pub(crate) fn push_strings<'s>(&mut self, strings: impl IntoIterator<Item = &'s [u8]>) {
        let mut stream = Strings { lengths: self.ints.len(), ..Strings::default() };
        let mut lengths = Ints::new(Coding::Plain);
        for string in strings {
            stream.bytes.extend_from_slice(string);
            stream.ends.push(stream.bytes.len());
            lengths.push(signed(len64(string.len())));
        }
        self.ints.push(lengths);
        self.strings.push(stream);
    }

    /// Appends the frame.
    ///
    /// # Errors
    /// None but for a failing compressor, which does not happen in memory.
    pub fn write(&self, out: &mut Vec<u8>) -> std::io::Result<()> {
        let (mut tree, mut blocks) = (Vec::new(), Vec::new());
        put_little(&mut tree, len64(self.ints.len()));
        for ints in &self.ints {
            let mut coded = Vec::new();
            ints.describe(&mut coded, &mut tree);
            write_block(&coded, &mut blocks)?;
        }
        put_little(&mut tree, len64(self.strings.len()));
        for strings in &self.strings {
            put_little(&mut tree, 0);
            put_little(&mut tree, len64(strings.lengths));
            put_little(&mut tree, len64(strings.bytes.len()));
            write_block(&strings.bytes, &mut blocks)?;
        }
        put_little(out, len64(tree.len()));
        out.extend_from_slice(&tree);
        out.extend_from_slice(&blocks);
        Ok(())
    }

    /// The integer stream at a position.
    ///
    /// # Errors
    /// E160004 when there is none.
    pub(crate) fn ints(&self, at: usize) -> Result<&Ints> {
        self.ints.get(at).ok_or_else(|| Error::corrupt("Packed data lacks a stream of integers"))
    }

    /// The string stream at a position.
    ///
    /// # Errors
    /// E160004 when there is none.
    pub fn strings(&self, at: usize) -> Result<&Strings> {
        self.strings.get(at).ok_or_else(|| Error::corrupt("Packed data lacks a stream of strings"))
    }
}

/// Cuts the bytes of a string stream by the lengths in an integer stream.
fn cut(bytes: Vec<u8>, lengths: u64, ints: &[Ints]) -> Result<Strings> {
    let wrong = || Error::corrupt("Packed strings whose lengths do not add up");
    let lengths = usize::try_from(lengths).map_err(|_| wrong())?;
    let stream = ints.get(lengths).ok_or_else(wrong)?;
    let mut ends = Vec::with_capacity(stream.len());
    let mut end = 0usize;
    for at in 0..stream.len() {
        let len = stream.get(at).and_then(|len| usize::try_from(len).ok()).ok_or_else(wrong)?;
        end = end.checked_add(len).filter(|end| *end <= bytes.len()).ok_or_else(wrong)?;
        ends.push(end);
    }
    if end == bytes.len() { Ok(Strings { lengths, bytes, ends }) } else { Err(wrong()) }
}

/// Blocks of fewer bytes are not compressed.
const SMALL: usize = 512;

/// Reads a block that has `len` bytes after decompression.
fn read_block(cursor: &mut Cursor<'_>, len: u64) -> Result<Vec<u8>> {
    let stored = cursor.little()?;
    let mut block = Cursor::new(cursor.take(stored)?, "packed block");
    let wrong = || Error::corrupt("Packed block of another length than its description says");
    if block.big()? != len {
        return Err(wrong());
    }
    let data = block.rest();
    if len64(data.len()) == len {
        return Ok(data.to_vec());
    }
    let mut plain = Vec::new();
    let decoder = flate2::read::ZlibDecoder::new(data);
    let read = decoder.take(len.plus(1)).read_to_end(&mut plain);
    match read {
        Ok(_) if len64(plain.len()) == len => Ok(plain),
        Ok(_) => Err(wrong()),
        Err(error) => Err(Error::corrupt(format!("Decompression of packed block failed: {error}"))),
    }
}

/// The zlib level: higher ones take twice the time for a twentieth less.
const LEVEL: u32 = 3;

fn write_block(plain: &[u8], out: &mut Vec<u8>) -> std::io::Result<()> {
    let mut block = Vec::new();
    put_big(&mut block, len64(plain.len()));
    if plain.len() >= SMALL {
        let level = flate2::Compression::new(LEVEL);
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), level);
        encoder.write_all(plain)?;
        let packed = encoder.finish()?;
        block.extend_from_slice(if packed.len() < plain.len() { &packed } else { plain });
    } else {
        block.extend_from_slice(plain);
    }
    put_little(out, len64(block.len()));
    out.extend_from_slice(&block);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> PackedFrame {
        let mut packed = PackedFrame::default();
        let mut split = Ints::split(&[Coding::Delta, Coding::Plain, Coding::Signed]);
        (0..1000).for_each(|i| split.push(i * i % 77));
        packed.ints.push(split);
        packed.ints.push(Ints::Flat(Coding::SignedDelta, vec![-5, i64::MAX, i64::MIN, 0]));
        packed.push_strings([&b"one"[..], b"", &[7; 900]]);
        packed
    }

    #[test]
    fn both_ways() {
        let packed = sample();
        let mut bytes = Vec::new();
        packed.write(&mut bytes).unwrap();
        let mut cursor = Cursor::new(&bytes, "test");
        assert_eq!(PackedFrame::read(&mut cursor), Ok(packed.clone()));
        cursor.finish().unwrap();
        assert_eq!(packed.ints[0].record::<3>(2), Some([36, 49, 64]));
        assert_eq!(packed.ints[0].record::<3>(334), None);
        assert_eq!(packed.strings[0].get(2), Some(&[7; 900][..]));
        assert_eq!(packed.strings[0].get(3), None);
    }

    #[test]
    fn every_change_of_a_byte_is_an_error_or_a_value() {
        let mut bytes = Vec::new();
        sample().write(&mut bytes).unwrap();
        for at in 0..bytes.len() {
            for bit in [1, 0x80] {
                let mut wrong = bytes.clone();
                wrong[at] ^= bit;
                let _ = PackedFrame::read(&mut Cursor::new(&wrong, "test"));
            }
            assert!(PackedFrame::read(&mut Cursor::new(&bytes[..at], "test")).is_err());
        }
    }

    #[test]
    fn lengths_are_checked_before_memory_is_taken() {
        let mut tree = Vec::new();
        [1, 0, 1, 1 << 40, 0].iter().for_each(|n| put_little(&mut tree, *n));
        let mut bytes = Vec::new();
        put_little(&mut bytes, len64(tree.len()));
        bytes.extend(tree);
        let error = PackedFrame::read(&mut Cursor::new(&bytes, "test")).unwrap_err();
        assert!(matches!(error, Error::TooLarge { .. }), "{error}");
    }
}
