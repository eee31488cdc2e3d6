//! Revision properties as one request sees them: each folder is checked once, and trusted for the
//! rest of the request.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::SystemTime;

use sapwood_core::{PropList, Revnum};
use sapwood_store::StoredFile;

use crate::cache_kinds::REVPROPS;
use crate::error::{Error, Result};
use crate::filesystem::{Filesystem, Fs};
use crate::revision_store::{missing, unreadable};
use crate::revprop_shards::{PropsPlace, Shard, ShardMap, StableVersion};
use crate::unpacked_files::LooseFiles;
use sapwood_fs_common::date_author::{
    BlockInUse, CachedProps, DateAuthor, DateAuthorBlock, DateAuthorBlocks, DateAuthorRecord,
    date_author_key, place,
};

/// How often a reader starts over because files were replaced under its feet.
const RETRIES: u32 = 10;

/// Reads revision properties for one request: each shard is checked for changes by other programs
/// when it is first touched, and trusted for the rest of the request. Make a new one for each
/// request; never keep one for long.
#[derive(Debug)]
pub struct RevpropsSnapshot {
    fs: Filesystem,
    /// Whether it was checked which revisions are packed.
    packed_checked: bool,
    /// The shard used last, and its version.
    last: Option<(Shard, u64)>,
    /// The versions of all shards that were used.
    seen: ShardMap<u64>,
    /// Open files for which the system got read-ahead hints. They were opened after the version of their
    /// shard was read, so they count as read then.
    prefetched: HashMap<Revnum, Arc<dyn StoredFile>>,
    /// Reads what the system has in its page cache.
    loose: Option<Box<LooseFiles>>,
    pub(crate) date_authors: DateAuthorBlocks,
}

impl Drop for RevpropsSnapshot {
    fn drop(&mut self) {
        self.keep_date_authors();
    }
}

/// How many files are held open to be read soon.
const MAX_PREFETCHED: usize = 64;

#[allow(clippy::missing_errors_doc, reason = "all: `Error` says what its variants mean")]
impl Filesystem {
    /// A reader of revision properties for one request.
    #[must_use]
    pub fn revprops_snapshot(&self) -> RevpropsSnapshot {
        RevpropsSnapshot {
            fs: self.clone(),
            packed_checked: false,
            last: None,
            seen: ShardMap::default(),
            prefetched: HashMap::new(),
            loose: None,
            date_authors: DateAuthorBlocks::default(),
        }
    }

    /// The properties of a revision, as they are now (a change by another program is seen).
    pub fn revprops(&self, revision: Revnum) -> Result<Arc<PropList>> {
        self.revprops_snapshot().get(revision)
    }
}

#[allow(clippy::missing_errors_doc, reason = "all: `Error` says what its variants mean")]
impl RevpropsSnapshot {
    /// The properties of `revision`.
    pub fn get(&mut self, revision: Revnum) -> Result<Arc<PropList>> {
        self.get_with(revision, true)
    }

    /// The same for a caller that caches its own result: they are not cached.
    pub(crate) fn get_uncached(&mut self, revision: Revnum) -> Result<Arc<PropList>> {
        self.get_with(revision, false)
    }

    fn get_with(&mut self, revision: Revnum, keep: bool) -> Result<Arc<PropList>> {
        let fs = Arc::clone(&self.fs.fs);
        fs.ensure_exists(revision)?;
        self.check_packed_once(&fs)?;
        for _ in 0..RETRIES {
            let shard = fs.revprop_shard(revision);
            let found = match self.shard_version(&fs, shard) {
                Ok(version) => {
                    let open = self.prefetched.remove(&revision);
                    fs.revprops_of(shard, version, revision, open, keep)
                }
                Err(e) => Err(e),
            };
            match found {
                Err(Error::FileGone { path }) => {
                    // Packed, or a pack replaced, since we looked.
                    self.last = None;
                    self.seen.remove(&shard);
                    self.date_authors.clear();
                    fs.refresh_min_unpacked()?;
                    let again = fs.revprop_shard(revision);
                    if again == shard && !shard.packed {
                        return Err(missing(&fs.layout, revision, path));
                    }
                }
                other => return other,
            }
        }
        Err(unreadable(revision))
    }

    /// The properties of `revision`, unless its folder changed so lately that what is read now
    /// would be read again by the next request anyway.
    pub(crate) fn get_stable(&mut self, revision: Revnum) -> Result<Option<Arc<PropList>>> {
        let fs = Arc::clone(&self.fs.fs);
        self.check_packed_once(&fs)?;
        let shard = fs.revprop_shard(revision);
        self.shard_version(&fs, shard)?;
        let stable = fs.revprop_shards.lock().is_known_stable(shard);
        if stable { self.get(revision).map(Some) } else { Ok(None) }
    }

    /// Where the properties of `revision` are to be read by a thread that looks at many of them: see
    /// [`PropsPlace`].
    pub(crate) fn unread(&mut self, revision: Revnum) -> PropsPlace {
        let fs = Arc::clone(&self.fs.fs);
        let shard = fs.revprop_shard(revision);
        if shard.packed {
            return PropsPlace::Elsewhere;
        }
        // Found out now, before the file is opened: see `RevpropsSnapshot::prefetched`.
        let Ok(Some(stable)) = self.stable(revision) else { return PropsPlace::Elsewhere };
        let version = stable.version();
        let key = REVPROPS.key(fs.id, revision.0, 0, version);
        match fs.caches.get(key) {
            Some(props) => PropsPlace::Known(props.byte_len()),
            None => PropsPlace::InFile { version },
        }
    }

