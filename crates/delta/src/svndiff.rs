//! The three svndiff encodings; see `docs/formats/svndiff.md`.
//!
//! [`WindowHeader::parse`] and [`decode_window`] are for readers that hold whole windows;
//! [`Decoder`] takes bytes as they come, [`Encoder`] makes them. Whatever was decoded is valid:
//! every instruction lies within its views, and lengths add up.

mod decoder;
mod encoder;

pub use crate::version::{STREAM_HEADER_LEN, Version};
pub use decoder::Decoder;
pub use encoder::Encoder;

use crate::error::Error;
use crate::pack::Unpacker;
use crate::varint::{self, Varint};
use crate::window::{Op, WINDOW_MAX, Window};
use sapwood_core::Exact;
use sapwood_core::len64;

/// The most bytes in front of a window's instructions.
pub const WINDOW_HEADER_MAX: usize = 5 * varint::MAX_LEN;
/// The most bytes that a window's instructions take, stored or unpacked: the longest form of an
/// instruction for every byte of target.
pub const INSTRUCTIONS_MAX: usize = WINDOW_MAX * (2 * varint::MAX_LEN + 1);
/// The most bytes of new data as stored: all of the target, and the unpacked length.
pub const NEW_DATA_MAX: usize = WINDOW_MAX + varint::MAX_LEN;
/// The compression level of streams for which no other is asked for.
pub const DEFAULT_LEVEL: u8 = 5;

/// The numbers in front of a window, all within their limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowHeader {
    /// Where the source view starts in the source, in bytes.
    pub source_offset: u64,
    /// Length of the source view, at most [`WINDOW_MAX`].
    pub source_len: usize,
    /// Length of the target, at most [`WINDOW_MAX`].
    pub target_len: usize,
    /// Stored length of the instructions, at most [`INSTRUCTIONS_MAX`].
    pub instructions_len: usize,
    /// Stored length of the new data, at most [`NEW_DATA_MAX`].
    pub new_data_len: usize,
}

impl WindowHeader {
    /// Parses the header at the start of `bytes` and says how long it is; `None` when `bytes` end
    /// within it ([`WINDOW_HEADER_MAX`] bytes are always enough).
    ///
    /// # Errors
    /// When a number is beyond its limit.
    pub fn parse(bytes: &[u8]) -> Result<Option<(Self, usize)>, Error> {
        let mut rest = bytes;
        let mut next = || match varint::decode(rest) {
            Varint::Number(value, after) => {
                rest = after;
                Ok(Some(value))
            }
            Varint::Incomplete => Ok(None),
            Varint::TooLong => Err(Error::LongWindowHeader),
        };
        let mut numbers = [0u64; 5];
        for number in &mut numbers {
            match next()? {
                Some(value) => *number = value,
                None => return Ok(None),
            }
        }
        let len = bytes.len().minus(rest.len());
        let [source_offset, lens @ ..] = numbers;
        let limits = [WINDOW_MAX, WINDOW_MAX, INSTRUCTIONS_MAX, NEW_DATA_MAX];
        let mut checked = [0usize; 4];
        for ((len, limit), slot) in lens.into_iter().zip(limits).zip(&mut checked) {
            *slot =
                usize::try_from(len).ok().filter(|len| *len <= limit).ok_or(Error::LargeWindow)?;
        }
        let [source_len, target_len, instructions_len, new_data_len] = checked;
        // Offsets are signed 64-bit numbers everywhere else.
        if source_offset > u64::MAX / 2 - u64::from(u32::MAX) {
            return Err(Error::WindowHeader);
        }
        let header = Self { source_offset, source_len, target_len, instructions_len, new_data_len };
        Ok(Some((header, len)))
    }

    /// The length of what follows: instructions and new data as stored.
    #[must_use]
    pub const fn body_len(&self) -> usize {
        self.instructions_len.saturating_add(self.new_data_len)
    }

    /// The offset in the source where the source view ends.
    #[must_use]
    pub(crate) fn source_end(&self) -> u64 {
        self.source_offset.saturating_add(len64(self.source_len))
    }
}

/// Decompressors and buffers that decoding reuses from window to window.
#[derive(Debug, Default)]
pub struct Scratch {
    unpacker: Unpacker,
    instructions: Vec<u8>,
    new_data: Vec<u8>,
}

