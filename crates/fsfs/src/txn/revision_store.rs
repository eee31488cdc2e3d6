//! The seam for other stores than files: what a commit publishes, one level above file operations.
//!
//! | verb | in local files |
//! |---|---|
//! | which revision is the youngest | `current` is read |
//! | put the data of new revisions, which never change again | prototypes and property files are synced and moved to their names; no reader looks there yet |
//! | swap the youngest, if it still is the one that these follow | `current` is replaced. `write-lock` is held since it was read, so that it still is |
//! | make that last | the folder of `current` is synced |
//!
//! A store of objects would put the bytes of [`Prepared`] under keys of their own, compare and swap one
//! small object that names the youngest, and have nothing to make last. Changes of revision properties and
//! what readers read go through [`WriteStorage`] and [`sapwood_store::Storage`] still.
//!
//! Invariant: until [`RevisionStore::swap_youngest`] has succeeded, no reader sees any of it, and
//! whatever fails before leaves at most data that the next commit replaces.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sapwood_core::Revnum;
use sapwood_fsfs_format::current::Current;
use sapwood_fsfs_format::layout::names;
use sapwood_store::write::{NewFile, WriteStorage, create_beside};

use super::group::Prepared;
use crate::error::{Error, Result};
use crate::filesystem::Fs;
use crate::sync::sync_files;

/// Where new revisions go.
pub(crate) trait RevisionStore: Send + Sync + fmt::Debug {
    /// The youngest revision, read anew.
    fn youngest(&self, fs: &Fs) -> Result<Current>;

    /// Puts the data of new revisions, oldest first, to where readers will look for them when `next`
    /// is the youngest. With `flush` they outlast a power failure then.
    fn put(
        &self,
        fs: &Fs,
        revisions: &mut [&mut Prepared],
        next: Current,
        flush: bool,
    ) -> Result<Announced>;

    /// Makes the youngest what was announced, if the youngest is still what the first of these revisions
    /// follows. Readers see them from then on.
    fn swap_youngest(&self, fs: &Fs, next: &Announced) -> Result<()>;

    /// Forgets what was announced.
    fn withdraw(&self, next: &Announced);

    /// Makes sure that the swap outlasts a power failure.
    ///
    /// # Errors
    /// One that says that the revisions are there all the same.
    fn settle(&self, fs: &Fs, youngest: Revnum) -> Result<()>;

    /// Takes away what was put of a revision, as far as it was not moved.
    fn discard(&self, revision: &Prepared);
}

/// What will say that revisions are there: a file beside `current`.
#[derive(Debug)]
pub(crate) struct Announced(PathBuf);

/// A store in the files of the filesystem's own folder.
#[derive(Debug)]
pub(crate) struct LocalRevisions(pub(super) Arc<dyn WriteStorage>);

impl RevisionStore for LocalRevisions {
    fn youngest(&self, fs: &Fs) -> Result<Current> {
        fs.read_current(&*self.0)
    }

    fn put(
        &self,
        fs: &Fs,
        revisions: &mut [&mut Prepared],
        next: Current,
        flush: bool,
    ) -> Result<Announced> {
        let path = fs.file(names::CURRENT);
        let fail = |e| Error::io(e, "Can't write to file", &path);
        let (beside, mut file) = create_beside(&*self.0, &path).map_err(fail)?;
        let next_youngest = Announced(beside);
        let mut put = || {
            let mut text = Vec::new();
            next.write(&mut text);
            file.append(&text).map_err(fail)?;
            file.set_mode(self.0.mode(&path).map_err(fail)?).map_err(fail)?;
            if flush {
                sync(fs, revisions, (&mut *file, &next_youngest.0))?;
            }
            self.move_to_names(fs, revisions, flush)
        };
        let done = put();
        drop(file);
        match done {
            Ok(()) => Ok(next_youngest),
            Err(error) => {
                self.withdraw(&next_youngest);
                Err(error)
            }
        }
    }

    fn swap_youngest(&self, fs: &Fs, next: &Announced) -> Result<()> {
        let path = fs.file(names::CURRENT);
        self.0.rename(&next.0, &path, false).map_err(|e| Error::io(e, "Can't write to file", &path))
    }

    fn withdraw(&self, next: &Announced) {
        // The error that is told is the one before.
        let _ = self.0.remove_file(&next.0);
    }

    fn settle(&self, fs: &Fs, youngest: Revnum) -> Result<()> {
        let path = fs.file(names::CURRENT);
        let Some(folder) = path.parent() else { return Ok(()) };
        self.0.sync_dir(folder).map_err(|error| Error::Io {
            what: format!(
                "r{youngest} is committed, but may not outlast a power failure: Can't flush '{}'",
                folder.display()
            ),
            error,
        })
    }

    fn discard(&self, revision: &Prepared) {
        // The error that is told is the one before. It may have been moved.
        let _ = self.0.remove_file(&revision.from);
    }
}

/// Makes the files of revisions durable, oldest first, and that of the new `current`.
fn sync(
    fs: &Fs,
    revisions: &mut [&mut Prepared],
    (current, beside): (&mut dyn NewFile, &Path),
) -> Result<()> {
    let mut files: Vec<(&mut dyn NewFile, &Path)> = Vec::new();
    for prepared in revisions {
        let Prepared { bytes, file, from, revprops, revprops_path, .. } = &mut **prepared;
        // Older than all others: errors of writing it might be missed below.
        if let (true, Some(file)) = (bytes.is_empty(), &mut *file) {
            file.sync().map_err(|e| Error::io(e, "Can't flush file to disk", from))?;
        }
        if let Some(revprops) = revprops {
            files.push((&mut **revprops, revprops_path));
        }
        if let Some(file) = file {
            files.push((&mut **file, from));
        }
    }
    files.push((current, beside));
    sync_files(fs, files)
}

impl LocalRevisions {
    fn move_to_names(&self, fs: &Fs, revisions: &[&mut Prepared], flush: bool) -> Result<()> {
        let mut folders: Vec<&Path> = Vec::new();
        for prepared in revisions {
            // A reader finds it in one place or the other.
            let mut unpublished = fs.unpublished.lock();
            self.0
                .rename(&prepared.from, &prepared.to, false)
                .map_err(|e| Error::io(e, "Can't move", &prepared.from))?;
            unpublished.retain(|(revision, _)| *revision != prepared.revision);
            drop(unpublished);
            if let Some(folder) = prepared.to.parent()
                && flush
                && !folders.contains(&folder)
            {
                folders.push(folder);
            }
        }
        for folder in folders {
            self.0
                .sync_dir(folder)
                .map_err(|e| Error::io(e, "Can't flush file to disk", folder))?;
        }
        Ok(())
    }
}
