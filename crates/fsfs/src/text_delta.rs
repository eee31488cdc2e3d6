//! Deltas between the texts of nodes, as windows or as ready-made svndiff.
//!
//! A receiver that wants svndiff gets, in this order: what the item cache holds for this pair of
//! texts; the stored representation as it is, when it is just this delta; a delta made now, window
//! by window. The latter two are kept in the cache unless they are long, so that a repeated request
//! costs one look-up a text and reads nothing.

use sapwood_core::Exact;
use std::sync::Arc;

use sapwood_core::{NodeKind, Revnum, SvnError, SvnResult, len64};
use sapwood_delta::stream::ComputedDelta;
use sapwood_delta::svndiff::DEFAULT_LEVEL;
use sapwood_delta::{EncodedDelta, Encoder, TextDelta, Version, Window};
use sapwood_fsfs_format::{NodeRev, RepLocation, Representation, TxnId};
use sapwood_store::Key;

use crate::cache_kinds::{CachedDelta, ENCODED, RawRep};
use crate::contents::Contents;
use crate::error::Result;
use crate::filesystem::Filesystem;
use crate::node::{Node, not_file};
use crate::rep::chain::Keep;
use crate::rep::header::RepData;
use crate::rep::svndiff::Windows;

/// Svndiff up to this size is kept as one item.
const KEEP_ENCODED: usize = 512 << 10;
/// Longer svndiff that is stored is handed on, and kept, in pieces of this size, which is also the
/// most memory that one such request takes.
pub(crate) const PASS_LEN: usize = 64 << 10;

/// The text of a node.
#[derive(Clone, Copy, Debug)]
struct NodeText {
    rep: Option<Representation>,
    txn: Option<TxnId>,
}

impl NodeText {
    const fn of(node: &NodeRev) -> Self {
        Self { rep: node.text, txn: node.id.txn() }
    }

    /// Revision and item of a committed text, `Some(None)` for an empty one.
    fn place(&self) -> Option<Option<(Revnum, u64)>> {
        match self.rep.map(|rep| rep.location) {
            None => Some(None),
            Some(RepLocation::Rev { revision, item }) => Some(Some((revision, item))),
            Some(_) => None,
        }
    }

    fn is_long(&self) -> bool {
        let limit = len64(KEEP_ENCODED);
        self.rep.is_some_and(|rep| rep.expanded_size > limit)
    }
}

/// The delta from one node's text (or nothing) to another's; passes stored bytes through where
/// they fit.
#[derive(Debug)]
pub struct ContentsDelta {
    fs: Filesystem,
    source: Option<NodeText>,
    target: NodeText,
    state: State,
}

#[derive(Debug)]
enum State {
    /// Nothing was requested yet.
    Fresh,
    /// Windows are being pulled.
    Windows(WindowSource),
    /// The svndiff is in memory; whether it was returned.
    Encoded(Arc<CachedDelta>, bool),
    /// Stored svndiff that is too long to be cached whole.
    Passing(PassedDelta),
    /// Svndiff that is being made.
    Encoding(Box<Encoding>),
    /// Finding svndiff failed: the next pull returns the error.
    Failed(SvnError),
}

impl ContentsDelta {
    /// The delta from the text of `source` to that of `target`.
    pub(crate) fn new(fs: &Filesystem, source: Option<&NodeRev>, target: &NodeRev) -> Self {
        let (source, target) = (source.map(NodeText::of), NodeText::of(target));
        Self { fs: fs.clone(), source, target, state: State::Fresh }
    }

    /// The stored representation of the target, if it is just this delta.
    fn stored(&self) -> Result<Option<Windows>> {
        let Some(rep) = self.target.rep.filter(|rep| rep.size > 0) else { return Ok(None) };
        let data = RepData::open(&self.fs.fs, &rep, self.target.txn)?;
        let fits = match (data.base(), self.source) {
            (None, None) => !data.is_plain(),
            (Some((base_rev, base_item, _)), Some(source)) => {
                let wanted = RepLocation::Rev { revision: base_rev, item: base_item };
                source.rep.is_some_and(|rep| rep.location == wanted)
            }
            _ => false,
        };
        Ok(fits.then(|| Windows::new(data)))
    }

    /// The windows of a delta that is not stored.
    fn computed(&self) -> WindowSource {
        let open = |text: &NodeText| Contents::of_rep(&self.fs, text.rep, text.txn);
        match &self.source {
            Some(source) => {
                // The target's checksum is looked at. The source's says nothing more: a client
                // that has the source got it by way of the same representations.
                let (mut from, mut to) = (open(source).unchecked(), open(&self.target));
                if source.is_long() || self.target.is_long() {
                    // The delta is kept, and a few long texts would push hundreds of those out.
                    from.keep(Keep::Bottom);
                    to.keep(Keep::Bottom);
                }
                WindowSource::Computed(Box::new(ComputedDelta::new(from, to)))
            }
            None => WindowSource::Full(Box::new(open(&self.target))),
        }
    }

