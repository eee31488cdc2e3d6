//! Packing: all revisions of a complete shard become one file.
//!
//! The steps are the reference's, so that a crash between any two of them leaves a shard that is
//! packed or one that is not; but a few shards take them together ([`build_queue`]), so that what they
//! need of the disk they wait for once:
//!
//! 1. `revs/N.pack` is made anew (what an interrupted run left is removed first), with the pack
//!    file ([`physical`] or [`logical`]); files and folders are synced;
//! 2. under the write lock, because revision properties may change, `revprops/N.pack` is made in
//!    the same way (format 6 and later: [`crate::revprop_pack`]);
//! 3. `min-unpacked-rev` is replaced: written beside, synced, moved, the folder synced. Before
//!    this no reader looks at the new files, after it all do;
//! 4. the shard's old files are removed, those of revision properties before the write lock is
//!    given back. A reader of them notices, and looks again.
//!
//! One process packs at a time: it holds `pack-lock` (format 7 and later) or, in older formats,
//! the write lock all the while. While shards go through steps 2 to 4, the next ones are already
//! built on other threads: nothing of step 1, but for the syncing, depends on the others.

mod build_queue;
mod logical;
mod order;
mod output;
mod physical;
mod source;
mod stored;

use sapwood_core::Exact;
use std::ops::Range;
use std::path::{Path, PathBuf};

use sapwood_core::{CancelToken, ErrorCode, Revnum, len64};
use sapwood_fsfs_format::layout::names;
use sapwood_fsfs_format::since;

use crate::config::{RevpropPackConfig, WriteConfig};
use crate::dump_index::check;
use crate::error::{Error, Result};
use crate::filesystem::{Filesystem, SharedState};
use crate::revision_store::Object;
use crate::revprop_pack::remove_dir_all;
use crate::revprop_shards::Shard;
use crate::sync::sync_new_files;
use build_queue::{BuildQueue, ShardFiles};
use sapwood_store::write::{HeldLock, NewFile, WriteStorage};

/// Items are aligned for readers that read by pages, whatever larger blocks `block-size` says:
/// that is what the reference's tools and servers do by default.
const PAGE: u64 = 4096;
/// The default for the most bytes of revision data in memory.
pub const DEFAULT_MEMORY: usize = 64 << 20;

/// Threads that build packs.
const BUILDERS: usize = 2;

/// How to pack.
#[derive(Clone, Debug)]
pub struct PackOptions {
    /// Whether a pack is made durable before it counts.
    pub flush_to_disk: bool,
    /// The most bytes of revision data in memory; the rest is read twice.
    pub memory: usize,
    /// Whether there may be several threads.
    pub threads: bool,
}

impl Default for PackOptions {
    fn default() -> Self {
        Self { flush_to_disk: true, memory: DEFAULT_MEMORY, threads: true }
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

/// The options of `fsfs.conf` for packing.
#[derive(Clone, Copy, Debug)]
struct PackConfig {
    /// Bytes of a block that small items do not cross the borders of.
    block_size: u64,
    write: WriteConfig,
    revprops: RevpropPackConfig,
}

impl PackConfig {
    fn read(shared: &SharedState, storage: &dyn WriteStorage) -> Result<Self> {
        let format = shared.layout.format.number;
        let config = shared.read_config(storage)?;
        // The value was validated when the filesystem was opened.
        let kib = config.get_i64("io", "block-size", 64)?;
        Ok(Self {
            block_size: u64::try_from(kib).unwrap_or(64).saturating_mul(1024).clamp(1024, PAGE),
            write: WriteConfig::new(&config, format)?,
            revprops: RevpropPackConfig::new(&config, format)?,
        })
    }
}

#[allow(clippy::missing_errors_doc, reason = "all: `Error` says what its variants mean")]
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
        if let Some(log) = shared.revisions.as_log() {
            return stored::pack(shared, log, options, cancel, notify);
        }
        let storage = &*shared.storage;
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
        let several = options.threads && shards.end.minus(shards.start) > 1;
        let builders = if several { BUILDERS } else { 0 };
        let room = options.memory.checked_div(builders).unwrap_or(options.memory);
        let (config, own) = (work.config, PackOptions { memory: room, ..options.clone() });
        let build = |shard| {
            check(cancel)?;
            build(shared, &own, config, shard, cancel)
        };
        let queue = BuildQueue::new(&build, shards.clone(), builders);
        std::thread::scope(|scope| {
            for _ in 0..builders {
                let builder = std::thread::Builder::new().name("pack".into());
                if let Err(e) = builder.spawn_scoped(scope, || queue.run()) {
                    queue.stop();
                    return Err(Error::io(e, "Can't start a thread for", &shared.path));
                }
            }
            let done = work.finish_all(shards, &queue, notify);
            queue.stop();
            done
        })
    }
}

