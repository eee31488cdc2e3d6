//! Revision properties: plain files and packs, cached, with one cheap check a shard a request.
//!
//! They may change at any time, by other programs too. All writers put a new file in place by a
//! rename, which changes the time stamp of the folder that holds it: a shard's folder, or that of
//! its pack. So everything cached carries the *generation* of its folder, a number that grows
//! whenever the folder's stamp is found changed, or cannot be trusted yet because it is so young
//! that another change could leave it as it is.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash, Hasher};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use sapwood_core::date::Timestamp;
use sapwood_core::hashdump;
use sapwood_core::props::names::DATE;
use sapwood_core::{ErrorCode, PropList, Revnum, SvnError};
use sapwood_fsfs_format::layout::{names, since};
use sapwood_fsfs_format::revprops::{RevpropManifest, RevpropPack};

use crate::cache::files::FileKey;
use crate::cache::item::{Cached, Key, Kind};
use crate::cache::store::PassThrough;
use crate::credits::CreditBlocks;
use crate::error::{Error, Result};
use crate::filesystem::{Filesystem, Fs};
use crate::storage::{Stamp, StoredFile};
use crate::straight::Straight;

/// The longest file of unpacked revision properties that is read.
const FILE_LEN: usize = 1 << 28;
/// How often a reader starts over because files were replaced under its feet.
const RETRIES: u32 = 10;

/// A folder of revision properties.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shard {
    packed: bool,
    /// The shard's number; 0 for the one folder of the linear layout.
    number: u64,
}

// Shards are looked up in every hot request, and numbers that the repository chooses need no more.
impl Hash for Shard {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let number = (self.number << 1) | u64::from(self.packed);
        state.write_u64(number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    }
}

type ShardMap<T> = HashMap<Shard, T, BuildHasherDefault<PassThrough>>;

#[derive(Clone, Copy, Debug)]
struct ShardState {
    stamp: Stamp,
    /// Whether a later change is certain to give another stamp.
    settled: bool,
    generation: u64,
}

/// The generation of a folder that was settled when it was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Settled(u64);

impl Settled {
    /// A number that no other state of any folder of the filesystem has.
    pub(crate) const fn generation(self) -> u64 {
        self.0
    }
}

/// What is known of all folders of revision properties of a filesystem.
#[derive(Debug, Default)]
pub(crate) struct RevpropShards {
    known: ShardMap<ShardState>,
    last_generation: u64,
}

impl RevpropShards {
    /// The generation of a folder whose stamp is now `stamp`, when that has not changed since it
    /// was settled.
    fn unchanged(&self, shard: Shard, stamp: Stamp) -> Option<u64> {
        let state = self.known.get(&shard)?;
        (state.settled && state.stamp == stamp).then_some(state.generation)
    }

    /// The generation of a folder whose stamp was `stamp` after `now`.
    fn generation(&mut self, shard: Shard, stamp: Stamp, now: SystemTime) -> u64 {
        if let Some(generation) = self.unchanged(shard, stamp) {
            return generation;
        }
        self.last_generation = self.last_generation.saturating_add(1);
        let generation = self.last_generation;
        let settled = stamp.is_settled(now);
        self.known.insert(shard, ShardState { stamp, settled, generation });
        generation
    }
}

/// What is known of properties before they are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unread {
    /// They are in the cache, and take so many bytes there.
    Known(usize),
    /// They are in a file of their own, in the folder of this shard. Read now, they are of this
    /// generation, or newer.
    InFile { shard: u64, generation: u64 },
    /// They are packed, or were changed a moment ago.
    Elsewhere,
}

/// Reads revision properties for one request: each shard is checked for changes by other programs
/// when it is first touched, and trusted for the rest of the request. Make a new one for each
/// request; never keep one for long.
#[derive(Debug)]
pub struct RevpropsSnapshot {
    fs: Filesystem,
    /// Whether it was checked what is packed.
    started: bool,
    /// The shard used last, and its generation.
    last: Option<(Shard, u64)>,
    seen: ShardMap<u64>,
    /// Files that the system was told of, open. They were opened after the generation of their
    /// shard was found out, as if they had been read then.
    ahead: HashMap<Revnum, Arc<dyn StoredFile>>,
    /// Reads what the system has in memory.
    straight: Option<Box<Straight>>,
    pub(crate) credits: CreditBlocks,
}

