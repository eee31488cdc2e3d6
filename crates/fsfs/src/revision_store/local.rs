//! Revisions in the files of the filesystem's own folder.
//!
//! Files that no reader looks at yet may be written in any way; one that readers look at is only ever replaced
//! by a rename. The order of syncs and renames is described in docs/formats/fsfs-writing.md.

use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use sapwood_core::Revnum;
use sapwood_fsfs_format::Layout;
use sapwood_fsfs_format::current::Current;
use sapwood_fsfs_format::layout::names;
use sapwood_store::write::{NewFile, WriteStorage, create_beside};
use sapwood_store::{Folder, Stamp, StoredFile};

use super::{
    Announcement, ChangeProps, Like, Near, NewRevision, Object, PropsWriting, RevisionStore,
    StagedRevision,
};
use crate::error::{Error, Result};
use crate::sync::sync_files;

/// The longest `current` that is read, in bytes.
const CURRENT_LEN: usize = 256;

/// A store in local files.
#[derive(Debug)]
pub(crate) struct LocalRevisions {
    pub(super) db: PathBuf,
    pub(super) layout: Layout,
    pub(super) storage: Arc<dyn WriteStorage>,
    /// Whether syncing the whole file system took long when that was last done.
    whole_syncs_are_slow: Arc<AtomicBool>,
}

impl LocalRevisions {
    /// A store in the folder `db`.
    pub(crate) const fn new(
        db: PathBuf,
        layout: Layout,
        storage: Arc<dyn WriteStorage>,
        whole_syncs_are_slow: Arc<AtomicBool>,
    ) -> Self {
        Self { db, layout, storage, whole_syncs_are_slow }
    }

    /// Makes the folder of a new shard, which `file` is to be in, with the permissions of the
    /// folder of all shards.
    fn make_shard(&self, file: &Path, all: &str, flush: bool) -> Result<()> {
        let Some(folder) = file.parent() else { return Ok(()) };
        match self.storage.create_dir(folder, false) {
            // An earlier commit may have failed after this.
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
            made => made.map_err(|e| Error::io(e, "Can't create directory", folder))?,
        }
        let all = self.db.join(all);
        self.storage
            .copy_permissions(&all, folder)
            .map_err(|e| Error::io(e, "Can't set permissions on", folder))?;
        if flush {
            let synced = self.storage.sync_dir(&all);
            synced.map_err(|e| Error::io(e, "Can't flush file to disk", &all))?;
        }
        Ok(())
    }

    fn write_props_file(&self, path: &Path, text: &[u8], like: Like) -> Result<Box<dyn NewFile>> {
        let write = || -> io::Result<Box<dyn NewFile>> {
            // The file may be there: from a commit that failed after this.
            let mut file = self.storage.create_over(path)?;
            file.append(text)?;
            file.set_mode(like.0)?;
            Ok(file)
        };
        write().map_err(|e| Error::io(e, "Can't write to file", path))
    }

    /// The complete file of data, where it is until it is put.
    fn write_data(&self, new: &mut NewRevision, like: Like) -> Result<Box<dyn NewFile>> {
        let path = &new.spool;
        let spooled = new.spooled.take();
        let is_ours = spooled.is_none();
        let mut file = match spooled {
            Some(file) => file,
            None => {
                let made = self.storage.create_over(path);
                made.map_err(|e| Error::io(e, "Can't open file", path))?
            }
        };
        let appended = match new.bytes.as_slice() {
            [] => Ok(()),
            bytes => file.append(bytes).map_err(|e| Error::io(e, "Can't write to file", path)),
        };
        let written = appended.and_then(|()| {
            file.set_mode(like.0).map_err(|e| Error::io(e, "Can't set permissions on", path))
        });
        match written {
            Ok(()) => Ok(file),
            Err(error) => {
                if is_ours {
                    drop(file);
                    // The error before this one is returned.
                    let _ = self.storage.remove_file(path);
                } else {
                    new.spooled = Some(file);
                }
                Err(error)
            }
        }
    }

