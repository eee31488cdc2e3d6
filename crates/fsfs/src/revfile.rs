//! Bytes of revision and pack files, through the cache of raw blocks.
//!
//! Revision files never change, but they vanish when their shard is packed. All readers go
//! through [`Fs::with_file`], which finds out where a revision is and starts over when the file
//! vanished meanwhile.

use sapwood_core::len64;
use std::io::{self, ErrorKind};
use std::ops::{Deref, Range};
use std::path::PathBuf;
use std::sync::Arc;

use sapwood_core::Revnum;
use sapwood_fsfs_format as format;
use sapwood_store::{Block, FileKey, StoredFile};

use crate::error::{Error, Result, part};
use crate::filesystem::{Fs, UnpublishedFile};
use crate::revision_store::Object;

/// How often a reader starts over because a shard was packed under its feet.
const RETRIES: u32 = 10;

/// Which file holds a revision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RevFile {
    pub(crate) key: FileKey,
    /// The first revision in the file.
    pub(crate) first: Revnum,
    /// How many revisions the file holds.
    pub(crate) count: u64,
}

/// Bytes of a file: a part of a cached block, or pieced together.
#[derive(Clone, Debug)]
pub(crate) enum Bytes {
    Part(Arc<Block>, Range<usize>),
    Own(Vec<u8>),
}

impl Deref for Bytes {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        match self {
            Self::Part(block, range) => block.0.get(range.clone()).unwrap_or_default(),
            Self::Own(bytes) => bytes,
        }
    }
}

/// The file of a revision that is still in memory.
#[derive(Debug)]
struct InMemory(Arc<Vec<u8>>);

impl StoredFile for InMemory {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let from = sapwood_core::exact::clamped(offset);
        let mut left = self.0.get(from..).unwrap_or_default();
        io::Read::read(&mut left, buf)
    }

    fn short_read_is_end(&self) -> bool {
        true
    }

    fn len(&self) -> io::Result<u64> {
        Ok(len64(self.0.len()))
    }
}

/// What the store has under this name.
const fn object(key: FileKey) -> Object<'static> {
    match key.packed {
        true => Object::Pack(key.number),
        false => Object::Revision(Revnum(key.number)),
    }
}

impl Fs {
    /// The file that holds a revision, as far as we know.
    pub(crate) fn rev_file(&self, revision: Revnum) -> RevFile {
        let fs = self.id;
        match self.layout.shard(revision) {
            Some(shard) if revision < self.min_unpacked() => {
                let size = self.layout.format.shard_size.unwrap_or(1);
                RevFile {
                    key: FileKey { fs, packed: true, number: shard },
                    first: Revnum(shard.saturating_mul(size)),
                    count: size,
                }
            }
            _ => RevFile {
                key: FileKey { fs, packed: false, number: revision.0 },
                first: revision,
                count: 1,
            },
        }
    }

    /// Where a file is that only its writer knows of yet.
    fn unpublished(&self, key: FileKey) -> Option<UnpublishedFile> {
        if key.packed {
            return None;
        }
        let unpublished = self.unpublished.lock();
        unpublished.iter().find(|(r, _)| r.0 == key.number).map(|(_, place)| place.clone())
    }

    /// The path of a file, for messages.
    pub(crate) fn rev_file_path(&self, key: FileKey) -> PathBuf {
        match self.unpublished(key) {
            Some(UnpublishedFile::File(path)) => path,
            _ => self.revisions.place(object(key)),
        }
    }

    /// Runs `body` on the file that holds `revision`, again when that file vanishes because the
    /// shard was packed.
    pub(crate) fn with_file<T>(
        &self,
        revision: Revnum,
        mut body: impl FnMut(&RevFile) -> Result<T>,
    ) -> Result<T> {
        for _ in 0..RETRIES {
            let file = self.rev_file(revision);
            match body(&file) {
                Err(Error::FileGone { .. }) => {
                    self.refresh_min_unpacked()?;
                    if self.rev_file(revision) == file {
                        break;
                    }
                }
                other => return other,
            }
        }
        Err(Error::NoSuchRevision(revision))
    }