impl Drop for RevpropsSnapshot {
    fn drop(&mut self) {
        self.keep_credits();
    }
}

/// How many files are held open to be read soon.
const AHEAD: usize = 64;

#[allow(clippy::missing_errors_doc)]
impl Filesystem {
    /// A reader of revision properties for one request.
    #[must_use]
    pub fn revprops_snapshot(&self) -> RevpropsSnapshot {
        RevpropsSnapshot {
            fs: self.clone(),
            started: false,
            last: None,
            seen: ShardMap::default(),
            ahead: HashMap::new(),
            straight: None,
            credits: CreditBlocks::default(),
        }
    }

    /// The properties of a revision, as they are now (a change by another program is seen).
    pub fn revprops(&self, revision: Revnum) -> Result<Arc<PropList>> {
        self.revprops_snapshot().get(revision)
    }
}

#[allow(clippy::missing_errors_doc)]
impl RevpropsSnapshot {
    /// The properties of `revision`.
    pub fn get(&mut self, revision: Revnum) -> Result<Arc<PropList>> {
        self.get_and(revision, true)
    }

    /// The same for one who is about to keep what he makes of them: they are not kept.
    pub(crate) fn get_for_once(&mut self, revision: Revnum) -> Result<Arc<PropList>> {
        self.get_and(revision, false)
    }

    fn get_and(&mut self, revision: Revnum, keep: bool) -> Result<Arc<PropList>> {
        let fs = Arc::clone(&self.fs.fs);
        fs.ensure_exists(revision)?;
        self.look_once(&fs)?;
        for _ in 0..RETRIES {
            let shard = fs.revprop_shard(revision);
            let found = match self.generation(&fs, shard) {
                Ok(generation) => {
                    let open = self.ahead.remove(&revision);
                    fs.revprops_of(shard, generation, revision, open, keep)
                }
                Err(e) => Err(e),
            };
            match found {
                Err(Error::FileGone { path }) => {
                    // Packed, or a pack replaced, since we looked.
                    self.last = None;
                    self.seen.remove(&shard);
                    self.credits.clear();
                    fs.refresh_min_unpacked()?;
                    let again = fs.revprop_shard(revision);
                    if again == shard && !shard.packed {
                        return Err(missing(&fs, revision, path));
                    }
                }
                other => return other,
            }
        }
        Err(Error::new(
            ErrorCode::FS_PACKED_REVPROP_READ_FAILURE,
            format!("Failed to read revprop pack file for r{revision}"),
        ))
    }

    /// The properties of `revision`, unless its folder changed so lately that what is read now
    /// would be read again by the next request anyway.
    pub(crate) fn get_settled(&mut self, revision: Revnum) -> Result<Option<Arc<PropList>>> {
        let fs = Arc::clone(&self.fs.fs);
        self.look_once(&fs)?;
        let shard = fs.revprop_shard(revision);
        self.generation(&fs, shard)?;
        let settled = fs.revprop_shards.lock().known.get(&shard).is_some_and(|s| s.settled);
        if settled { self.get(revision).map(Some) } else { Ok(None) }
    }

    /// Where the properties of `revision` are to be read by somebody who looks at many of them: see
    /// [`Unread`].
    pub(crate) fn unread(&mut self, revision: Revnum) -> Unread {
        let fs = Arc::clone(&self.fs.fs);
        let shard = fs.revprop_shard(revision);
        if shard.packed {
            return Unread::Elsewhere;
        }
        // Found out now, before the file is opened: see `RevpropsSnapshot::ahead`.
        let Ok(Some(Settled(generation))) = self.settled(revision) else {
            return Unread::Elsewhere;
        };
        let key = Key { fs: fs.id, kind: Kind::Revprops, a: revision.0, b: 0, part: generation };
        match fs.caches.get::<PropList>(key) {
            Some(props) => Unread::Known(props.byte_len()),
            None => Unread::InFile { shard: shard.number, generation },
        }
    }

