//! File contents and deltas between them, as streams.

use std::sync::Arc;

use sapwood_core::{Md5, Revnum, SvnError, SvnResult};
use sapwood_delta::stream::ComputedDelta;
use sapwood_delta::svndiff::DEFAULT_LEVEL;
use sapwood_delta::{EncodedDelta, Encoder, TextDelta, Version, Window};
use sapwood_fsfs_format::{NodeRev, RepLocation, Representation, TxnId};

use crate::cache::item::{Cached, Encoded, Key, Text};
use crate::error::{Error, Result};
use crate::filesystem::{Filesystem, Fs};
use crate::rep::chain::Chain;
use crate::rep::header::RepData;
use crate::rep::svndiff::Windows;

/// An expanded text, part by part, its checksum checked at the end.
#[derive(Debug)]
pub(crate) struct TextReader {
    rep: Option<Representation>,
    txn: Option<TxnId>,
    chain: Option<Chain>,
    /// Number of the next window.
    window: u64,
    /// Bytes handed out so far.
    given: u64,
    md5: Option<sapwood_core::checksum::Md5Hasher>,
    done: bool,
    /// Whether what is expanded goes to the cache.
    keep: bool,
}

/// A part of a text; the window may hold more than belongs to the text.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    pub(crate) text: Arc<Text>,
    len: usize,
}

impl Piece {
    pub(crate) fn bytes(&self) -> &[u8] {
        self.text.bytes.get(..self.len).unwrap_or_default()
    }
}

impl TextReader {
    /// Reads the text of a representation; no representation is the empty text. `txn` is the
    /// transaction of the node-revision.
    pub(crate) fn new(rep: Option<Representation>, txn: Option<TxnId>) -> Self {
        let rep = rep.filter(|rep| rep.expanded_size > 0);
        let done = rep.is_none();
        let md5 = None;
        Self { rep, txn, chain: None, window: 0, given: 0, md5, done, keep: true }
    }

    /// Whether everything was handed out.
    pub(crate) const fn is_done(&self) -> bool {
        self.done
    }

    /// The next part; `None` at the end.
    pub(crate) fn next(&mut self, fs: &Fs) -> Result<Option<Piece>> {
        let Some(rep) = self.rep.filter(|_| !self.done) else { return Ok(None) };
        if self.window == 0
            && let Some(piece) = cached_whole(fs, &rep)
        {
            self.done = true;
            return Ok(Some(piece));
        }
        let chain = match &mut self.chain {
            Some(chain) => chain,
            none => {
                let chain = none.insert(Chain::open(fs, &rep, self.txn)?);
                if !self.keep {
                    chain.keep_nothing();
                }
                chain
            }
        };
        let Some(text) = chain.window(fs, self.window)? else {
            // The text is shorter than the node-revision says. It may be right all the same.
            self.done = true;
            self.check(&rep)?;
            return Ok(None);
        };
        self.window = self.window.saturating_add(1);
        let left = rep.expanded_size.saturating_sub(self.given);
        let len = usize::try_from(left).unwrap_or(usize::MAX).min(text.bytes.len());
        self.given = self.given.saturating_add(u64::try_from(len).unwrap_or(u64::MAX));
        let piece = Piece { text, len };
        self.md5.get_or_insert_default().update(piece.bytes());
        if self.given >= rep.expanded_size {
            self.done = true;
            self.check(&rep)?;
            if self.window == 1 && len == piece.text.bytes.len() {
                // Another reader may have been faster, with the same result.
                let _ = piece.text.verified.set(rep.md5);
            }
        }
        Ok(Some(piece))
    }

    fn check(&mut self, rep: &Representation) -> Result<()> {
        let actual = self.md5.take().unwrap_or_default().finish();
        match rep.known_md5() {
            Some(expected) if expected != actual => {
                let (revision, item) = match rep.location {
                    RepLocation::Rev { revision, item } => (revision, item),
                    _ => Default::default(),
                };
                Err(Error::Checksum { revision, item, expected, actual })
            }
            _ => Ok(()),
        }
    }
}

