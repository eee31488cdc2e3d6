//! Receiving a text: applying its delta to the pristine one, in memory while it is small.

use std::io::{self, Read, Write};
use std::sync::Arc;

use sapwood_core::checksum::{Md5Hasher, Sha1Hasher};
use sapwood_core::exact::Exact;
use sapwood_core::{SvnError, SvnResult, len64};
use sapwood_delta::{Applier, TextDelta};

use super::batch::{Body, IN_MEMORY, NewText};
use crate::error::{Error, Result};
use crate::pristine::PristineWriter;
use crate::root::WorkingCopy;

/// Collects a text.
enum Sink {
    Memory { bytes: Vec<u8>, sha1: Sha1Hasher, md5: Md5Hasher },
    File(PristineWriter),
}

/// Applies a delta to `source`; the result is in memory, or if it is large in a temporary file of
/// the pristine store.
pub(super) fn receive(
    wc: &WorkingCopy,
    source: impl Read,
    delta: &mut dyn TextDelta,
) -> SvnResult<NewText> {
    let mut sink =
        Sink::Memory { bytes: Vec::new(), sha1: Sha1Hasher::new(), md5: Md5Hasher::new() };
    let mut applier = Applier::new(source);
    while let Some(window) = delta.next_window()? {
        let piece = match window.as_full_text() {
            Some(whole) => whole,
            None => applier.apply(&window)?,
        };
        wc.options().meter.add_bytes(piece.len());
        sink.push(wc, piece)?;
    }
    Ok(sink.finish())
}

impl Sink {
    fn push(&mut self, wc: &WorkingCopy, piece: &[u8]) -> Result<()> {
        if let Self::Memory { bytes, .. } = self
            && bytes.len().plus(piece.len()) > IN_MEMORY
        {
            let mut file = wc.write_pristine()?;
            write(&mut file, bytes)?;
            *self = Self::File(file);
        }
        match self {
            Self::Memory { bytes, sha1, md5 } => {
                sha1.update(piece);
                md5.update(piece);
                bytes.extend_from_slice(piece);
                Ok(())
            }
            Self::File(file) => write(file, piece),
        }
    }

    fn finish(self) -> NewText {
        match self {
            Self::Memory { bytes, sha1, md5 } => NewText {
                sha1: sha1.finish(),
                md5: md5.finish(),
                size: len64(bytes.len()),
                body: Body::Memory(Arc::new(bytes)),
            },
            Self::File(file) => {
                let file = file.finish();
                NewText { sha1: file.sha1, md5: file.md5, size: file.size, body: Body::File(file) }
            }
        }
    }
}

fn write(file: &mut PristineWriter, bytes: &[u8]) -> Result<()> {
    file.write_all(bytes)
        .map_err(|e| Error::Svn(SvnError::io(&e, "Can't write to a temporary file")))
}

/// A reader that opens its file at the first read.
pub(super) struct Lazy<F, R> {
    open: Option<F>,
    file: Option<R>,
}

impl<R: Read, F: FnOnce() -> Result<R>> Lazy<F, R> {
    pub(super) const fn new(open: F) -> Self {
        Self { open: Some(open), file: None }
    }
}

impl<R: Read, F: FnOnce() -> Result<R>> Read for Lazy<F, R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if let Some(open) = self.open.take() {
            self.file = Some(open().map_err(|e| io::Error::other(SvnError::from(e)))?);
        }
        match &mut self.file {
            Some(file) => file.read(buf),
            None => Ok(0),
        }
    }
}
