//! The file that is being made: written in large pieces.

use sapwood_core::Exact;
use sapwood_core::len64;
use std::path::PathBuf;

use super::build_queue::ShardFiles;
use crate::error::{Error, Result};
use sapwood_store::write::{NewFile, WriteStorage};

/// Bytes that are gathered before they are written.
const BUFFER: usize = 1 << 20;

#[derive(Debug)]
pub(super) struct Output<'a> {
    storage: &'a dyn WriteStorage,
    path: PathBuf,
    file: Box<dyn NewFile>,
    buffer: Vec<u8>,
    /// Bytes so far, with those in the buffer.
    len: u64,
}

impl<'a> Output<'a> {
    pub(super) fn create(storage: &'a dyn WriteStorage, path: PathBuf) -> Result<Self> {
        let file = storage.create(&path).map_err(|e| Error::io(e, "Can't create file", &path))?;
        Ok(Self { storage, path, file, buffer: Vec::with_capacity(BUFFER), len: 0 })
    }

    /// How many bytes were appended.
    pub(super) const fn len(&self) -> u64 {
        self.len
    }

    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.len = self.len.plus(len64(bytes.len()));
        if self.buffer.len().plus(bytes.len()) > BUFFER {
            self.flush()?;
        }
        if bytes.len() >= BUFFER {
            return self.write(bytes);
        }
        self.buffer.extend_from_slice(bytes);
        Ok(())
    }

    /// Appends `count` zeros.
    pub(super) fn pad(&mut self, count: u64) -> Result<()> {
        const ZEROS: [u8; 1024] = [0; 1024];
        let mut left = sapwood_core::exact::clamped(count);
        while left > 0 {
            let part = ZEROS.get(..left).unwrap_or(&ZEROS);
            self.append(part)?;
            left = left.saturating_sub(part.len());
        }
        Ok(())
    }

    /// Writes what is left, and takes write permission away: the file, which is not durable yet,
    /// comes to `built`.
    pub(super) fn finish(mut self, built: &mut ShardFiles) -> Result<()> {
        self.flush()?;
        self.storage
            .set_read_only(&self.path)
            .map_err(|e| Error::io(e, "Can't set file read-only", &self.path))?;
        built.bytes = built.bytes.plus(self.len);
        built.files.push((self.file, self.path));
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        let buffer = std::mem::take(&mut self.buffer);
        if !buffer.is_empty() {
            self.write(&buffer)?;
        }
        self.buffer = buffer;
        self.buffer.clear();
        Ok(())
    }

    fn write(&mut self, bytes: &[u8]) -> Result<()> {
        self.file.append(bytes).map_err(|e| Error::io(e, "Can't write to file", &self.path))
    }
}
