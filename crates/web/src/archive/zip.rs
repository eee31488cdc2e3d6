//! The bytes of a zip archive (PKWARE's APPNOTE 6.3) that is written forwards: sums and lengths follow each text.
//!
//! Invariant: the list of names at the end, which is all that is kept, is bounded by the limits of an archive, and so are
//! all numbers: none needs the form for large ones (zip64).

use std::io::Write as _;

use flate2::write::DeflateEncoder;
use flate2::{Compression, Crc};
use sapwood_core::exact::{Exact as _, len64};
use sapwood_core::{SvnError, SvnResult};

use super::tar::failed;
use super::{Entry, EntryKind};
use crate::budget;

/// Names are UTF-8.
const UTF8: u16 = 0x0800;
/// The sum and the lengths follow the text.
const SUMS_FOLLOW: u16 = 0x0008;
const STORED: u16 = 0;
const DEFLATED: u16 = 8;
/// The version of the format that is needed to read it.
const VERSION: u16 = 20;
/// That of the writer, with permissions as Unix has them.
const MADE_BY: u16 = 0x0314;

pub(super) struct Zip {
    deflate: DeflateEncoder<Vec<u8>>,
    /// Bytes that were written.
    written: u64,
    /// The list at the end, as it will be written, and how many it names.
    list: Vec<u8>,
    count: u16,
    open: Option<Open>,
}

/// The entry that is being written.
struct Open {
    name: String,
    /// The permissions and kind, as Unix has them.
    mode: u32,
    is_dir: bool,
    method: u16,
    flags: u16,
    times: Times,
    offset: u64,
    sum: Crc,
    /// Bytes of the text as it was and as it is written.
    length: u64,
    packed: u64,
}

/// The time of an entry, to two seconds and to one.
#[derive(Clone, Copy)]
struct Times {
    time: u16,
    date: u16,
    seconds: u32,
}

impl Zip {
    pub(super) fn new() -> Self {
        let level = Compression::new(budget::ARCHIVE_LEVEL);
        Self {
            deflate: DeflateEncoder::new(Vec::new(), level),
            written: 0,
            list: Vec::new(),
            count: 0,
            open: None,
        }
    }

    pub(super) fn begin(&mut self, entry: &Entry<'_>, out: &mut Vec<u8>) -> SvnResult<()> {
        let begun = out.len();
        let (kind, method) = match entry.kind {
            EntryKind::Dir => (0o040_000, STORED),
            EntryKind::File { .. } => (0o100_000, DEFLATED),
            EntryKind::Link => (0o120_000, STORED),
        };
        let flags = if method == DEFLATED { UTF8 | SUMS_FOLLOW } else { UTF8 };
        let mut sum = Crc::new();
        sum.update(entry.target.as_bytes());
        let length = len64(entry.target.len());
        let open = Open {
            name: entry.name.to_owned(),
            mode: kind | entry.kind.mode(),
            is_dir: entry.kind == EntryKind::Dir,
            method,
            flags,
            times: times(entry),
            offset: self.written,
            sum,
            length,
            packed: length,
        };
        out.extend_from_slice(b"PK\x03\x04");
        open.common(out)?;
        let extra = stamp(open.times);
        two(out, short(len64(extra.len()))?);
        out.extend_from_slice(open.name.as_bytes());
        out.extend_from_slice(&extra);
        out.extend_from_slice(entry.target.as_bytes());
        self.open = Some(open);
        self.count_from(begun, out);
        Ok(())
    }

    pub(super) fn text(&mut self, piece: &[u8], out: &mut Vec<u8>) -> SvnResult<()> {
        let Some(open) = &mut self.open else { return Err(nothing_open()) };
        open.sum.update(piece);
        open.length = open.length.plus(len64(piece.len()));
        self.deflate.write_all(piece).map_err(failed)?;
        let packed = self.deflate.get_mut();
        open.packed = open.packed.plus(len64(packed.len()));
        self.written = self.written.plus(len64(packed.len()));
        out.append(packed);
        Ok(())
    }