    /// Says that the properties of `revision` will be asked for soon. A hint, which never fails.
    pub fn will_need(&mut self, revision: Revnum) {
        if self.ahead.len() >= AHEAD {
            return;
        }
        let fs = Arc::clone(&self.fs.fs);
        let mut straight = self.straight.take().unwrap_or_default();
        if let Some(file) = straight.revprops_now(&fs, self, revision) {
            self.ahead.insert(revision, file);
        }
        self.straight = Some(straight);
    }

    /// The same of date and author.
    pub(crate) fn will_need_credits(&mut self, revision: Revnum) {
        let known = match self.generation_of(revision) {
            Ok(Some(generation)) => self.has_credits(revision, generation),
            _ => false,
        };
        if !known {
            self.will_need(revision);
        }
    }

    /// The filesystem.
    #[must_use]
    pub const fn fs(&self) -> &Filesystem {
        &self.fs
    }

    /// The state of the properties around `revision`, unless it cannot be trusted yet that a
    /// change would be noticed.
    pub(crate) fn settled(&mut self, revision: Revnum) -> Result<Option<Settled>> {
        let fs = Arc::clone(&self.fs.fs);
        self.look_once(&fs)?;
        let shard = fs.revprop_shard(revision);
        let generation = match self.generation(&fs, shard) {
            Ok(generation) => generation,
            // Packed, or a pack replaced, since we looked.
            Err(Error::FileGone { .. }) => return Ok(None),
            Err(e) => return Err(e),
        };
        let shards = fs.revprop_shards.lock();
        let is_settled = |state: &&ShardState| state.settled && state.generation == generation;
        Ok(shards.known.get(&shard).filter(is_settled).map(|_| Settled(generation)))
    }

    /// What is packed is found out when the first properties are asked for.
    fn look_once(&mut self, fs: &Fs) -> Result<()> {
        if !self.started {
            fs.glance_at_revprops()?;
            self.started = true;
        }
        Ok(())
    }

    /// The generation of the folder that holds the properties of `revision`; `None` when the
    /// folder is gone.
    pub(crate) fn generation_of(&mut self, revision: Revnum) -> Result<Option<u64>> {
        let fs = Arc::clone(&self.fs.fs);
        fs.ensure_exists(revision)?;
        self.look_once(&fs)?;
        match self.generation(&fs, fs.revprop_shard(revision)) {
            Ok(generation) => Ok(Some(generation)),
            Err(Error::FileGone { .. }) => Ok(None),
            Err(e) => Err(e),
        }
    }

    fn generation(&mut self, fs: &Fs, shard: Shard) -> Result<u64> {
        if let Some((last, generation)) = self.last
            && last == shard
        {
            return Ok(generation);
        }
        let generation = match self.seen.get(&shard) {
            Some(generation) => *generation,
            None => {
                let stamp = fs.revprop_dir_stamp(shard)?;
                let unchanged = fs.revprop_shards.lock().unchanged(shard, stamp);
                let generation = match unchanged {
                    Some(generation) => generation,
                    // How old a stamp is, is told by a clock that was read before it.
                    None => {
                        let now = SystemTime::now();
                        let stamp = fs.revprop_dir_stamp(shard)?;
                        fs.revprop_shards.lock().generation(shard, stamp, now)
                    }
                };
                self.seen.insert(shard, generation);
                generation
            }
        };
        self.last = Some((shard, generation));
        Ok(generation)
    }
}

/// [`Error::FileGone`] when a file is not there.
fn gone_or(error: std::io::Error, path: PathBuf) -> Error {
    if error.kind() == ErrorKind::NotFound {
        Error::FileGone { path }
    } else {
        Error::io(error, "Can't open file", &path)
    }
}

