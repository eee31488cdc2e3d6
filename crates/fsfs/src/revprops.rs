//! Revision properties: plain files and packs, cached.
//!
//! They may change at any time, by other programs too. All writers put a new file in place by a
//! rename, which changes the time stamp of the folder that holds it: a shard's folder, or that of
//! its pack. So everything cached carries the *version* of its folder, a number that grows
//! whenever the folder's stamp is found changed, or cannot be trusted yet because it is so young
//! that another change could leave it as it is.

use std::sync::Arc;

use sapwood_core::{PropList, Revnum};
use sapwood_fsfs_format::revprops::RevpropManifest;
use sapwood_store::{FileKey, Stamp, StoredFile};

use crate::cache_kinds::{REVPROP_MANIFEST, REVPROP_PACK, REVPROPS};
use crate::error::Result;
use crate::filesystem::Fs;
use crate::revision_store::{
    Object, gone_or, not_in_pack, not_named, parse, read_manifest, read_pack,
};
use crate::revprop_shards::Shard;

/// The longest file of unpacked revision properties that is read.
const FILE_LEN: usize = 1 << 28;

impl Fs {
    /// Whether `version` is that of the folder with the properties of `revision`, and every later
    /// change is certain to give another.
    pub(crate) fn is_stable(&self, revision: Revnum, version: u64) -> bool {
        let shard = self.revprop_shard(revision);
        let shards = self.revprop_shards.lock();
        shards.is_stable(shard, version)
    }

    pub(crate) fn revprop_shard(&self, revision: Revnum) -> Shard {
        let packed = self.layout.is_revprop_packed(revision, self.min_unpacked());
        Shard { packed, number: self.layout.shard(revision).unwrap_or(0) }
    }

    /// The present stamp of a folder: of the open one, where the system has such, which is a
    /// fraction of the work of finding it by its path.
    pub(crate) fn revprop_dir_stamp(&self, shard: Shard) -> Result<Stamp> {
        let folders = self.caches.folders();
        let key = FileKey { fs: self.id, packed: shard.packed, number: shard.number };
        if let Some(folder) = folders.cached(key) {
            match folder.stamp() {
                Ok(stamp) => return Ok(stamp),
                // Gone, and maybe there is another in its place.
                Err(_) => folders.close(key),
            }
        }
        let object = Object::PropsOf(shard);
        let stamp = match self.revisions.version(object) {
            Ok(stamp) => stamp,
            Err(e) => return Err(gone_or(e, self.revisions.place(object))),
        };
        folders.offer(key, || self.revisions.open_version(object));
        Ok(stamp)
    }

    /// Properties that are at least as new as `version`, which is part of their key.
    pub(crate) fn revprops_of(
        &self,
        shard: Shard,
        version: u64,
        revision: Revnum,
        open: Option<Arc<dyn StoredFile>>,
        keep: bool,
    ) -> Result<Arc<PropList>> {
        let key = REVPROPS.key(self.id, revision.0, 0, version);
        if let Some(props) = self.caches.get(key) {
            return Ok(props);
        }
        self.work.note_read();
        let mut props = if shard.packed {
            self.packed_revprops(shard, version, revision)?
        } else {
            let object = Object::Props(revision);
            let bytes = match open {
                Some(open) => open.whole(FILE_LEN),
                None => self.revisions.read(object, FILE_LEN),
            };
            parse(&bytes.map_err(|e| gone_or(e, self.revisions.place(object)))?, revision)?
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
        version: u64,
        bytes: &[u8],
    ) -> Option<usize> {
        let key = REVPROPS.key(self.id, revision.0, 0, version);
        let mut props = parse(bytes, revision).ok()?;
        props.shrink_to_fit();
        Some(self.caches.put(key, props).byte_len())
    }

    fn packed_revprops(&self, shard: Shard, version: u64, revision: Revnum) -> Result<PropList> {
        let manifest = self.revprop_manifest(shard, version)?;
        let (name, range) = manifest.find(revision).ok_or_else(|| not_named(revision))?;
        let key = REVPROP_PACK.key(self.id, range.start, version, 0);
        let pack = match self.caches.get(key) {
            Some(pack) => pack,
            None => {
                let read = read_pack(&*self.revisions, (shard.number, name), revision)?;
                self.caches.put(key, read)
            }
        };
        let dump = pack.get(revision).ok_or_else(|| not_in_pack(revision))?;
        parse(dump, revision)
    }

    fn revprop_manifest(&self, shard: Shard, version: u64) -> Result<Arc<RevpropManifest>> {
        let key = REVPROP_MANIFEST.key(self.id, shard.number, version, 0);
        if let Some(manifest) = self.caches.get(key) {
            return Ok(manifest);
        }
        let manifest = read_manifest(&*self.revisions, &self.layout, shard.number)?;
        Ok(self.caches.put(key, manifest))
    }
}
