//! Changing the properties of revisions.
//!
//! All of it happens under the write lock, and with no packer at the revision's shard. The number in `revprop-generation` is
//! odd from before a change becomes visible until after, so that other programs forget what they keep. A pack that has room is replaced in one step; one that becomes too
//! large is divided: parts get new names, then the manifest names them, then the old file goes. A reader sees the old or the new
//! properties, and a crash leaves at most files that no manifest names.

use std::io::ErrorKind;
use std::path::PathBuf;

use sapwood_core::{Exact, PropList, Revnum, SvnResult, len64};
use sapwood_fsx_format::layout::names;
use sapwood_fsx_format::revprops::{self, ManifestEntry, RevpropPack};
use sapwood_store::HeldLock;
use sapwood_store::write::create_beside;

use super::Writer;
use crate::error::{Error, Result};

/// Says what properties become of the present ones; `None` leaves them.
pub type ChangeProps<'a> = dyn FnMut(&PropList) -> SvnResult<Option<PropList>> + 'a;

/// New contents of a file, which becomes visible by its last step.
struct Replacement {
    beside: PathBuf,
    path: PathBuf,
}

impl Writer {
    /// Changes the properties of a revision: `change` is given the present ones and says what
    /// they become, `None` to leave them.
    ///
    /// # Errors
    /// E160006 when there is no such revision; what `change` fails with; corruption and system
    /// errors. The properties are then what they were.
    pub fn change_revision_props(
        &self,
        revision: Revnum,
        change: &mut ChangeProps<'_>,
    ) -> Result<()> {
        self.fs.ensure_exists(revision)?;
        let _locks = self.lock_props(revision)?;
        let fs = &self.fs.0;
        let present = fs.revprops(revision)?;
        let props = match change(&present)? {
            Some(props) if props != present => props,
            _ => return Ok(()),
        };
        if fs.is_packed(revision) && revision != Revnum::ZERO {
            return self.change_packed(revision, &props);
        }
        let path = fs.file(&fs.layout.revprops(revision, fs.is_packed(revision)));
        let written = self.beside(path, &revprops::write_file(&props))?;
        self.swap(written, &[])
    }

    /// The write lock, and that of a packer of the revision's shard: 1.14's does not take the write lock, and packs what it
    /// has read of properties before. No packer begins while one is taken here, and where one is at work on the shard, this waits
    /// for its end.
    fn lock_props(&self, revision: Revnum) -> Result<[Option<Box<dyn HeldLock>>; 2]> {
        let pack_lock = self.fs.0.file(names::PACK_LOCK);
        let packer = match self.storage.try_lock(&pack_lock) {
            Err(error) if error.kind() == ErrorKind::NotFound => Some(self.lock(names::PACK_LOCK)?),
            tried => {
                let sentence = "Can't get exclusive lock on file";
                tried.map_err(|error| Error::io(sentence, &pack_lock, error))?
            }
        };
        let write = self.lock(names::WRITE_LOCK)?;
        self.fs.0.refresh_min_unpacked()?;
        if packer.is_some() || !self.fs.0.is_being_packed(self.shard_of(revision)) {
            return Ok([Some(write), packer]);
        }
        drop(write);
        let packer = self.lock(names::PACK_LOCK)?;
        let write = self.lock(names::WRITE_LOCK)?;
        self.fs.0.refresh_min_unpacked()?;
        Ok([Some(write), Some(packer)])
    }