/// The error for properties that are nowhere.
fn missing(fs: &Fs, revision: Revnum, path: PathBuf) -> Error {
    if fs.layout.format.number < since::REVPROP_PACKING {
        return Error::io(ErrorKind::NotFound.into(), "Can't open file", &path);
    }
    Error::new(ErrorCode::FS_NO_SUCH_REVISION, format!("No such packed revision {revision}"))
}

impl Fs {
    /// Whether `generation` is that of the folder with the properties of `revision`, and a change
    /// would give it another.
    pub(crate) fn is_settled(&self, revision: Revnum, generation: u64) -> bool {
        let shard = self.revprop_shard(revision);
        let shards = self.revprop_shards.lock();
        shards.known.get(&shard).is_some_and(|s| s.settled && s.generation == generation)
    }

    fn revprop_shard(&self, revision: Revnum) -> Shard {
        let packed = self.layout.is_revprop_packed(revision, self.min_unpacked());
        Shard { packed, number: self.layout.shard(revision).unwrap_or(0) }
    }

    /// The present stamp of a folder: of the open one, where the system has such, which is a
    /// fraction of the work of finding it by its path.
    fn revprop_dir_stamp(&self, shard: Shard) -> Result<Stamp> {
        let folders = &self.caches.folders;
        let key = FileKey { fs: self.id, packed: shard.packed, number: shard.number };
        if let Some(folder) = folders.known(key) {
            match folder.stamp() {
                Ok(stamp) => return Ok(stamp),
                // Gone, and maybe there is another in its place.
                Err(_) => folders.close(key),
            }
        }
        let dir = self.revprop_dir(shard);
        let stamp = match self.storage.stamp(&dir) {
            Ok(stamp) => stamp,
            Err(e) => return Err(gone_or(e, dir)),
        };
        folders.offer(key, || self.storage.open_folder(&dir));
        Ok(stamp)
    }

    fn revprop_dir(&self, shard: Shard) -> PathBuf {
        if shard.packed {
            return self.file(&self.layout.revprops_pack_dir(shard.number));
        }
        let size = self.layout.format.shard_size.unwrap_or(0);
        self.file(&self.layout.revprops_dir(Revnum(shard.number.saturating_mul(size))))
    }

    /// Properties that are at least as new as `generation`, which is part of their name.
    fn revprops_of(
        &self,
        shard: Shard,
        generation: u64,
        revision: Revnum,
        open: Option<Arc<dyn StoredFile>>,
        keep: bool,
    ) -> Result<Arc<PropList>> {
        let key = Key { fs: self.id, kind: Kind::Revprops, a: revision.0, b: 0, part: generation };
        if let Some(props) = self.caches.get::<PropList>(key) {
            return Ok(props);
        }
        crate::prefetch::note_read();
        let mut props = if shard.packed {
            self.packed_revprops(shard, generation, revision)?
        } else {
            let path = self.file(&self.layout.revprops_file(revision));
            let bytes = match open {
                Some(open) => open.whole(FILE_LEN),
                None => self.storage.read(&path, FILE_LEN),
            };
            parse(&bytes.map_err(|e| gone_or(e, path.clone()))?, revision)?
        };
        if !keep {
            return Ok(Arc::new(props));
        }
        props.shrink_to_fit();
        Ok(self.caches.put(key, props))
    }

    /// Keeps properties that were read from a file of their own, and says how many bytes they take;
    /// `None` when they are damaged.
    pub(crate) fn keep_revprops(
        &self,
        revision: Revnum,
        generation: u64,
        bytes: &[u8],
    ) -> Option<usize> {
        let key = Key { fs: self.id, kind: Kind::Revprops, a: revision.0, b: 0, part: generation };
        let mut props = parse(bytes, revision).ok()?;
        props.shrink_to_fit();
        Some(self.caches.put(key, props).byte_len())
    }

