//! A folder as a store: the test-bed of what stands on stores, and a store of its own where machines share a disk
//! (`link` is as exclusive over NFS as on a local disk).
//!
//! An object is a file at its key below the folder. It is written beside its name, to `.new-TOKEN`, and synced; then
//! `rename` puts it in place of another, or `link` creates it if there is none; then the folder is synced. A process that
//! dies leaves such a file at most, which is in no list.
//!
//! Invariant: a name stands for a whole and synced file, and a call that succeeded has synced the folder of the name,
//! also when it found the name taken: its maker may have been killed before that.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write as _};
use std::ops::Range;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use sapwood_core::exact::{Exact as _, clamped};

use crate::error::{Error, Result};
use crate::key::Key;
use crate::store::{Attempt, Blobs, ListedObject, Log, Upload};
use crate::token::Token;

/// What the names of files begin with that are being written.
const NEW: &str = ".new-";

/// A folder as a store. Its clones are the same store.
#[derive(Clone, Debug)]
pub struct Folder {
    root: Arc<Path>,
    address: Arc<str>,
    /// Folders that are there, and whose names are synced.
    synced: Arc<Mutex<BTreeSet<PathBuf>>>,
}

impl Folder {
    /// The store in a folder, which need not be there yet: what is written makes it.
    #[must_use]
    pub fn new(root: &Path) -> Self {
        let address = format!("file://{}", root.display()).into();
        Self { root: root.into(), address, synced: Arc::default() }
    }

    fn path(&self, key: &Key) -> PathBuf {
        self.root.join(key.as_str())
    }

    fn failed(&self, what: &'static str, key: &Key, reason: io::Error) -> Error {
        Error::failed(what, &self.address, key, reason)
    }

    /// Begins the file that will have a key's name.
    fn begin(&self, key: &Key) -> Result<NewFile> {
        let path = self.path(key);
        let token = Token::new()?;
        let begun = self.with_folder(&path).and_then(|folder| {
            let beside = folder.join(format!("{NEW}{token}"));
            let file = File::options().write(true).create_new(true).open(&beside)?;
            Ok(NewFile { file, beside, path, folder })
        });
        begun.map_err(|e| self.failed("write", key, e))
    }

    /// The folder of a file. It is there, and so are the names that lead to it after a power failure.
    fn with_folder(&self, path: &Path) -> io::Result<PathBuf> {
        let folder = path.parent().unwrap_or(&self.root).to_owned();
        if self.synced.lock().contains(&folder) {
            return Ok(folder);
        }
        let mut missing = Vec::new();
        let mut at = Some(folder.as_path());
        while let Some(folder) = at.filter(|folder| !folder.is_dir()) {
            missing.push(folder);
            at = folder.parent();
        }
        for folder in missing.into_iter().rev() {
            match fs::create_dir(folder) {
                Err(e) if e.kind() != ErrorKind::AlreadyExists => return Err(e),
                _ => sync_name(folder)?,
            }
        }
        // Another process may have made it, and not synced its name yet.
        sync_name(&folder)?;
        self.synced.lock().insert(folder.clone());
        Ok(folder)
    }

