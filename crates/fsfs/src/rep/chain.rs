//! A chain of representations, from the wanted text down to one that needs no base.

use sapwood_core::Exact;
use std::sync::{Arc, OnceLock};

use sapwood_core::{ErrorCode, SvnError};
use sapwood_delta::{Op, Window, compose};
use sapwood_fsfs_format::{Representation, TxnId};
use sapwood_store::Key;

use crate::cache_kinds::{TEXT, Text};
use crate::error::{Error, Result};
use crate::filesystem::Fs;
use crate::rep::header::RepData;
use crate::rep::svndiff::{WINDOW, Windows};
use crate::revfile::Bytes;

/// The longest chain that is followed. The reference keeps its own far below a hundred.
const MAX_DEPTH: usize = 4096;
/// While a chain is walked down, decoded windows are held up to this many bytes; beyond it they
/// are read again on the way up.
const HOLD: usize = 32 << 20;
/// Expanded windows of bases are cached too if they are not longer than this: a request that
/// reads one revision of a small file will read its neighbours.
const KEEP_BASES: usize = 16 << 10;
/// Deltas with together more instructions than this are applied one after the other, not joined.
const JOIN_OPS: usize = 2_000;

/// Which expanded windows are left in the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Keep {
    /// Those of the text, and of its bases where they are short.
    All,
    /// Only those of the base that needs no other one: all younger texts depend on it.
    Bottom,
    /// None.
    Nothing,
}

/// A text and all that it is made of.
#[derive(Debug)]
pub(crate) struct Chain {
    levels: Vec<Windows>,
    /// [`HOLD`], but in tests.
    hold: usize,
    /// Whether the text fits into the cache. One that does not leaves nothing there: the next pass would find little of it.
    fits: bool,
    keep: Keep,
}

impl Chain {
    /// The chain of a node-revision's representation.
    pub(crate) fn open(fs: &Fs, rep: &Representation, txn: Option<TxnId>) -> Result<Self> {
        let fits = rep.expanded_size <= fs.caches.capacity();
        Ok(Self {
            levels: vec![Windows::new(RepData::open(fs, rep, txn)?)],
            hold: HOLD,
            fits,
            keep: if fits { Keep::All } else { Keep::Nothing },
        })
    }

    /// Sets what is left in the cache from now on.
    pub(crate) const fn set_keep(&mut self, keep: Keep) {
        self.keep = if self.fits { keep } else { Keep::Nothing };
    }

    /// The part number `number` of the expanded text, `None` behind the last. Parts are asked for
    /// in order, mostly; all but the last are 100 KiB long where the text is stored plain, and as
    /// long as the delta says otherwise.
    pub(crate) fn window(&mut self, fs: &Fs, number: u64) -> Result<Option<Arc<Text>>> {
        let Some(target) = self.levels.first_mut() else { return Ok(None) };
        let key = text_key(fs, &target.data, number);
        if let Some(text) = key.and_then(|key| fs.caches.get(key)) {
            return Ok(Some(text));
        }
        if target.data.is_plain() {
            return plain_window(
                fs,
                &mut target.data,
                number,
                key.filter(|_| self.keep == Keep::All),
            );
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
        // The windows on the way down, `None` where they were not held, and the last one's view.
        let mut deltas: Vec<Option<Window>> = Vec::new();
        let mut view = (0, 0);
        let mut held = 0usize;
        let mut source = Source::Nothing;
        loop {
            let depth = deltas.len();
            let level = self.level(fs, depth)?;
            if depth > 0 {
                let key = text_key(fs, &level.data, number);
                if let Some(text) = key.and_then(|key| fs.caches.get(key)) {
                    source = Source::Text(text);
                    break;
                }
                if level.data.is_plain() {
                    source = Source::Bytes(level.data.read(fs, view.0, view.1)?);
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
            view = (delta.source_offset, delta.source_len);
            let weight = delta.ops.len().times(size_of::<Op>());
            held = held.plus(weight).plus(delta.new_data.len());
            deltas.push((held <= self.hold).then_some(delta));
            if !needs_source {
                break;
            }
        }
        self.apply(fs, number, self.joined(deltas), source)
    }

    /// Makes one delta of neighbours that are long and have few instructions: what lies between
    /// them need not be expanded then. Each is returned with the level whose text it makes.
    fn joined(&self, deltas: Vec<Option<Window>>) -> Vec<(usize, Option<Window>)> {
        let mut out: Vec<(usize, Option<Window>)> = Vec::with_capacity(deltas.len());
        for (depth, delta) in deltas.into_iter().enumerate() {
            if let (Some((_, Some(upper))), Some(lower)) = (out.last_mut(), &delta)
                && lower.target_len > KEEP_BASES
                && (lower.needs_source() || self.keep == Keep::Nothing)
                && upper.ops.len().plus(lower.ops.len()) <= JOIN_OPS
            {
                let mut both = Window::default();
                // Deltas that do not fit are found where they are applied.
                if compose(lower, upper, 0, &mut both).is_ok() {
                    *upper = both;
                    continue;
                }
            }
            out.push((depth, delta));
        }
        out
    }

    /// Applies deltas, the last one first.
    fn apply(
        &mut self,
        fs: &Fs,
        number: u64,
        mut deltas: Vec<(usize, Option<Window>)>,
        mut source: Source,
    ) -> Result<Option<Arc<Text>>> {
        while let Some((depth, delta)) = deltas.pop() {
            let Some(level) = self.levels.get_mut(depth) else { return Ok(None) };
            let delta = match delta {
                Some(delta) => Some(delta),
                None => level.window(fs, number)?,
            };
            let Some(delta) = delta else { return Ok(None) };
            let bottom = !delta.needs_source();
            let mut out = Vec::with_capacity(delta.target_len.min(WINDOW));
            let view: &[u8] = &source;
            if let Err(e) = delta.apply(view, &mut out) {
                let e = SvnError::from(e);
                return Err(level.data.place.error(ErrorCode::FS_CORRUPT, e.message()));
            }
            let text = Text { bytes: out.into_boxed_slice(), verified: OnceLock::new() };
            let keep = match self.keep {
                Keep::All => depth == 0 || text.bytes.len() <= KEEP_BASES,
                Keep::Bottom => bottom && depth > 0,
                Keep::Nothing => false,
            };
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
fn text_key(fs: &Fs, data: &RepData, number: u64) -> Option<Key<Text>> {
    let (revision, item) = data.place.ids()?;
    Some(TEXT.key(fs.id, revision.0, item, number))
}

/// A part of a text that is stored plain.
fn plain_window(
    fs: &Fs,
    data: &mut RepData,
    number: u64,
    key: Option<Key<Text>>,
) -> Result<Option<Arc<Text>>> {
    let at = number.saturating_mul(sapwood_core::exact::len64(WINDOW));
    if at >= data.size {
        return Ok(None);
    }
    let left = sapwood_core::exact::clamped(data.size.saturating_sub(at)).min(WINDOW);
    let bytes = data.read(fs, at, left)?;
    if bytes.len() < left {
        return Err(data
            .place
            .error(ErrorCode::FS_CORRUPT, "Unexpected end of a representation: its file ends"));
    }
    let text = Text { bytes: bytes.to_vec().into_boxed_slice(), verified: OnceLock::new() };
    // Only texts of one part are cached: for others the blocks serve as well.
    Ok(Some(match key.filter(|_| number == 0 && data.size <= left.try_into().unwrap_or(0)) {
        Some(key) => fs.caches.put(key, text),
        None => Arc::new(text),
    }))
}

#[cfg(test)]
mod tests;