/// A whole text of one window that is cached and known to be right.
fn cached_whole(fs: &Fs, rep: &Representation) -> Option<Piece> {
    let RepLocation::Rev { revision, item } = rep.location else {
        return None;
    };
    if rep.expanded_size > u64::try_from(crate::rep::svndiff::WINDOW).unwrap_or(0) {
        return None;
    }
    let key = Key { fs: fs.id, kind: Text::KIND, a: revision.0, b: item, part: 0 };
    let text = fs.caches.get::<Text>(key)?;
    let whole = u64::try_from(text.bytes.len()) == Ok(rep.expanded_size)
        && text.verified.get() == Some(&rep.md5);
    whole.then(|| Piece { len: text.bytes.len(), text })
}

/// A file's contents from start to end. Reads never block for long; checks the MD5 at the end.
/// As `io::Read` it wraps errors in [`std::io::Error::other`] holding an [`sapwood_core::SvnError`].
#[derive(Debug)]
pub struct Contents {
    fs: Filesystem,
    reader: TextReader,
    piece: Option<Piece>,
    /// How much of `piece` was handed out.
    taken: usize,
}

impl Contents {
    pub(crate) fn new(fs: &Filesystem, node: &NodeRev) -> Self {
        let reader = TextReader::new(node.text, node.id.txn());
        Self { fs: fs.clone(), reader, piece: None, taken: 0 }
    }

    /// Fills some of `buf`; 0 at the end.
    ///
    /// # Errors
    /// Corruption and system errors.
    pub fn read_some(&mut self, buf: &mut [u8]) -> Result<usize> {
        let Some(bytes) = self.fill()? else { return Ok(0) };
        let len = bytes.len().min(buf.len());
        if let (Some(to), Some(from)) = (buf.get_mut(..len), bytes.get(..len)) {
            to.copy_from_slice(from);
        }
        self.taken = self.taken.saturating_add(len);
        Ok(len)
    }

    /// The next part of the contents without copying it, never empty; `None` at the end. Parts
    /// are at most 100 KiB long.
    ///
    /// # Errors
    /// Corruption and system errors.
    pub fn next_piece(&mut self) -> Result<Option<&[u8]>> {
        if self.fill()?.is_none() {
            return Ok(None);
        }
        let from = self.taken;
        self.taken = usize::MAX;
        Ok(self.piece.as_ref().and_then(|piece| piece.bytes().get(from..)))
    }