    /// An error about an item at `offset` of a file.
    pub(crate) fn item_error(
        &self,
        file: &RevFile,
        revision: Revnum,
        offset: u64,
        error: format::Error,
    ) -> Error {
        Error::Item { path: self.rev_file_path(file.key), revision, offset, error }
    }

    fn open_error(&self, file: &RevFile, error: std::io::Error) -> Error {
        let path = self.rev_file_path(file.key);
        if error.kind() == ErrorKind::NotFound {
            Error::FileGone { path }
        } else {
            Error::io(error, "Can't open file", &path)
        }
    }

    fn open_file(&self, file: &RevFile) -> Result<Arc<dyn StoredFile>> {
        let files = self.caches.files();
        let open = || self.revisions.open(object(file.key));
        let opened = match self.unpublished(file.key) {
            Some(UnpublishedFile::Memory(bytes)) => return Ok(Arc::new(InMemory(bytes))),
            // It may have been put to its place in between.
            Some(UnpublishedFile::File(path)) => {
                files.get(file.key, || match self.storage.open(&path) {
                    Err(e) if e.kind() == ErrorKind::NotFound => open(),
                    opened => opened,
                })
            }
            None => files.get(file.key, open),
        };
        opened.map_err(|e| self.open_error(file, e))
    }

    /// Whether the first block of a file is in the cache.
    pub(crate) fn has_first_block(&self, file: &RevFile) -> bool {
        self.caches.cached_block(file.key, 0).is_some()
    }

    /// Says that a block will be read soon, so that the system brings it while the caller goes on.
    /// Whatever is wrong shows when it is read.
    pub(crate) fn will_need_block(&self, file: &RevFile, number: u64) {
        self.will_need_blocks(file, number, number);
    }

    /// The same of several blocks, from `first` to `last`.
    pub(crate) fn will_need_blocks(&self, file: &RevFile, first: u64, last: u64) {
        if self.caches.cached_block(file.key, first).is_some()
            && (first == last || self.caches.cached_block(file.key, last).is_some())
        {
            return;
        }
        if let Ok(open) = self.open_file(file) {
            if first == last && self.take_block(file, &*open, first) {
                return;
            }
            let size = len64(self.block_size);
            let count = last.saturating_sub(first).saturating_add(1);
            open.will_need(first.saturating_mul(size), size.saturating_mul(count));
        }
    }

    /// Reads a block if the system has it in memory.
    fn take_block(&self, file: &RevFile, open: &dyn StoredFile, number: u64) -> bool {
        let at = number.saturating_mul(len64(self.block_size));
        match self.caches.read_block_now(open, at, self.block_size) {
            Some(bytes) => {
                self.work.note_read();
                self.note_block(file, number, bytes.len());
                self.caches.keep_block(file.key, number, bytes);
                true
            }
            None => false,
        }
    }

    /// A block of so many bytes was read.
    fn note_block(&self, file: &RevFile, number: u64, len: usize) {
        // A small revision file is now known as a whole; its handle is of no more use.
        if number == 0 && !file.key.packed && len < self.block_size {
            self.caches.files().close(file.key);
        }
    }

    /// The block of a file that holds an offset.
    pub(crate) fn block_of(&self, offset: u64) -> u64 {
        self.locate(offset).0
    }

    /// The block `number` of a file: shorter than a whole block, or empty, at the end of the file.
    /// A block that another thread is reading is waited for.
    pub(crate) fn block(&self, file: &RevFile, number: u64) -> Result<Arc<Block>> {
        self.caches.block(file.key, number, || {
            let open = self.open_file(file)?;
            let at = number.saturating_mul(len64(self.block_size));
            self.work.note_read();
            // Of a pack it is nearly always a whole block.
            let read = self.caches.read_block(&*open, at, self.block_size, file.key.packed);
            let bytes =
                read.map_err(|e| Error::io(e, "Can't read file", &self.rev_file_path(file.key)))?;
            self.note_block(file, number, bytes.len());
            Ok(bytes)
        })
    }

