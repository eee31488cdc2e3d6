//! A chain of representations, from the wanted text down to one that needs no base.

use std::sync::{Arc, OnceLock};

use sapwood_core::{ErrorCode, SvnError};
use sapwood_delta::Window;
use sapwood_fsfs_format::{Representation, TxnId};

use crate::cache::item::{Cached, Key, Text};
use crate::error::{Error, Result};
use crate::filesystem::Fs;
use crate::rep::header::RepData;
use crate::rep::svndiff::{WINDOW, Windows};
use crate::revfile::Bytes;

/// The longest chain that is followed. The reference keeps its own far below a hundred.
const MAX_DEPTH: usize = 4096;
/// Expanded windows of bases are kept too when they are not longer than this: who reads one
/// revision of a small file will read its neighbours.
const KEEP_BASES: usize = 16 << 10;

/// A text and all that it is made of.
#[derive(Debug)]
pub(crate) struct Chain {
    levels: Vec<Windows>,
}

impl Chain {
    /// The chain of a node-revision's representation.
    pub(crate) fn open(fs: &Fs, rep: &Representation, txn: Option<TxnId>) -> Result<Self> {
        Ok(Self { levels: vec![Windows::new(RepData::open(fs, rep, txn)?)] })
    }

    /// The part number `number` of the expanded text, `None` behind the last. Parts are asked for
    /// in order, mostly; all but the last are 100 KiB long where the text is stored plain, and as
    /// long as the delta says otherwise.
    pub(crate) fn window(&mut self, fs: &Fs, number: u64) -> Result<Option<Arc<Text>>> {
        let Some(target) = self.levels.first_mut() else { return Ok(None) };
        let key = text_key(fs, &target.data, number);
        if let Some(text) = key.and_then(|key| fs.caches.get::<Text>(key)) {
            return Ok(Some(text));
        }
        if target.data.is_plain() {
            return plain_window(fs, &mut target.data, number, key);
        }
        self.resolve(fs, number)
    }

    /// Makes sure that level `depth` is open.
    fn level(&mut self, fs: &Fs, depth: usize) -> Result<&mut Windows> {
        if depth >= self.levels.len() {
            let last = self.levels.last().map(|w| &w.data);
            let base = last.and_then(RepData::base).filter(|_| depth <= MAX_DEPTH);
            let Some((revision, item, length)) = base else {
                return Err(Error::Corrupt(
                    "Delta chain of a representation is too long or has no base".into(),
                ));
            };
            // A base is never younger: this alone ends all cycles but those within a revision,
            // which the depth ends.
            let young = last.and_then(|d| d.place.ids()).is_some_and(|(r, _)| r < revision);
            if young {
                return Err(Error::Corrupt(format!(
                    "Delta base r{revision}, item {item} is younger than its delta"
                )));
            }
            self.levels.push(Windows::new(fs.rep_data(revision, item, length)?));
        }
        self.levels.get_mut(depth).ok_or_else(|| Error::Corrupt("Delta chain is empty".into()))
    }

    fn resolve(&mut self, fs: &Fs, number: u64) -> Result<Option<Arc<Text>>> {
        let mut deltas: Vec<Window> = Vec::new();
        let mut source = Source::Nothing;
        loop {
            let depth = deltas.len();
            let level = self.level(fs, depth)?;
            if let Some(wanted) = deltas.last() {
                let key = text_key(fs, &level.data, number);
                if let Some(text) = key.and_then(|key| fs.caches.get::<Text>(key)) {
                    source = Source::Text(text);
                    break;
                }
                if level.data.is_plain() {
                    let (at, len) = (wanted.source_offset, wanted.source_len);
                    source = Source::Bytes(level.data.read(fs, at, len)?);
                    break;
                }
            }
            let Some(delta) = level.window(fs, number)? else {
                if depth == 0 {
                    return Ok(None);
                }
                return Err(level.data.place.error(
                    ErrorCode::FS_CORRUPT,
                    "Reading one svndiff window read beyond the end of the representation",
                ));
            };
            let needs_source = delta.needs_source();
            deltas.push(delta);
            if !needs_source {
                break;
            }
        }
        self.apply(fs, number, deltas, source)
    }

    /// Applies deltas, the last one first.
    fn apply(
        &self,
        fs: &Fs,
        number: u64,
        mut deltas: Vec<Window>,
        mut source: Source,
    ) -> Result<Option<Arc<Text>>> {
        while let Some(delta) = deltas.pop() {
            let mut out = Vec::with_capacity(delta.target_len.min(WINDOW));
            let depth = deltas.len();
            let Some(level) = self.levels.get(depth) else { return Ok(None) };
            let view: &[u8] = &source;
            if let Err(e) = delta.apply(view, &mut out) {
                let e = SvnError::from(e);
                return Err(level.data.place.error(ErrorCode::FS_CORRUPT, e.message()));
            }
            let text = Text { bytes: out.into_boxed_slice(), verified: OnceLock::new() };
            let keep = depth == 0 || text.bytes.len() <= KEEP_BASES;
            source = Source::Text(match text_key(fs, &level.data, number).filter(|_| keep) {
                Some(key) => fs.caches.put(key, text),
                None => Arc::new(text),
            });
        }
        Ok(match source {
            Source::Text(text) => Some(text),
            _ => None,
        })
    }
}

/// What a delta is applied to.
enum Source {
    Nothing,
    Text(Arc<Text>),
    Bytes(Bytes),
}

impl std::ops::Deref for Source {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        match self {
            Self::Nothing => &[],
            Self::Text(text) => &text.bytes,
            Self::Bytes(bytes) => bytes,
        }
    }
}

/// The name of an expanded window in the cache; those of transactions are not cached.
fn text_key(fs: &Fs, data: &RepData, number: u64) -> Option<Key> {
    let (revision, item) = data.place.ids()?;
    Some(Key { fs: fs.id, kind: Text::KIND, a: revision.0, b: item, part: number })
}

/// A part of a text that is stored plain.
fn plain_window(
    fs: &Fs,
    data: &mut RepData,
    number: u64,
    key: Option<Key>,
) -> Result<Option<Arc<Text>>> {
    let at = number.saturating_mul(u64::try_from(WINDOW).unwrap_or(u64::MAX));
    if at >= data.size {
        return Ok(None);
    }
    let left = usize::try_from(data.size.saturating_sub(at)).unwrap_or(usize::MAX).min(WINDOW);
    let bytes = data.read(fs, at, left)?;
    if bytes.len() < left {
        return Err(data
            .place
            .error(ErrorCode::FS_CORRUPT, "Unexpected end of a representation: its file ends"));
    }
    let text = Text { bytes: bytes.to_vec().into_boxed_slice(), verified: OnceLock::new() };
    // Only texts of one part are kept: for others the blocks are as good.
    Ok(Some(match key.filter(|_| number == 0 && data.size <= left.try_into().unwrap_or(0)) {
        Some(key) => fs.caches.put(key, text),
        None => Arc::new(text),
    }))
}
