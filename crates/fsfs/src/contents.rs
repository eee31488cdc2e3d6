//! File contents as streams.

use sapwood_core::{Cut, Exact, len64};
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::JoinHandle;

use sapwood_core::checksum::{Md5Hasher, Sha1Hasher};
use sapwood_core::{Md5, Sha1};
use sapwood_fsfs_format::{NodeRev, RepLocation, Representation, TxnId};

use crate::cache_kinds::{self, TEXT, Text};
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
    /// Bytes returned so far.
    given: u64,
    sum: Checksum,
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
        self.text.bytes.head(self.len)
    }
}

impl TextReader {
    /// Reads the text of a representation; no representation is the empty text. `txn` is the
    /// transaction of the node-revision.
    pub(crate) fn new(rep: Option<Representation>, txn: Option<TxnId>) -> Self {
        let rep = rep.filter(|rep| rep.expanded_size > 0);
        let done = rep.is_none();
        let sum = Checksum::here(rep.as_ref());
        Self { rep, txn, chain: None, window: 0, given: 0, sum, done, keep: Keep::All }
    }

    /// Checks the MD5 in any case, that of a long text on another thread.
    fn sum_aside(&mut self) {
        if let Some(rep) = self.rep.filter(|_| self.window == 0) {
            let long = rep.expanded_size >= SUM_ASIDE;
            self.sum = if long { Checksum::by_thread() } else { Checksum::Here(Hasher::md5()) };
        }
    }

    /// Whether everything was returned.
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
            // The text is shorter than the node-revision says. It may be correct nevertheless.
            self.done = true;
            self.check(fs, &rep)?;
            return Ok(None);
        };
        self.window += 1;
        let left = rep.expanded_size.saturating_sub(self.given);
        let len = sapwood_core::exact::clamped(left).min(text.bytes.len());
        self.given = self.given.plus(len64(len));
        let piece = Piece { text, len };
        self.sum.update(&piece);
        if self.given >= rep.expanded_size {
            self.done = true;
            let summed = !matches!(self.sum, Checksum::Unknown);
            self.check(fs, &rep)?;
            if summed && self.window == 1 && len == piece.text.bytes.len() {
                // Another reader may have been faster, with the same result.
                let _ = piece.text.verified.set(rep.md5);
            }
        }
        Ok(Some(piece))
    }

    fn check(&mut self, fs: &Fs, rep: &Representation) -> Result<()> {
        let actual = match std::mem::replace(&mut self.sum, Checksum::Unknown).finish()? {
            None => return Ok(()),
            Some(Digest::Md5(actual)) => actual,
            Some(Digest::Sha1(actual)) if rep.sha1 == Some(actual) => return Ok(()),
            // The MD5 decides, and messages show it.
            Some(Digest::Sha1(_)) => self.md5_again(fs, rep)?,
        };
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

    /// The MD5 of the returned text, read once more.
    fn md5_again(&self, fs: &Fs, rep: &Representation) -> Result<Md5> {
        let mut again = Self::new(Some(*rep), self.txn);
        again.sum = Checksum::Unknown;
        let mut sum = Md5Hasher::new();
        while let Some(piece) = again.next(fs)? {
            sum.update(piece.bytes());
        }
        Ok(sum.finish())
    }
}

/// Texts of this many bytes are worth a thread that computes their checksum.
const SUM_ASIDE: u64 = 4 << 20;
/// How many parts of a text may wait for that thread.
const WAITING: usize = 4;

/// The checksum of the text read so far.
#[derive(Debug)]
enum Checksum {
    Here(Hasher),
    ByThread(SyncSender<Piece>, JoinHandle<Digest>),
    /// No checksum is wanted.
    Unknown,
}

/// A checksum in the making. Both kinds are stored with most texts, and where the processor helps
/// with SHA-1 it takes a third of the time.
#[derive(Debug)]
enum Hasher {
    Md5(Md5Hasher),
    Sha1(Sha1Hasher),
}

