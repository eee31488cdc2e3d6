//! Changing the properties of revisions in local files.
//!
//! All of it happens under the filesystem's write lock, with which nothing is packed meanwhile.

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use sapwood_core::{Cut, Exact, PropList, Revnum, hashdump, len64};
use sapwood_fsfs_format::current::parse_min_unpacked_rev;
use sapwood_fsfs_format::layout::names as file_names;
use sapwood_fsfs_format::revprop_write::{
    counter_of, divide_again, pack_name, write_manifest, write_pack,
};
use sapwood_fsfs_format::revprops::RevpropManifest;
use sapwood_fsfs_format::since;
use sapwood_store::write::lock_or_create;

use super::props::{
    FILE_LEN, gone_or, missing, not_in_pack, not_named, parse, read_manifest, read_pack, unreadable,
};
use super::{ChangeProps, LocalRevisions, Object, PropsWriting, RevisionStore};
use crate::error::{Error, Result};
use crate::revprop_shards::Shard;

/// The longest `min-unpacked-rev` that is read, in bytes.
const NUMBER_LEN: usize = 1 << 16;

/// A pack of revision properties that is to be divided.
struct OldPack<'a> {
    shard: u64,
    dir: &'a Path,
    name: &'a str,
    range: Range<u64>,
    /// The counter in the names of its parts.
    counter: u64,
}

impl LocalRevisions {
    /// The verb `put_revprops_if_unchanged`: with the lock held since they were read, they stay
    /// unchanged, and `change` is asked once.
    pub(super) fn change_revprops(
        &self,
        revision: Revnum,
        change: &mut ChangeProps<'_>,
        how: &PropsWriting,
    ) -> Result<()> {
        let path = self.db.join(file_names::WRITE_LOCK);
        // A copy of a repository may lack the file.
        let _lock = lock_or_create(&*self.storage, &path).map_err(|e| Error::locking(e, &path))?;
        let pack = match self.layout.shard(revision) {
            Some(shard) if self.layout.is_revprop_packed(revision, self.min_unpacked()?) => {
                Some(shard)
            }
            _ => None,
        };
        let present = self.present_props(pack, revision)?;
        let props = match change(&present)? {
            Some(props) if props != present => props,
            _ => return Ok(()),
        };
        let mut text = Vec::new();
        hashdump::write(&mut text, &props, Some(hashdump::END));
        match pack {
            Some(shard) => self.write_packed_props((shard, revision), &text, how),
            None => self.replace(Object::Props(revision), &text, how),
        }
    }

    /// The first revision that is not packed.
    fn min_unpacked(&self) -> Result<Revnum> {
        if self.layout.format.number < since::PACKING {
            return Ok(Revnum::ZERO);
        }
        let path = || self.place(Object::MinUnpacked);
        let bytes = self.read(Object::MinUnpacked, NUMBER_LEN);
        let bytes = bytes.map_err(|e| Error::io(e, "Can't open file", &path()))?;
        parse_min_unpacked_rev(&bytes).map_err(|error| Error::File { path: path(), error })
    }

    /// The properties of a revision, which are in the packs of a shard, or in a file of their own.
    fn present_props(&self, pack: Option<u64>, revision: Revnum) -> Result<PropList> {
        let Some(shard) = pack else {
            let object = Object::Props(revision);
            let bytes = self.read(object, FILE_LEN);
            return match bytes.map_err(|e| gone_or(e, self.place(object))) {
                Ok(bytes) => parse(&bytes, revision),
                Err(Error::FileGone { path }) => Err(missing(&self.layout, revision, path)),
                Err(error) => Err(error),
            };
        };
        let read = || -> Result<PropList> {
            let manifest = read_manifest(self, &self.layout, shard)?;
            let (name, _) = manifest.find(revision).ok_or_else(|| not_named(revision))?;
            let pack = read_pack(self, (shard, name), revision)?;
            parse(pack.get(revision).ok_or_else(|| not_in_pack(revision))?, revision)
        };
        read().map_err(|error| match error {
            Error::FileGone { .. } => unreadable(revision),
            other => other,
        })
    }