    /// Makes the files of revisions durable, oldest first, and that of the new `current`.
    fn sync(
        &self,
        revisions: &mut [&mut StagedRevision],
        (current, beside): (&mut dyn NewFile, &Path),
    ) -> Result<()> {
        let mut props_paths = Vec::with_capacity(revisions.len());
        props_paths
            .extend(revisions.iter().map(|staged| self.place(Object::Props(staged.revision))));
        let mut files: Vec<(&mut dyn NewFile, &Path)> = Vec::new();
        for (staged, props_path) in revisions.iter_mut().zip(&props_paths) {
            let StagedRevision { data, props, was_spooled, spool, .. } = &mut **staged;
            // Older than all others: errors of writing it might be missed below.
            if let (true, Some(data)) = (*was_spooled, &mut *data) {
                data.sync().map_err(|e| Error::io(e, "Can't flush file to disk", spool))?;
            }
            if let Some(props) = props {
                files.push((&mut **props, props_path));
            }
            if let Some(data) = data {
                files.push((&mut **data, spool));
            }
        }
        files.push((current, beside));
        sync_files(&self.whole_syncs_are_slow, files)
    }

    fn move_to_names(&self, revisions: &[&mut StagedRevision], flush: bool) -> Result<()> {
        let mut folders: Vec<PathBuf> = Vec::new();
        for staged in revisions {
            let to = self.place(Object::Revision(staged.revision));
            self.storage
                .rename(&staged.spool, &to, false)
                .map_err(|e| Error::io(e, "Can't move", &staged.spool))?;
            if let Some(folder) = to.parent()
                && flush
                && !folders.iter().any(|known| known == folder)
            {
                folders.push(folder.to_owned());
            }
        }
        for folder in folders {
            self.storage
                .sync_dir(&folder)
                .map_err(|e| Error::io(e, "Can't flush file to disk", &folder))?;
        }
        Ok(())
    }

    fn announced(&self, next: &Announcement) -> PathBuf {
        self.db.join(&next.token)
    }
}

impl RevisionStore for LocalRevisions {
    fn place(&self, object: Object<'_>) -> PathBuf {
        self.db.join(&*object.name(&self.layout))
    }

    fn open(&self, object: Object<'_>) -> io::Result<Arc<dyn StoredFile>> {
        self.storage.open(&self.place(object))
    }

    // Three system calls a file: looking up the folders above each time would be a good part of the cost.
    fn open_near(&self, near: &mut Near, object: Object<'_>) -> io::Result<Arc<dyn StoredFile>> {
        let (Object::Revision(revision) | Object::Props(revision)) = object else {
            return self.open(object);
        };
        let shard = self.layout.shard(revision).unwrap_or(0);
        let folder = match &mut near.0 {
            Some((open, folder)) if *open == shard => folder,
            other => {
                let path = self.place(object);
                let parent = path.parent().ok_or(ErrorKind::NotFound)?;
                &mut other.insert((shard, Folder::new(parent.to_owned()))).1
            }
        };
        self.storage.open_in(folder, &revision.to_string())
    }

    fn read(&self, object: Object<'_>, limit: usize) -> io::Result<Vec<u8>> {
        self.storage.read(&self.place(object), limit)
    }

    fn version(&self, object: Object<'_>) -> io::Result<Stamp> {
        self.storage.stamp(&self.place(object))
    }

    fn open_version(&self, object: Object<'_>) -> io::Result<Arc<dyn StoredFile>> {
        self.storage.open_folder(&self.place(object))
    }

    fn list(&self, object: Object<'_>) -> io::Result<Vec<OsString>> {
        self.storage.list(&self.place(object))
    }