    fn windows(&self) -> Result<WindowSource> {
        Ok(match self.stored()? {
            Some(windows) => WindowSource::Stored { fs: self.fs.clone(), windows, next: 0 },
            None => self.computed(),
        })
    }

    /// Where svndiff not newer than `newest` comes from; `None` when there is none to be had.
    fn find_encoded(&self, newest: Version) -> Result<Option<State>> {
        let source = match self.source {
            None => Some(None),
            Some(source) => source.place(),
        };
        let name = match (source, self.target.place()) {
            (Some(source), Some(Some(target))) if newest != Version::V0 => {
                Some(Name { source, target, newest })
            }
            _ => None,
        };
        if let Some(found) = name.and_then(|name| name.get(&self.fs)) {
            return Ok(Some(State::Encoded(found, false)));
        }
        let pulled = match self.stored()? {
            Some(mut windows) => {
                let fs = self.fs.clone();
                if windows.version(&fs.fs)? <= newest {
                    let mut passing = PassedDelta { fs, data: windows.data, pos: 0, buffer: None };
                    let short = u64::try_from(KEEP_ENCODED).is_ok_and(|n| passing.data.size <= n);
                    return Ok(Some(match name.filter(|_| short) {
                        Some(name) => State::Encoded(passing.keep(name)?, false),
                        None => State::Passing(passing),
                    }));
                }
                WindowSource::Stored { fs, windows, next: 0 }
            }
            None => self.computed(),
        };
        let Some(name) = name else { return Ok(None) };
        let mut pulled = pulled;
        if let WindowSource::Full(text) = &mut pulled
            && !self.target.is_long()
        {
            // The encoded form is all that the next reader of this text will need, and the texts
            // below it fill the cache with what a checkout never asks for again.
            text.keep(Keep::Nothing);
        }
        Ok(Some(State::Encoding(Box::new(Encoding {
            fs: self.fs.clone(),
            name,
            pulled,
            encoder: Encoder::new(newest, DEFAULT_LEVEL),
            bytes: Vec::new(),
            all: Some(Vec::new()),
            done: false,
        }))))
    }
}

impl Node {
    /// The delta from `source` (nothing, when `None`) to this file's contents.
    ///
    /// # Errors
    /// Corruption and system errors.
    pub fn delta_from(&self, source: Option<&Self>) -> Result<ContentsDelta> {
        if self.rev.kind != NodeKind::File
            || source.is_some_and(|node| node.rev.kind != NodeKind::File)
        {
            return not_file("Attempted to get textual contents of a *non*-file node");
        }
        Ok(ContentsDelta::new(&self.fs, source.map(|node| &*node.rev), &self.rev))
    }

    /// Leaves this file's text in the cache as svndiff not newer than `newest`, unless it is long:
    /// how many bytes that is.
    ///
    /// # Errors
    /// Corruption and system errors.
    pub fn encode_ahead(&self, newest: Version) -> SvnResult<u64> {
        let delta = self.delta_from(None)?;
        if delta.target.is_long() {
            return Ok(0);
        }
        let mut bytes = 0u64;
        match delta.find_encoded(newest)? {
            Some(State::Encoded(found, _)) => {
                bytes = len64(found.bytes.len());
            }
            Some(State::Encoding(mut encoding)) => {
                while let Some(piece) = encoding.next()? {
                    let len = len64(piece.len());
                    bytes = bytes.plus(len);
                }
            }
            _ => {}
        }
        Ok(bytes)
    }
}

impl TextDelta for ContentsDelta {
    fn next_window(&mut self) -> SvnResult<Option<Window>> {
        if let State::Fresh = self.state {
            self.state = State::Windows(self.windows()?);
        }
        match &mut self.state {
            State::Windows(pulled) => pulled.next(),
            State::Failed(error) => Err(error.clone()),
            _ => Ok(None),
        }
    }

    fn encoded(&mut self, newest: Version) -> Option<&mut dyn EncodedDelta> {
        if !matches!(self.state, State::Fresh) {
            return None;
        }
        self.fs.fs.work.note_svndiff(newest);
        self.state = match self.find_encoded(newest) {
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
            State::Encoded(encoded, done) if !*done => {
                *done = true;
                Ok(Some(&encoded.bytes))
            }
            State::Passing(passing) => Ok(passing.next()?),
            State::Encoding(encoding) => encoding.next(),
            State::Failed(error) => Err(error.clone()),
            _ => Ok(None),
        }
    }
}

