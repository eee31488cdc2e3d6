//! How many bytes a repository's filesystem takes on disk.
//!
//! Invariant: a sum is used again only for a directory of revisions, whose files never change their size in place, and only
//! while the directory itself has not changed for longer than its clock can hide.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use parking_lot::Mutex;
use sapwood_core::SvnError;
use sapwood_fs::Filesystem;

use crate::error::Result;

/// Directories whose sums are kept in memory: those of some million revisions.
const MOST_KNOWN: usize = 8192;
/// A directory that changed later than this may change again without a new time.
const COARSE: Duration = Duration::from_secs(3);
/// The greatest depth of folders.
const MAX_DEPTH: u32 = 16;

/// A directory of revisions as it was at a time.
#[derive(Clone)]
struct KnownDir {
    changed: SystemTime,
    bytes: u64,
}

static KNOWN: Mutex<Option<HashMap<PathBuf, KnownDir>>> = Mutex::new(None);

/// The bytes of all files of a filesystem (the folder `db`), with those of commits in progress. Complete directories of
/// revisions are looked through once, later ones each time: at most as many files as a shard has revisions.
///
/// # Errors
/// Those of the disk. What vanishes meanwhile counts as nothing.
pub fn bytes_on_disk(fs: &Filesystem) -> Result<u64> {
    let db = fs.path();
    of_folder(db, 0).map_err(|e| {
        SvnError::io(&e, format_args!("Can't find the size of '{}'", db.display())).into()
    })
}

fn of_folder(folder: &Path, depth: u32) -> io::Result<u64> {
    let Some(changed) = there(fs::symlink_metadata(folder))? else { return Ok(0) };
    let changed = changed.modified()?;
    let parent = folder.parent().and_then(Path::file_name);
    let keeps = parent.is_some_and(|name| name == "revs" || name == "revprops");
    if keeps
        && let Some(known) = KNOWN.lock().as_ref().and_then(|all| all.get(folder))
        && known.changed == changed
    {
        return Ok(known.bytes);
    }
    let Some(entries) = there(fs::read_dir(folder))? else { return Ok(0) };
    let mut bytes = 0_u64;
    for entry in entries {
        let entry = entry?;
        let Some(found) = there(entry.metadata())? else { continue };
        let size = match found.is_dir() {
            true if depth < MAX_DEPTH => of_folder(&entry.path(), depth.saturating_add(1))?,
            true => 0,
            false => found.len(),
        };
        bytes = bytes.saturating_add(size);
    }
    if keeps && SystemTime::now().duration_since(changed).is_ok_and(|age| age > COARSE) {
        let mut all = KNOWN.lock();
        let all = all.get_or_insert_default();
        if all.len() >= MOST_KNOWN {
            all.clear();
        }
        all.insert(folder.to_owned(), KnownDir { changed, bytes });
    }
    Ok(bytes)
}

/// `None` for what is not there any more.
fn there<T>(found: io::Result<T>) -> io::Result<Option<T>> {
    match found {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        other => other.map(Some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_revisions_are_kept_and_seen_to_change() {
        let db = tempfile::tempdir().unwrap();
        let shard = db.path().join("revs/0");
        fs::create_dir_all(&shard).unwrap();
        fs::create_dir_all(db.path().join("txn-protorevs")).unwrap();
        fs::write(shard.join("0"), [0; 100]).unwrap();
        let old = SystemTime::now() - Duration::from_secs(60);
        let set_time = |time| fs::File::open(&shard).unwrap().set_modified(time).unwrap();
        let bytes = || of_folder(db.path(), 0).unwrap();
        set_time(old);
        assert_eq!(bytes(), 100);
        assert!(KNOWN.lock().as_ref().unwrap().contains_key(&shard));
        // A file that grows in the same place is no revision: only those elsewhere count.
        fs::write(db.path().join("txn-protorevs/0-1.rev"), [0; 7]).unwrap();
        assert_eq!(bytes(), 107);
        fs::write(shard.join("1"), [0; 50]).unwrap();
        assert_eq!(bytes(), 157);
        set_time(old + Duration::from_secs(1));
        assert_eq!(bytes(), 157);
        fs::remove_dir_all(&shard).unwrap();
        assert_eq!(bytes(), 7);
    }
}