    fn youngest(&self) -> Result<Current> {
        let fail = |e| Error::io(e, "Can't open file", &self.place(Object::Youngest));
        let bytes = self.read(Object::Youngest, CURRENT_LEN).map_err(fail)?;
        Current::parse(&bytes, self.layout.format.number)
            .map_err(|error| Error::File { path: self.place(Object::Youngest), error })
    }

    fn like(&self, youngest: Revnum) -> Result<Like> {
        let path = self.place(Object::Revision(youngest));
        let mode = match (self.storage.mode(&path), self.layout.shard(youngest)) {
            (Err(e), Some(shard)) if e.kind() == ErrorKind::NotFound => {
                // It is packed, or not there at all.
                self.storage.mode(&self.place(Object::Pack(shard)))
            }
            (mode, _) => mode,
        };
        mode.map(Like).map_err(|e| Error::io(e, "Can't set permissions on", &path))
    }

    fn stage(&self, new: &mut NewRevision, like: Like, flush: bool) -> Result<StagedRevision> {
        let props_path = self.place(Object::Props(new.revision));
        if let Some(size) = self.layout.format.shard_size
            && new.revision.0.checked_rem(size) == Some(0)
        {
            self.make_shard(&self.place(Object::Revision(new.revision)), names::REVS, flush)?;
            self.make_shard(&props_path, names::REVPROPS, flush)?;
        }
        let props = self.write_props_file(&props_path, &new.props, like)?;
        let data = self.write_data(new, like)?;
        Ok(StagedRevision {
            revision: new.revision,
            // What is not to be made durable need not stay open.
            data: flush.then_some(data),
            props: flush.then_some(props),
            was_spooled: new.bytes.is_empty(),
            spool: new.spool.clone(),
        })
    }

    fn put(
        &self,
        revisions: &mut [&mut StagedRevision],
        next: Current,
        flush: bool,
    ) -> Result<Announcement> {
        let path = self.place(Object::Youngest);
        let fail = |e| Error::io(e, "Can't write to file", &path);
        let (beside, mut file) = create_beside(&*self.storage, &path).map_err(fail)?;
        let mut put = || {
            let mut text = Vec::new();
            next.write(&mut text);
            file.append(&text).map_err(fail)?;
            file.set_mode(self.storage.mode(&path).map_err(fail)?).map_err(fail)?;
            if flush {
                self.sync(revisions, (&mut *file, &beside))?;
            }
            self.move_to_names(revisions, flush)
        };
        let done = put();
        drop(file);
        let token = beside.file_name().and_then(|name| name.to_str());
        let token = token.ok_or_else(|| Error::internal("a file beside `current` has no name"))?;
        let announced = Announcement { token: token.to_owned() };
        match done {
            Ok(()) => Ok(announced),
            Err(error) => {
                self.withdraw(&announced);
                Err(error)
            }
        }
    }

    fn swap_youngest(&self, next: &Announcement) -> Result<()> {
        let path = self.place(Object::Youngest);
        self.storage
            .rename(&self.announced(next), &path, false)
            .map_err(|e| Error::io(e, "Can't write to file", &path))
    }

    fn withdraw(&self, next: &Announcement) {
        // The error before this one is returned.
        let _ = self.storage.remove_file(&self.announced(next));
    }

    fn sync(&self, youngest: Revnum) -> Result<()> {
        self.storage.sync_dir(&self.db).map_err(|error| Error::Io {
            what: format!(
                "r{youngest} is committed, but may not outlast a power failure: Can't flush '{}'",
                self.db.display()
            ),
            error,
        })
    }

    fn discard(&self, revision: &StagedRevision) {
        // The error before this one is returned. The file may have been moved.
        let _ = self.storage.remove_file(&revision.spool);
    }

    fn put_revprops_if_unchanged(
        &self,
        revision: Revnum,
        change: &mut ChangeProps<'_>,
        how: &PropsWriting,
    ) -> Result<()> {
        self.change_revprops(revision, change, how)
    }
}
