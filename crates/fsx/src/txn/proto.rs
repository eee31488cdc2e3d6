//! The prototype of a revision file: the items of a transaction, in memory until they are many.
//!
//! One item is open at a time. What was ended stays where it is, so that it can be read back.

use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sapwood_core::exact::clamped;
use sapwood_core::{Cut, Exact, Revnum, len64};
use sapwood_fs_common::StoredRange;
use sapwood_fsfs_format::fnv::Fnv1a32x4;
use sapwood_fsx_format::p2l::ItemType;
use sapwood_store::write::create_beside;
use sapwood_store::{NewFile, WriteStorage};

use super::index::RevisionIndex;
use crate::config::WriteConfig;
use crate::error::{Error, Result};

/// Bytes that are kept in memory at most.
const IN_MEMORY: usize = 4 << 20;

/// What a transaction has written of its revision file.
pub(super) struct ProtoRev {
    storage: Arc<dyn WriteStorage>,
    path: PathBuf,
    file: Option<Box<dyn NewFile>>,
    /// Bytes that are in `file`.
    in_file: u64,
    /// Bytes behind those.
    tail: Vec<u8>,
    pub(super) index: RevisionIndex,
    /// The item that is being written: where it begins, and its checksum so far.
    open: Option<(u64, Fnv1a32x4)>,
    /// Whether the file belongs to a transaction on disk, and stays when this is dropped.
    keep: bool,
}

impl fmt::Debug for ProtoRev {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProtoRev").field("path", &self.path).field("len", &self.len()).finish()
    }
}

impl ProtoRev {
    /// An empty one. `path` is where it goes when it grows, and from where it is moved into place.
    pub(super) fn new(storage: Arc<dyn WriteStorage>, path: PathBuf) -> Self {
        Self {
            storage,
            path,
            file: None,
            in_file: 0,
            tail: Vec::new(),
            index: RevisionIndex::default(),
            open: None,
            keep: false,
        }
    }

    /// One that goes on from what is on disk: a file of `len` bytes, opened to be appended to.
    pub(super) fn resume(
        storage: Arc<dyn WriteStorage>,
        path: PathBuf,
        (file, len): (Box<dyn NewFile>, u64),
        index: RevisionIndex,
    ) -> Self {
        let mut this = Self::new(storage, path);
        (this.file, this.in_file, this.index, this.keep) = (Some(file), len, index, true);
        this
    }

    /// Puts everything into the file, also when that is nothing, for others to read; from now on
    /// it stays when this is dropped.
    pub(super) fn publish(&mut self) -> Result<()> {
        self.keep = true;
        self.file()?;
        self.spill()
    }

    /// Whether it has grown out of memory.
    pub(super) const fn is_on_disk(&self) -> bool {
        self.file.is_some()
    }

    /// Bytes written so far.
    pub(super) fn len(&self) -> u64 {
        self.in_file.plus(len64(self.tail.len()))
    }

