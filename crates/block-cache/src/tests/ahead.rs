//! What is fetched before it is read: nothing twice, and not what is far from all that was read.

use std::sync::Arc;

use sapwood_objects::{CountedStore, Memory, Store};

use super::{key, put};
use crate::BlockCache;
use crate::block::BLOCK;

const LIMIT: u64 = 1 << 30;

/// An object of so many blocks, and the cache and counters before it.
struct Beside {
    _dir: tempfile::TempDir,
    cache: Arc<BlockCache>,
    store: Arc<dyn Store>,
    counted: CountedStore,
    bytes: Vec<u8>,
}

impl Beside {
    fn new(blocks: u64) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let counted = CountedStore::new(Arc::new(Memory::new()));
        let bytes = put(&counted, "object", usize::try_from(blocks * BLOCK).unwrap());
        let cache = BlockCache::open(dir.path(), LIMIT).unwrap();
        Self { _dir: dir, cache, store: Arc::new(counted.clone()), counted, bytes }
    }

    fn read(&self, from: u64, len: u64) {
        let size = sapwood_core::len64(self.bytes.len());
        let read = self.cache.read_on(&self.store, &key("object"), size, from..from + len);
        let (from, len) = (usize::try_from(from).unwrap(), usize::try_from(len).unwrap());
        assert!(read.unwrap() == self.bytes[from..from + len]);
    }

    /// Bytes and requests so far.
    fn fetched(&self) -> (u64, u64) {
        self.cache.wanted().wait();
        let counts = self.counted.requests();
        (counts.bytes_in, counts.gets)
    }
}

#[test]
fn what_is_read_from_begin_to_end_comes_by_few_requests_and_nothing_twice() {
    for blocks in [64, 256] {
        let object = Beside::new(blocks);
        for at in 0..blocks * 4 {
            object.read(at * BLOCK / 4, BLOCK / 4);
        }
        let (bytes, requests) = object.fetched();
        assert_eq!(bytes, blocks * BLOCK);
        // Each waits for one block and is ahead by more, however fast the threads are.
        assert!(requests <= blocks, "{requests}");
    }
}

#[test]
fn what_is_far_apart_brings_nothing_else() {
    for blocks in [64, 256] {
        let object = Beside::new(blocks);
        for at in (0..blocks).step_by(8) {
            object.read(at * BLOCK, 100);
        }
        assert_eq!(object.fetched(), (blocks / 8 * BLOCK, blocks / 8));
    }
}

#[test]
fn what_will_be_needed_is_there_when_it_is_read() {
    let object = Beside::new(64);
    let size = 64 * BLOCK;
    object.cache.will_need(&object.store, &key("object"), size, 5 * BLOCK + 1..23 * BLOCK);
    // A second wish for the same brings nothing.
    object.cache.will_need(&object.store, &key("object"), size, 5 * BLOCK..9 * BLOCK);
    let (bytes, requests) = object.fetched();
    assert_eq!(bytes, 18 * BLOCK);
    object.read(5 * BLOCK, 18 * BLOCK);
    assert_eq!(object.fetched(), (bytes, requests));
    // One that is not there fails nothing but those who read it.
    object.cache.will_need(&object.store, &key("none"), size, 0..BLOCK);
    object.fetched();
    assert_eq!(object.cache.counts().failures, 1);
}
