//! The bytes of a tar archive (POSIX.1-2001, "pax"), compressed by gzip.
//!
//! Invariant: each entry has whole blocks of 512 bytes; what the old header cannot hold (long names, other characters than
//! ASCII) is in a pax record before it.

use std::io::{self, Write as _};

use flate2::Compression;
use flate2::write::GzEncoder;
use sapwood_core::exact::{Exact as _, clamped};
use sapwood_core::{SvnError, SvnResult};

use super::{Entry, EntryKind};
use crate::budget;

const BLOCK: usize = 512;
/// The length of names in the old header.
const NAME: usize = 100;

pub(super) struct Tar {
    gzip: GzEncoder<Vec<u8>>,
    /// Bytes that the last block of the text lacks.
    missing: usize,
}

impl Tar {
    pub(super) fn new() -> Self {
        Self {
            gzip: GzEncoder::new(Vec::new(), Compression::new(budget::ARCHIVE_LEVEL)),
            missing: 0,
        }
    }

    pub(super) fn begin(&mut self, entry: &Entry<'_>, out: &mut Vec<u8>) -> SvnResult<()> {
        let mut records = Vec::new();
        for (key, value) in [("path", entry.name), ("linkpath", entry.target)] {
            if value.len() > NAME || !value.is_ascii() {
                records.extend_from_slice(record(key, value).as_bytes());
            }
        }
        if !records.is_empty() {
            let size = sapwood_core::exact::len64(records.len());
            self.write(&header("pax", 0o644, size, entry.seconds(), b'x', ""), out)?;
            self.write(&records, out)?;
            self.write(&vec![0; padding(records.len())], out)?;
        }
        let kind = match entry.kind {
            EntryKind::Dir => b'5',
            EntryKind::File { .. } => b'0',
            EntryKind::Link => b'2',
        };
        self.missing = padding(clamped(entry.size % 512));
        let (mode, time) = (entry.kind.mode(), entry.seconds());
        self.write(&header(entry.name, mode, entry.size, time, kind, entry.target), out)
    }

    pub(super) fn text(&mut self, piece: &[u8], out: &mut Vec<u8>) -> SvnResult<()> {
        self.write(piece, out)
    }

    pub(super) fn end(&mut self, out: &mut Vec<u8>) -> SvnResult<()> {
        let missing = std::mem::take(&mut self.missing);
        self.write(&vec![0; missing], out)
    }

    pub(super) fn finish(&mut self, out: &mut Vec<u8>) -> SvnResult<()> {
        self.write(&[0; 2 * BLOCK], out)?;
        self.gzip.try_finish().map_err(failed)?;
        out.append(self.gzip.get_mut());
        Ok(())
    }

    fn write(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> SvnResult<()> {
        self.gzip.write_all(bytes).map_err(failed)?;
        out.append(self.gzip.get_mut());
        Ok(())
    }
}

pub(super) fn failed(error: io::Error) -> SvnError {
    SvnError::internal(&format!("an archive cannot be compressed: {error}"))
}

/// Bytes that so many lack to whole blocks.
fn padding(bytes: usize) -> usize {
    bytes.next_multiple_of(BLOCK).minus(bytes)
}

/// A record of a pax header. Its length counts itself.
fn record(key: &str, value: &str) -> String {
    let rest = format!(" {key}={value}\n");
    let mut length = rest.len().plus(1);
    while rest.len().plus(length.to_string().len()) != length {
        length = length.plus(1);
    }
    format!("{length}{rest}")
}

/// The header of an entry.
fn header(name: &str, mode: u32, size: u64, time: u64, kind: u8, target: &str) -> Vec<u8> {
    let mut before = Vec::with_capacity(BLOCK);
    text(&mut before, name, NAME);
    number(&mut before, mode.into(), 8);
    // No owner and no group: they become those of the user who unpacks it.
    number(&mut before, 0, 8);
    number(&mut before, 0, 8);
    number(&mut before, size, 12);
    number(&mut before, time, 12);
    let mut after = vec![kind];
    text(&mut after, target, NAME);
    after.extend_from_slice(b"ustar\x0000");
    after.resize(BLOCK.minus(before.len()).minus(8), 0);
    // The sum is made as if its own field had spaces.
    let sum = before.iter().chain(&after).map(|byte| u64::from(*byte)).sum::<u64>();
    before.extend_from_slice(format!("{:06o}\0 ", sum.plus(8 * 32)).as_bytes());
    before.append(&mut after);
    before
}

/// A text of a field that is filled up with NUL bytes.
fn text(out: &mut Vec<u8>, text: &str, width: usize) {
    let end = out.len().plus(width);
    out.extend_from_slice(text.as_bytes().get(..width).unwrap_or(text.as_bytes()));
    out.resize(end, 0);
}

/// An octal number with a NUL byte.
fn number(out: &mut Vec<u8>, number: u64, width: usize) {
    let digits = width.minus(1);
    out.extend_from_slice(format!("{number:0digits$o}\0").as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_blocks() {
        let header = header("a/b.txt", 0o644, 5, 1_000_000_000, b'0', "");
        assert_eq!(header.len(), BLOCK);
        assert_eq!(&header[..8], b"a/b.txt\0");
        assert_eq!(&header[100..124], b"0000644\x000000000\x000000000\x00");
        assert_eq!(&header[124..136], b"00000000005\0");
        assert_eq!(&header[257..265], b"ustar\x0000");
        assert_eq!(padding(0) + padding(512) + padding(1), 511);
    }

    #[test]
    fn records_count_themselves() {
        for length in [1usize, 5, 80, 88, 89, 90, 91, 200, 985, 990, 1000] {
            let record = record("path", &"x".repeat(length));
            let said: usize = record.split(' ').next().unwrap().parse().unwrap();
            assert_eq!(said, record.len(), "{length}");
        }
    }
}
