//! Repairs what an interrupted operation left behind: locks, the queue, temporary files. Also frees
//! disk space.

use std::ffi::CString;
use std::fs;

use sapwood_core::CancelToken;
use sapwood_core::paths::{RelPath, RelPathBuf};

use crate::db::{Db, Kind, Presence, depth_of, parent_of};
use crate::error::{Error, Result};
use crate::locks::{Lock, steal_lock};
use crate::root::{Disk, WorkingCopy};
use crate::status::{DiskKind, Node, OpenDir, Scope, Table, over_directories};
use crate::text_check::{TextCheck, record_times};
use crate::view::{may_record_after_wait, stat_file};
use crate::{files, layout};

/// So many files are compared before the times of those that are equal are recorded, in one transaction.
const BATCH: usize = 256;

/// What a cleanup does beside running the queue.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cleanup {
    /// Removes the locks of other processes, which are assumed to have ended.
    pub break_locks: bool,
    /// Forgets what DAV servers said.
    pub clear_dav_cache: bool,
    /// Removes pristine texts that nothing refers to.
    pub vacuum_pristines: bool,
}

/// As [`WorkingCopy::cleanup`].
pub(crate) fn cleanup(
    wc: &WorkingCopy,
    relpath: &RelPath,
    how: &Cleanup,
    cancel: &CancelToken,
) -> Result<()> {
    let start = match lock_root(wc.db(), relpath)? {
        Some(above) => above,
        None => relpath.to_owned(),
    };
    let lock = obtain_for_cleanup(wc, &start, how.break_locks)?;
    wc.run_queue(cancel)?;
    if start.is_empty() {
        empty_tmp(wc.disk())?;
        if how.vacuum_pristines {
            wc.vacuum_pristines()?;
        }
    }
    mend_recorded_times(wc, &start, cancel)?;
    if how.clear_dav_cache {
        wc.db().clear_dav_cache(relpath)?;
    }
    lock.release()
}

fn obtain_for_cleanup(wc: &WorkingCopy, relpath: &RelPath, steal: bool) -> Result<Lock> {
    if steal { steal_lock(wc, relpath, -1) } else { wc.lock(relpath, -1) }
}

fn empty_tmp(disk: &Disk) -> Result<()> {
    let dir = layout::tmp(disk.root());
    if dir.is_dir() {
        for entry in fs::read_dir(&dir).map_err(|e| Error::io(e, "Can't read directory", &dir))? {
            let path = entry.map_err(|e| Error::io(e, "Can't read directory", &dir))?.path();
            if path.symlink_metadata().is_ok_and(|m| m.is_dir()) {
                files::remove_tree(&path)?;
            } else {
                crate::pristine::remove_file(&path)?;
            }
        }
    }
    files::ensure_directory(&dir)
}

/// Files that look changed by their times and are not get their times recorded anew. They are found as status finds
/// them, a directory at a time.
fn mend_recorded_times(wc: &WorkingCopy, relpath: &RelPath, cancel: &CancelToken) -> Result<()> {
    let table = wc.db().read(|db| Table::read(db, Scope::Subtree(relpath)))?;
    let root = wc.root();
    let mut suspects: Vec<RelPathBuf> = over_directories(&table, |dir, _, found| {
        if cancel.is_cancelled() {
            return;
        }
        let Ok(Some(open)) = OpenDir::open(&root.join(dir.as_str())) else { return };
        let nodes = table.children(dir).iter().filter_map(|at| table.node(*at));
        found.extend(nodes.filter(|node| is_suspect(&open, node)).map(|n| n.relpath.clone()));
    });
    if cancel.is_cancelled() {
        return Err(Error::Cancelled);
    }
    suspects.sort_unstable();
    suspects.chunks(BATCH).try_for_each(|batch| mend_some(wc, batch, cancel))
}

/// Records the times of those of some files whose texts turn out to be equal.
fn mend_some(wc: &WorkingCopy, files: &[RelPathBuf], cancel: &CancelToken) -> Result<()> {
    let mut old_enough = Vec::new();
    for file in files {
        let stat = stat_file(&wc.abspath(file))?;
        if stat.is_some_and(|stat| may_record_after_wait(wc, &stat)) {
            old_enough.push(file);
        }
    }
    let check = |file: &RelPathBuf| TextCheck::of_path(wc, file).transpose();
    let checks = wc
        .db()
        .questions(|| old_enough.into_iter().filter_map(check).collect::<Result<Vec<_>>>())?;
    let mut times = Vec::new();
    for check in checks {
        if cancel.is_cancelled() {
            return Err(Error::Cancelled);
        }
        check.run_among(wc, &mut times)?;
    }
    record_times(wc.db(), &times)
}

/// Whether a file has another size or time than was recorded, or none was.
fn is_suspect(dir: &OpenDir, node: &Node) -> bool {
    let Some(top) = node.top() else { return false };
    if top.kind != Kind::File || top.presence != Presence::Normal || !top.has_checksum {
        return false;
    }
    let found = CString::new(node.name()).ok().and_then(|name| dir.look(&name).ok()?);
    found.is_some_and(|found| found.kind == DiskKind::File && !top.records(found))
}

/// The nearest directory at or above a path whose lock covers it.
fn lock_root(db: &Db, relpath: &RelPath) -> Result<Option<RelPathBuf>> {
    let mut at = Some(relpath);
    while let Some(dir) = at {
        if let Some(row) = db.wc_lock(dir)? {
            let reach = depth_of(dir).saturating_add(row.levels);
            let covers = row.levels < 0 || reach >= depth_of(relpath);
            return Ok(covers.then_some(row.relpath));
        }
        at = parent_of(dir);
    }
    Ok(None)
}
