//! Files beside revisions that were changed in the folder (hooks, configuration) go to the store, and from there to all servers.
//!
//! Invariant: what is below `db`, but for `fsfs.conf`, is the program's own and never taken from the folder.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use sapwood_core::len64;
use sapwood_repo_log::Digest;
use sapwood_repo_log::entry::{Item, is_path};

use super::LogRevisions;
use crate::error::{Error, Result};

/// The folders whose files are people's.
const FOLDERS: [&str; 2] = ["conf", "hooks"];
/// Files that are people's elsewhere.
const FILES: [&str; 2] = ["README.txt", "db/fsfs.conf"];
/// The longest file.
const MOST: u64 = 4 << 20;

/// Bytes of files and whether they can be executed, by path.
type Local = BTreeMap<String, (Vec<u8>, bool)>;

impl LogRevisions {
    /// Brings to the store what was changed, made or removed in the folder. The paths.
    pub(crate) fn push_files(&self) -> Result<Vec<String>> {
        let items = self.append(&mut || self.changed_here())?;
        // Another server may have changed them again by now.
        self.bring_files(&[])?;
        Ok(items.iter().filter_map(path_of).map(str::to_owned).collect())
    }

    /// What differs between the folder and the store.
    fn changed_here(&self) -> Result<Vec<Item<'static>>> {
        let local = self.people_files()?;
        let known = self.with_state(|state| state.files.clone());
        let gone = known.keys().filter(|path| is_peoples(path) && !local.contains_key(*path));
        let mut items: Vec<Item<'static>> =
            gone.map(|path| Item::Gone { path: path.clone().into() }).collect();
        for (path, (bytes, executable)) in local {
            let same = known.get(&path).is_some_and(|file| {
                file.executable == executable && file.bytes.digest == Digest::of(&bytes)
            });
            if !same {
                items.push(Item::File { path: path.into(), executable, bytes: bytes.into() });
            }
        }
        Ok(items)
    }

    fn people_files(&self) -> Result<Local> {
        let mut found = Local::new();
        for folder in FOLDERS {
            self.files_below(folder, &mut found)?;
        }
        for path in FILES {
            self.take(path, &mut found)?;
        }
        Ok(found)
    }

    fn files_below(&self, folder: &str, found: &mut Local) -> Result<()> {
        let path = self.mirror.root().join(folder);
        let fail = |e| Error::io(e, "Can't read directory", &path);
        let entries = match fs::read_dir(&path) {
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(()),
            entries => entries.map_err(fail)?,
        };
        for entry in entries {
            let entry = entry.map_err(fail)?;
            let name = entry.file_name();
            let name = name.to_str().ok_or_else(|| unfit(&entry.path()))?;
            let below = format!("{folder}/{name}");
            match entry.path().is_dir() {
                true => self.files_below(&below, found)?,
                false => self.take(&below, found)?,
            }
        }
        Ok(())
    }

    fn take(&self, relative: &str, found: &mut Local) -> Result<()> {
        let path = self.mirror.root().join(relative);
        if !is_path(relative) {
            return Err(unfit(&path));
        }
        let read = || -> io::Result<(Vec<u8>, bool)> {
            let data = fs::metadata(&path)?;
            if !data.is_file() || data.len() > MOST {
                return Err(ErrorKind::FileTooLarge.into());
            }
            let bytes = fs::read(&path)?;
            if len64(bytes.len()) > MOST {
                return Err(ErrorKind::FileTooLarge.into());
            }
            Ok((bytes, data.permissions().mode() & 0o111 != 0))
        };
        match read() {
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
            read => {
                let file = read.map_err(|e| Error::io(e, "Can't read file", &path))?;
                found.insert(relative.to_owned(), file);
                Ok(())
            }
        }
    }
}

/// Whether a path is one of those that people change.
fn is_peoples(path: &str) -> bool {
    let first = path.split_once('/').map_or("", |(first, _)| first);
    FOLDERS.contains(&first) || FILES.contains(&path)
}

fn path_of<'a>(item: &'a Item<'_>) -> Option<&'a str> {
    match item {
        Item::File { path, .. } | Item::Gone { path } => Some(path),
        _ => None,
    }
}

fn unfit(path: &Path) -> Error {
    let error = io::Error::from(ErrorKind::InvalidFilename);
    Error::io(error, "Can't bring to the store", path)
}
