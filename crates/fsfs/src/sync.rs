//! Work on many files at once: making them durable, and whatever else waits for the disk.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use sapwood_store::write::NewFile;

/// Threads that sync the files of a group. A disk takes several orders at once.
const SYNCERS: usize = 16;
/// Files that are not worth a thread.
const FEW: usize = 4;
/// Files from which on the whole file system is synced instead: where others have much to write,
/// the first time takes long, so few files are not worth it.
const MANY: usize = 32;
/// What that may take, and for each file, to be done the next time as well.
const PATIENCE: Duration = Duration::from_millis(200);
const PATIENCE_A_FILE: Duration = Duration::from_millis(4);

/// Syncs files: many through the file system as a whole, which costs it one turn of its journal;
/// few, and where that turns out `slow` because others write as well, one by one, several at once.
pub(crate) fn sync_files(
    slow: &AtomicBool,
    mut files: Vec<(&mut dyn NewFile, &Path)>,
) -> Result<()> {
    let count = u32::try_from(files.len()).unwrap_or(u32::MAX);
    if files.len() >= MANY
        && !slow.load(Ordering::Relaxed)
        && let Some((first, path)) = files.first_mut()
    {
        let begun = Instant::now();
        let done = first.sync_file_system();
        if done.map_err(|e| Error::io(e, "Can't flush file to disk", path))? {
            let patience = PATIENCE.saturating_add(PATIENCE_A_FILE.saturating_mul(count));
            slow.store(begun.elapsed() > patience, Ordering::Relaxed);
            return Ok(());
        }
    }
    let sync = |(file, path): &mut (&mut dyn NewFile, &Path)| {
        file.sync().map_err(|e| Error::io(e, "Can't flush file to disk", path))
    };
    let share = files.len().div_ceil(SYNCERS).max(FEW);
    in_parts(&mut files, share, sync)
}

/// The same for files with their paths.
pub(crate) fn sync_new_files(
    slow: &AtomicBool,
    files: &mut [(Box<dyn NewFile>, PathBuf)],
) -> Result<()> {
    let mut all: Vec<(&mut dyn NewFile, &Path)> = Vec::with_capacity(files.len());
    for (file, path) in files {
        all.push((&mut **file, path));
    }
    sync_files(slow, all)
}

/// Does `work` for each of the items, `share` of them on each thread. All threads end before the
/// first error, in the order of the items, is returned.
pub(crate) fn in_parts<T: Send>(
    items: &mut [T],
    share: usize,
    work: impl Fn(&mut T) -> Result<()> + Sync,
) -> Result<()> {
    let work = &work;
    std::thread::scope(|scope| {
        let mut parts = items.chunks_mut(share.max(1));
        let own = parts.next();
        let others: Vec<_> =
            parts.map(|part| scope.spawn(move || part.iter_mut().try_for_each(work))).collect();
        let mut done = own.map_or(Ok(()), |part| part.iter_mut().try_for_each(work));
        for other in others {
            let other = other.join().unwrap_or_else(|_| {
                Err(Error::internal("a thread that worked on files ended early"))
            });
            done = done.and(other);
        }
        done
    })
}
