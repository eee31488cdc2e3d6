//! A chain of representations, from the wanted text down to one that needs no base.

use std::sync::{Arc, OnceLock};

use sapwood_core::{ErrorCode, SvnError};
use sapwood_delta::{Op, Window};
use sapwood_fsfs_format::{Representation, TxnId};

use crate::cache::item::{Cached, Key, Text};
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
/// Expanded windows of bases are kept too when they are not longer than this: who reads one
/// revision of a small file will read its neighbours.
const KEEP_BASES: usize = 16 << 10;

/// A text and all that it is made of.
#[derive(Debug)]
pub(crate) struct Chain {
    levels: Vec<Windows>,
    /// [`HOLD`], but in tests.
    hold: usize,
    /// Whether expanded windows are kept in the cache.
    keep: bool,
}

impl Chain {
    /// The chain of a node-revision's representation.
    pub(crate) fn open(fs: &Fs, rep: &Representation, txn: Option<TxnId>) -> Result<Self> {
        Ok(Self {
            levels: vec![Windows::new(RepData::open(fs, rep, txn)?)],
            hold: HOLD,
            keep: true,
        })
    }

    /// Keeps no expanded windows in the cache from now on: what is made of them will be kept.
    pub(crate) const fn keep_nothing(&mut self) {
        self.keep = false;
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
            return plain_window(fs, &mut target.data, number, key.filter(|_| self.keep));
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
                if let Some(text) = key.and_then(|key| fs.caches.get::<Text>(key)) {
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
            let weight = delta.ops.len().saturating_mul(size_of::<Op>());
            held = held.saturating_add(weight).saturating_add(delta.new_data.len());
            deltas.push((held <= self.hold).then_some(delta));
            if !needs_source {
                break;
            }
        }
        self.apply(fs, number, deltas, source)
    }

    /// Applies deltas, the last one first.
    fn apply(
        &mut self,
        fs: &Fs,
        number: u64,
        mut deltas: Vec<Option<Window>>,
        mut source: Source,
    ) -> Result<Option<Arc<Text>>> {
        while let Some(delta) = deltas.pop() {
            let depth = deltas.len();
            let Some(level) = self.levels.get_mut(depth) else { return Ok(None) };
            let delta = match delta {
                Some(delta) => Some(delta),
                None => level.window(fs, number)?,
            };
            let Some(delta) = delta else { return Ok(None) };
            let mut out = Vec::with_capacity(delta.target_len.min(WINDOW));
            let view: &[u8] = &source;
            if let Err(e) = delta.apply(view, &mut out) {
                let e = SvnError::from(e);
                return Err(level.data.place.error(ErrorCode::FS_CORRUPT, e.message()));
            }
            let text = Text { bytes: out.into_boxed_slice(), verified: OnceLock::new() };
            let keep = self.keep && (depth == 0 || text.bytes.len() <= KEEP_BASES);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Caches, Filesystem, OpenOptions};
    use sapwood_core::{Md5, NodeKind, Revnum};
    use sapwood_testkit::{Repository, Shape};

    #[test]
    fn windows_that_were_not_held_are_read_again() {
        let repo = Repository::random(&Shape::new("1.8").shard(7), 7, 60);
        let caches = Caches::new(1);
        let db = repo.path().join("db");
        let fs = Filesystem::open(&db, &caches, &OpenOptions::default()).unwrap();
        let mut deep = 0;
        for number in 1..=60 {
            let root = fs.revision_root(Revnum(number)).unwrap();
            for change in fs.changed_paths(Revnum(number)).unwrap().iter() {
                let Some(node) = root.find(change.path).unwrap() else { continue };
                let Some(rep) = node.rev.text.filter(|_| node.kind() == NodeKind::File) else {
                    continue;
                };
                let mut chain = Chain::open(&fs.fs, &rep, None).unwrap();
                chain.hold = 0;
                let mut text = Vec::new();
                for part in 0.. {
                    let Some(window) = chain.window(&fs.fs, part).unwrap() else { break };
                    text.extend_from_slice(&window.bytes);
                }
                deep = deep.max(chain.levels.len());
                assert_eq!(Md5::of(&text), rep.md5);
            }
        }
        assert!(deep > 2, "{deep}");
    }
}
