//! The prototype of a revision file: what a transaction has written of it so far.
//!
//! Small revisions never touch the disk before the commit: they stay in memory up to
//! [`IN_MEMORY`] bytes, and then go on in a file, so that memory stays bounded whatever is
//! committed. Items are noted as they are written; on commit these notes become the indexes.

use sapwood_core::{Cut, Exact, len64};
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use sapwood_core::Revnum;
use sapwood_fs_common::StoredRange;
use sapwood_fsfs_format::fnv::Fnv1a32x4;
use sapwood_fsfs_format::index_write::{ItemOffsets, write_indexes};
use sapwood_fsfs_format::{ItemType, P2lEntry};

use crate::error::{Error, Result, part};
use sapwood_store::write::{NewFile, WriteStorage};

/// Bytes of a prototype that are kept in memory at most.
const IN_MEMORY: usize = 4 << 20;
/// The first item index that is not reserved.
const FIRST_ITEM: u64 = 3;

/// What is known of the items in a prototype.
#[derive(Debug)]
pub(super) struct ProtoIndex {
    /// Where they begin, by number.
    pub(super) offsets: ItemOffsets,
    /// What they are, in their order in the file.
    pub(super) entries: Vec<P2lEntry>,
    /// The number of the next one.
    pub(super) next_item: u64,
}

impl Default for ProtoIndex {
    fn default() -> Self {
        Self { offsets: ItemOffsets::new(), entries: Vec::new(), next_item: FIRST_ITEM }
    }
}

/// What a transaction has written of its revision file.
pub(super) struct ProtoRev {
    storage: Arc<dyn WriteStorage>,
    path: PathBuf,
    /// Whether items have numbers of their own, instead of their offsets.
    logical: bool,
    file: Option<Box<dyn NewFile>>,
    /// Bytes that are in `file`.
    in_file: u64,
    /// Bytes behind those.
    tail: Vec<u8>,
    offsets: ItemOffsets,
    entries: Vec<P2lEntry>,
    next_item: u64,
    /// The item that is being written: where it begins, and its checksum so far.
    open: Option<(u64, Fnv1a32x4)>,
    /// Whether the file belongs to a transaction on disk, and stays when this is dropped.
    keep: bool,
}

/// A prototype as it was at some time.
#[derive(Debug)]
pub(super) struct SavedProto {
    /// Bytes in its file, if it had one.
    in_file: Option<u64>,
    tail: Vec<u8>,
    offsets: ItemOffsets,
    /// How many items were noted.
    entries: usize,
    next_item: u64,
}

impl fmt::Debug for ProtoRev {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProtoRev").field("path", &self.path).field("len", &self.len()).finish()
    }
}

impl ProtoRev {
    /// An empty one. `path` is where it goes when it grows, and from where it is moved into place.
    pub(super) fn new(storage: Arc<dyn WriteStorage>, path: PathBuf, logical: bool) -> Self {
        Self {
            storage,
            path,
            logical,
            file: None,
            in_file: 0,
            tail: Vec::new(),
            offsets: ItemOffsets::new(),
            entries: Vec::new(),
            next_item: FIRST_ITEM,
            open: None,
            keep: false,
        }
    }

    /// One that goes on from what is on disk: a file of `len` bytes, opened to be appended to, and
    /// what the transaction's indexes say of it. Nothing but what they say is kept of the file.
    pub(super) fn resume(
        storage: Arc<dyn WriteStorage>,
        path: PathBuf,
        file: Box<dyn NewFile>,
        len: u64,
        index: Option<ProtoIndex>,
    ) -> Self {
        let logical = index.is_some();
        let ProtoIndex { offsets, entries, next_item } = index.unwrap_or_default();
        let mut this = Self::new(storage, path, logical);
        (this.file, this.in_file, this.keep) = (Some(file), len, true);
        (this.offsets, this.entries, this.next_item) = (offsets, entries, next_item);
        this
    }

    /// Puts everything into the file, also when that is nothing, for others to read; from now on
    /// it stays when this is dropped.
    pub(super) fn publish(&mut self) -> Result<()> {
        self.keep = true;
        self.spill()?;
        if self.file.is_none() {
            let file = self.storage.create_over(&self.path);
            self.file = Some(file.map_err(|e| Error::io(e, "Can't open file", &self.path))?);
        }
        Ok(())
    }

    /// The items written so far; `None` when they have no numbers.
    pub(super) fn index(&self) -> Option<(&ItemOffsets, &[P2lEntry], u64)> {
        self.logical.then_some((&self.offsets, &*self.entries, self.next_item))
    }

    /// Whether it has grown out of memory.
    pub(super) const fn is_on_disk(&self) -> bool {
        self.file.is_some()
    }

    /// Bytes written so far.
    pub(super) fn len(&self) -> u64 {
        self.in_file.plus(len64(self.tail.len()))
    }

    /// Appends to the open item.
    pub(super) fn append(&mut self, bytes: &[u8]) -> Result<()> {
        if let (true, Some((_, fnv))) = (self.logical, &mut self.open) {
            fnv.update(bytes);
        }
        self.tail.extend_from_slice(bytes);
        if self.tail.len() > IN_MEMORY { self.spill() } else { Ok(()) }
    }