/// A checksum that was computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Digest {
    Md5(Md5),
    Sha1(Sha1),
}

/// Whether the processor computes SHA-1 itself.
fn sha1_is_fast() -> bool {
    #[cfg(any(target_arch = "x86", target_arch = "x86_64"))]
    return std::arch::is_x86_feature_detected!("sha");
    #[cfg(not(any(target_arch = "x86", target_arch = "x86_64")))]
    return false;
}

impl Hasher {
    /// The cheapest way to find out whether a text is that of `rep`.
    fn of(rep: Option<&Representation>) -> Self {
        match rep.and_then(|rep| rep.sha1) {
            Some(_) if sha1_is_fast() => Self::Sha1(Sha1Hasher::new()),
            _ => Self::md5(),
        }
    }

    fn md5() -> Self {
        Self::Md5(Md5Hasher::new())
    }

    fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::Md5(sum) => sum.update(bytes),
            Self::Sha1(sum) => sum.update(bytes),
        }
    }

    fn finish(self) -> Digest {
        match self {
            Self::Md5(sum) => Digest::Md5(sum.finish()),
            Self::Sha1(sum) => Digest::Sha1(sum.finish()),
        }
    }
}

impl Checksum {
    /// In this thread.
    fn here(rep: Option<&Representation>) -> Self {
        Self::Here(Hasher::of(rep))
    }

    /// The MD5, in another thread, or in this one when there can be no other.
    fn by_thread() -> Self {
        let (to, from) = sync_channel::<Piece>(WAITING);
        let mut sum = Hasher::md5();
        let work = move || {
            from.iter().for_each(|piece| sum.update(piece.bytes()));
            sum.finish()
        };
        match std::thread::Builder::new().name("checksum".into()).spawn(work) {
            Ok(thread) => Self::ByThread(to, thread),
            Err(_) => Self::Here(Hasher::md5()),
        }
    }

    fn update(&mut self, piece: &Piece) {
        match self {
            Self::Here(sum) => sum.update(piece.bytes()),
            // The thread receives until the sender is dropped.
            Self::ByThread(to, _) => drop(to.send(piece.clone())),
            Self::Unknown => {}
        }
    }

    /// The checksum, if it was computed.
    fn finish(self) -> Result<Option<Digest>> {
        match self {
            Self::Unknown => Ok(None),
            Self::Here(sum) => Ok(Some(sum.finish())),
            Self::ByThread(to, thread) => {
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
    let key = cache_kinds::item(&TEXT, fs.id, revision, item);
    let text = fs.caches.get(key)?;
    let whole = u64::try_from(text.bytes.len()) == Ok(rep.expanded_size)
        && text.verified.get() == Some(&rep.md5);
    whole.then(|| Piece { len: text.bytes.len(), text })
}

/// A file's contents from start to end. Reads never block for long; checks the SHA-1 at the end if it
/// is known and the processor helps with it, else the MD5.
/// As `io::Read` it wraps errors in [`std::io::Error::other`] holding an [`sapwood_core::SvnError`].
#[derive(Debug)]
pub struct Contents {
    fs: Filesystem,
    reader: TextReader,
    piece: Option<Piece>,
    /// How much of `piece` was returned.
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

    /// Sets what of the text, and of its bases, is left in the cache.
    pub(crate) const fn keep(&mut self, keep: Keep) {
        self.reader.keep = keep;
    }

    /// Does not check the checksum: for texts that are only compared with another one.
    #[must_use]
    pub(crate) fn unchecked(mut self) -> Self {
        self.reader.sum = Checksum::Unknown;
        self
    }

    /// Checks the MD5 even where the SHA-1 would be had for less, and leaves that of a long text to
    /// another thread: for verification, which reads one text after the other, and has a second
    /// processor at hand. To be called before anything is read.
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
        self.taken = self.taken.plus(len);
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
