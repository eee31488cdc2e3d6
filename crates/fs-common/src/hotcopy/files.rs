//! Copying files and folders.

use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::Path;

use sapwood_core::Exact;
use sapwood_store::write::{copy_into_place, create_beside, is_same, replace_unless_same};

use sapwood_fsfs_format::layout::names;

use super::{Copier, CopyError, Result};

/// Which order the files of a folder have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// None.
    Any,
    /// The manifest is the last. No reader looks at the folder yet.
    ManifestLast,
    /// The manifest is the last, and what it names is durable before it is replaced. So is each
    /// file before it gets its name.
    InUse,
}

/// Folders nest no deeper than this in a `db` folder.
const MAX_DEPTH: u32 = 8;

#[allow(clippy::missing_errors_doc, reason = "all: `Error` says what its variants mean")]
impl Copier<'_> {
    /// Makes a folder, unless it is there.
    pub fn make_dir(&self, path: &Path) -> Result<()> {
        match self.storage.create_dir(path, false) {
            Err(e) if e.kind() == ErrorKind::AlreadyExists => Ok(()),
            made => made.map_err(|e| CopyError::io(e, "Can't create directory", path)),
        }
    }

    /// Replaces a small file of the copy; `like` gives the permissions.
    pub fn replace(&self, path: &Path, contents: &[u8], like: &Path) -> Result<()> {
        let flush = self.options.flush_to_disk;
        let done = self.storage.replace(path, contents, Some(like), flush);
        done.map_err(|e| CopyError::replacing(e, path))
    }

    /// The same, but a copy that is in use keeps what it has already: it is durable before `current` is replaced, when
    /// everything is.
    pub fn renew(&self, path: &Path, contents: &[u8], like: &Path) -> Result<()> {
        if !self.in_use() {
            return self.replace(path, contents, like);
        }
        let flush = self.options.flush_to_disk;
        let done = replace_unless_same(self.storage, path, contents, like, flush);
        done.map_err(|e| CopyError::replacing(e, path))
    }

    /// Makes a small file of the copy the same as one of the source, as [`Copier::copy_whole`], unless it is.
    pub fn renew_copy(&self, from: &Path, to: &Path) -> Result<()> {
        if self.in_use() && is_same(self.storage, from, to) {
            let done = self.storage.copy_permissions(from, to);
            return done.map_err(|e| CopyError::io(e, "Can't set permissions on", to));
        }
        self.copy_whole(from, to, self.options.flush_to_disk)
    }

    /// Removes a file, if it is there.
    pub fn remove(&self, path: &Path) -> Result<()> {
        match self.storage.remove_file(path) {
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
            done => done.map_err(|e| CopyError::io(e, "Can't remove file", path)),
        }
    }

    /// Copies a file that no reader opens yet.
    pub(super) fn copy_new(&self, from: &Path, to: &Path) -> Result<()> {
        self.storage.copy(from, to, false).map_err(|e| cannot_copy(e, from, to))
    }

    /// Copies a file so that readers of the copy see the old or the new one, whole, also after a
    /// crash.
    fn copy_over(&self, from: &Path, to: &Path) -> Result<()> {
        // What a new copy has is made durable all at once.
        self.copy_whole(from, to, self.in_use() && self.options.flush_to_disk)
    }

    /// The same; with `sync` it is durable before it gets its name.
    fn copy_whole(&self, from: &Path, to: &Path, sync: bool) -> Result<()> {
        let storage = self.storage;
        let (beside, file) = create_beside(storage, to).map_err(|e| CopyError::replacing(e, to))?;
        drop(file);
        copy_into_place(storage, from, &beside, to, sync).map_err(|e| cannot_copy(e, from, to))
    }

    /// Copies a file unless the copy has it: the same length, and not older. Whether it did. With
    /// `whole` also a file that was not there gets its name when it is durable: a crash could
    /// leave one of the right length without its contents, which the next run would trust.
    pub(super) fn copy_changed(&self, from: &Path, to: &Path, whole: bool) -> Result<bool> {
        match self.storage.stamp(to) {
            Ok(there) => {
                let stamp = self.storage.stamp(from);
                let stamp = stamp.map_err(|e| CopyError::io(e, "Can't stat", from))?;
                if stamp.len == there.len && stamp.modified <= there.modified {
                    return Ok(false);
                }
                self.copy_over(from, to)?;
            }
            Err(e) if e.kind() == ErrorKind::NotFound && whole => self.copy_over(from, to)?,
            Err(e) if e.kind() == ErrorKind::NotFound => self.copy_new(from, to)?,
            Err(e) => return Err(CopyError::io(e, "Can't stat", to)),
        }
        Ok(true)
    }

    /// Makes the names in a folder of the copy durable.
    pub fn sync_dir(&self, dir: &Path) -> Result<()> {
        let done = self.storage.sync_dir(dir);
        done.map_err(|e| CopyError::io(e, "Can't flush directory", dir))
    }

    /// Copies the files of a folder that are not there yet, or changed. Whether there were any.
    pub fn copy_dir(&self, from: &Path, to: &Path, order: Order) -> Result<bool> {
        let listed = self.storage.list(from);
        let mut listed = listed.map_err(|e| CopyError::io(e, "Can't open directory", from))?;
        if order != Order::Any {
            listed.sort_by_key(|name| name == names::MANIFEST);
        }
        self.make_dir(to)?;
        let done = self.storage.copy_permissions(from, to);
        done.map_err(|e| CopyError::io(e, "Can't set permissions on", to))?;
        let mut any = false;
        for name in listed {
            self.check()?;
            // Files that another program is just writing.
            if name.to_string_lossy().ends_with(".tmp") {
                continue;
            }
            let in_use = order == Order::InUse;
            if in_use && any && name == names::MANIFEST {
                self.sync_dir(to)?;
            }
            any |= self.copy_changed(&from.join(&name), &to.join(&name), in_use)?;
        }
        Ok(any)
    }

    /// Makes a folder, which may be in use, hold the same as another: files that are different are
    /// replaced, files that are gone removed.
    pub(crate) fn follow_tree(&self, from: &Path, to: &Path) -> Result<()> {
        self.follow_level(from, to, 0)
    }

    fn follow_level(&self, from: &Path, to: &Path, depth: u32) -> Result<()> {
        let storage = self.storage;
        self.make_dir(to)?;
        let done = storage.copy_permissions(from, to);
        done.map_err(|e| CopyError::io(e, "Can't set permissions on", to))?;
        let list = |path: &Path| -> Result<Vec<OsString>> {
            storage.list(path).map_err(|e| CopyError::io(e, "Can't open directory", path))
        };
        let listed = list(from)?;
        for name in list(to)? {
            if !listed.contains(&name) {
                let gone = to.join(name);
                if depth < MAX_DEPTH && storage.list(&gone).is_ok() {
                    self.remove_tree(&gone)?;
                } else {
                    self.remove(&gone)?;
                }
            }
        }
        for name in listed {
            let (from, to) = (from.join(&name), to.join(&name));
            if depth < MAX_DEPTH && storage.list(&from).is_ok() {
                self.follow_level(&from, &to, depth.plus(1))?;
                continue;
            }
            if is_same(storage, &from, &to) {
                continue;
            }
            match self.copy_over(&from, &to) {
                // A lock that was released meanwhile.
                Err(CopyError::Io { error, .. }) if error.kind() == ErrorKind::NotFound => {}
                done => done?,
            }
        }
        Ok(())
    }

    /// Removes a folder with all that is in it.
    pub fn remove_tree(&self, path: &Path) -> Result<()> {
        self.remove_level(path, 0)
    }

    fn remove_level(&self, path: &Path, depth: u32) -> Result<()> {
        let names = match self.storage.list(path) {
            Ok(names) => names,
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(()),
            Err(e) => return Err(CopyError::io(e, "Can't open directory", path)),
        };
        for name in names {
            let path = path.join(name);
            if depth < MAX_DEPTH && self.storage.list(&path).is_ok() {
                self.remove_level(&path, depth.plus(1))?;
            } else {
                self.remove(&path)?;
            }
        }
        let done = self.storage.remove_dir(path);
        done.map_err(|e| CopyError::io(e, "Can't remove directory", path))
    }
}

fn cannot_copy(error: std::io::Error, from: &Path, to: &Path) -> CopyError {
    match error.kind() {
        ErrorKind::NotFound => CopyError::io(error, "Can't open file", from),
        _ => CopyError::Io {
            what: format!("Can't copy '{}' to '{}'", from.display(), to.display()),
            error,
        },
    }
}