    /// Appends what `write` writes, without a copy.
    pub(super) fn append_with(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> Result<()> {
        let before = self.tail.len();
        write(&mut self.tail);
        if let (true, Some((_, fnv))) = (self.logical, &mut self.open) {
            fnv.update(part(&self.tail, before..)?);
        }
        if self.tail.len() > IN_MEMORY { self.spill() } else { Ok(()) }
    }

    /// Moves what is in memory to the file.
    fn spill(&mut self) -> Result<()> {
        if self.tail.is_empty() {
            return Ok(());
        }
        let path = &self.path;
        let fail = |e| Error::io(e, "Can't write to file", path);
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(
                self.storage
                    .create_over(path)
                    .map_err(|e| Error::io(e, "Can't open file", path))?,
            ),
        };
        file.append(&self.tail).map_err(fail)?;
        self.in_file = self.len();
        self.tail.clear();
        Ok(())
    }

    /// Begins an item: its offset.
    pub(super) fn begin(&mut self) -> u64 {
        let offset = self.len();
        self.open = Some((offset, Fnv1a32x4::new()));
        offset
    }

    /// Takes the open item back: a text that is there already is not stored again.
    pub(super) fn take_back(&mut self) -> Result<()> {
        let Some((offset, _)) = self.open.take() else { return Ok(()) };
        if let Some(keep) = offset.checked_sub(self.in_file) {
            self.tail.truncate(sapwood_core::exact::clamped(keep));
        } else if let Some(file) = &mut self.file {
            file.truncate(offset).map_err(|e| Error::io(e, "Can't write to file", &self.path))?;
            self.in_file = offset;
            self.tail.clear();
        }
        Ok(())
    }

    /// The number that the next item will get: an index, or where it begins.
    pub(super) fn next_number(&self) -> u64 {
        match (self.logical, &self.open) {
            (true, _) => self.next_item,
            (false, Some((offset, _))) => *offset,
            (false, None) => self.len(),
        }
    }

    /// Ends the open item, under the next number: the number.
    pub(super) fn end(&mut self, item_type: ItemType) -> Result<u64> {
        let number = self.next_number();
        if self.logical {
            self.next_item += 1;
        }
        self.end_as(item_type, number)?;
        Ok(number)
    }

    /// Ends the open item, under a number that is reserved for it.
    pub(super) fn end_as(&mut self, item_type: ItemType, number: u64) -> Result<()> {
        let Some((offset, fnv)) = self.open.take() else { return Ok(()) };
        if !self.logical {
            return Ok(());
        }
        if !self.offsets.set(number, offset) {
            return Err(Error::Corrupt(format!("Item index {number} too large in transaction")));
        }
        self.entries.push(P2lEntry {
            offset,
            size: self.len().minus(offset),
            item_type,
            fnv1: fnv.finish(),
            // The revision is only known on commit.
            revision: Revnum::ZERO,
            item: number,
        });
        Ok(())
    }

    /// Where the finished item of number `number` begins.
    pub(super) fn offset_of(&self, number: u64) -> Option<u64> {
        if self.logical { self.offsets.get(number) } else { Some(number) }
    }

    /// Reads back what was written, from `offset` on, `len` bytes at most.
    pub(super) fn read_at(&mut self, offset: u64, len: usize) -> Result<Vec<u8>> {
        if let Some(from) = offset.checked_sub(self.in_file) {
            let from = sapwood_core::exact::clamped(from);
            let rest = self.tail.tail(from);
            return Ok(rest.get(..len).unwrap_or(rest).to_vec());
        }
        let fail = |e| Error::io(e, "Can't read file", &self.path);
        let file = self.storage.open(&self.path).map_err(fail)?;
        let in_file = sapwood_core::exact::clamped(self.in_file.minus(offset));
        let mut bytes = vec![0; len.min(in_file)];
        let got = file.read_at(&mut bytes, offset).map_err(fail)?;
        bytes.truncate(got);
        Ok(bytes)
    }

    /// The `len` bytes from `offset` on as a stream, which stays good while more is appended.
    pub(super) fn reader(&mut self, offset: u64, len: u64) -> Result<StoredRange> {
        if offset < self.in_file {
            self.spill()?;
            let fail = |e| Error::io(e, "Can't read file", &self.path);
            let file = self.storage.open(&self.path).map_err(fail)?;
            return Ok(StoredRange::of_file(file, offset, len));
        }
        let bytes = self.read_at(offset, sapwood_core::exact::clamped(len))?;
        Ok(StoredRange::of_bytes(bytes))
    }

    /// Appends the indexes of a finished revision.
    pub(super) fn write_indexes(
        &mut self,
        revision: Revnum,
        l2p_page_size: u64,
        p2l_page_size: u64,
    ) {
        for entry in &mut self.entries {
            entry.revision = revision;
        }
        let data_len = self.len();
        write_indexes(
            revision,
            data_len,
            std::slice::from_ref(&self.offsets),
            l2p_page_size,
            &self.entries,
            p2l_page_size,
            &mut self.tail,
        );
    }

