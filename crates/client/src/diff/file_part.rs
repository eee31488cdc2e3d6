//! A text that is a part of a file which many texts share.
//!
//! Invariant: readers have positions of their own, so that any number of parts of one file are read beside each other.

use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt as _;
use std::rc::Rc;

use sapwood_core::{Exact, len64};

/// A part of a file, which is one text.
#[derive(Clone, Debug)]
pub struct FilePart {
    pub(super) file: Rc<File>,
    /// Where it begins.
    pub(super) start: u64,
    /// Its length in bytes.
    pub(super) len: u64,
}

impl FilePart {
    /// A reader of it.
    pub(super) fn reader(&self) -> io::Take<PositionedReader<'_>> {
        PositionedReader { file: &self.file, at: self.start }.take(self.len)
    }
}

/// Reads a file from a position of its own. What is read was written: the end of the file is an error.
pub(super) struct PositionedReader<'p> {
    file: &'p File,
    at: u64,
}

impl Read for PositionedReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read_at(buffer, self.at)?;
        if read == 0 && !buffer.is_empty() {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.at = self.at.plus(len64(read));
        Ok(read)
    }
}