    /// All keys of the files in a folder of the store, with their lengths.
    fn walk(&self, folder: &Path, found: &mut Vec<ListedObject>) -> io::Result<()> {
        let entries = match fs::read_dir(folder) {
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(()),
            entries => entries?,
        };
        for entry in entries {
            let path = entry?.path();
            if path.is_dir() {
                self.walk(&path, found)?;
                continue;
            }
            let below = path.strip_prefix(&self.root).ok().and_then(Path::to_str);
            // What is being written, or is not of this store.
            let Some(Ok(key)) = below.map(Key::new) else { continue };
            match fs::metadata(&path) {
                Ok(file) => {
                    found.push(ListedObject { key, len: file.len(), modified: file.modified()? })
                }
                Err(e) if e.kind() == ErrorKind::NotFound => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }
}

/// Makes the name of a folder durable.
fn sync_name(folder: &Path) -> io::Result<()> {
    match folder.parent() {
        Some(parent) if parent.as_os_str().is_empty() => File::open(".")?.sync_all(),
        Some(parent) => File::open(parent)?.sync_all(),
        None => Ok(()),
    }
}

impl Blobs for Folder {
    fn address(&self) -> &str {
        &self.address
    }

    fn get(&self, key: &Key, range: Range<u64>) -> Result<Option<Vec<u8>>> {
        match read_range(&self.path(key), &range) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(e) if matches!(e.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
                Ok(None)
            }
            Err(e) => Err(self.failed("read", key, e)),
        }
    }

    fn put(&self, key: &Key, bytes: &[u8]) -> Result<()> {
        let mut new = self.begin(key)?;
        let written = new.file.write_all(bytes).and_then(|()| new.replace());
        written.map_err(|e| self.failed("write", key, e))
    }

    fn upload(&self, key: &Key) -> Result<Box<dyn Upload>> {
        let new = self.begin(key)?;
        Ok(Box::new(Pieces { new, store: self.clone(), key: key.clone() }))
    }

    fn list(&self, part: &str, after: Option<&Key>, most: usize) -> Result<Vec<ListedObject>> {
        let mut found = Vec::new();
        // A part that is no key has nothing in it.
        let Ok(part) = Key::new(part) else { return Ok(found) };
        let walked = self.walk(&self.path(&part), &mut found);
        walked.map_err(|e| self.failed("list", &part, e))?;
        found.retain(|listed| after.is_none_or(|after| listed.key > *after));
        found.sort_by(|a, b| a.key.cmp(&b.key));
        found.truncate(most);
        Ok(found)
    }

    fn delete(&self, key: &Key) -> Result<()> {
        let path = self.path(key);
        let removed = match fs::remove_file(&path) {
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
            Ok(()) => path.parent().map_or(Ok(()), sync_folder),
            Err(e) => Err(e),
        };
        removed.map_err(|e| self.failed("delete", key, e))
    }
}

impl Log for Folder {
    fn address(&self) -> &str {
        &self.address
    }

    fn read_from(&self, log: &Key, first: u64, most: usize) -> Result<Vec<Vec<u8>>> {
        let mut found = Vec::new();
        for slot in (first..).take(most) {
            let Some(bytes) = self.get(&Key::slot(log, slot)?, 0..u64::MAX)? else { break };
            found.push(bytes);
        }
        Ok(found)
    }

    fn attempt(&self, log: &Key, slot: u64, bytes: &[u8]) -> Result<Attempt> {
        let key = Key::slot(log, slot)?;
        let mut new = self.begin(&key)?;
        let staged = new.file.write_all(bytes).and_then(|()| new.file.sync_data());
        staged.map_err(|e| self.failed("write", &key, e))?;
        let created = match fs::hard_link(&new.beside, &new.path) {
            Ok(()) => true,
            Err(e) if e.kind() == ErrorKind::AlreadyExists => false,
            // A server of files may have done it, and its answer be lost.
            Err(e) => return Ok(Attempt::Unknown(self.failed("write", &key, e))),
        };
        Ok(match sync_folder(&new.folder) {
            Err(e) => Attempt::Unknown(self.failed("write", &key, e)),
            Ok(()) if created => Attempt::Created,
            Ok(()) => Attempt::Taken,
        })
    }

    fn discard(&self, log: &Key, slot: u64) -> Result<()> {
        self.delete(&Key::slot(log, slot)?)
    }
}

fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

fn read_range(path: &Path, range: &Range<u64>) -> io::Result<Vec<u8>> {
    let file = File::open(path)?;
    let end = range.end.min(file.metadata()?.len());
    let start = range.start.min(end);
    let mut bytes = vec![0; clamped(end.minus(start))];
    file.read_exact_at(&mut bytes, start)?;
    Ok(bytes)
}

/// A file that is being written beside its name. It is removed when it is dropped.
#[derive(Debug)]
struct NewFile {
    file: File,
    beside: PathBuf,
    path: PathBuf,
    folder: PathBuf,
}

impl NewFile {
    /// Puts it in place of what has its name.
    fn replace(&self) -> io::Result<()> {
        self.file.sync_data()?;
        fs::rename(&self.beside, &self.path)?;
        sync_folder(&self.folder)
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        // After a rename it is not there; one that cannot be removed is in no list.
        let _ = fs::remove_file(&self.beside);
    }
}

/// An object that comes in pieces.
#[derive(Debug)]
struct Pieces {
    new: NewFile,
    store: Folder,
    key: Key,
}

impl Upload for Pieces {
    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.new.file.write_all(bytes).map_err(|e| self.store.failed("write", &self.key, e))
    }

    fn finish(self: Box<Self>) -> Result<()> {
        self.new.replace().map_err(|e| self.store.failed("write", &self.key, e))
    }
}