    pub(super) fn end(&mut self, out: &mut Vec<u8>) -> SvnResult<()> {
        let Some(mut open) = self.open.take() else { return Err(nothing_open()) };
        let begun = out.len();
        if open.method == DEFLATED {
            let packed = self.deflate.reset(Vec::new()).map_err(failed)?;
            open.packed = open.packed.plus(len64(packed.len()));
            out.extend_from_slice(&packed);
            out.extend_from_slice(b"PK\x07\x08");
            open.sums(out)?;
        }
        self.count_from(begun, out);
        open.listed(&mut self.list)?;
        self.count = self.count.checked_add(1).ok_or_else(too_large)?;
        Ok(())
    }

    pub(super) fn finish(&mut self, out: &mut Vec<u8>) -> SvnResult<()> {
        let length = len64(self.list.len());
        out.append(&mut self.list);
        out.extend_from_slice(b"PK\x05\x06\0\0\0\0");
        two(out, self.count);
        two(out, self.count);
        four(out, long(length)?);
        four(out, long(self.written)?);
        two(out, 0);
        Ok(())
    }

    fn count_from(&mut self, begun: usize, out: &[u8]) {
        let more = out.get(begun..).map_or(0, <[u8]>::len);
        self.written = self.written.plus(len64(more));
    }
}

impl Open {
    /// What the beginning of an entry and the list at the end have in common, up to the length of the name.
    fn common(&self, out: &mut Vec<u8>) -> SvnResult<()> {
        two(out, VERSION);
        two(out, self.flags);
        two(out, self.method);
        two(out, self.times.time);
        two(out, self.times.date);
        self.sums(out)?;
        two(out, short(len64(self.name.len()))?);
        Ok(())
    }

    /// The sum and the lengths, as far as they are known.
    fn sums(&self, out: &mut Vec<u8>) -> SvnResult<()> {
        four(out, self.sum.sum());
        four(out, long(self.packed)?);
        four(out, long(self.length)?);
        Ok(())
    }

    fn listed(&self, out: &mut Vec<u8>) -> SvnResult<()> {
        out.extend_from_slice(b"PK\x01\x02");
        two(out, MADE_BY);
        self.common(out)?;
        let extra = stamp(self.times);
        two(out, short(len64(extra.len()))?);
        // No comment, the first disk, nothing known of the text.
        [0u16; 3].into_iter().for_each(|zero| two(out, zero));
        // The directory bit of MS-DOS is 16.
        four(out, (self.mode << 16) | if self.is_dir { 16 } else { 0 });
        four(out, long(self.offset)?);
        out.extend_from_slice(self.name.as_bytes());
        out.extend_from_slice(&extra);
        Ok(())
    }
}

/// The time of an entry in both forms. The old one begins in 1980 and has no zone; what it cannot say is its first day.
fn times(entry: &Entry<'_>) -> Times {
    let part = |range: std::ops::Range<usize>| -> u16 {
        entry.date.get(range).and_then(|digits| digits.parse().ok()).unwrap_or(0)
    };
    let (year, month, day) = (part(0..4), part(5..7), part(8..10));
    let seconds = u32::try_from(entry.seconds()).unwrap_or(u32::MAX);
    if !(1980..=2107).contains(&year) {
        return Times { time: 0, date: (1 << 5) | 1, seconds };
    }
    let date = (year.wrapping_sub(1980) << 9) | (month.min(12) << 5) | day.min(31);
    let time =
        (part(11..13).min(23) << 11) | (part(14..16).min(59) << 5) | (part(17..19).min(59) / 2);
    Times { time, date, seconds }
}

/// The field with the time in seconds since 1970, which many programs read first.
fn stamp(times: Times) -> Vec<u8> {
    let mut field = b"UT\x05\x00\x01".to_vec();
    four(&mut field, times.seconds);
    field
}

fn two(out: &mut Vec<u8>, number: u16) {
    out.extend_from_slice(&number.to_le_bytes());
}

fn four(out: &mut Vec<u8>, number: u32) {
    out.extend_from_slice(&number.to_le_bytes());
}

fn short(number: u64) -> SvnResult<u16> {
    u16::try_from(number).map_err(|_| too_large())
}

fn long(number: u64) -> SvnResult<u32> {
    u32::try_from(number).map_err(|_| too_large())
}

fn too_large() -> SvnError {
    SvnError::internal("an archive outgrew its limits")
}

fn nothing_open() -> SvnError {
    SvnError::internal("an archive has no open entry")
}