    /// Appends what `write` writes to the open item.
    pub(super) fn append_with(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> Result<()> {
        let before = self.tail.len();
        write(&mut self.tail);
        if let Some((_, fnv)) = &mut self.open {
            fnv.update(self.tail.tail(before));
        }
        if self.tail.len() > IN_MEMORY { self.spill() } else { Ok(()) }
    }

    /// Appends to the open item.
    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<()> {
        self.append_with(|out| out.extend_from_slice(bytes))
    }

    /// Its file, which is made now if there is none: beside its place where there is one, which then is of another transaction.
    fn file(&mut self) -> Result<&mut Box<dyn NewFile>> {
        let path = &mut self.path;
        match &mut self.file {
            Some(file) => Ok(file),
            none => {
                let made = match self.storage.create(path) {
                    Err(error) if error.kind() == ErrorKind::AlreadyExists && !self.keep => {
                        create_beside(&*self.storage, path).map(|(beside, file)| {
                            *path = beside;
                            file
                        })
                    }
                    made => made,
                };
                let made = made.map_err(|error| Error::io("Can't open file", path, error))?;
                Ok(none.insert(made))
            }
        }
    }

    /// Moves what is in memory to the file.
    fn spill(&mut self) -> Result<()> {
        if self.tail.is_empty() {
            return Ok(());
        }
        let tail = std::mem::take(&mut self.tail);
        let written = self.file()?.append(&tail);
        written.map_err(|error| Error::io("Can't write to file", &self.path, error))?;
        self.in_file = self.in_file.plus(len64(tail.len()));
        Ok(())
    }

    /// Begins an item.
    pub(super) fn begin(&mut self) {
        self.open = Some((self.len(), Fnv1a32x4::new()));
    }

    /// Takes the open item back: a text that is there already is not stored again.
    pub(super) fn take_back(&mut self) -> Result<()> {
        let Some((offset, _)) = self.open.take() else { return Ok(()) };
        if let Some(keep) = offset.checked_sub(self.in_file) {
            self.tail.truncate(clamped(keep));
        } else if let Some(file) = &mut self.file {
            let cut = file.truncate(offset);
            cut.map_err(|error| Error::io("Can't write to file", &self.path, error))?;
            self.in_file = offset;
            self.tail.clear();
        }
        Ok(())
    }

    /// Ends the open item, under a number.
    pub(super) fn end(&mut self, kind: ItemType, number: u64) -> Result<()> {
        let Some((offset, fnv)) = self.open.take() else { return Ok(()) };
        self.index.add((kind, number), (offset, self.len().minus(offset)), fnv.finish())
    }

    /// Reads back what was written, from `offset` on, `len` bytes at most.
    pub(super) fn read_at(&mut self, offset: u64, len: usize) -> Result<Vec<u8>> {
        if let Some(from) = offset.checked_sub(self.in_file) {
            let rest = self.tail.tail(clamped(from));
            return Ok(rest.get(..len).unwrap_or(rest).to_vec());
        }
        let fail = |error| Error::io("Can't read file", &self.path, error);
        let file = self.storage.open(&self.path).map_err(fail)?;
        let in_file = clamped(self.in_file.minus(offset));
        let mut bytes = vec![0; len.min(in_file)];
        let got = file.read_at(&mut bytes, offset).map_err(fail)?;
        bytes.truncate(got);
        Ok(bytes)
    }

    /// The `len` bytes from `offset` on as a stream, which stays good while more is appended.
    pub(super) fn reader(&mut self, offset: u64, len: u64) -> Result<StoredRange> {
        if offset < self.in_file {
            self.spill()?;
            let fail = |error| Error::io("Can't read file", &self.path, error);
            let file = self.storage.open(&self.path).map_err(fail)?;
            return Ok(StoredRange::of_file(file, offset, len));
        }
        let bytes = self.read_at(offset, clamped(len))?;
        Ok(StoredRange::of_bytes(bytes))
    }

    /// Ends the prototype: indexes and footer are appended, and everything is in its file, which is returned, not durable.
    pub(super) fn finish(
        &mut self,
        revision: Revnum,
        config: &WriteConfig,
    ) -> Result<(&Path, &mut Box<dyn NewFile>)> {
        let data_len = self.len();
        self.index.write(revision, data_len, config, &mut self.tail)?;
        self.spill()?;
        self.file()?;
        let file = self.file.as_mut().ok_or_else(|| Error::internal("a prototype has no file"))?;
        Ok((&self.path, file))
    }

    /// The same, with the file at its place `path`, which has the permissions `mode` and is not durable: its length.
    pub(super) fn finish_as(
        &mut self,
        revision: Revnum,
        config: &WriteConfig,
        path: &Path,
        mode: u32,
    ) -> Result<u64> {
        let data_len = self.len();
        self.index.write(revision, data_len, config, &mut self.tail)?;
        let len = self.len();
        let fail = |error| Error::io("Can't write to file", path, error);
        if self.is_on_disk() {
            self.spill()?;
            let file = self.file.take();
            file.map_or(Ok(()), |mut file| file.set_mode(mode)).map_err(fail)?;
            self.storage.rename(&self.path, path, false).map_err(fail)?;
        } else {
            let mut file = self.storage.create_over(path).map_err(fail)?;
            file.append(&std::mem::take(&mut self.tail)).map_err(fail)?;
            file.set_mode(mode).map_err(fail)?;
        }
        Ok(len)
    }

    /// Removes the file, if there is one and it is this one's alone.
    pub(super) fn discard(&mut self) {
        if self.file.take().is_some() && !self.keep {
            // A prototype that cannot be removed is of no harm.
            let _ = self.storage.remove_file(&self.path);
        }
    }
}

impl Drop for ProtoRev {
    fn drop(&mut self) {
        self.discard();
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;
    use sapwood_store::LocalStorage;

    #[test]
    fn items_are_ended_or_taken_back() {
        let dir = tempfile::tempdir().unwrap();
        for piece in [3, IN_MEMORY / 2] {
            let path = dir.path().join("0.rev");
            let mut proto = ProtoRev::new(Arc::new(LocalStorage), path.clone());
            proto.begin();
            proto.append(b"head").unwrap();
            proto.end(ItemType::FileRep, 3).unwrap();
            proto.begin();
            for _ in 0..5 {
                proto.append(&vec![7; piece]).unwrap();
            }
            assert_eq!(proto.is_on_disk(), piece > 100);
            proto.take_back().unwrap();
            proto.begin();
            proto.append(b"tail").unwrap();
            proto.end(ItemType::NodeRev, 4).unwrap();
            assert_eq!(proto.index.offset_of(4), Some(4));
            assert_eq!(proto.index.entries[1].checksum, Fnv1a32x4::of(b"tail"));
            let mut text = Vec::new();
            proto.reader(2, 4).unwrap().read_to_end(&mut text).unwrap();
            assert_eq!(text, if piece > 100 { &b"adta"[..] } else { b"adta" });
            proto.finish(Revnum(1), &WriteConfig::default()).unwrap();
            assert!(std::fs::read(&path).unwrap().starts_with(b"headtailL2P-INDEX\n"));
            drop(proto);
            assert!(!path.exists());
        }
    }
}
