//! Copying files and folders of revisions.

use sapwood_core::Exact;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::ops::Range;
use std::path::Path;

use sapwood_core::{ErrorCode, Revnum};
use sapwood_fsfs_format::layout::{names, since};
use sapwood_fsfs_format::revprops::RevpropManifest;

use super::Hotcopy;
use crate::dump_index::check;
use crate::error::{Error, Result};
use crate::revprop_pack::remove_dir_all;
use sapwood_store::write::{copy_into_place, create_beside, is_same};

/// Which order the files of a folder have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// None.
    Any,
    /// The manifest is the last. No reader looks at the folder yet.
    ManifestLast,
    /// The manifest is the last, and what it names is durable before it is replaced. So is each
    /// file before it gets its name.
    InUse,
}

/// How often a folder of packed revision properties is copied because it changed meanwhile.
const RETRIES: u32 = 10;
/// The longest manifest that is read.
const MANIFEST_LEN: usize = 1 << 28;
/// Folders nest no deeper than this in a `db` folder.
const MAX_DEPTH: u32 = 8;

impl Hotcopy<'_> {
    pub(super) fn make_dir(&self, path: &Path) -> Result<()> {
        match self.storage().create_dir(path, false) {
            Err(e) if e.kind() == ErrorKind::AlreadyExists => Ok(()),
            made => made.map_err(|e| Error::io(e, "Can't create directory", path)),
        }
    }

    /// Replaces a small file of the copy; `like` gives the permissions.
    pub(super) fn replace(&self, path: &Path, contents: &[u8], like: &Path) -> Result<()> {
        let flush = self.options.flush_to_disk;
        let done = self.storage().replace(path, contents, Some(like), flush);
        done.map_err(|e| Error::replacing(e, path))
    }

    /// Removes a file, if it is there.
    pub(super) fn remove(&self, path: &Path) -> Result<()> {
        match self.storage().remove_file(path) {
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(()),
            done => done.map_err(|e| Error::io(e, "Can't remove file", path)),
        }
    }

    /// Copies a file that no reader opens yet.
    fn copy_new(&self, from: &Path, to: &Path) -> Result<()> {
        self.storage().copy(from, to, false).map_err(|e| cannot_copy(e, from, to))
    }

    /// Copies a file so that readers of the copy see the old or the new one, whole, also after a
    /// crash.
    pub(super) fn copy_over(&self, from: &Path, to: &Path) -> Result<()> {
        // What a new copy has is made durable all at once.
        self.copy_whole(from, to, self.in_use && self.options.flush_to_disk)
    }

    /// The same; with `sync` it is durable before it gets its name.
    pub(super) fn copy_whole(&self, from: &Path, to: &Path, sync: bool) -> Result<()> {
        let storage = self.storage();
        let (beside, file) = create_beside(storage, to).map_err(|e| Error::replacing(e, to))?;
        drop(file);
        copy_into_place(storage, from, &beside, to, sync).map_err(|e| cannot_copy(e, from, to))
    }

    /// Copies a file unless the copy has it: the same length, and not older. Whether it did. With
    /// `whole` also a file that was not there gets its name when it is durable: a crash could
    /// leave one of the right length without its contents, which the next run would trust.
    fn copy_changed(&self, from: &Path, to: &Path, whole: bool) -> Result<bool> {
        match self.storage().stamp(to) {
            Ok(there) => {
                let stamp = self.storage().stamp(from);
                let stamp = stamp.map_err(|e| Error::io(e, "Can't stat", from))?;
                if stamp.len == there.len && stamp.modified <= there.modified {
                    return Ok(false);
                }
                self.copy_over(from, to)?;
            }
            Err(e) if e.kind() == ErrorKind::NotFound && whole => self.copy_over(from, to)?,
            Err(e) if e.kind() == ErrorKind::NotFound => self.copy_new(from, to)?,
            Err(e) => return Err(Error::io(e, "Can't stat", to)),
        }
        Ok(true)
    }

    /// Copies a file of a revision, unless the copy has it. Whether it did. What an interrupted run
    /// left of new revisions may not be whole.
    fn copy_of_revision(&self, name: &str, revision: Revnum) -> Result<bool> {
        let (from, to) = (self.source.file(name), self.target(name));
        if self.known.is_none_or(|known| revision > known) {
            self.copy_new(&from, &to)?;
            return Ok(true);
        }
        self.copy_changed(&from, &to, false)
    }

    /// Copies revisions that are not packed: those that were not there, or changed.
    pub(super) fn unpacked(&self, revisions: Range<u64>) -> Result<Vec<Revnum>> {
        let layout = &self.source.layout;
        if let Some(size) = layout.format.shard_size
            && revisions.start.checked_rem(size) == Some(0)
        {
            let first = Revnum(revisions.start);
            for (file, top) in [
                (layout.rev_file(first), names::REVS),
                (layout.revprops_file(first), names::REVPROPS),
            ] {
                let file = self.target(&file);
                let Some(dir) = file.parent() else { continue };
                self.make_dir(dir)?;
                let done = self.storage().copy_permissions(&self.target(top), dir);
                done.map_err(|e| Error::io(e, "Can't set permissions on", dir))?;
            }
        }
        let count = revisions.end.saturating_sub(revisions.start);
        if !self.options.threads || count < 16 {
            return self.unpacked_part(revisions);
        }
        let middle = revisions.start.midpoint(revisions.end);
        std::thread::scope(|scope| {
            let helper = std::thread::Builder::new().name("hotcopy".into());
            let helper = helper
                .spawn_scoped(scope, || self.unpacked_part(middle..revisions.end))
                .map_err(|e| Error::io(e, "Can't start a thread for", self.to))?;
            let first = self.unpacked_part(revisions.start..middle);
            let second = helper.join().unwrap_or_else(|_| {
                Err(Error::new(ErrorCode::FS_GENERAL, "A thread that copied files ended"))
            });
            let mut copied = first?;
            copied.extend(second?);
            Ok(copied)
        })
    }

    fn unpacked_part(&self, revisions: Range<u64>) -> Result<Vec<Revnum>> {
        let layout = &self.source.layout;
        let mut copied = Vec::new();
        for revision in revisions.map(Revnum) {
            check(self.cancel)?;
            let mut any = false;
            for name in [layout.rev_file(revision), layout.revprops_file(revision)] {
                any |= self.copy_of_revision(&name, revision)?;
            }
            if any {
                copied.push(revision);
            }
        }
        Ok(copied)
    }

    /// Copies the packed shard that begins with `first`: whether there was anything to copy.
    pub(super) fn packed_shard(&self, first: Revnum, size: u64) -> Result<bool> {
        let layout = &self.source.layout;
        let shard = first.0.checked_div(size).unwrap_or(0);
        let is_new = self.known.is_none() || first >= self.known_unpacked;
        let pack = layout.pack_dir(shard);
        let to = self.target(&pack);
        if is_new {
            remove_dir_all(self.storage(), &to, false)?;
        }
        let mut any = self.copy_dir(&self.source.file(&pack), &to, Order::Any)?;
        if self.format() < since::REVPROP_PACKING {
            let end = first.0.saturating_add(size);
            self.make_dir(&self.target(&layout.revprops_dir(first)))?;
            for revision in (first.0..end).map(Revnum) {
                any |= self.copy_of_revision(&layout.revprops_file(revision), revision)?;
            }
            return Ok(any);
        }
        if shard == 0 {
            self.make_dir(&self.target(&layout.revprops_dir(Revnum::ZERO)))?;
            any |= self.copy_of_revision(&layout.revprops_file(Revnum::ZERO), Revnum::ZERO)?;
        }
        let dir = layout.revprops_pack_dir(shard);
        let to = self.target(&dir);
        if is_new {
            remove_dir_all(self.storage(), &to, false)?;
        }
        let durable = !is_new && self.options.flush_to_disk;
        let order = if durable { Order::InUse } else { Order::ManifestLast };
        for _ in 0..RETRIES {
            match self.copy_dir(&self.source.file(&dir), &to, order) {
                Ok(copied) => any |= copied,
                // A pack was replaced while we looked.
                Err(Error::Io { error, .. }) if error.kind() == ErrorKind::NotFound => continue,
                Err(error) => return Err(error),
            }
            if self.is_complete(&to, first, size, durable)? {
                return Ok(any);
            }
        }
        Err(Error::new(
            ErrorCode::FS_PACKED_REVPROP_READ_FAILURE,
            format!("Failed to read revprop pack file for r{first}"),
        ))
    }

    /// Whether all files that a manifest of packed revision properties names are there; those that
    /// it does not name are removed then. With `sync` the manifest is durable before.
    fn is_complete(&self, dir: &Path, first: Revnum, size: u64, sync: bool) -> Result<bool> {
        let path = dir.join(names::MANIFEST);
        let bytes = self.storage().read(&path, MANIFEST_LEN);
        let bytes = bytes.map_err(|e| Error::io(e, "Can't open file", &path))?;
        let manifest = RevpropManifest::parse(&bytes, first, size)
            .map_err(|error| Error::File { path, error })?;
        let listed = self.storage().list(dir);
        let listed = listed.map_err(|e| Error::io(e, "Can't open directory", dir))?;
        let named: Vec<OsString> = manifest.packs().map(|(name, _)| name.into()).collect();
        if !named.iter().all(|name| listed.contains(name)) {
            return Ok(false);
        }
        let mut unnamed = listed
            .into_iter()
            .filter(|name| !named.contains(name) && name != names::MANIFEST)
            .peekable();
        if sync && unnamed.peek().is_some() {
            self.sync_dir(dir)?;
        }
        for name in unnamed {
            self.remove(&dir.join(name))?;
        }
        Ok(true)
    }

    fn sync_dir(&self, dir: &Path) -> Result<()> {
        let done = self.storage().sync_dir(dir);
        done.map_err(|e| Error::io(e, "Can't flush directory", dir))
    }

    /// Copies the files of a folder that are not there yet, or changed. Whether there were any.
    pub(super) fn copy_dir(&self, from: &Path, to: &Path, order: Order) -> Result<bool> {
        let listed = self.storage().list(from);
        let mut listed = listed.map_err(|e| Error::io(e, "Can't open directory", from))?;
        if order != Order::Any {
            listed.sort_by_key(|name| name == names::MANIFEST);
        }
        self.make_dir(to)?;
        let done = self.storage().copy_permissions(from, to);
        done.map_err(|e| Error::io(e, "Can't set permissions on", to))?;
        let mut any = false;
        for name in listed {
            check(self.cancel)?;
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
    pub(super) fn follow_tree(&self, from: &Path, to: &Path) -> Result<()> {
        self.follow_level(from, to, 0)
    }

    fn follow_level(&self, from: &Path, to: &Path, depth: u32) -> Result<()> {
        let storage = self.storage();
        self.make_dir(to)?;
        let done = storage.copy_permissions(from, to);
        done.map_err(|e| Error::io(e, "Can't set permissions on", to))?;
        let list = |path: &Path| -> Result<Vec<OsString>> {
            storage.list(path).map_err(|e| Error::io(e, "Can't open directory", path))
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
                Err(Error::Io { error, .. }) if error.kind() == ErrorKind::NotFound => {}
                done => done?,
            }
        }
        Ok(())
    }

    /// Removes a folder with all that is in it.
    pub(super) fn remove_tree(&self, path: &Path) -> Result<()> {
        self.remove_level(path, 0)
    }

    fn remove_level(&self, path: &Path, depth: u32) -> Result<()> {
        let names = match self.storage().list(path) {
            Ok(names) => names,
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(()),
            Err(e) => return Err(Error::io(e, "Can't open directory", path)),
        };
        for name in names {
            let path = path.join(name);
            if depth < MAX_DEPTH && self.storage().list(&path).is_ok() {
                self.remove_level(&path, depth.plus(1))?;
            } else {
                self.remove(&path)?;
            }
        }
        let done = self.storage().remove_dir(path);
        done.map_err(|e| Error::io(e, "Can't remove directory", path))
    }
}

fn cannot_copy(error: std::io::Error, from: &Path, to: &Path) -> Error {
    match error.kind() {
        ErrorKind::NotFound => Error::io(error, "Can't open file", from),
        _ => Error::Io {
            what: format!("Can't copy '{}' to '{}'", from.display(), to.display()),
            error,
        },
    }
}
