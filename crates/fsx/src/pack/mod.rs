//! Packing: all revisions of a complete shard become one file, and their properties a few.
//!
//! 1. Under `pack-lock`, `revs/S.pack` is made anew (what an interrupted run left is removed first), with the pack file;
//! 2. under the write lock, because properties may change, the packs of properties and their manifest are added; files and
//!    folders are synced;
//! 3. `min-unpacked-rev` is replaced. Before this no reader looks at the new files, after it all do;
//! 4. the shard's old files are removed. A reader of them notices, and looks again.
//!
//! A crash leaves a shard that is packed or one that is not.

mod build;
mod gather;
mod revprops;
mod texts;

use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use sapwood_core::{CancelToken, Exact, Revnum, SvnResult};
use sapwood_fsx_format::layout::names;

use crate::error::{Error, Result};
use crate::filesystem::Filesystem;
use crate::txn::{WriteOptions, Writer};

/// What happens while packing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PackNotice {
    /// This shard is being packed.
    Start(u64),
    /// This shard is packed.
    End(u64),
}

/// Receives notices.
pub type Notify<'a> = dyn FnMut(PackNotice) -> SvnResult<()> + 'a;

impl Filesystem {
    /// Packs all complete shards that are not packed yet. With `flush_to_disk` a pack is durable before it counts.
    ///
    /// # Errors
    /// E200015 when `cancel` says so; corruption and system errors. Shards that were packed before stay so.
    pub fn pack(
        &self,
        flush_to_disk: bool,
        cancel: &CancelToken,
        notify: &mut Notify<'_>,
    ) -> Result<()> {
        let options = WriteOptions { flush_to_disk, ..WriteOptions::default() };
        let writer = Writer::new(self, options)?;
        let _lock = writer.lock(names::PACK_LOCK)?;
        let size = self.0.layout.0.shard_size;
        let complete = self.youngest()?.0.saturating_add(1).checked_div(size).unwrap_or(0);
        let first = self.0.refresh_min_unpacked()?.checked_div(size).unwrap_or(0);
        for shard in first..complete {
            cancel.check()?;
            notify(PackNotice::Start(shard))?;
            Shard { writer: &writer, number: shard }.pack(cancel)?;
            notify(PackNotice::End(shard))?;
        }
        Ok(())
    }
}

/// A shard that is being packed.
struct Shard<'a> {
    writer: &'a Arc<Writer>,
    number: u64,
}

impl Shard<'_> {
    /// The first revision of the shard.
    fn first(&self) -> Revnum {
        Revnum(self.number.times(self.writer.fs.0.layout.0.shard_size))
    }

    /// The first revision behind the shard.
    fn end(&self) -> Revnum {
        Revnum(self.first().0.plus(self.writer.fs.0.layout.0.shard_size))
    }

    fn pack(&self, cancel: &CancelToken) -> Result<()> {
        let (fs, storage) = (&self.writer.fs.0, &*self.writer.storage);
        let dir = fs.file(&fs.layout.pack_dir(self.number));
        let old = fs.file(&fs.layout.shard_dir(self.number));
        let revs = fs.file(names::REVS);
        self.remove_dir(&dir)?;
        let made = storage.create_dir(&dir, false);
        let made = made.and_then(|()| storage.copy_permissions(&old, &dir));
        made.map_err(|error| Error::io("Can't create directory", &dir, error))?;
        self.build(cancel)?;
        let lock = self.writer.lock(names::WRITE_LOCK)?;
        self.pack_revprops()?;
        if self.writer.flush {
            for folder in [&dir, &revs] {
                let synced = storage.sync_dir(folder);
                synced.map_err(|error| Error::io("Can't flush file to disk", folder, error))?;
            }
        }
        self.writer.replace(names::MIN_UNPACKED, format!("{}\n", self.end()).as_bytes())?;
        fs.refresh_min_unpacked()?;
        // Properties must not be looked for here by a writer that holds the lock next.
        let removed = self.remove_dir(&old);
        drop(lock);
        removed
    }

    /// Removes a folder and the files in it, if it is there.
    fn remove_dir(&self, dir: &Path) -> Result<()> {
        let storage = &*self.writer.storage;
        let names = match storage.list(dir) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            names => names.map_err(|error| Error::io("Can't open directory", dir, error))?,
        };
        for name in names {
            let path = dir.join(name);
            let removed = storage.remove_file(&path);
            removed.map_err(|error| Error::io("Can't remove file", &path, error))?;
        }
        let removed = storage.remove_dir(dir);
        removed.map_err(|error| Error::io("Can't remove directory", dir, error))
    }
}
