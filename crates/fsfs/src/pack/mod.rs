//! Packing: all revisions of a complete shard become one file.
//!
//! The steps for one shard are the reference's, so that a crash between any two of them leaves a
//! shard that is packed or one that is not:
//!
//! 1. `revs/N.pack` is made anew (what an interrupted run left is removed first), with the pack
//!    file ([`physical`] or [`logical`]); file and folders are synced;
//! 2. under the write lock, because revision properties may change, `revprops/N.pack` is made in
//!    the same way (format 6 and later: [`crate::revprop_pack`]);
//! 3. `min-unpacked-rev` is replaced: written beside, synced, moved, the folder synced. Before
//!    this nobody looks at the new files, after it everybody does;
//! 4. the shard's old files are removed, those of revision properties before the write lock is
//!    given back. Whoever still reads them notices, and looks again.
//!
//! One process packs at a time: it holds `pack-lock` (format 7 and later) or, in older formats,
//! the write lock all the while. While a shard goes through steps 2 to 4, the next one is already
//! built on another thread: nothing of step 1 depends on the others.

mod logical;
mod order;
mod output;
mod physical;
mod source;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use sapwood_core::{CancelToken, ErrorCode, Revnum};
use sapwood_fsfs_format::layout::{names, since};

use crate::dump_index::check;
use crate::error::{Error, Result};
use crate::filesystem::{Filesystem, Shared};
use crate::revprop_pack::{RevpropPackConfig, remove_dir_all, sync_with_parent};
use crate::storage::LocalStorage;
use crate::storage_write::{HeldLock, WriteStorage};
use crate::txn::WriteConfig;

/// Items are aligned for readers that read by pages, whatever larger blocks `block-size` says:
/// that is what the reference's tools and servers do unless told otherwise.
const PAGE: u64 = 4096;
/// Bytes of revision data that are held in memory at most, unless said otherwise.
pub const DEFAULT_MEMORY: usize = 64 << 20;

/// How to pack.
#[derive(Clone, Debug)]
pub struct PackOptions {
    /// Where files are read and written.
    pub storage: Arc<dyn WriteStorage>,
    /// Whether a pack is made durable before it counts.
    pub flush_to_disk: bool,
    /// Bytes of revision data that are held in memory at most; what is more is read twice.
    pub memory: usize,
    /// Whether the next shard is built while one is finished.
    pub threads: bool,
}

impl Default for PackOptions {
    fn default() -> Self {
        Self {
            storage: Arc::new(LocalStorage),
            flush_to_disk: true,
            memory: DEFAULT_MEMORY,
            threads: true,
        }
    }
}

/// What happens while packing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PackNotice {
    /// The filesystem has no shards: there is nothing to pack, ever.
    NotSharded,
    /// This shard is being packed.
    Start(u64),
    /// This shard is packed.
    End(u64),
}

/// What `fsfs.conf` says about packing.
#[derive(Clone, Copy, Debug)]
struct PackConfig {
    /// Bytes of a block that small items do not cross the borders of.
    block_size: u64,
    write: WriteConfig,
    revprops: RevpropPackConfig,
}

impl PackConfig {
    fn read(shared: &Shared, storage: &dyn WriteStorage) -> Result<Self> {
        let format = shared.layout.format.number;
        let config = shared.read_config(storage)?;
        // Whether the value makes sense was found out when the filesystem was opened.
        let kib = config.get_i64("io", "block-size", 64)?;
        Ok(Self {
            block_size: u64::try_from(kib).unwrap_or(64).saturating_mul(1024).clamp(1024, PAGE),
            write: WriteConfig::new(&config, format)?,
            revprops: RevpropPackConfig::new(&config, format)?,
        })
    }
}

#[allow(clippy::missing_errors_doc)]
impl Filesystem {
    /// Packs all complete shards that are not packed yet. E200007 in formats that cannot be
    /// packed.
    pub fn pack(
        &self,
        options: &PackOptions,
        cancel: &CancelToken,
        notify: &mut dyn FnMut(PackNotice) -> Result<()>,
    ) -> Result<()> {
        let shared = &self.fs.shared;
        let format = shared.layout.format;
        if format.number < since::PACKING {
            return Err(Error::new(
                ErrorCode::UNSUPPORTED_FEATURE,
                format!(
                    "FSFS format ({}) too old to pack; please upgrade the filesystem.",
                    format.number
                ),
            ));
        }
        let Some(size) = format.shard_size else { return notify(PackNotice::NotSharded) };
        if shared.unpacked_shards(size)?.is_empty() {
            return Ok(());
        }
        let storage = &*options.storage;
        let lock = |name| shared.lock_file(storage, name);
        let separate = format.number >= since::LOGICAL;
        let _lock = lock(if separate { names::PACK_LOCK } else { names::WRITE_LOCK })?;
        let work = Work {
            shared,
            options,
            config: PackConfig::read(shared, storage)?,
            cancel,
            write_lock: &|| if separate { lock(names::WRITE_LOCK).map(Some) } else { Ok(None) },
        };
        // Another process may have packed meanwhile.
        let shards = shared.unpacked_shards(size)?;
        work.remove_leftovers(shards.start)?;
        if !options.threads || shards.end.saturating_sub(shards.start) < 2 {
            for shard in shards {
                check(cancel)?;
                notify(PackNotice::Start(shard))?;
                build(shared, options, work.config, shard, cancel)?;
                work.finish(shard)?;
                notify(PackNotice::End(shard))?;
            }
            return Ok(());
        }
        let (send, built) = sync_channel(1);
        std::thread::scope(|scope| {
            let (config, range) = (work.config, shards.clone());
            let builder = std::thread::Builder::new().name("pack".into());
            builder
                .spawn_scoped(scope, move || {
                    build_all(shared, options, config, range, cancel, send)
                })
                .map_err(|e| Error::io(e, "Can't start a thread for", &shared.path))?;
            work.finish_all(shards, built, notify)
        })
    }
}

