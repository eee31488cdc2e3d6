//! Copying a filesystem that may be in use.
//!
//! The source is not locked: revisions never change, and what does is replaced whole. `current` is
//! read first, and what comes after it is left out. When a shard is packed under our feet, its pack is copied instead, as soon as
//! it is whole.
//!
//! A new copy is no filesystem before its `format` file is written, which is the last step; just before come the files that the
//! reference would make anew when it takes up a copy that was stopped. An incremental one holds all locks of the destination, whose
//! readers go on:
//!
//! 1. packs that the destination does not have, everything newer than its `current` (whatever of it an interrupted run left
//!    behind is not trusted), properties and locks that have changed: what is replaced is durable before it gets its name;
//! 2. everything else is made durable, then `min-unpacked-rev` and `current` are replaced ([`Copier::publish`]), and then the
//!    `rep-cache.db`, so that none of its rows names a revision that is not there;
//! 3. files of revisions that are now packed are removed, and the number in the copy's `revprop-generation` is raised, so that its
//!    readers forget the properties that they keep.

use std::ffi::OsString;
use std::path::Path;

use sapwood_core::{CancelToken, Revnum};
use sapwood_fs_common::hotcopy::{
    Copier, CopyError, Extent, HotcopyOptions, Kind, NewState, RevisionFiles,
};
use sapwood_fs_common::rep_cache::Schema;
use sapwood_fsx_format::layout::names;
use sapwood_fsx_format::revprops;
use sapwood_store::Caches;

use crate::error::{Error, Result};
use crate::filesystem::uuid_text;
use crate::filesystem::{Filesystem, Fs};
use crate::txn::{WriteOptions, Writer};

/// The longest `txn-current` that is copied.
const SMALL: usize = 256;

/// Revisions that a pack file holds, or one, were copied: the first and the last.
pub type Notify<'a> = &'a mut dyn FnMut(Revnum, Revnum) -> Result<()>;

impl From<CopyError> for Error {
    fn from(error: CopyError) -> Self {
        Self::Svn(error.into())
    }
}

/// The other way: a missing file stays one.
fn copy_error(error: Error) -> CopyError {
    match error {
        Error::Io { what, path, error } => CopyError::io(error, what, &path),
        error => CopyError::Svn(error.into()),
    }
}

impl Filesystem {
    /// Copies this filesystem to the folder `to` (a `db` folder, which must exist).
    ///
    /// # Errors
    /// E200007 and kin for a destination that is no earlier copy of this; system errors.
    pub fn hotcopy(
        &self,
        to: &Path,
        options: &HotcopyOptions,
        cancel: &CancelToken,
        notify: Notify<'_>,
    ) -> Result<()> {
        let fs = &*self.0;
        let storage = &*fs.storage;
        let copier = Copier { storage, from: &fs.db, to, options, cancel, known: None };
        if !copier.follows_earlier_copy(names::FORMAT)? {
            let copy = Hotcopy { fs, copier, youngest: self.youngest()? };
            copy.make_folders()?;
            copier.config(names::CONFIG, false)?;
            return copy.run(notify);
        }
        let target = Self::open_with(to, fs.storage.clone(), &Caches::for_one_task(1 << 20))?;
        self.kind().check(&target.kind())?;
        let options =
            WriteOptions { flush_to_disk: copier.options.flush_to_disk, ..WriteOptions::default() };
        let writer = Writer::new(&target, options)?;
        // The order in which the reference takes them.
        let _pack = writer.lock(names::PACK_LOCK)?;
        let _write = writer.lock(names::WRITE_LOCK)?;
        let _numbers = writer.lock(names::TXN_CURRENT_LOCK)?;
        copier.sync()?;
        let known = target.extent()?;
        let copier = Copier { known: Some(known), ..copier };
        copier.config(names::CONFIG, false)?;
        let copy = Hotcopy { fs, copier, youngest: self.youngest()? };
        let from = Extent { youngest: copy.youngest, unpacked: Revnum(fs.refresh_min_unpacked()?) };
        from.check(&known)?;
        let done = copy.run(notify);
        writer.forget_props()?;
        done
    }

    fn kind(&self) -> Kind<'_> {
        Kind {
            engine: "FSX",
            format: self.format(),
            uuid: self.uuid(),
            shard_size: Some(self.shard_size()),
        }
    }

    fn extent(&self) -> Result<Extent> {
        Ok(Extent { youngest: self.youngest()?, unpacked: self.min_unpacked_rev()? })
    }
}

impl RevisionFiles for &Fs {
    fn shard_size(&self) -> Option<u64> {
        Some(self.layout.0.shard_size)
    }

    fn min_unpacked(&self) -> sapwood_fs_common::hotcopy::Result<Revnum> {
        self.unpacked_or_unfinished().map_err(copy_error)
    }

    fn files(&self, revision: Revnum) -> Vec<String> {
        vec![self.layout.revision(revision), self.layout.revprops(revision, false)]
    }

