//! Packing the revision properties of a shard (format 6 and later): pack files of bounded size and
//! the manifest that names them.
//!
//! The caller holds the write lock, because revision properties may change at any time. No reader
//! looks at what is written here before `min-unpacked-rev` says that the shard is packed; what an
//! interrupted run left behind is removed by the next.

use sapwood_core::len64;
use sapwood_core::{Cut, Exact as _};
use std::path::{Path, PathBuf};

use sapwood_core::Revnum;
use sapwood_fsfs_format::layout::names;
use sapwood_fsfs_format::revprop_write::{divide, pack_name, write_manifest, write_pack};

use crate::config::RevpropPackConfig;
use crate::error::{Error, Result};
use crate::filesystem::SharedState;
use crate::revision_store::Object;
use crate::sync::{in_parts, sync_new_files};
use sapwood_store::write::{NewFile, WriteStorage};

/// The longest file of unpacked revision properties that is read.
const FILE_LEN: usize = 1 << 28;

impl SharedState {
    /// Writes the packed form of the revision properties of a shard. With `flush` it is durable
    /// when this returns.
    pub(crate) fn pack_revprops(
        &self,
        storage: &dyn WriteStorage,
        shard: u64,
        config: RevpropPackConfig,
        flush: bool,
    ) -> Result<()> {
        let mut files = self.write_revprops(storage, shard, config)?;
        if flush {
            sync_new_files(&self.whole_syncs_are_slow, &mut files)?;
            sync_with_parent(storage, &self.file(&self.layout.revprops_pack_dir(shard)))?;
        }
        Ok(())
    }

    /// Writes the packed form of the revision properties of a shard: the files, which are not
    /// durable yet, nor are their folder and its name.
    pub(crate) fn write_revprops(
        &self,
        storage: &dyn WriteStorage,
        shard: u64,
        config: RevpropPackConfig,
    ) -> Result<Vec<(Box<dyn NewFile>, PathBuf)>> {
        let size = self.layout.format.shard_size.unwrap_or(1);
        let start = shard.saturating_mul(size);
        let dir = self.file(&self.layout.revprops_pack_dir(shard));
        remove_dir_all(storage, &dir, false)?;
        storage
            .create_dir(&dir, false)
            .map_err(|e| Error::io(e, "Can't create directory", &dir))?;
        let mut files: Vec<(Box<dyn NewFile>, PathBuf)> = Vec::new();
        for (name, bytes) in self.packed_revprop_files(shard, config)? {
            let path = dir.join(name);
            let written = write_new(storage, &path, &bytes);
            files.push((written.map_err(|e| Error::io(e, "Can't write to file", &path))?, path));
        }
        let like = self.file(&self.layout.revprops_dir(Revnum(start)));
        storage
            .copy_permissions(&like, &dir)
            .map_err(|e| Error::io(e, "Can't set permissions on", &dir))?;
        Ok(files)
    }

    /// The files of the packed form of a shard's revision properties, by their names; the manifest is the last.
    pub(crate) fn packed_revprop_files(
        &self,
        shard: u64,
        config: RevpropPackConfig,
    ) -> Result<Vec<(String, Vec<u8>)>> {
        let size = self.layout.format.shard_size.unwrap_or(1);
        let start = shard.times(size);
        // Revision 0 is never packed.
        let first = start.max(1);
        let mut dumps = Vec::new();
        for revision in first..start.plus(size) {
            let object = Object::Props(Revnum(revision));
            let fail = |e| Error::io(e, "Can't open file", &self.revisions.place(object));
            dumps.push(self.revisions.read(object, FILE_LEN).map_err(fail)?);
        }
        let sizes: Vec<u64> = dumps.iter().map(|dump| len64(dump.len())).collect();
        let (mut files, mut packs) = (Vec::new(), Vec::new());
        for range in divide(&sizes, config.fill()) {
            let pack_first = Revnum(first.saturating_add(len64(range.start)));
            let name = pack_name(pack_first, 0);
            let part = dumps.piece(range.clone()).iter().map(Vec::as_slice);
            let mut bytes = Vec::new();
            write_pack(pack_first, part, config.compress, &mut bytes);
            packs.push((name.clone(), len64(range.len())));
            files.push((name, bytes));
        }
        let mut manifest = Vec::new();
        write_manifest(packs.iter().map(|(name, count)| (name.as_str(), *count)), &mut manifest);
        files.push((names::MANIFEST.to_owned(), manifest));
        Ok(files)
    }