    fn change_packed(&self, revision: Revnum, props: &PropList) -> Result<()> {
        let (fs, shard) = (&self.fs.0, self.shard_of(revision));
        let (manifest_path, mut manifest) = fs.manifest(shard)?;
        let found = revprops::find(&manifest, revision);
        let (entry, at) = found
            .ok_or_else(|| Error::Corrupt(format!("No revprop pack is named for r{revision}")))?;
        let name = fs.layout.revprop_pack(shard, entry);
        let old = fs.file(&name);
        let pack = RevpropPack::read(&fs.props_file(&name)?)?;
        let lists = (0..pack.len()?).map(|at| Ok(pack.get(at)?));
        let mut lists = lists.collect::<Result<Vec<_>>>()?;
        let slot = lists.get_mut(at).ok_or_else(|| {
            Error::Corrupt(format!("Revprop pack for revision r{revision} does not contain it"))
        })?;
        *slot = props.clone();
        let parts = self.parts(&lists, at);
        if parts.len() <= 1 {
            let written = self.beside(old, &RevpropPack::write(&lists)?)?;
            return self.swap(written, &[]);
        }
        let tag = manifest.iter().map(|entry| entry.tag).max().unwrap_or(0).saturating_add(1);
        let mut entries = Vec::new();
        for range in parts {
            let start = Revnum(entry.start.0.plus(len64(range.start)));
            let part = ManifestEntry { start, tag };
            let path = fs.file(&fs.layout.revprop_pack(shard, part));
            let bytes = RevpropPack::write(lists.get(range).unwrap_or_default())?;
            self.write_new(&path, &bytes, &old)?;
            entries.push(part);
        }
        let at = manifest.iter().position(|other| *other == entry).unwrap_or(0);
        manifest.splice(at..at.plus(1), entries);
        let dir = fs.file(&fs.layout.pack_dir(shard));
        if self.flush {
            // The new names are durable before the manifest mentions them.
            let synced = self.storage.sync_dir(&dir);
            synced.map_err(|error| Error::io("Can't flush file to disk", &dir, error))?;
        }
        let written = self.beside(manifest_path, &revprops::write_manifest(&manifest)?)?;
        self.swap(written, &[old])
    }

    /// How a pack is divided whose list at `changed` was changed: all in one if there is room, else before and behind that
    /// list, and itself alone.
    fn parts(&self, lists: &[PropList], changed: usize) -> Vec<std::ops::Range<usize>> {
        let total: u64 = lists.iter().map(stored_len).sum();
        let all = 0..lists.len();
        if total <= self.config.revprop_pack_size || lists.len() == 1 {
            return std::iter::once(all).collect();
        }
        let own = lists.get(changed).map_or(0, stored_len);
        let before: u64 = lists.iter().take(changed).map(stored_len).sum();
        let behind = total.saturating_sub(before).saturating_sub(own);
        let next = changed.plus(1);
        let ranges = if before.saturating_add(own) <= self.config.revprop_pack_size {
            vec![0..next, next..lists.len()]
        } else if behind.saturating_add(own) <= self.config.revprop_pack_size {
            vec![0..changed, changed..lists.len()]
        } else {
            vec![0..changed, changed..next, next..lists.len()]
        };
        ranges.into_iter().filter(|range| !range.is_empty()).collect()
    }

    /// Writes the new contents of a file beside it, with its permissions.
    fn beside(&self, path: PathBuf, contents: &[u8]) -> Result<Replacement> {
        let write = || {
            let (beside, mut file) = create_beside(&*self.storage, &path)?;
            let written = file.append(contents).and_then(|()| {
                if self.flush {
                    file.sync()?;
                }
                self.storage.copy_permissions(&path, &beside)
            });
            written.map(|()| beside.clone()).inspect_err(|_| {
                // The error that is reported is the first one.
                let _ = self.storage.remove_file(&beside);
            })
        };
        let written = write().map_err(|error| Error::io("Can't write to file", &path, error));
        Ok(Replacement { beside: written?, path })
    }

    /// Makes the new contents visible, and then removes files that nothing names any more.
    fn swap(&self, Replacement { beside, path }: Replacement, gone: &[PathBuf]) -> Result<()> {
        let generation = self.fs.0.number(names::REVPROP_GENERATION)?;
        // An odd one is from a change that was interrupted.
        let changing = generation | 1;
        self.replace(names::REVPROP_GENERATION, format!("{changing}\n").as_bytes())?;
        let done = self.storage.rename(&beside, &path, self.flush);
        let done = done.map_err(|error| Error::io("Can't write to file", &path, error));
        self.forget_props()?;
        done?;
        for path in gone {
            // It does no harm when it stays.
            let _ = self.storage.remove_file(path);
        }
        Ok(())
    }

    /// Lets all readers forget what they keep of properties of revisions. The write lock is held.
    pub(crate) fn forget_props(&self) -> Result<()> {
        let changing = self.fs.0.number(names::REVPROP_GENERATION)? | 1;
        let next = format!("{}\n", changing.saturating_add(1));
        self.replace(names::REVPROP_GENERATION, next.as_bytes())
    }
}

/// Bytes of a list, as the limit of packs counts them.
pub(crate) fn stored_len(list: &PropList) -> u64 {
    list.iter().map(|(name, value)| len64(name.len()).plus(len64(value.len())).plus(4)).sum()
}
