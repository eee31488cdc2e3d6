//! The format of what is cached beside wc.db, in `.svn/sapwood/`: numbers are little-endian, names and parts
//! are preceded by their length, and a checksum follows everything, so that damage is found.
//!
//! `status` lists what a full status found clean ([`crate::status`]); `status.notes` what happened since: which
//! paths our own changes of wc.db touched ([`touched`]), and what a later status found of them. Both may be
//! deleted at any time. Where they contradict wc.db, wc.db is right: a [`State`] says which wc.db they
//! describe.

mod changes;
pub(crate) mod listed;
mod state;
pub(crate) mod touched;

use sapwood_core::len64;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use sapwood_core::Exact as _;
use sapwood_core::paths::RelPath;

pub(crate) use changes::Changes;
pub(crate) use state::{Since, State};

/// Notes are deleted when the file has grown to so many bytes: then the user never runs status
/// here.
const NOTES_LIMIT: u64 = 4 << 20;

/// The result of a full status, below the administrative directory.
pub(crate) fn place(adm: &Path) -> PathBuf {
    adm.join("sapwood").join("status")
}

/// What happened since.
pub(crate) fn notes_place(adm: &Path) -> PathBuf {
    adm.join("sapwood").join("status.notes")
}

/// A checksum: it finds damage, but not deliberate changes.
pub(crate) fn sum(bytes: &[u8]) -> u64 {
    let mut sum = 0xcbf2_9ce4_8422_2325_u64;
    let mut words = bytes.chunks_exact(8);
    for word in &mut words {
        let word = word.try_into().map_or(0, u64::from_le_bytes);
        sum = (sum ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23);
    }
    for byte in words.remainder() {
        sum = (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    }
    sum ^ len64(bytes.len())
}

pub(crate) fn write_part(out: &mut Vec<u8>, bytes: &[u8]) {
    out.extend(u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_le_bytes());
    out.extend(bytes);
}

/// Reads values from the front of bytes; returns `None` when they end too early.
#[derive(Clone, Copy)]
pub(crate) struct Reader<'b>(pub(crate) &'b [u8]);

impl<'b> Reader<'b> {
    pub(crate) fn take(&mut self, len: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        Some(taken)
    }

    pub(crate) fn u8(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.take(4)?.try_into().ok()?))
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }

    pub(crate) fn i64(&mut self) -> Option<i64> {
        Some(i64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }

    pub(crate) fn flag(&mut self) -> Option<bool> {
        Some(self.u8()? != 0)
    }

    pub(crate) fn part(&mut self) -> Option<&'b [u8]> {
        let len = usize::try_from(self.u32()?).ok()?;
        self.take(len)
    }

    pub(crate) fn relpath(&mut self) -> Option<&'b RelPath> {
        RelPath::new(std::str::from_utf8(self.part()?).ok()?).ok()
    }
}

/// Appends a note to the file. Returns the size of the file in bytes.
///
/// # Errors
/// Those of the system; then the notes are incomplete and must not be used.
pub(crate) fn append_note(adm: &Path, body: &[u8]) -> io::Result<u64> {
    let place = notes_place(adm);
    let mut note = Vec::new();
    write_part(&mut note, body);
    note.extend(sum(body).to_le_bytes());
    let mut file = File::options().create(true).append(true).open(&place)?;
    let before = file.metadata()?.len();
    if before > NOTES_LIMIT {
        fs::remove_file(&place)?;
        return Ok(0);
    }
    // One call, so that notes of two programs are not interleaved.
    file.write_all(&note)?;
    Ok(before.plus(len64(note.len())))
}

/// The notes of a file, up to the first that is damaged.
pub(crate) fn notes(bytes: &[u8]) -> impl Iterator<Item = Reader<'_>> {
    let mut rest = Reader(bytes);
    std::iter::from_fn(move || {
        let body = rest.part()?;
        (rest.u64()? == sum(body)).then_some(Reader(body))
    })
}