    /// Makes durable what is in the file by now, if there is one.
    pub(super) fn sync_what_is_on_disk(&mut self) -> Result<()> {
        match &mut self.file {
            Some(file) => {
                file.sync().map_err(|e| Error::io(e, "Can't flush file to disk", &self.path))
            }
            None => Ok(()),
        }
    }

    /// Ends the prototype: the path of its file, and all that it holds if there is no such file
    /// yet. If there is one, everything is put into it.
    pub(super) fn finish(&mut self) -> Result<(PathBuf, Vec<u8>)> {
        if self.file.is_some() {
            self.spill()?;
        }
        if self.len() == 0 {
            return Err(Error::Corrupt("A revision has nothing in it".into()));
        }
        Ok((self.path.clone(), std::mem::take(&mut self.tail)))
    }

    /// The file of a finished prototype, if it has one, which is not durable and now belongs to the caller.
    pub(super) fn take_file(&mut self) -> Option<Box<dyn NewFile>> {
        self.file.take()
    }

    /// Gives that back: it is removed when this is dropped, if it is this one's alone.
    pub(super) fn give_back(&mut self, file: Option<Box<dyn NewFile>>) {
        self.file = file;
    }

    /// What it is now, to go back to after it was ended.
    pub(super) fn save(&self) -> SavedProto {
        SavedProto {
            in_file: self.file.as_ref().map(|_| self.in_file),
            tail: self.tail.clone(),
            offsets: self.offsets.clone(),
            entries: self.entries.len(),
            next_item: self.next_item,
        }
    }

    /// Goes back to what it was. `file` is its file, if that was taken.
    pub(super) fn restore(
        &mut self,
        saved: SavedProto,
        file: Option<Box<dyn NewFile>>,
    ) -> Result<()> {
        self.file = self.file.take().or(file);
        match (&mut self.file, saved.in_file) {
            (Some(file), Some(len)) => {
                file.truncate(len).map_err(|e| Error::io(e, "Can't write to file", &self.path))?;
            }
            (None, Some(_)) => return Err(Error::internal("a prototype's file is gone")),
            (_, None) => self.discard(),
        }
        self.in_file = saved.in_file.unwrap_or(0);
        (self.tail, self.offsets, self.next_item) = (saved.tail, saved.offsets, saved.next_item);
        self.entries.truncate(saved.entries);
        self.open = None;
        Ok(())
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
    use super::*;
    use sapwood_store::LocalStorage;

    fn proto(logical: bool) -> (tempfile::TempDir, ProtoRev) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("1-1.rev");
        (dir, ProtoRev::new(Arc::new(LocalStorage), path, logical))
    }

    #[test]
    fn small_ones_stay_in_memory() {
        let (dir, mut proto) = proto(true);
        proto.begin();
        proto.append(b"abc").unwrap();
        assert_eq!(proto.end(ItemType::FileRep).unwrap(), 3);
        assert_eq!(proto.begin(), 3);
        proto.append(b"def").unwrap();
        proto.take_back().unwrap();
        proto.begin();
        proto.append_with(|out| out.extend_from_slice(b"xy")).unwrap();
        assert_eq!(proto.end(ItemType::NodeRev).unwrap(), 4);
        assert_eq!((proto.offset_of(3), proto.offset_of(4)), (Some(0), Some(3)));
        assert_eq!(proto.read_at(1, 3).unwrap(), b"bcx");
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
        let (path, bytes) = proto.finish().unwrap();
        assert!(!path.exists() && proto.take_file().is_none());
        assert_eq!(bytes, b"abcxy");
        assert_eq!(proto.entries[1].fnv1, Fnv1a32x4::of(b"xy"));
    }

    #[test]
    fn large_ones_go_to_a_file_and_can_be_taken_back() {
        let (dir, mut proto) = proto(false);
        proto.begin();
        proto.append(b"head").unwrap();
        assert_eq!(proto.end(ItemType::FileRep).unwrap(), 0);
        assert_eq!(proto.begin(), 4);
        let piece = vec![7; IN_MEMORY / 2];
        for _ in 0..5 {
            proto.append(&piece).unwrap();
        }
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
        proto.take_back().unwrap();
        assert_eq!(proto.len(), 4);
        assert_eq!(proto.read_at(0, 100).unwrap(), b"head");
        proto.begin();
        proto.append(b"tail").unwrap();
        assert_eq!(proto.end(ItemType::FileRep).unwrap(), 4);
        let (path, bytes) = proto.finish().unwrap();
        assert_eq!(bytes, b"");
        let file = proto.take_file();
        assert_eq!(std::fs::read(&path).unwrap(), b"headtail");
        proto.give_back(file);
        drop(proto);
        assert!(!path.exists());
    }

    #[test]
    fn given_up_ones_leave_nothing() {
        let (dir, mut proto) = proto(false);
        proto.append(&vec![1; IN_MEMORY + 1]).unwrap();
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
        drop(proto);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
