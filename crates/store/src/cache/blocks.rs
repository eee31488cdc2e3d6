//! Raw blocks of files that never change: read once, by whichever thread comes first.
//!
//! All blocks of a file have one size, a power of two, but the last, which is shorter, or empty at the
//! end of the file.

use sapwood_core::len64;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::Caches;
use super::bounded::Store;
use super::key::{Key, Kind};
use super::open_files::FileKey;
use crate::storage::{PAGE, StoredFile};

/// A block of a file.
#[derive(Debug)]
pub struct Block(pub Box<[u8]>);

/// Blocks: revision or shard, 0 or 1 for a pack, number of the block.
const BLOCK: Kind<Block> = Kind::new(0, |block| block.0.len());

fn key(file: FileKey, number: u64) -> Key<Block> {
    BLOCK.key(file.fs, file.number, u64::from(file.packed), number)
}

/// So many blocks of a file of one revision may be kept with the items: 16 MiB, as files have them. What comes after that in a
/// long file is texts, which a program that reads little reads once.
const WITH_ITEMS: u64 = 256;

impl Caches {
    /// Where a raw block is kept.
    const fn blocks(&self, file: FileKey, number: u64) -> &Store {
        let is_item = self.files_are_items && !file.packed && number < WITH_ITEMS;
        if is_item { &self.items } else { &self.blocks }
    }

    /// A block, if it is in the cache.
    #[must_use]
    pub fn cached_block(&self, file: FileKey, number: u64) -> Option<Arc<Block>> {
        self.blocks(file, number).get(&key(file, number).name)?.downcast().ok()
    }

    /// Keeps a block.
    pub fn keep_block(&self, file: FileKey, number: u64, bytes: Box<[u8]>) -> Arc<Block> {
        let weight = bytes.len();
        let block = Arc::new(Block(bytes));
        if let Some(tally) = &self.tally {
            tally.note_block(weight);
        }
        let item = Arc::clone(&block);
        self.blocks(file, number).put(key(file, number).name, item, weight);
        self.govern(weight);
        block
    }

    /// A block, by `read` if it is not in the cache. One that another thread is reading is waited for.
    ///
    /// # Errors
    /// Those of `read`.
    pub fn block<E>(
        &self,
        file: FileKey,
        number: u64,
        read: impl FnOnce() -> Result<Box<[u8]>, E>,
    ) -> Result<Arc<Block>, E> {
        if let Some(block) = self.cached_block(file, number) {
            return Ok(block);
        }
        let turn = self.loading.enter(key(file, number).name);
        // Another thread may have read it meanwhile.
        if turn.waited()
            && let Some(block) = self.cached_block(file, number)
        {
            return Ok(block);
        }
        Ok(self.keep_block(file, number, read()?))
    }

    /// Reads the block of `size` bytes that begins at `offset`. `is_whole` says that it is probably
    /// not the last one of its file.
    ///
    /// # Errors
    /// Whatever the system reports.
    pub fn read_block(
        &self,
        file: &dyn StoredFile,
        offset: u64,
        size: usize,
        is_whole: bool,
    ) -> io::Result<Box<[u8]>> {
        thread_local! {
            static SCRATCH: std::cell::RefCell<Vec<u8>> = const {
                std::cell::RefCell::new(Vec::new())
            };
        }
        self.block_reads.fetch_add(1, Ordering::Relaxed);
        if is_whole {
            // Read where it stays.
            let mut block = Vec::with_capacity(size);
            fill(file, offset, size, &mut block)?;
            return Ok(block.into_boxed_slice());
        }
        SCRATCH.with_borrow_mut(|scratch| {
            scratch.clear();
            scratch.reserve_exact(size);
            fill(file, offset, size, scratch)?;
            Ok(scratch.as_slice().into())
        })
    }

    /// The same if the system has the whole block in memory, and is worth asking.
    pub fn read_block_now(
        &self,
        file: &dyn StoredFile,
        offset: u64,
        size: usize,
    ) -> Option<Box<[u8]>> {
        if !self.may_be_in_memory() {
            return None;
        }
        let mut bytes = vec![0; size];
        let Some(read) = file.read_now(&mut bytes, offset) else {
            self.was_not_in_memory();
            return None;
        };
        let at_end = read.checked_rem(PAGE) != Some(0) && file.short_read_is_end();
        if read < size && !at_end {
            return None;
        }
        self.block_reads.fetch_add(1, Ordering::Relaxed);
        bytes.truncate(read);
        Some(bytes.into_boxed_slice())
    }
}

/// Reads a block into an empty buffer that has room for it.
fn fill(file: &dyn StoredFile, offset: u64, size: usize, block: &mut Vec<u8>) -> io::Result<()> {
    while block.len() < block.capacity() {
        let at = offset.saturating_add(len64(block.len()));
        match file.append_at(block, at) {
            Ok(0) => break,
            Ok(_) => {
                // A read that fails half-way gives the whole pages before; blocks are whole pages,
                // or smaller than one and thus never read in part.
                let ragged = block.len().checked_rem(PAGE) != Some(0);
                if ragged && block.len() < block.capacity() && file.short_read_is_end() {
                    break;
                }
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    // An allocator may give more room than was requested.
    block.truncate(size);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A long file of one revision takes no more of a small program's memory than what is kept with the items, and the blocks.
    #[test]
    fn a_long_file_does_not_fill_the_cache() {
        let caches = Caches::for_one_task(64 << 20);
        let file = |number| FileKey { fs: 1, packed: false, number };
        let keep = |file, number| drop(caches.keep_block(file, number, vec![0; 64 << 10].into()));
        (0..4 * WITH_ITEMS).for_each(|number| keep(file(1), number));
        let stats = caches.stats();
        assert!(stats.bytes < 22 << 20, "{stats:?}");
        assert!(caches.cached_block(file(1), 0).is_some());
        assert!(caches.cached_block(file(1), 4 * WITH_ITEMS - 1).is_some());
        // Many short ones have more room.
        (2..402).for_each(|number| keep(file(number), 0));
        assert!(caches.stats().bytes > 30 << 20, "{:?}", caches.stats());
    }
}