    /// Replaces the properties of a revision in its pack.
    ///
    /// While the pack does not become too large, its file is replaced in one step. Else it is
    /// divided: first the parts are written under new names, then a new manifest names them, and
    /// last the old pack is removed. So a reader sees the old or the new properties, and a
    /// crash leaves at most files behind that no manifest names.
    fn write_packed_props(
        &self,
        (shard, revision): (u64, Revnum),
        text: &[u8],
        how: &PropsWriting,
    ) -> Result<()> {
        let manifest = read_manifest(self, &self.layout, shard)?;
        let Some((name, range)) = manifest.find(revision) else {
            return Err(Error::Corrupt(format!("No revprop pack is named for r{revision}")));
        };
        let pack = read_pack(self, (shard, name), revision)?;
        let wrong = || {
            Error::Corrupt(format!(
                "Revprop pack '{}' holds other revisions than the manifest says",
                self.place(Object::PropsPack(shard, name)).display()
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

        let config = how.packing;
        let sizes: Vec<u64> = dumps.iter().map(|dump| len64(dump.len())).collect();
        let parts = divide_again(&sizes, changed, config.size);
        if parts.len() <= 1 {
            let mut bytes = Vec::new();
            write_pack(pack.first_revision(), dumps.iter().copied(), config.compress, &mut bytes);
            return self.replace(Object::PropsPack(shard, name), &bytes, how);
        }

        let counter = counter_of(name).ok_or_else(wrong)?.saturating_add(1);
        let dir = self.place(Object::PropsOf(Shard { packed: true, number: shard }));
        let old = OldPack { shard, dir: &dir, name, range, counter };
        let mut written = Vec::new();
        let divided = self.divide_pack(&old, &manifest, (&dumps, parts), &mut written, how);
        if divided.is_ok() {
            // It does no harm when it stays.
            let _ = self.storage.remove_file(&dir.join(name));
        } else {
            // The manifest may name the new ones already, if only the last sync failed.
            let named = read_manifest(self, &self.layout, shard);
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
        (dumps, parts): (&[&[u8]], Vec<Range<usize>>),
        written: &mut Vec<(PathBuf, u64)>,
        how: &PropsWriting,
    ) -> Result<()> {
        let OldPack { shard, dir, name, range, counter } = old;
        for part in parts {
            let at = len64(part.start);
            let first = Revnum(range.start.plus(at));
            let dumps = dumps.piece(part);
            let mut bytes = Vec::new();
            write_pack(first, dumps.iter().copied(), how.packing.compress, &mut bytes);
            let path = dir.join(pack_name(first, *counter));
            let done = self.write_like(&path, &bytes, &dir.join(name), how.flush);
            let failed = done.map_err(|e| Error::io(e, "Can't write to file", &path));
            written.push((path, len64(dumps.len())));
            failed?;
        }
        if how.flush {
            // The new names are durable before the manifest mentions them.
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
        self.replace(Object::PropsManifest(*shard), &lines, how)
    }

    /// Writes a file that no reader looks at yet, with the permissions of another.
    fn write_like(&self, path: &Path, bytes: &[u8], like: &Path, flush: bool) -> io::Result<()> {
        // It may be there: from a change that was interrupted.
        let mut file = self.storage.create_over(path)?;
        file.append(bytes)?;
        if flush {
            file.sync()?;
        }
        self.storage.copy_permissions(like, path)
    }

    /// Replaces a small object, keeping its file's permissions.
    fn replace(&self, object: Object<'_>, contents: &[u8], how: &PropsWriting) -> Result<()> {
        let path = self.place(object);
        let done = self.storage.replace(&path, contents, Some(&path), how.flush);
        done.map_err(|e| Error::replacing(e, &path))
    }
}