    fn packed_revprops(&self, shard: Shard, generation: u64, revision: Revnum) -> Result<PropList> {
        let manifest = self.revprop_manifest(shard, generation)?;
        let (name, range) = manifest.find(revision).ok_or_else(|| {
            Error::new(
                ErrorCode::FS_CORRUPT_REVPROP_MANIFEST,
                format!("Packed revprop manifest for r{revision} too small"),
            )
        })?;
        let key =
            Key { fs: self.id, kind: RevpropPack::KIND, a: range.start, b: generation, part: 0 };
        let pack = match self.caches.get::<RevpropPack>(key) {
            Some(pack) => pack,
            None => {
                let path = self.revprop_dir(shard).join(name);
                self.caches.put(key, self.read_revprop_pack(&path, revision)?)
            }
        };
        let dump = pack.get(revision).ok_or_else(|| {
            Error::Corrupt(format!("Revprop pack for revision r{revision} does not contain it"))
        })?;
        parse(dump, revision)
    }

    fn revprop_manifest(&self, shard: Shard, generation: u64) -> Result<Arc<RevpropManifest>> {
        let kind = RevpropManifest::KIND;
        let key = Key { fs: self.id, kind, a: shard.number, b: generation, part: 0 };
        if let Some(manifest) = self.caches.get(key) {
            return Ok(manifest);
        }
        let manifest = self.read_revprop_manifest(&self.revprop_dir(shard), shard.number)?;
        Ok(self.caches.put(key, manifest))
    }

    /// Reads the manifest in the folder of a packed shard, past all caches.
    pub(crate) fn read_revprop_manifest(&self, dir: &Path, shard: u64) -> Result<RevpropManifest> {
        let path = dir.join(names::MANIFEST);
        let bytes = self.storage.read(&path, FILE_LEN).map_err(|e| gone_or(e, path.clone()))?;
        let size = self.layout.format.shard_size.unwrap_or(1);
        let start = Revnum(shard.saturating_mul(size));
        RevpropManifest::parse(&bytes, start, size).map_err(|error| Error::File { path, error })
    }

    /// Reads the pack file for `revision`, past all caches.
    pub(crate) fn read_revprop_pack(&self, path: &Path, revision: Revnum) -> Result<RevpropPack> {
        let limit = sapwood_fsfs_format::limits::REVPROP_PACK_LEN;
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let bytes = self.storage.read(path, limit).map_err(|e| gone_or(e, path.to_owned()))?;
        RevpropPack::parse(&bytes).map_err(|e| {
            Error::Svn(SvnError::from(e).wrap(
                ErrorCode::FS_CORRUPT,
                format!("Revprop pack file for r{revision} is corrupt"),
            ))
        })
    }
}

fn parse(bytes: &[u8], revision: Revnum) -> Result<PropList> {
    hashdump::parse(bytes, Some(hashdump::END)).map_err(|e| {
        let sentence = format!("Failed to parse revprops for r{revision}.");
        Error::Svn(SvnError::from(e).context(sentence))
    })
}

/// See [`Filesystem::dated_revision`].
pub(crate) fn dated_revision(fs: &Filesystem, date: i64) -> Result<Revnum> {
    let youngest = fs.youngest()?;
    let mut props = fs.revprops_snapshot();
    let mut time = |revision: u64| -> Result<i64> {
        let props = props.get(Revnum(revision))?;
        let text = props.get(DATE).ok_or_else(|| {
            let sentence = format!("Failed to find time on revision {revision}");
            Error::new(ErrorCode::FS_GENERAL, sentence)
        })?;
        let stamp = Timestamp::parse(text).map_err(|_| Error::new(ErrorCode::BAD_DATE, ""))?;
        Ok(stamp.0)
    };
    let (mut bottom, mut top) = (0u64, youngest.0);
    while bottom <= top {
        let middle = bottom.midpoint(top);
        let here = time(middle)?;
        if here > date {
            let Some(before) = middle.checked_sub(1) else { return Ok(Revnum::ZERO) };
            if time(before)? <= date {
                return Ok(Revnum(before));
            }
            top = before;
        } else if here < date {
            let after = middle.saturating_add(1);
            if after > youngest.0 {
                return Ok(youngest);
            }
            if time(after)? > date {
                return Ok(Revnum(middle));
            }
            bottom = after;
        } else {
            return Ok(Revnum(middle));
        }
    }
    // The dates are not in order: the reference leaves its result unset.
    Ok(Revnum::ZERO)
}