impl Scratch {
    /// Nothing yet; memory is taken when it is first needed.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

/// Decodes a window, given its header and the [`WindowHeader::body_len`] bytes after it. The
/// memory of `window` is reused.
///
/// # Errors
/// When the window is not valid; `window` then holds nothing of use.
pub fn decode_window(
    version: Version,
    header: &WindowHeader,
    body: &[u8],
    scratch: &mut Scratch,
    window: &mut Window,
) -> Result<(), Error> {
    let (instructions, rest) =
        body.split_at_checked(header.instructions_len).ok_or(Error::UnexpectedEnd)?;
    let new_data = rest.get(..header.new_data_len).ok_or(Error::UnexpectedEnd)?;
    let Scratch { unpacker, instructions: instructions_out, new_data: new_data_out } = scratch;
    window.clear();
    let new_data = unpacker.unpack(version, new_data, WINDOW_MAX, new_data_out)?;
    window.new_data.extend_from_slice(new_data);
    let instructions =
        unpacker.unpack(version, instructions, INSTRUCTIONS_MAX, instructions_out)?;
    window.source_offset = header.source_offset;
    window.source_len = header.source_len;
    window.target_len = header.target_len;
    decode_ops(instructions, header, window.new_data.len(), &mut window.ops)
}

/// Decodes instructions and checks each against the views.
fn decode_ops(
    mut bytes: &[u8],
    header: &WindowHeader,
    new_len: usize,
    ops: &mut Vec<Op>,
) -> Result<(), Error> {
    let mut target_at = 0usize;
    let mut new_at = 0usize;
    while let Some((selector, rest)) = bytes.split_first() {
        let number = ops.len();
        bytes = rest;
        let mut len = usize::from(selector & 0x3f);
        if len == 0 {
            (len, bytes) = varint::take(bytes).ok_or(Error::Undecodable(number))?;
        }
        let mut offset = new_at;
        let kind = selector >> 6;
        if kind < 2 {
            (offset, bytes) = varint::take(bytes).ok_or(Error::Undecodable(number))?;
        }
        if len == 0 && kind < 3 {
            return Err(Error::ZeroLength(number));
        }
        let target_end = target_at.saturating_add(len);
        if target_end > header.target_len && kind < 3 {
            return Err(Error::TargetOverflow(number));
        }
        ops.push(match kind {
            0 => {
                if offset.saturating_add(len) > header.source_len {
                    return Err(Error::SourceOverflow(number));
                }
                Op::Source { offset, len }
            }
            1 => {
                if offset >= target_at {
                    return Err(Error::TargetStart(number));
                }
                Op::Target { offset, len }
            }
            2 => {
                new_at = new_at.saturating_add(len);
                if new_at > new_len {
                    return Err(Error::NewOverflow(number));
                }
                Op::New { offset, len }
            }
            _ => return Err(Error::Undecodable(number)),
        });
        target_at = target_end;
    }
    if target_at != header.target_len {
        return Err(Error::TargetShort);
    }
    if new_at != new_len {
        return Err(Error::NewShort);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(header: [u8; 3], instructions: &[u8], new_data: &[u8]) -> Result<Window, Error> {
        let mut bytes = header.to_vec();
        varint::encode_len(&mut bytes, instructions.len());
        varint::encode_len(&mut bytes, new_data.len());
        let (header, at) = WindowHeader::parse(&bytes)?.unwrap();
        assert_eq!(at, bytes.len());
        let mut window = Window::default();
        let body = [instructions, new_data].concat();
        decode_window(Version::V0, &header, &body, &mut Scratch::new(), &mut window)?;
        Ok(window)
    }

    #[test]
    fn a_window_by_hand() {
        let w = decode([5, 4, 8], &[0x02, 1, 0x82, 0x44, 0], b"xy").unwrap();
        assert_eq!(w.source_offset, 5);
        assert_eq!(
            w.ops,
            [
                Op::Source { offset: 1, len: 2 },
                Op::New { offset: 0, len: 2 },
                Op::Target { offset: 0, len: 4 }
            ]
        );
        let mut made = Vec::new();
        w.apply(b"abcd", &mut made).unwrap();
        assert_eq!(made, b"bcxybcxy");
    }

    #[test]
    fn each_fault_has_its_sentence() {
        for (header, instructions, new_data, error) in [
            ([0, 4, 4], &[0xc1][..], &b""[..], Error::Undecodable(0)),
            ([0, 4, 4], &[0x01], b"", Error::Undecodable(0)),
            ([0, 4, 4], &[0x01, 0, 0x00], b"", Error::Undecodable(1)),
            ([0, 4, 4], &[0x00, 0, 0], b"", Error::ZeroLength(0)),
            ([0, 4, 4], &[0x05, 0], b"", Error::TargetOverflow(0)),
            ([0, 4, 4], &[0x04, 1], b"", Error::SourceOverflow(0)),
            ([0, 4, 4], &[0x44, 0], b"", Error::TargetStart(0)),
            ([0, 4, 4], &[0x82, 0x42, 2], b"ab", Error::TargetStart(1)),
            ([0, 4, 4], &[0x84], b"abc", Error::NewOverflow(0)),
            ([0, 4, 4], &[0x03, 0], b"", Error::TargetShort),
            ([0, 4, 4], &[0x04, 0], b"a", Error::NewShort),
        ] {
            assert_eq!(decode(header, instructions, new_data), Err(error));
        }
    }

    #[test]
    fn header_limits() {
        let header = |numbers: [u64; 5]| {
            let mut bytes = Vec::new();
            numbers.iter().for_each(|n| varint::encode(&mut bytes, *n));
            (WindowHeader::parse(&bytes), WindowHeader::parse(&bytes[..bytes.len() - 1]))
        };
        let (whole, cut) = header([1 << 40, 102_400, 102_400, 2_150_400, 102_410]);
        assert_eq!(whole.unwrap().unwrap().0.body_len(), 2_252_810);
        assert_eq!(cut, Ok(None));
        for large in [
            [0, 102_401, 1, 1, 1],
            [0, 1, 102_401, 1, 1],
            [0, 1, 1, 2_150_401, 1],
            [0, 1, 1, 1, 102_411],
            [0, 1, 1, 1, u64::MAX],
        ] {
            assert_eq!(header(large).0, Err(Error::LargeWindow));
        }
        assert_eq!(header([u64::MAX, 1, 1, 1, 1]).0, Err(Error::WindowHeader));
        assert_eq!(WindowHeader::parse(&[0x80; 11]), Err(Error::LongWindowHeader));
    }
}
