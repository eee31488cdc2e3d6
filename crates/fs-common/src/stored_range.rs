//! A part of what a transaction has written, as a stream.
//!
//! Invariant: [`READ_AT_ONCE`] bytes of a file are in memory at most.

use std::io::{self, Cursor, Read};
use std::sync::Arc;

use sapwood_core::exact::clamped;
use sapwood_core::{Exact as _, len64};
use sapwood_store::StoredFile;

/// Bytes that are read from a file at once.
const READ_AT_ONCE: usize = 64 << 10;

/// Bytes of a file, or some that are in memory.
#[derive(Debug)]
pub struct StoredRange {
    /// What was not read yet: where, and how many bytes.
    file: Option<(Arc<dyn StoredFile>, u64, u64)>,
    bytes: Cursor<Vec<u8>>,
}

impl StoredRange {
    /// The `len` bytes of a file from `offset` on.
    #[must_use]
    pub fn of_file(file: Arc<dyn StoredFile>, offset: u64, len: u64) -> Self {
        Self { file: Some((file, offset, len)), bytes: Cursor::default() }
    }

    /// Bytes that are in memory.
    #[must_use]
    pub const fn of_bytes(bytes: Vec<u8>) -> Self {
        Self { file: None, bytes: Cursor::new(bytes) }
    }
}

impl Read for StoredRange {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let got = self.bytes.read(buf)?;
        if got > 0 || buf.is_empty() {
            return Ok(got);
        }
        let Some((file, offset, left)) = &mut self.file else { return Ok(0) };
        let mut bytes = std::mem::take(self.bytes.get_mut());
        bytes.resize(READ_AT_ONCE.min(clamped(*left)), 0);
        let got = file.read_at(&mut bytes, *offset)?;
        bytes.truncate(got);
        *offset = offset.plus(len64(got));
        *left = left.minus(len64(got));
        self.bytes = Cursor::new(bytes);
        self.bytes.read(buf)
    }
}
