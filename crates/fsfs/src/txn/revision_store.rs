//! The seam for other stores than files: what is published, one level above file operations.
//!
//! | verb | promise | in local files |
//! |---|---|---|
//! | `youngest` | what the last swap that succeeded made it, by whatever process: no older answer | `current` is read |
//! | `put` | the data of new revisions are whole and, with `flush`, durable when it returns; they never change again. They are not announced yet. What an earlier commit put under these numbers and never announced is replaced | prototypes and property files are synced, oldest first, and moved to their names; then the folders are synced |
//! | `swap_youngest` | atomic: all of the new revisions are there, or none. It fails if the youngest is not the one that they follow | `current` is replaced. `write-lock` is held since it was read, so that it still is |
//! | `settle` | the swap outlasts a power failure when it returns; a swap that is seen before may be lost by one, never a part of it | the folder of `current` is synced |
//! | `withdraw`, `discard` | tidy up after a failure; whatever they leave does no harm | what was not moved is removed |
//! | `put_revprops_if_unchanged` | atomic and durable: readers see the old properties or the new ones, and no change of another writer is lost; what is to be written is asked for anew when there was one | `write-lock` is held from reading to writing, so that there is none. Packs are replaced, or divided: the parts, then the manifest, then the old pack goes |
//!
//! A store of objects would put the bytes of [`Prepared`] under keys of their own, compare and swap one
//! small object that names the youngest, and have nothing to make last; for properties it would read
//! them with their version, ask `change`, write on the condition of that version, and begin again if that fails.
//!
//! Not behind the seam yet: what readers read (ranges of revision files, lists of folders) goes through
//! [`sapwood_store::Storage`]; the files of [`Prepared`] are written through [`WriteStorage`] before they are put,
//! properties under the name they keep; `pack` and the rest of administration write through [`WriteStorage`].
//! Both are one value, which is said when the filesystem is opened
//! ([`OpenOptions::storage`](crate::OpenOptions::storage)).
//!
//! Invariant: until [`RevisionStore::swap_youngest`] has succeeded, no reader sees any of a new revision, and
//! whatever fails before leaves at most data that the next commit replaces.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sapwood_core::{PropList, Revnum, SvnResult};
use sapwood_fsfs_format::current::Current;
use sapwood_fsfs_format::layout::names;
use sapwood_store::write::{NewFile, WriteStorage, create_beside};

use super::group::Prepared;
use crate::config::RevpropPackConfig;
use crate::error::{Error, Result};
use crate::filesystem::{Filesystem, Fs};
use crate::sync::sync_files;

/// What is given the present properties of a revision and says what they become, `None` to leave them. It may
/// be asked more than once, and only the last answer counts.
pub(crate) type ChangeProps<'a> = dyn FnMut(&PropList) -> SvnResult<Option<PropList>> + 'a;

/// Where new revisions and changed properties of revisions go.
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

    /// Puts what `change` makes of the present properties of a revision in their place, if they are still
    /// those that it was given; asks it again, with the ones that are there then, if they are not.
    ///
    /// # Errors
    /// E160006 when there is no such revision; what `change` fails with; corruption and system
    /// errors. The properties are then what they were.
    fn put_revprops_if_unchanged(
        &self,
        fs: &Filesystem,
        revision: Revnum,
        change: &mut ChangeProps<'_>,
    ) -> Result<()>;
}

/// What will say that revisions are there: a file beside `current`.
#[derive(Debug)]
pub(crate) struct Announced(PathBuf);

/// A store in the files of the filesystem's own folder.
#[derive(Debug)]
pub(crate) struct LocalRevisions {
    pub(super) storage: Arc<dyn WriteStorage>,
    /// Whether changes of properties are made durable before they are reported.
    pub(super) flush: bool,
    /// How packs of revision properties are written.
    pub(super) packing: RevpropPackConfig,
}

impl RevisionStore for LocalRevisions {
    fn youngest(&self, fs: &Fs) -> Result<Current> {
        fs.read_current(&*self.storage)
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
        let (beside, mut file) = create_beside(&*self.storage, &path).map_err(fail)?;
        let next_youngest = Announced(beside);
        let mut put = || {
            let mut text = Vec::new();
            next.write(&mut text);
            file.append(&text).map_err(fail)?;
            file.set_mode(self.storage.mode(&path).map_err(fail)?).map_err(fail)?;
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
        self.storage
            .rename(&next.0, &path, false)
            .map_err(|e| Error::io(e, "Can't write to file", &path))
    }

    fn withdraw(&self, next: &Announced) {
        // The error that is told is the one before.
        let _ = self.storage.remove_file(&next.0);
    }

    fn settle(&self, fs: &Fs, youngest: Revnum) -> Result<()> {
        let path = fs.file(names::CURRENT);
        let Some(folder) = path.parent() else { return Ok(()) };
        self.storage.sync_dir(folder).map_err(|error| Error::Io {
            what: format!(
                "r{youngest} is committed, but may not outlast a power failure: Can't flush '{}'",
                folder.display()
            ),
            error,
        })
    }

    fn discard(&self, revision: &Prepared) {
        // The error that is told is the one before. It may have been moved.
        let _ = self.storage.remove_file(&revision.from);
    }

    fn put_revprops_if_unchanged(
        &self,
        fs: &Filesystem,
        revision: Revnum,
        change: &mut ChangeProps<'_>,
    ) -> Result<()> {
        self.change_revprops(fs, revision, change)
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
            self.storage
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
            self.storage
                .sync_dir(folder)
                .map_err(|e| Error::io(e, "Can't flush file to disk", folder))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
