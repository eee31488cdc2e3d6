//! File contents and deltas between them, as streams.

use sapwood_core::SvnResult;
use sapwood_delta::{TextDelta, Window};

/// A file's contents from start to end. Reads never block for long; checks the MD5 at the end.
/// As `io::Read` it wraps errors in [`std::io::Error::other`] holding an [`sapwood_core::SvnError`].
#[derive(Debug)]
pub struct Contents {}

#[allow(unused_variables)]
impl Contents {
    /// Fills some of `buf`; 0 at the end.
    ///
    /// # Errors
    /// Corruption and system errors.
    pub fn read_some(&mut self, buf: &mut [u8]) -> crate::Result<usize> {
        todo!()
    }
}

impl std::io::Read for Contents {
    fn read(&mut self, buf: &mut [u8]) -> std::io::Result<usize> {
        self.read_some(buf).map_err(|e| std::io::Error::other(sapwood_core::SvnError::from(e)))
    }
}

/// The delta from one node's text (or nothing) to another's; passes stored bytes through where
/// they fit.
#[derive(Debug)]
pub struct ContentsDelta {}

impl TextDelta for ContentsDelta {
    fn next_window(&mut self) -> SvnResult<Option<Window>> {
        todo!()
    }
}
