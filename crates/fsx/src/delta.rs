//! Differences between texts, as a receiver takes them: stored svndiff is passed on where it is what was asked for.

use std::sync::Arc;

use sapwood_core::{Exact, SvnError, SvnResult};
use sapwood_delta::svndiff::DEFAULT_LEVEL;
use sapwood_delta::{ComputedDelta, EncodedDelta, Encoder, FullText, TextDelta, Version, Window};
use sapwood_fsx_format::{Id, Representation};

use crate::cached::EncodedText;
use crate::contents::{Link, StoredWindows};
use crate::error::{Error, Result};
use crate::filesystem::Filesystem;
use crate::revfile::read_at;

/// Bytes of stored svndiff that are passed on at once.
const PIECE: u64 = 64 << 10;
/// The longest texts, in bytes, whose svndiff is kept.
const KEEP: u64 = 256 << 10;
/// The name of svndiff, which the number of its version follows.
const MAGIC: &[u8] = b"SVN";

/// The delta from one node's text (or nothing) to another's.
pub struct ContentsDelta {
    fs: Filesystem,
    /// `None` for nothing; a file may have no text.
    source: Option<Option<Representation>>,
    target: Option<Representation>,
    state: State,
}

enum State {
    /// Nothing was requested yet.
    Fresh,
    /// Windows are being pulled.
    Windows(Box<dyn TextDelta + Send + Sync>),
    /// Svndiff from the caches; whether it was returned.
    Kept(Arc<EncodedText>, bool),
    /// Stored svndiff is passed on.
    Passing(Box<StoredWindows>, Vec<u8>),
    /// Finding svndiff failed: the next pull returns the error.
    Failed(SvnError),
}

impl std::fmt::Debug for ContentsDelta {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut shown = f.debug_struct("ContentsDelta");
        shown.field("source", &self.source).field("target", &self.target).finish_non_exhaustive()
    }
}

impl ContentsDelta {
    pub(crate) fn new(
        fs: &Filesystem,
        source: Option<Option<Representation>>,
        target: Option<Representation>,
    ) -> Self {
        Self { fs: fs.clone(), source, target, state: State::Fresh }
    }

    /// The stored representation of the target, if it is just this delta.
    fn stored(&self) -> Result<Option<Box<StoredWindows>>> {
        let Some(rep) = self.target else { return Ok(None) };
        let link = self.fs.0.while_packed(|| self.fs.link(rep.id, rep.size, rep.expanded_size))?;
        let Link::Delta(windows, base) = link else { return Ok(None) };
        let fits = match (base, self.source) {
            (None, None) => true,
            (Some((base, _)), Some(Some(source))) => base == source.id,
            _ => false,
        };
        Ok(fits.then_some(windows))
    }

    fn windows(&self) -> Result<Box<dyn TextDelta + Send + Sync>> {
        if let Some(windows) = self.stored()? {
            return Ok(windows);
        }
        let target = self.fs.contents(self.target)?;
        Ok(match self.source {
            None => Box::new(FullText::new(target)),
            Some(source) => Box::new(ComputedDelta::new(self.fs.contents(source)?, target)),
        })
    }

    /// The svndiff of a short text, which is kept for the next receiver.
    fn kept(&self, newest: Version) -> Result<Option<State>> {
        let Some(rep) = self.target.filter(|rep| rep.expanded_size <= KEEP) else {
            return Ok(None);
        };
        let place = |id: Id| id.change_set.revision().map(|revision| (revision, id.number));
        let source = match self.source {
            None => Some(None),
            // One from an empty text is rare.
            Some(None) => None,
            Some(Some(source)) => place(source.id).map(Some),
        };
        let (Some(target), Some(source)) = (place(rep.id), source) else { return Ok(None) };
        if newest == Version::V0 {
            return Ok(None);
        }
        let found = self.fs.0.cached.encoded(target, source, newest, || {
            let mut bytes = Vec::new();
            if let Some(State::Passing(stored, _)) = self.passing(newest)? {
                return read_at(&*stored.file, &stored.path, stored.at, stored.left);
            }
            let mut encoder = Encoder::new(newest, DEFAULT_LEVEL);
            let mut windows = self.windows()?;
            while let Some(window) = windows.next_window()? {
                encoder.encode(&window, &mut bytes);
            }
            encoder.finish(&mut bytes);
            bytes.shrink_to_fit();
            Ok::<_, Error>(bytes)
        })?;
        Ok(Some(State::Kept(found, false)))
    }

    fn passing(&self, newest: Version) -> Result<Option<State>> {
        let Some(stored) = self.stored()? else { return Ok(None) };
        let head = read_at(&*stored.file, &stored.path, stored.at, stored.left.min(4))?;
        let version = head.strip_prefix(MAGIC).and_then(<[u8]>::first).copied();
        let is_readable = match version {
            Some(0) => true,
            Some(1) => newest >= Version::V1,
            Some(2) => newest >= Version::V2,
            _ => false,
        };
        Ok(is_readable.then_some(State::Passing(stored, Vec::new())))
    }
}

impl TextDelta for ContentsDelta {
    fn next_window(&mut self) -> SvnResult<Option<Window>> {
        if let State::Fresh = self.state {
            self.state = State::Windows(self.windows()?);
        }
        match &mut self.state {
            State::Windows(windows) => windows.next_window(),
            State::Failed(error) => Err(error.clone()),
            _ => Ok(None),
        }
    }

    fn encoded(&mut self, newest: Version) -> Option<&mut dyn EncodedDelta> {
        if !matches!(self.state, State::Fresh) {
            return None;
        }
        let found = self.kept(newest).and_then(|kept| match kept {
            Some(state) => Ok(Some(state)),
            None => self.passing(newest),
        });
        self.state = match found {
            Ok(Some(state)) => state,
            Ok(None) => return None,
            Err(error) => State::Failed(error.into()),
        };
        Some(self)
    }
}

impl EncodedDelta for ContentsDelta {
    fn next_bytes(&mut self) -> SvnResult<Option<&[u8]>> {
        match &mut self.state {
            State::Kept(bytes, is_returned) if !*is_returned => {
                *is_returned = true;
                Ok(Some(&bytes.bytes))
            }
            State::Passing(stored, _) if stored.left == 0 => Ok(None),
            State::Passing(stored, piece) => {
                let len = stored.left.min(PIECE);
                *piece = read_at(&*stored.file, &stored.path, stored.at, len)?;
                stored.at = stored.at.plus(len);
                stored.left = stored.left.minus(len);
                Ok(Some(piece))
            }
            State::Failed(error) => Err(error.clone()),
            _ => Ok(None),
        }
    }
}