    /// Removes what the packed form of a shard's revision properties replaces. Revision 0 stays.
    pub(crate) fn remove_unpacked_revprops(
        &self,
        storage: &dyn WriteStorage,
        shard: u64,
        threads: bool,
    ) -> Result<()> {
        let size = self.layout.format.shard_size.unwrap_or(1);
        let dir = self.file(&self.layout.revprops_dir(Revnum(shard.saturating_mul(size))));
        if shard > 0 {
            return remove_dir_all(storage, &dir, threads);
        }
        let file = |revision| self.file(&self.layout.revprops_file(Revnum(revision)));
        remove_files(storage, (1..size).map(file).collect(), threads)
    }
}

/// Writes a new file whole: the file.
fn write_new(
    storage: &dyn WriteStorage,
    path: &Path,
    bytes: &[u8],
) -> std::io::Result<Box<dyn NewFile>> {
    let mut file = storage.create(path)?;
    if !bytes.is_empty() {
        file.append(bytes)?;
    }
    Ok(file)
}

fn ignore_missing(done: std::io::Result<()>) -> std::io::Result<()> {
    match done {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(()),
        done => done,
    }
}

/// Threads that remove files: where the disk is informed of each free block (discard), one waits
/// for it most of the time.
const REMOVERS: usize = 8;
/// Files that are not worth a thread.
const FEW: usize = 32;

/// Removes files, as far as they are there; on several threads if there may be.
fn remove_files(storage: &dyn WriteStorage, mut files: Vec<PathBuf>, threads: bool) -> Result<()> {
    let share = if threads { files.len().div_ceil(REMOVERS).max(FEW) } else { files.len() };
    in_parts(&mut files, share, |path| {
        ignore_missing(storage.remove_file(path))
            .map_err(|e| Error::io(e, "Can't remove file", path))
    })
}

/// Removes a folder of files, if it is there; on several threads if there may be.
pub(crate) fn remove_dir_all(storage: &dyn WriteStorage, dir: &Path, threads: bool) -> Result<()> {
    let names = match storage.list(dir) {
        Ok(names) => names,
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(e) => return Err(Error::io(e, "Can't open directory", dir)),
    };
    remove_files(storage, names.into_iter().map(|name| dir.join(name)).collect(), threads)?;
    ignore_missing(storage.remove_dir(dir)).map_err(|e| Error::io(e, "Can't remove directory", dir))
}

/// Makes the names in a folder, and its own name, durable.
pub(crate) fn sync_with_parent(storage: &dyn WriteStorage, dir: &Path) -> Result<()> {
    for dir in [Some(dir), dir.parent()].into_iter().flatten() {
        storage.sync_dir(dir).map_err(|e| Error::io(e, "Can't flush directory", dir))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use sapwood_core::config::{Case, Config};

    use super::*;

    #[test]
    fn options() {
        let read = |text: &str, format| {
            let config = Config::parse(text.as_bytes(), Case::default()).unwrap();
            RevpropPackConfig::new(&config, format).unwrap()
        };
        assert_eq!(read("", 8), RevpropPackConfig { compress: false, size: 16 << 10 });
        let compressed = read("[packed-revprops]\ncompress-packed-revprops = true\n", 6);
        assert_eq!(compressed, RevpropPackConfig { compress: true, size: 64 << 10 });
        let small = read("[packed-revprops]\nrevprop-pack-size = 1\n", 8);
        assert_eq!((small.size, small.fill()), (1024, 921));
        assert_eq!(read("[packed-revprops]\nrevprop-pack-size = -3\n", 8).fill(), 0);
    }
}
