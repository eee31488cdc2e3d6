//! File contents as streams.

use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;

use sapwood_core::Md5;
use sapwood_core::checksum::Md5Hasher;
use sapwood_fsfs_format::{NodeRev, RepLocation, Representation, TxnId};

use crate::cache::item::{Cached, Key, Text};
use crate::error::{Error, Result};
use crate::filesystem::{Filesystem, Fs};
use crate::rep::chain::{Chain, Keep};

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
    sum: Sum,
    done: bool,
    /// What of it stays in the cache.
    keep: Keep,
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
        let sum = Sum::default();
        Self { rep, txn, chain: None, window: 0, given: 0, sum, done, keep: Keep::All }
    }

    /// Leaves the checksum of a long text to another thread.
    fn sum_aside(&mut self) {
        if self.window == 0 && self.rep.is_some_and(|rep| rep.expanded_size >= SUM_ASIDE) {
            self.sum = Sum::aside();
        }
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
                chain.set_keep(self.keep);
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
        self.sum.update(&piece);
        if self.given >= rep.expanded_size {
            self.done = true;
            let summed = !matches!(self.sum, Sum::Unknown);
            self.check(&rep)?;
            if summed && self.window == 1 && len == piece.text.bytes.len() {
                // Another reader may have been faster, with the same result.
                let _ = piece.text.verified.set(rep.md5);
            }
        }
        Ok(Some(piece))
    }

    fn check(&mut self, rep: &Representation) -> Result<()> {
        let Some(actual) = std::mem::take(&mut self.sum).finish()? else { return Ok(()) };
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

/// Texts of this many bytes are worth a thread that computes their checksum.
const SUM_ASIDE: u64 = 4 << 20;
/// How many parts of a text may wait for that thread.
const WAITING: usize = 4;

/// The checksum of what was read so far.
#[derive(Debug)]
enum Sum {
    Here(Md5Hasher),
    Aside(SyncSender<Piece>, JoinHandle<Md5>),
    /// Nobody wants to know.
    Unknown,
}

impl Default for Sum {
    fn default() -> Self {
        Self::Here(Md5Hasher::new())
    }
}

impl Sum {
    /// In another thread, or in this one when there can be no other.
    fn aside() -> Self {
        let (to, from) = sync_channel::<Piece>(WAITING);
        let work = move || {
            let mut sum = Md5Hasher::new();
            from.iter().for_each(|piece| sum.update(piece.bytes()));
            sum.finish()
        };
        match std::thread::Builder::new().name("checksum".into()).spawn(work) {
            Ok(thread) => Self::Aside(to, thread),
            Err(_) => Self::default(),
        }
    }

    fn update(&mut self, piece: &Piece) {
        match self {
            Self::Here(sum) => sum.update(piece.bytes()),
            // The thread takes what it is sent for as long as there is somebody to send it.
            Self::Aside(to, _) => drop(to.send(piece.clone())),
            Self::Unknown => {}
        }
    }

    /// The checksum, if it was computed.
    fn finish(self) -> Result<Option<Md5>> {
        match self {
            Self::Unknown => Ok(None),
            Self::Here(sum) => Ok(Some(sum.finish())),
            Self::Aside(to, thread) => {
                drop(to);
                let sum = thread.join();
                sum.map(Some).map_err(|_| Error::Corrupt("A checksum was not computed".into()))
            }
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
        Self::of_rep(fs, node.text, node.id.txn())
    }

    /// The text of a representation; `txn` is the transaction of its node-revision.
    pub(crate) fn of_rep(fs: &Filesystem, rep: Option<Representation>, txn: Option<TxnId>) -> Self {
        Self { fs: fs.clone(), reader: TextReader::new(rep, txn), piece: None, taken: 0 }
    }

    /// Says what of the text, and of those that it is made of, is left in the cache.
    pub(crate) const fn keep(&mut self, keep: Keep) {
        self.reader.keep = keep;
    }

    /// Does not look at the checksum: for texts that are only compared with another one.
    #[must_use]
    pub(crate) fn unchecked(mut self) -> Self {
        self.reader.sum = Sum::Unknown;
        self
    }

    /// Leaves the checksum of a long text to another thread: for who reads one text after the
    /// other and has a second processor at hand. To be called before anything is read.
    #[must_use]
    pub fn with_sum_aside(mut self) -> Self {
        self.reader.sum_aside();
        self
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

/// The MD5 of a node's text.
pub(crate) fn md5_of(node: &NodeRev) -> Md5 {
    node.text.map_or_else(|| Md5::of(b""), |rep| rep.md5)
}