    /// Announces that the properties of `revision` will be needed soon. A hint, which never fails.
    pub fn will_need(&mut self, revision: Revnum) {
        if self.prefetched.len() >= MAX_PREFETCHED {
            return;
        }
        let fs = Arc::clone(&self.fs.fs);
        let unread = self.unread(revision);
        let loose = self.loose.get_or_insert_default();
        if let Some(file) = loose.revprops_now(&fs, unread, revision) {
            self.prefetched.insert(revision, file);
        }
    }

    /// The same of date and author.
    pub(crate) fn will_need_date_author(&mut self, revision: Revnum) {
        let known = match self.version_of(revision) {
            Ok(Some(version)) => self.has_date_author(revision, version),
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
    pub(crate) fn stable(&mut self, revision: Revnum) -> Result<Option<StableVersion>> {
        let fs = Arc::clone(&self.fs.fs);
        self.check_packed_once(&fs)?;
        let shard = fs.revprop_shard(revision);
        let version = match self.shard_version(&fs, shard) {
            Ok(version) => version,
            // Packed, or a pack replaced, since we looked.
            Err(Error::FileGone { .. }) => return Ok(None),
            Err(e) => return Err(e),
        };
        Ok(fs.revprop_shards.lock().stable(shard, version))
    }

    /// A number that no other state of the properties around `revision` has, unless it cannot be trusted yet that a change
    /// would be noticed.
    pub fn version(&mut self, revision: Revnum) -> Result<Option<u64>> {
        Ok(self.stable(revision)?.map(|stable| stable.version()))
    }

    /// Which revisions are packed is read when the first properties are needed.
    fn check_packed_once(&mut self, fs: &Fs) -> Result<()> {
        if !self.packed_checked {
            fs.glance_at_revprops()?;
            self.packed_checked = true;
        }
        Ok(())
    }

    /// The version of the folder that holds the properties of `revision`; `None` when the
    /// folder is gone.
    pub(crate) fn version_of(&mut self, revision: Revnum) -> Result<Option<u64>> {
        let fs = Arc::clone(&self.fs.fs);
        fs.ensure_exists(revision)?;
        self.check_packed_once(&fs)?;
        match self.shard_version(&fs, fs.revprop_shard(revision)) {
            Ok(version) => Ok(Some(version)),
            Err(Error::FileGone { .. }) => Ok(None),
            Err(e) => Err(e),
        }
    }

    fn shard_version(&mut self, fs: &Fs, shard: Shard) -> Result<u64> {
        if let Some((last, version)) = self.last
            && last == shard
        {
            return Ok(version);
        }
        let version = match self.seen.get(&shard) {
            Some(version) => *version,
            None => {
                let stamp = fs.revprop_dir_stamp(shard)?;
                let unchanged = fs.revprop_shards.lock().unchanged(shard, stamp);
                let version = match unchanged {
                    Some(version) => version,
                    // The age of a stamp is measured with a clock that was read before it.
                    None => {
                        let now = SystemTime::now();
                        let stamp = fs.revprop_dir_stamp(shard)?;
                        fs.revprop_shards.lock().version(shard, stamp, now)
                    }
                };
                self.seen.insert(shard, version);
                version
            }
        };
        self.last = Some((shard, version));
        Ok(version)
    }
}

impl RevpropsSnapshot {
    /// Date and author of `revision`.
    ///
    /// # Errors
    /// As [`RevpropsSnapshot::get`].
    pub fn date_author(&mut self, revision: Revnum) -> Result<DateAuthor> {
        let size = self.fs().fs.layout.format.shard_size.unwrap_or(0);
        let (first, bit) = place(revision, size);
        if let Some(used) = self.date_authors.used.get(&first)
            && let Some(record) = used.block.get(bit)
        {
            return Ok(DateAuthor(CachedProps::Record(record)));
        }
        if !self.date_authors.used.contains_key(&first)
            && let Some(version) = self.version_of(revision)?
        {
            let block = self.cached_date_authors(first, version);
            let record = block.as_ref().and_then(|block| block.get(bit));
            let block = block.unwrap_or_default();
            self.date_authors.used.insert(first, BlockInUse { block, version, is_changed: false });
            if let Some(record) = record {
                return Ok(DateAuthor(CachedProps::Record(record)));
            }
        }
        let props = self.get(revision)?;
        let Some(record) = DateAuthorRecord::new(&props) else {
            return Ok(DateAuthor(CachedProps::Props(props)));
        };
        if let Some(used) = self.date_authors.used.get_mut(&first) {
            Arc::make_mut(&mut used.block).insert(bit, record);
            used.is_changed = true;
        }
        Ok(DateAuthor(CachedProps::Record(record)))
    }

    /// Whether [`RevpropsSnapshot::date_author`] has those of `revision` in memory. The shard's
    /// version is `version`.
    pub(crate) fn has_date_author(&self, revision: Revnum, version: u64) -> bool {
        let size = self.fs().fs.layout.format.shard_size.unwrap_or(0);
        let (first, bit) = place(revision, size);
        match self.date_authors.used.get(&first) {
            Some(used) => used.block.has(bit),
            None => self.cached_date_authors(first, version).is_some_and(|block| block.has(bit)),
        }
    }

    fn cached_date_authors(&self, first: u64, version: u64) -> Option<Arc<DateAuthorBlock>> {
        let fs = &self.fs().fs;
        fs.caches.get(date_author_key(fs.id, first, version))
    }

    /// Puts the results of this request into the cache.
    pub(crate) fn keep_date_authors(&mut self) {
        let fs = Arc::clone(&self.fs().fs);
        for (first, used) in self.date_authors.used.drain() {
            // What is not stable has another key in the next request.
            if used.is_changed && fs.is_stable(Revnum(first), used.version) {
                let mut block = Arc::unwrap_or_clone(used.block);
                block.shrink_to_fit();
                fs.caches.put(date_author_key(fs.id, first, used.version), block);
            }
        }
    }
}
