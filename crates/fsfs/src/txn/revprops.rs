//! Changing the properties of revisions: what may be asked of a [`Writer`], which goes through the
//! [`RevisionStore`](super::revision_store::RevisionStore), and how the store in local files does it.
//!
//! In local files all of it happens under the filesystem's write lock, with which nothing is packed meanwhile.

use sapwood_core::{Cut, Exact};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use sapwood_core::{ErrorCode, PropList, Revnum, SvnError, hashdump};
use sapwood_fsfs_format::layout::names as file_names;
use sapwood_fsfs_format::revprop_write::{
    counter_of, divide_again, pack_name, write_manifest, write_pack,
};
use sapwood_fsfs_format::revprops::RevpropManifest;

use super::Writer;
use super::revision_store::{ChangeProps, LocalRevisions};
use crate::error::{Error, Result};
use crate::filesystem::{Filesystem, Fs};

/// A pack of revision properties that is to be divided.
struct OldPack<'a> {
    dir: &'a Path,
    name: &'a str,
    range: Range<u64>,
    /// The counter in the names of its parts.
    counter: u64,
}

impl Writer {
    /// Changes the properties of a revision: `change` is given the present ones and says what
    /// they become, `None` to leave them. What it says is written only while the properties are those that
    /// it was given: should another writer change them meanwhile, then it is asked again.
    ///
    /// # Errors
    /// E160006 when there is no such revision; what `change` fails with; corruption and system
    /// errors. The properties are then what they were.
    pub fn change_revision_props(
        &self,
        revision: Revnum,
        change: &mut ChangeProps<'_>,
    ) -> Result<()> {
        self.revisions.put_revprops_if_unchanged(&self.fs, revision, change)
    }

    /// Sets or (with `None`) deletes a property of a revision, if its present value is `expected`.
    ///
    /// # Errors
    /// E160049 when it is not; those of [`Writer::change_revision_props`].
    pub fn change_revision_prop(
        &self,
        revision: Revnum,
        name: &str,
        expected: Option<&[u8]>,
        value: Option<&[u8]>,
    ) -> Result<()> {
        self.change_revision_props(revision, &mut |present| {
            if present.get(name) != expected {
                return Err(SvnError::new(
                    ErrorCode::FS_PROP_BASEVALUE_MISMATCH,
                    format!("revprop '{name}' has unexpected value in filesystem"),
                ));
            }
            let mut props = present.clone();
            match value {
                Some(value) => drop(props.set(name, value)),
                None => drop(props.remove(name)),
            }
            Ok(Some(props))
        })
    }
}

impl LocalRevisions {
    /// The verb `put_revprops_if_unchanged`: with the lock held since they were read, they stay
    /// unchanged, and `change` is asked once.
    pub(super) fn change_revprops(
        &self,
        fs: &Filesystem,
        revision: Revnum,
        change: &mut ChangeProps<'_>,
    ) -> Result<()> {
        let _lock = fs.fs.lock_file(&*self.storage, file_names::WRITE_LOCK)?;
        let present = fs.revprops(revision)?;
        match change(&present)? {
            Some(props) if props != *present => self.write_revprops(&fs.fs, revision, &props),
            _ => Ok(()),
        }
    }

    /// Replaces the properties of a revision, under the lock.
    fn write_revprops(&self, fs: &Fs, revision: Revnum, props: &PropList) -> Result<()> {
        let mut text = Vec::new();
        hashdump::write(&mut text, props, Some(hashdump::END));
        match fs.layout.shard(revision) {
            Some(shard) if fs.layout.is_revprop_packed(revision, fs.refresh_min_unpacked()?) => {
                self.write_packed_props(fs, (shard, revision), &text)
            }
            _ => self.replace(&fs.file(&fs.layout.revprops_file(revision)), &text),
        }
    }