/// Builds the pack files of shards ahead of who finishes them. Ends when that one does.
fn build_all(
    shared: &Shared,
    options: &PackOptions,
    config: PackConfig,
    shards: std::ops::Range<u64>,
    cancel: &CancelToken,
    send: SyncSender<Result<()>>,
) {
    for shard in shards {
        let done = check(cancel).and_then(|()| build(shared, options, config, shard, cancel));
        let failed = done.is_err();
        if send.send(done).is_err() || failed {
            return;
        }
    }
}

/// Step 1: makes `revs/N.pack`.
fn build(
    shared: &Shared,
    options: &PackOptions,
    config: PackConfig,
    shard: u64,
    cancel: &CancelToken,
) -> Result<()> {
    let storage = &*options.storage;
    let dir = shared.file(&shared.layout.pack_dir(shard));
    remove_dir_all(storage, &dir)?;
    storage.create_dir(&dir, false).map_err(|e| Error::io(e, "Can't create directory", &dir))?;
    if shared.layout.is_logical() {
        logical::build(shared, options, config, shard, cancel)?;
    } else {
        physical::build(shared, options, shard, cancel)?;
    }
    let like = shared.shard_dir(shard);
    storage
        .copy_permissions(&like, &dir)
        .map_err(|e| Error::io(e, "Can't set permissions on", &dir))?;
    if options.flush_to_disk { sync_with_parent(storage, &dir) } else { Ok(()) }
}

impl Shared {
    /// The shards that are complete and not packed. Looks at `current` and `min-unpacked-rev`.
    fn unpacked_shards(&self, size: u64) -> Result<std::ops::Range<u64>> {
        let size = size.max(1);
        let first = self.refresh_min_unpacked()?.0;
        let end = self.refresh_youngest()?.0.saturating_add(1);
        Ok(first.checked_div(size).unwrap_or(0)..end.checked_div(size).unwrap_or(0))
    }

    /// The folder of a shard that is not packed.
    fn shard_dir(&self, shard: u64) -> PathBuf {
        let size = self.layout.format.shard_size.unwrap_or(1);
        let file = self.file(&self.layout.rev_file(Revnum(shard.saturating_mul(size))));
        file.parent().map_or_else(PathBuf::new, Path::to_owned)
    }
}

type LockTaker<'a> = &'a dyn Fn() -> Result<Option<Box<dyn HeldLock>>>;

/// What all shards of one run share.
struct Work<'a> {
    shared: &'a Shared,
    options: &'a PackOptions,
    config: PackConfig,
    cancel: &'a CancelToken,
    /// Takes the write lock, where it is not held all the while.
    write_lock: LockTaker<'a>,
}

impl Work<'_> {
    fn finish_all(
        &self,
        shards: std::ops::Range<u64>,
        built: Receiver<Result<()>>,
        notify: &mut dyn FnMut(PackNotice) -> Result<()>,
    ) -> Result<()> {
        for shard in shards {
            check(self.cancel)?;
            notify(PackNotice::Start(shard))?;
            // The builder ends early only after an error, which it sent.
            built.recv().unwrap_or_else(|_| Err(Error::Corrupt("Pack was not built".into())))?;
            self.finish(shard)?;
            notify(PackNotice::End(shard))?;
        }
        Ok(())
    }

    /// Steps 2 to 4.
    fn finish(&self, shard: u64) -> Result<()> {
        let PackOptions { storage, flush_to_disk, .. } = self.options;
        let (shared, flush) = (self.shared, *flush_to_disk);
        let with_revprops = shared.layout.format.number >= since::REVPROP_PACKING;
        {
            let _lock = (self.write_lock)()?;
            if with_revprops {
                shared.pack_revprops(&**storage, shard, self.config.revprops, flush)?;
            }
            let size = shared.layout.format.shard_size.unwrap_or(1);
            let text = format!("{}\n", shard.saturating_add(1).saturating_mul(size));
            let path = shared.file(names::MIN_UNPACKED_REV);
            storage
                .replace(&path, text.as_bytes(), Some(&path), flush)
                .map_err(|e| Error::replacing(e, &path))?;
            shared.refresh_min_unpacked()?;
            // Before anybody can change the packed properties: who still goes by the old folder
            // must find it changed.
            if with_revprops {
                shared.remove_unpacked_revprops(&**storage, shard)?;
            }
        }
        remove_dir_all(&**storage, &shared.shard_dir(shard))
    }

    /// Removes what a run that was interrupted in step 4 left of the shards before `shard`.
    fn remove_leftovers(&self, shard: u64) -> Result<()> {
        let (shared, storage) = (self.shared, &*self.options.storage);
        let size = shared.layout.format.shard_size.unwrap_or(1);
        for done in (0..shard).rev() {
            let revs = shared.shard_dir(done);
            let revprops = shared.layout.revprops_dir(Revnum(done.saturating_mul(size)));
            // The folder of shard 0 stays, for revision 0.
            let kept = usize::from(done == 0);
            let with_revprops = shared.layout.format.number >= since::REVPROP_PACKING
                && storage.list(&shared.file(&revprops)).is_ok_and(|files| files.len() > kept);
            if storage.stamp(&revs).is_err() && !with_revprops {
                break;
            }
            remove_dir_all(storage, &revs)?;
            if with_revprops {
                shared.remove_unpacked_revprops(storage, done)?;
            }
        }
        Ok(())
    }
}
