//! Packs that 1.14 is still writing: its `pack` replaces `min-unpacked-rev` before the last bytes of the new files are in them, and
//! removes the folder of the shard's own files after that.
//!
//! Invariant: while a pack is not whole, the files of its revisions are there. Readers and copies take those.

use std::sync::Arc;

use sapwood_core::Revnum;
use sapwood_fsx_format::revprops::RevpropPack;

use crate::error::Result;
use crate::filesystem::Fs;
use crate::revfile::{FileKey, RevFile};

impl Fs {
    /// Reads from a pack, or from a revision's own file when the pack is not whole.
    pub(crate) fn from_pack<T>(
        pack: impl Fn() -> Result<T>,
        own: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        match pack() {
            // Where there is no file of its own, either the pack is whole by now, or it is broken.
            Err(error) if !error.is_missing_file() => own().or_else(|_| pack()),
            done => done,
        }
    }

    /// The pack that has a revision.
    pub(crate) fn packed_file(
        &self,
        revision: Revnum,
        pack: FileKey,
    ) -> Result<(FileKey, Arc<RevFile>)> {
        let own = FileKey::Revision(revision);
        Self::from_pack(
            || Ok((pack, self.files.put(pack, self.open_revfile(pack)?))),
            || Ok((own, Arc::new(self.open_revfile(own)?))),
        )
    }

    /// Whether a shard has both a pack and files of its own: it is being packed, or a packer was stopped.
    pub(crate) fn is_being_packed(&self, shard: u64) -> bool {
        let is_there = |name: &str| self.storage.stamp(&self.file(name)).is_ok();
        is_there(&self.layout.pack_dir(shard)) && is_there(&self.layout.shard_dir(shard))
    }

    /// The first revision that is not packed, or whose pack is not whole.
    pub(crate) fn unpacked_or_unfinished(&self) -> Result<Revnum> {
        let unpacked = Revnum(self.refresh_min_unpacked()?);
        let Some(last) = unpacked.prev() else { return Ok(unpacked) };
        let shard = self.layout.0.shard(last);
        if !self.is_being_packed(shard) || self.read_whole_pack(shard).is_ok() {
            return Ok(unpacked);
        }
        Ok(Revnum(shard.saturating_mul(self.layout.0.shard_size)))
    }

    /// Reads the ends of all files of a packed shard, which 1.14 writes last.
    fn read_whole_pack(&self, shard: u64) -> Result<()> {
        self.open_revfile(FileKey::Pack(shard))?;
        let (path, entries) = self.manifest(shard)?;
        for entry in entries {
            let bytes = self.props_file(&self.layout.revprop_pack(shard, entry))?;
            RevpropPack::read(&bytes).map_err(|error| crate::Error::Item {
                path: path.clone(),
                offset: 0,
                error,
            })?;
        }
        Ok(())
    }
}