    fn packed_shard(
        &self,
        copier: &Copier<'_>,
        first: Revnum,
        _: u64,
    ) -> sapwood_fs_common::hotcopy::Result<bool> {
        let shard = self.layout.0.shard(first);
        let (dir, is_new) = (self.layout.pack_dir(shard), copier.is_new_pack(first));
        if is_new {
            copier.remove_tree(&copier.target(&dir))?;
        }
        let name = |path: String| -> OsString {
            path.rsplit_once('/').map_or(&*path, |(_, name)| name).into()
        };
        let parse = |manifest: &[u8], path: &Path| {
            let entries = revprops::parse_manifest(manifest).map_err(|error| {
                copy_error(Error::Item { path: path.to_owned(), offset: 0, error })
            })?;
            let packs = entries.iter().map(|entry| self.layout.revprop_pack(shard, *entry));
            let mut all: Vec<OsString> = packs.map(name).collect();
            all.push(name(self.layout.pack(shard)));
            if first == Revnum::ZERO {
                all.push(name(self.layout.revprops(first, true)));
            }
            Ok(all)
        };
        copier.copy_with_manifest(&dir, first, is_new, &parse)
    }
}

/// One run.
struct Hotcopy<'a> {
    fs: &'a Fs,
    copier: Copier<'a>,
    /// The youngest revision to copy.
    youngest: Revnum,
}

impl Hotcopy<'_> {
    /// The folders of a new copy.
    fn make_folders(&self) -> Result<()> {
        for top in [names::REVS, names::TRANSACTIONS, names::TXN_PROTOREVS] {
            self.copier.make_dir(&self.copier.target(top))?;
        }
        Ok(())
    }

    /// What a new copy gets only now: the reference, which takes up a copy that was stopped, makes
    /// these files itself and fails if they are there.
    fn last_files(&self) -> Result<()> {
        let copier = &self.copier;
        copier.config(names::CONFIG, true)?;
        let path = copier.target(names::UUID);
        let uuid = uuid_text(&self.fs.uuid).map_err(|e| Error::io("Can't write to file", &path, e));
        copier.replace(&path, uuid?.as_bytes(), &copier.source(names::CURRENT))?;
        let from = copier.source(names::TXN_CURRENT);
        let next = copier.storage.read(&from, SMALL);
        let next = next.map_err(|e| Error::io("Can't open file", &from, e))?;
        copier.replace(&copier.target(names::TXN_CURRENT), &next, &from)?;
        copier.replace(&copier.target(names::REVPROP_GENERATION), b"0\n", &from)?;
        for name in [names::WRITE_LOCK, names::TXN_CURRENT_LOCK] {
            let path = copier.target(name);
            let made = copier.storage.create_over(&path);
            made.map_err(|e| Error::io("Can't create file", &path, e))?;
        }
        Ok(())
    }

    fn run(&self, notify: Notify<'_>) -> Result<()> {
        let copier = &self.copier;
        // Readers of a copy that is in use see new revisions only when they are published: they are
        // reported at the end.
        let mut published = Vec::new();
        let packed = if copier.in_use() {
            copier.revisions::<Error>(&self.fs, self.youngest, &mut |first, last| {
                published.push((first, last));
                Ok(())
            })?
        } else {
            copier.revisions(&self.fs, self.youngest, notify)?
        };
        // What was committed and packed meanwhile came with the pack.
        let youngest = packed.prev().map_or(self.youngest, |last| self.youngest.max(last));
        if copier.in_use() {
            let from = copier.source(names::TXN_CURRENT);
            copier.renew_copy(&from, &copier.target(names::TXN_CURRENT))?;
        }
        copier.locks()?;
        let fs_type = copier.target(names::FS_TYPE);
        copier.renew(&fs_type, b"fsx\n", &copier.source(names::FS_TYPE))?;
        let current = format!("{youngest}\n");
        let new = NewState { packed, has_packs: true, current: current.as_bytes() };
        let rep_cache = || copier.rep_cache(youngest, Schema::V1, names::TXN_CURRENT);
        if copier.in_use() {
            copier.publish(new)?;
            // Not before: a row of a revision that is not there yet would make the copy a broken
            // one if we were stopped. Rows that are missing only cost some sharing.
            rep_cache()?;
            self.remove_packed(packed)?;
        } else {
            self.remove_packed(packed)?;
            rep_cache()?;
            copier.publish(new)?;
            self.last_files()?;
        }
        let format = self.fs.layout.0.to_text();
        let from = copier.source(names::FORMAT);
        copier.renew(&copier.target(names::FORMAT), format.as_bytes(), &from)?;
        published.into_iter().try_for_each(|(first, last)| notify(first, last))
    }

    /// Removes files that the packs of the destination replace.
    fn remove_packed(&self, packed: Revnum) -> Result<()> {
        for shard in 0..self.fs.layout.0.shard(packed) {
            self.copier.remove_tree(&self.copier.target(&self.fs.layout.shard_dir(shard)))?;
        }
        Ok(())
    }
}