    /// The length of a file in bytes.
    pub(crate) fn file_len(&self, file: &RevFile) -> Result<u64> {
        if !file.key.packed {
            let first = self.block(file, 0)?;
            if first.0.len() < self.block_size {
                return Ok(len64(first.0.len()));
            }
        }
        self.open_file(file)?.len().map_err(|e| {
            Error::io(e, "Can't get attribute information from file", &self.rev_file_path(file.key))
        })
    }

    /// Splits an offset into block and place.
    fn locate(&self, offset: u64) -> (u64, usize) {
        let size = len64(self.block_size);
        let block = offset.checked_div(size).unwrap_or(0);
        let place = offset.checked_rem(size).and_then(|at| usize::try_from(at).ok());
        (block, place.unwrap_or(0))
    }

    /// What is left from `offset` of the block that holds it: empty only at the end of the file.
    pub(crate) fn some_bytes(&self, file: &RevFile, offset: u64) -> Result<Bytes> {
        let (number, place) = self.locate(offset);
        let block = self.block(file, number)?;
        let range = place.min(block.0.len())..block.0.len();
        Ok(Bytes::Part(block, range))
    }

    /// The `len` bytes at `offset`; fewer only where the file ends. `last` is the block that was
    /// read before, by its number in this file.
    pub(crate) fn bytes_near(
        &self,
        file: &RevFile,
        offset: u64,
        len: usize,
        last: &mut Option<(u64, Arc<Block>)>,
    ) -> Result<Bytes> {
        let (number, place) = self.locate(offset);
        let block = match last {
            Some((same, block)) if *same == number => block,
            other => &mut other.insert((number, self.block(file, number)?)).1,
        };
        let end = place.saturating_add(len);
        if end <= block.0.len() {
            return Ok(Bytes::Part(Arc::clone(block), place..end));
        }
        self.bytes(file, offset, len)
    }

    /// The `len` bytes at `offset`; fewer only where the file ends.
    pub(crate) fn bytes(&self, file: &RevFile, offset: u64, len: usize) -> Result<Bytes> {
        let first = self.some_bytes(file, offset)?;
        if let Bytes::Part(block, range) = &first
            && range.len() >= len
        {
            let range = range.start..range.start.saturating_add(len);
            return Ok(Bytes::Part(Arc::clone(block), range));
        }
        // `len` comes from disk: memory is taken as bytes are really found.
        let mut own = first.to_vec();
        while own.len() < len {
            let at = offset.saturating_add(len64(own.len()));
            let more = self.some_bytes(file, at)?;
            if more.is_empty() {
                break;
            }
            let take = more.len().min(len.saturating_sub(own.len()));
            own.extend_from_slice(part(&more, ..take)?);
        }
        Ok(Bytes::Own(own))
    }

    /// Parses an item that begins at `offset` and whose length is not known: `parse` gets what the
    /// block holds of it, and again more while it meets an unexpected end, up to `limit` bytes or
    /// to `end`, where the item must have ended.
    pub(crate) fn parse_at<T>(
        &self,
        file: &RevFile,
        revision: Revnum,
        offset: u64,
        limit: usize,
        mut parse: impl FnMut(&[u8], bool) -> format::Result<T>,
    ) -> Result<T> {
        let fail = |error| self.item_error(file, revision, offset, error);
        let mut bytes = self.some_bytes(file, offset)?;
        let mut is_end = bytes.is_empty();
        loop {
            match parse(&bytes, is_end) {
                Err(format::Error::UnexpectedEnd(_)) if !is_end && bytes.len() < limit => {
                    let want = bytes.len().saturating_mul(2).max(self.block_size).min(limit);
                    let more = self.bytes(file, offset, want)?;
                    is_end = more.len() < want;
                    bytes = more;
                }
                other => return other.map_err(fail),
            }
        }
    }
}