/// Step 1 but for the syncing: makes `revs/N.pack`.
fn build(
    shared: &SharedState,
    options: &PackOptions,
    config: PackConfig,
    shard: u64,
    cancel: &CancelToken,
) -> Result<ShardFiles> {
    let storage = &*shared.storage;
    let dir = shared.file(&shared.layout.pack_dir(shard));
    remove_dir_all(storage, &dir, options.threads)?;
    storage.create_dir(&dir, false).map_err(|e| Error::io(e, "Can't create directory", &dir))?;
    let built = if shared.layout.is_logical() {
        logical::build(shared, options, config, shard, cancel)?
    } else {
        physical::build(shared, shard, cancel)?
    };
    let like = shared.shard_dir(shard);
    storage
        .copy_permissions(&like, &dir)
        .map_err(|e| Error::io(e, "Can't set permissions on", &dir))?;
    Ok(built)
}

impl SharedState {
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
    shared: &'a SharedState,
    options: &'a PackOptions,
    config: PackConfig,
    cancel: &'a CancelToken,
    /// Takes the write lock, where it is not held all the while.
    write_lock: LockTaker<'a>,
}

impl Work<'_> {
    fn finish_all(
        &self,
        mut shards: Range<u64>,
        queue: &BuildQueue<'_>,
        notify: &mut dyn FnMut(PackNotice) -> Result<()>,
    ) -> Result<()> {
        while !shards.is_empty() {
            check(self.cancel)?;
            notify(PackNotice::Start(shards.start))?;
            let group = queue.next()?;
            let bytes = group.iter().map(|built| built.bytes).fold(0, u64::saturating_add);
            let count = len64(group.len());
            let end = shards.start.plus(count);
            self.finish(shards.start..end, group)?;
            for shard in shards.start..end {
                if shard > shards.start {
                    notify(PackNotice::Start(shard))?;
                }
                notify(PackNotice::End(shard))?;
            }
            queue.finished(count, bytes);
            shards.start = end;
        }
        Ok(())
    }

    /// The syncing of step 1, and steps 2 to 4.
    fn finish(&self, shards: Range<u64>, built: Vec<ShardFiles>) -> Result<()> {
        let PackOptions { flush_to_disk, threads, .. } = self.options;
        let threads = *threads;
        let (shared, storage) = (self.shared, &*self.shared.storage);
        let layout = &shared.layout;
        let with_revprops = layout.format.number >= since::REVPROP_PACKING;
        let files = built.into_iter().flat_map(|built| built.files).collect();
        self.sync(files, shards.clone().map(|shard| layout.pack_dir(shard)))?;
        {
            let _lock = (self.write_lock)()?;
            if with_revprops {
                let config = self.config.revprops;
                let files =
                    self.each(&shards, &|shard| shared.write_revprops(storage, shard, config))?;
                let dirs = shards.clone().map(|shard| layout.revprops_pack_dir(shard));
                self.sync(files.into_iter().flatten().collect(), dirs)?;
            }
            let size = layout.format.shard_size.unwrap_or(1);
            let text = format!("{}\n", shards.end.saturating_mul(size));
            let path = shared.file(names::MIN_UNPACKED_REV);
            storage
                .replace(&path, text.as_bytes(), Some(&path), *flush_to_disk)
                .map_err(|e| Error::replacing(e, &path))?;
            shared.refresh_min_unpacked()?;
            // Before the packed properties can be changed: a reader that still goes by the old folder
            // must find it changed.
            if with_revprops {
                self.each(&shards, &|shard| {
                    shared.remove_unpacked_revprops(storage, shard, threads)
                })?;
            }
        }
        // One folder that cannot be removed does not keep the others: later runs look for
        // leftovers no further back than the last folder that went.
        let removed = self.each(&shards, &|shard| {
            Ok(remove_dir_all(storage, &shared.shard_dir(shard), threads))
        })?;
        removed.into_iter().collect()
    }

    /// Makes new files durable, the names in their folders, and the names of these, which are in
    /// one folder.
    fn sync(
        &self,
        mut files: Vec<(Box<dyn NewFile>, PathBuf)>,
        dirs: impl Iterator<Item = String>,
    ) -> Result<()> {
        if !self.options.flush_to_disk {
            return Ok(());
        }
        if self.options.threads {
            sync_new_files(&self.shared.whole_syncs_are_slow, &mut files)?;
        } else {
            for (file, path) in &mut files {
                file.sync().map_err(|e| Error::io(e, "Can't flush file to disk", path))?;
            }
        }
        let sync = |dir: &Path| {
            let synced = self.shared.storage.sync_dir(dir);
            synced.map_err(|e| Error::io(e, "Can't flush directory", dir))
        };
        let mut parent = None;
        for dir in dirs.map(|dir| self.shared.file(&dir)) {
            sync(&dir)?;
            parent = dir.parent().map(Path::to_owned);
        }
        parent.map_or(Ok(()), |dir| sync(&dir))
    }

    /// Does something for each of some shards, on two threads if there may be several.
    fn each<T: Send>(
        &self,
        shards: &Range<u64>,
        work: &(dyn Fn(u64) -> Result<T> + Sync),
    ) -> Result<Vec<T>> {
        let half = shards.end.minus(shards.start).div_ceil(2);
        let middle = shards.start.plus(half);
        if !self.options.threads || middle >= shards.end {
            return shards.clone().map(work).collect();
        }
        let (first, rest) = (shards.start..middle, middle..shards.end);
        std::thread::scope(|scope| {
            let other = scope.spawn(move || rest.map(work).collect::<Result<Vec<T>>>());
            let mut done = first.map(work).collect::<Result<Vec<T>>>();
            let other = other
                .join()
                .unwrap_or_else(|_| Err(Error::Corrupt("A thread of a pack ended early".into())));
            if let Ok(done) = &mut done {
                done.extend(other?);
            }
            done
        })
    }

    /// Removes what a run that was interrupted in step 4 left of the shards before `shard`.
    fn remove_leftovers(&self, shard: u64) -> Result<()> {
        let (shared, storage) = (self.shared, &*self.shared.storage);
        for done in (0..shard).rev() {
            let revs = shared.shard_dir(done);
            let revprops = Object::PropsOf(Shard { packed: false, number: done });
            // The folder of shard 0 stays, for revision 0.
            let kept = usize::from(done == 0);
            let with_revprops = shared.layout.format.number >= since::REVPROP_PACKING
                && shared.revisions.list(revprops).is_ok_and(|files| files.len() > kept);
            if storage.stamp(&revs).is_err() && !with_revprops {
                break;
            }
            remove_dir_all(storage, &revs, self.options.threads)?;
            if with_revprops {
                shared.remove_unpacked_revprops(storage, done, self.options.threads)?;
            }
        }
        Ok(())
    }
}
