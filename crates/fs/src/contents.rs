//! Texts of files, whole and as deltas.

use std::io::{self, Read};

use sapwood_core::{SvnError, SvnResult};
use sapwood_delta::{EncodedDelta, TextDelta, Version, Window};

use crate::backend;
use crate::error::Result;
use crate::of::{each, of};

/// A file's contents from start to end. Reads never block for long; the checksum is checked at the end.
/// As `io::Read` it wraps errors in [`std::io::Error::other`] holding an [`sapwood_core::SvnError`].
#[derive(Debug)]
pub struct Contents(pub(crate) of!(Contents));

impl Contents {
    /// Checks the MD5 even where another sum would be had for less, and may leave that to another thread: for
    /// verification, which reads one text after the other. To be called before anything is read.
    #[must_use]
    pub fn with_sum_aside(self) -> Self {
        Self(each!(self.0, contents, wrap => wrap(backend::Contents::with_sum_aside(contents))))
    }

    /// Fills some of `buf`; 0 at the end.
    ///
    /// # Errors
    /// Corruption and system errors.
    pub fn read_some(&mut self, buf: &mut [u8]) -> Result<usize> {
        each!(&mut self.0, contents => backend::Contents::read_some(contents, buf))
    }

    /// The next part of the contents without copying it, never empty; `None` at the end. Parts
    /// are at most 100 KiB long.
    ///
    /// # Errors
    /// Corruption and system errors.
    pub fn next_piece(&mut self) -> Result<Option<&[u8]>> {
        each!(&mut self.0, contents => backend::Contents::next_piece(contents))
    }
}

impl Read for Contents {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        self.read_some(buf).map_err(|error| io::Error::other(SvnError::from(error)))
    }
}

/// The delta from one node's text (or nothing) to another's; passes stored bytes through where
/// they fit.
#[derive(Debug)]
pub struct ContentsDelta(pub(crate) of!(Delta));

impl TextDelta for ContentsDelta {
    fn next_window(&mut self) -> SvnResult<Option<Window>> {
        each!(&mut self.0, delta => delta.next_window())
    }

    fn encoded(&mut self, newest: Version) -> Option<&mut dyn EncodedDelta> {
        each!(&mut self.0, delta => delta.encoded(newest))
    }
}
