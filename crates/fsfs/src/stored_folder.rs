//! The folder of a repository that is in a store of objects: what a server needs of it on its own disk.
//!
//! Invariant: a folder is none before all of it is there: its `fs-type` comes last.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sapwood_core::{ErrorCode, Sha1};
use sapwood_fsfs_format::base36::Base36;
use sapwood_fsfs_format::layout::names;
use sapwood_fsfs_format::{FormatFile, Layout};
use sapwood_objects::Token;
use sapwood_repo_log::{RepositoryLog, repository_at};
use sapwood_store::{LocalStorage, Storage as _, WriteStorage};

use crate::error::{Error, Result};
use crate::revision_store::LogRevisions;
use crate::revision_store::marker::Marker;
pub use crate::revision_store::upkeep::finish;

/// Folders below `db` that belong to one machine.
const FOLDERS: [&str; 2] = [names::TRANSACTIONS, names::TXN_PROTOREVS];
/// The most bytes of what says where a store is.
const MARKER_LEN: usize = 1 << 16;
/// Lock files there.
const LOCK_FILES: [&str; 3] = [names::WRITE_LOCK, names::TXN_CURRENT_LOCK, names::PACK_LOCK];

/// Makes a folder for the repository at an address, by which programs of this machine use it. It must not be there yet, or be empty.
///
/// # Errors
/// E200009 when there is something; those of the store and the system.
pub fn attach(root: &Path, address: &str) -> Result<()> {
    let storage = Arc::new(LocalStorage);
    let store = sapwood_objects::addresses::open(address)?;
    let log = RepositoryLog::open(Arc::clone(&store))?;
    let log = log.ok_or_else(|| sapwood_repo_log::Error::NotThere(address.into()))?;
    let format = log.state().files.get("db/format").copied().ok_or_else(|| {
        Error::Corrupt(format!("The repository at '{address}' has no 'db/format'"))
    })?;
    let format = FormatFile::parse(&log.read(&format.bytes)?, "db/format");
    let layout = Layout::new(format.map_err(|e| Error::Svn(e.into()))?);
    let db = root.join("db");
    make_folders(&*storage, root, &db)?;
    let make = |name: &str, contents: &[u8]| {
        let path = db.join(name);
        let made = storage.create_with(&path, contents);
        made.map_err(|e| Error::io(e, "Can't create file", &path))
    };
    for name in LOCK_FILES {
        make(name, b"")?;
    }
    // Names of transactions of several servers are apart, as far as chance goes; each of them knows only its own.
    let first = Token::new()?.number() >> 16;
    make(names::TXN_CURRENT, format!("{}\n", Base36(first)).as_bytes())?;
    let marker = Marker { address: address.to_owned(), repository: log.state().repository };
    // It writes the repository's own files.
    LogRevisions::open(&db, layout, Arc::<LocalStorage>::clone(&storage), &marker)?;
    make(names::FS_TYPE, marker.text().as_bytes())?;
    storage.sync_all(root).map_err(|e| Error::io(e, "Can't flush directory", root))
}

fn remove(folder: &Path) -> Result<()> {
    std::fs::remove_dir_all(folder).map_err(|e| Error::io(e, "Can't remove directory", folder))
}

/// The folder for the repository at an address among those that a user keeps: the one that is there, if it belongs to what is at the address
/// now, else a new one in its place.
///
/// # Errors
/// As [`attach`].
pub fn attach_in(folders: &Path, address: &str) -> Result<PathBuf> {
    let folder = folders.join(Sha1::of(address.as_bytes()).to_hex());
    let store = sapwood_objects::addresses::open(address)?;
    let repository = repository_at(&*store)?;
    let repository = repository.ok_or_else(|| sapwood_repo_log::Error::NotThere(address.into()))?;
    let known = Marker { address: address.to_owned(), repository };
    let belongs = || {
        let text = LocalStorage.read(&folder.join("db").join(names::FS_TYPE), MARKER_LEN);
        text.is_ok_and(|text| text == known.text().into_bytes())
    };
    if belongs() {
        return Ok(folder);
    }
    // Another process may do the same: each makes one of its own, and one of them stays.
    let token = Token::new()?;
    let (new, old) = (folders.join(format!("{token}.new")), folders.join(format!("{token}.old")));
    attach(&new, address)?;
    let moved = LocalStorage.rename(&folder, &old, false);
    let placed = LocalStorage.rename(&new, &folder, false);
    if moved.is_ok() {
        remove(&old)?;
    }
    match placed {
        Err(_) if belongs() => remove(&new)?,
        placed => placed.map_err(|e| Error::io(e, "Can't move", &new))?,
    }
    Ok(folder)
}

fn make_folders(storage: &dyn WriteStorage, root: &Path, db: &Path) -> Result<()> {
    let make = |folder: &Path| {
        let made = storage.create_dir(folder, false);
        made.map_err(|e| Error::io(e, "Can't create directory", folder))
    };
    match storage.list(root) {
        Ok(names) if names.is_empty() => {}
        Err(e) if e.kind() == ErrorKind::NotFound => make(root)?,
        Ok(_) => {
            let message = format!("'{}' exists and is non-empty", root.display());
            return Err(Error::new(ErrorCode::DIR_NOT_EMPTY, message));
        }
        Err(e) => return Err(Error::io(e, "Can't open directory", root)),
    }
    make(db)?;
    FOLDERS.iter().try_for_each(|name| make(&db.join(name)))
}