    /// What is left of the present part, or the next part.
    fn fill(&mut self) -> Result<Option<&[u8]>> {
        loop {
            let left = self.piece.as_ref().map_or(0, |p| p.bytes().len());
            if self.taken < left {
                break;
            }
            match self.reader.next(&self.fs.fs)? {
                Some(piece) => {
                    self.piece = Some(piece);
                    self.taken = 0;
                }
                None => {
                    self.piece = None;
                    return Ok(None);
                }
            }
        }
        Ok(self.piece.as_ref().and_then(|piece| piece.bytes().get(self.taken..)))
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
pub struct ContentsDelta {
    fs: Filesystem,
    /// The texts' representations, when both are committed: what an encoded delta is cached by.
    texts: Option<Texts>,
    kind: DeltaKind,
    /// Whether a window was pulled.
    started: bool,
}

#[derive(Debug)]
enum DeltaKind {
    /// The target is stored as just this delta.
    Stored(Stored),
    /// The delta has to be computed.
    Computed(Box<ComputedDelta<Contents, Contents>>),
    /// The text itself.
    Full(Box<Contents>),
    /// The delta was encoded before; whether it was handed out.
    Encoded(Arc<Encoded>, bool),
    /// Encoding failed: who pulls windows gets to know why.
    Failed(SvnError),
}

/// The representations that a delta is between, by revision and item. No source is the empty
/// text.
#[derive(Clone, Copy, Debug)]
struct Texts {
    source: Option<(Revnum, u64)>,
    target: (Revnum, u64),
}

/// Deltas to texts up to this size are encoded as a whole and kept.
const KEEP_ENCODED: u64 = 512 << 10;

/// A stored svndiff that is handed on.
#[derive(Debug)]
struct Stored {
    windows: Windows,
    fs: Filesystem,
    /// Number of the next window.
    next: u64,
    /// Bytes handed out so far.
    pos: u64,
    buffer: Option<Handed>,
}

/// What was handed out last, kept alive.
#[derive(Debug)]
enum Handed {
    Raw(Arc<crate::cache::item::RawRep>),
    Bytes(crate::revfile::Bytes),
}

/// Stored svndiff is handed on in pieces of at most this size.
const PASS_LEN: usize = 64 << 10;

/// Where the text of a committed node-revision is; `None` for one of a transaction, `Some(None)`
/// for an empty text.
fn text_place(node: &NodeRev) -> Option<Option<(Revnum, u64)>> {
    match node.text.map(|rep| rep.location) {
        None => Some(None),
        Some(RepLocation::Rev { revision, item }) => Some(Some((revision, item))),
        Some(_) => None,
    }
}

impl ContentsDelta {
    /// The delta from the text of `source` to that of `target`.
    pub(crate) fn new(fs: &Filesystem, source: Option<&NodeRev>, target: &NodeRev) -> Result<Self> {
        if let Some(stored) = Self::stored(fs, source, target)? {
            let kind = DeltaKind::Stored(stored);
            return Ok(Self { fs: fs.clone(), texts: None, kind, started: false });
        }
        let small = |node: &NodeRev| node.text.is_none_or(|rep| rep.expanded_size <= KEEP_ENCODED);
        let source_place = source.map_or(Some(None), text_place);
        let texts = match (source_place, text_place(target)) {
            (Some(source_place), Some(Some(target_place)))
                if small(target) && source.is_none_or(small) =>
            {
                Some(Texts { source: source_place, target: target_place })
            }
            _ => None,
        };
        let target = Contents::new(fs, target);
        let kind = match source.map(|node| Contents::new(fs, node)) {
            Some(source) => DeltaKind::Computed(Box::new(ComputedDelta::new(source, target))),
            None => DeltaKind::Full(Box::new(target)),
        };
        Ok(Self { fs: fs.clone(), texts, kind, started: false })
    }

    /// The delta as svndiff, cached or encoded now; `None` for large texts.
    fn encode(&mut self, version: Version) -> SvnResult<Option<Arc<Encoded>>> {
        let Some(Texts { source, target: (revision, item) }) = self.texts else {
            return Ok(None);
        };
        let fs = Arc::clone(&self.fs.fs);
        let key = Key {
            fs: fs.id,
            kind: Encoded::KIND,
            a: revision.0,
            b: item,
            // Only a part of the name: the source's place is compared.
            part: source.map_or(0, |(r, i)| r.0.rotate_left(32) ^ i).wrapping_mul(4)
                | u64::from(version == Version::V1),
        };
        if let Some(found) = fs.caches.get::<Encoded>(key)
            && found.source == source
        {
            return Ok(Some(found));
        }
        if let DeltaKind::Full(text) = &mut self.kind {
            // The encoded form is all that the next reader of this text will need, and the texts
            // below it fill the cache with what a checkout never asks for again.
            text.reader.keep = false;
        }
        let mut bytes = Vec::new();
        let mut encoder = Encoder::new(version, DEFAULT_LEVEL);
        while let Some(window) = self.next_window()? {
            encoder.encode(&window, &mut bytes);
        }
        encoder.finish(&mut bytes);
        let bytes = bytes.into_boxed_slice();
        Ok(Some(fs.caches.put(key, Encoded { source, bytes })))
    }

    fn stored(
        fs: &Filesystem,
        source: Option<&NodeRev>,
        target: &NodeRev,
    ) -> Result<Option<Stored>> {
        let Some(rep) = target.text.filter(|rep| rep.size > 0) else { return Ok(None) };
        let data = RepData::open(&fs.fs, &rep, target.id.txn())?;
        let fits = match (data.base(), source) {
            (None, None) => !data.is_plain(),
            (Some((base_rev, base_item, _)), Some(source)) => {
                let wanted = RepLocation::Rev { revision: base_rev, item: base_item };
                source.text.is_some_and(|rep| rep.location == wanted)
            }
            _ => false,
        };
        Ok(fits.then(|| Stored {
            windows: Windows::new(data),
            fs: fs.clone(),
            next: 0,
            pos: 0,
            buffer: None,
        }))
    }
}

impl TextDelta for ContentsDelta {
    fn next_window(&mut self) -> SvnResult<Option<Window>> {
        self.started = true;
        match &mut self.kind {
            DeltaKind::Stored(stored) => {
                let window = stored.windows.window(&self.fs.fs, stored.next)?;
                stored.next = stored.next.saturating_add(1);
                Ok(window)
            }
            DeltaKind::Computed(computed) => computed.next_window(),
            DeltaKind::Full(text) => {
                Ok(text.next_piece()?.map(|piece| Window::full_text(piece.to_vec())))
            }
            DeltaKind::Encoded(..) => Ok(None),
            DeltaKind::Failed(error) => Err(error.clone()),
        }
    }

    fn encoded(&mut self, newest: Version) -> Option<&mut dyn EncodedDelta> {
        if self.started {
            return None;
        }
        if matches!(self.kind, DeltaKind::Computed(_) | DeltaKind::Full(_)) {
            if newest == Version::V0 {
                return None;
            }
            match self.encode(newest) {
                Ok(Some(encoded)) => self.kind = DeltaKind::Encoded(encoded, false),
                Ok(None) => return None,
                Err(error) => {
                    self.kind = DeltaKind::Failed(error);
                    return None;
                }
            }
            return Some(self);
        }
        let DeltaKind::Stored(stored) = &mut self.kind else { return None };
        if stored.pos > 0 {
            return None;
        }
        // Whether the stored bytes can be read shows again when windows are pulled.
        let version = stored.windows.version(&self.fs.fs).ok()?;
        (version <= newest).then_some(stored)
    }
}

impl EncodedDelta for ContentsDelta {
    fn next_bytes(&mut self) -> SvnResult<Option<&[u8]>> {
        match &mut self.kind {
            DeltaKind::Encoded(encoded, done) if !*done => {
                *done = true;
                Ok(Some(&encoded.bytes))
            }
            DeltaKind::Stored(stored) => stored.next_bytes(),
            _ => Ok(None),
        }
    }
}

impl EncodedDelta for Stored {
    fn next_bytes(&mut self) -> SvnResult<Option<&[u8]>> {
        let data = &mut self.windows.data;
        if self.pos >= data.size {
            self.buffer = None;
            return Ok(None);
        }
        let raw = if self.pos == 0 { data.raw(&self.fs.fs)? } else { None };
        let handed = match raw {
            Some(raw) => Handed::Raw(raw),
            None => Handed::Bytes(data.read(&self.fs.fs, self.pos, PASS_LEN)?),
        };
        let handed = self.buffer.insert(handed);
        let bytes: &[u8] = match handed {
            Handed::Raw(raw) => &raw.0,
            Handed::Bytes(bytes) => bytes,
        };
        if bytes.is_empty() {
            let e = data.place.error(
                sapwood_core::ErrorCode::FS_CORRUPT,
                "Reading one svndiff window read beyond the end of the representation",
            );
            return Err(e.into());
        }
        self.pos = self.pos.saturating_add(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
        Ok(Some(bytes))
    }
}

/// The MD5 of a node's text.
pub(crate) fn md5_of(node: &NodeRev) -> Md5 {
    node.text.map_or_else(|| Md5::of(b""), |rep| rep.md5)
}