/// Where windows come from.
#[derive(Debug)]
enum WindowSource {
    /// The target is stored as just this delta.
    Stored { fs: Filesystem, windows: Windows, next: u64 },
    /// The delta has to be computed.
    Computed(Box<ComputedDelta<Contents, Contents>>),
    /// The text itself.
    Full(Box<Contents>),
}

impl WindowSource {
    fn next(&mut self) -> SvnResult<Option<Window>> {
        match self {
            Self::Stored { fs, windows, next } => {
                let window = windows.window(&fs.fs, *next)?;
                *next += 1;
                Ok(window)
            }
            Self::Computed(computed) => computed.next_window(),
            Self::Full(text) => {
                Ok(text.next_piece()?.map(|piece| Window::full_text(piece.to_vec())))
            }
        }
    }
}

/// What an encoded delta is cached by: the representations of two texts, by revision and item. No
/// source is the empty text.
#[derive(Clone, Copy, Debug)]
struct Name {
    source: Option<(Revnum, u64)>,
    target: (Revnum, u64),
    newest: Version,
}

impl Name {
    fn key(&self, fs: &Filesystem) -> Key<CachedDelta> {
        let (revision, item) = self.target;
        // Only a part of the name: the source's place is compared.
        let source = self.source.map_or(0, |(r, i)| r.0.rotate_left(32) ^ i);
        let part = source.wrapping_mul(4) | u64::from(self.newest == Version::V1);
        ENCODED.key(fs.fs.id, revision.0, item, part)
    }

    fn get(&self, fs: &Filesystem) -> Option<Arc<CachedDelta>> {
        fs.fs.caches.get(self.key(fs)).filter(|found| found.source == self.source)
    }

    fn put(&self, fs: &Filesystem, bytes: Vec<u8>) -> Arc<CachedDelta> {
        let bytes = bytes.into_boxed_slice();
        fs.fs.caches.put(self.key(fs), CachedDelta { source: self.source, bytes })
    }
}

/// Stored svndiff that is passed on.
#[derive(Debug)]
struct PassedDelta {
    fs: Filesystem,
    data: RepData,
    /// Bytes returned so far.
    pos: u64,
    /// The last returned piece, kept alive.
    buffer: Option<Arc<RawRep>>,
}

impl PassedDelta {
    fn next(&mut self) -> Result<Option<&[u8]>> {
        if self.pos >= self.data.size {
            self.buffer = None;
            return Ok(None);
        }
        let piece = self.data.piece(&self.fs.fs, self.pos, PASS_LEN)?;
        self.pos = self.pos.plus(len64(piece.0.len()));
        Ok(Some(&self.buffer.insert(piece).0))
    }

    /// All of it, as one item of the cache.
    fn keep(&mut self, name: Name) -> Result<Arc<CachedDelta>> {
        let mut bytes = Vec::with_capacity(usize::try_from(self.data.size).unwrap_or(0));
        while self.pos < self.data.size {
            let piece = self.data.read_some(&self.fs.fs, self.pos, PASS_LEN)?;
            self.pos = self.pos.plus(len64(piece.len()));
            bytes.extend_from_slice(&piece);
        }
        Ok(name.put(&self.fs, bytes))
    }
}

/// Svndiff that is made while it is returned.
#[derive(Debug)]
struct Encoding {
    fs: Filesystem,
    name: Name,
    pulled: WindowSource,
    encoder: Encoder,
    /// The last returned piece.
    bytes: Vec<u8>,
    /// Everything so far, unless it is too long to be cached.
    all: Option<Vec<u8>>,
    done: bool,
}

impl Encoding {
    fn next(&mut self) -> SvnResult<Option<&[u8]>> {
        self.bytes.clear();
        while self.bytes.is_empty() && !self.done {
            match self.pulled.next()? {
                Some(window) => self.encoder.encode(&window, &mut self.bytes),
                None => {
                    self.encoder.finish(&mut self.bytes);
                    self.done = true;
                }
            }
        }
        if let Some(mut all) = self.all.take()
            && all.len().plus(self.bytes.len()) <= KEEP_ENCODED
        {
            all.extend_from_slice(&self.bytes);
            if self.done {
                self.name.put(&self.fs, all);
            } else {
                self.all = Some(all);
            }
        }
        Ok((!self.bytes.is_empty()).then_some(&self.bytes))
    }
}