    /// Replaces the properties of a revision in its pack.
    ///
    /// While the pack does not become too large, its file is replaced in one step. Else it is
    /// divided: first the parts are written under new names, then a new manifest names them, and
    /// last the old pack is removed. So a reader sees the old or the new properties, and a
    /// crash leaves at most files behind that no manifest names.
    fn write_packed_props(
        &self,
        fs: &Fs,
        (shard, revision): (u64, Revnum),
        text: &[u8],
    ) -> Result<()> {
        let dir = fs.file(&fs.layout.revprops_pack_dir(shard));
        let manifest = fs.read_revprop_manifest(&dir, shard)?;
        let Some((name, range)) = manifest.find(revision) else {
            return Err(Error::Corrupt(format!("No revprop pack is named for r{revision}")));
        };
        let old = dir.join(name);
        let pack = fs.read_revprop_pack(&old, revision)?;
        let wrong = || {
            Error::Corrupt(format!(
                "Revprop pack '{}' holds other revisions than the manifest says",
                old.display()
            ))
        };
        let mut dumps: Vec<&[u8]> =
            range.clone().filter_map(|revision| pack.get(Revnum(revision))).collect();
        if pack.first_revision().0 != range.start || dumps.len() != pack.len() {
            return Err(wrong());
        }
        let changed = revision.0.checked_sub(range.start).and_then(|at| usize::try_from(at).ok());
        let changed = changed.ok_or_else(wrong)?;
        *dumps.get_mut(changed).ok_or_else(wrong)? = text;

        let config = self.packing;
        let sizes: Vec<u64> =
            dumps.iter().map(|dump| u64::try_from(dump.len()).unwrap_or(u64::MAX)).collect();
        let parts = divide_again(&sizes, changed, config.size);
        if parts.len() <= 1 {
            let mut bytes = Vec::new();
            write_pack(pack.first_revision(), dumps.iter().copied(), config.compress, &mut bytes);
            return self.replace(&old, &bytes);
        }

        let counter = counter_of(name).ok_or_else(wrong)?.saturating_add(1);
        let old = OldPack { dir: &dir, name, range, counter };
        let mut written = Vec::new();
        let divided = self.divide_pack(&old, &manifest, &dumps, parts, &mut written);
        if divided.is_ok() {
            // It does no harm when it stays.
            let _ = self.storage.remove_file(&dir.join(name));
        } else {
            // The manifest may tell of the new ones already, if only the last sync failed.
            let named = fs.read_revprop_manifest(&dir, shard);
            if named.is_ok_and(|named| named.find(revision) == Some((name, old.range))) {
                for (path, _) in &written {
                    let _ = self.storage.remove_file(path);
                }
            }
        }
        divided
    }

    /// Writes the parts of a pack under new names, and a manifest that names them in its place.
    /// `written` gets the new files, each with the number of its revisions.
    fn divide_pack(
        &self,
        old: &OldPack<'_>,
        manifest: &RevpropManifest,
        dumps: &[&[u8]],
        parts: Vec<Range<usize>>,
        written: &mut Vec<(PathBuf, u64)>,
    ) -> Result<()> {
        let OldPack { dir, name, range, counter } = old;
        for part in parts {
            let at = u64::try_from(part.start).unwrap_or(u64::MAX);
            let first = Revnum(range.start.plus(at));
            let dumps = dumps.piece(part);
            let mut bytes = Vec::new();
            write_pack(first, dumps.iter().copied(), self.packing.compress, &mut bytes);
            let path = dir.join(pack_name(first, *counter));
            let done = self.write_like(&path, &bytes, &dir.join(name));
            let failed = done.map_err(|e| Error::io(e, "Can't write to file", &path));
            written.push((path, u64::try_from(dumps.len()).unwrap_or(u64::MAX)));
            failed?;
        }
        if self.flush {
            // The new names are there for good before the manifest tells of them.
            let synced = self.storage.sync_dir(dir);
            synced.map_err(|e| Error::io(e, "Can't flush file to disk", dir))?;
        }
        let mut lines = Vec::new();
        for (other, others) in manifest.packs() {
            if others == *range {
                let parts = written
                    .iter()
                    .filter_map(|(path, count)| Some((path.file_name()?.to_str()?, *count)));
                write_manifest(parts, &mut lines);
            } else {
                let count = others.end.minus(others.start);
                write_manifest([(other, count)], &mut lines);
            }
        }
        self.replace(&dir.join(file_names::MANIFEST), &lines)
    }

    /// Writes a file that no reader looks at yet, with the permissions of another.
    fn write_like(&self, path: &Path, bytes: &[u8], like: &Path) -> io::Result<()> {
        // It may be there: from a change that was interrupted.
        let mut file = self.storage.create_over(path)?;
        file.append(bytes)?;
        if self.flush {
            file.sync()?;
        }
        self.storage.copy_permissions(like, path)
    }

    /// Replaces a small file of the filesystem, keeping its permissions.
    fn replace(&self, path: &Path, contents: &[u8]) -> Result<()> {
        let done = self.storage.replace(path, contents, Some(path), self.flush);
        done.map_err(|e| Error::replacing(e, path))
    }
}
