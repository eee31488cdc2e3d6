//! What is read, and how often the store is asked for it.

use std::ops::Range;
use std::process::Command;
use std::sync::{Arc, Barrier};
use std::thread;

use parking_lot::{Condvar, Mutex};
use sapwood_objects::{Blobs, CountedStore, Folder, Key, ListedObject, Memory, Result, Upload};

use super::{key, noise, put};
use crate::BlockCache;
use crate::block::BLOCK;

const LIMIT: u64 = 1 << 30;

fn len(blocks: u64) -> usize {
    usize::try_from(blocks * BLOCK).unwrap()
}

#[test]
fn ranges_are_what_the_object_has() {
    let dir = tempfile::tempdir().unwrap();
    let store = Memory::new();
    let cache = BlockCache::open(dir.path(), LIMIT).unwrap();
    for (name, size) in [("empty", 0), ("small", 1000), ("even", len(2)), ("odd", len(3) + 17)] {
        let bytes = put(&store, name, size);
        let size = sapwood_core::len64(size);
        let ends = [0, 1, 999, BLOCK - 1, BLOCK, BLOCK + 1, 2 * BLOCK, size, size + 5];
        for known in [size, u64::MAX] {
            for start in ends {
                for end in ends {
                    let found = cache.read(&store, &key(name), known, start..end).unwrap();
                    let end = usize::try_from(end.min(size)).unwrap();
                    let start = usize::try_from(start).unwrap().min(end);
                    assert!(found == bytes[start..end], "{name} {start}..{end}");
                }
            }
        }
    }
}

#[test]
fn requests_grow_with_what_is_missing() {
    let dir = tempfile::tempdir().unwrap();
    let store = CountedStore::new(Arc::new(Memory::new()));
    let cache = BlockCache::open(dir.path(), LIMIT).unwrap();
    let requests = |read: &dyn Fn()| {
        let before = store.requests();
        read();
        let after = store.requests();
        (after.gets - before.gets, after.bytes_in - before.bytes_in)
    };
    for (name, blocks) in [("n", 32), ("4n", 128)] {
        let bytes = put(&store, name, len(blocks));
        let size = blocks * BLOCK;
        let read = |range: Range<u64>| {
            let found = cache.read(&store, &key(name), size, range.clone()).unwrap();
            let at = |at: u64| usize::try_from(at).unwrap();
            assert!(found == bytes[at(range.start)..at(range.end)]);
        };
        let one = requests(&|| read(5 * BLOCK + 7..5 * BLOCK + 9));
        assert_eq!(one, (1, BLOCK), "one block, whatever the length of the object");
        assert_eq!(requests(&|| read(5 * BLOCK..6 * BLOCK)), (0, 0));
        // Those before and behind the one that is there.
        assert_eq!(requests(&|| read(3 * BLOCK..8 * BLOCK)), (2, 4 * BLOCK));
        let rest = requests(&|| read(0..size));
        assert_eq!(rest, (2 + blocks / 16 - 1, size - 5 * BLOCK), "windows of 16 blocks");
        assert_eq!(requests(&|| read(0..size)), (0, 0));
    }
    let size = 20 * BLOCK;
    put(&store, "ahead", len(20));
    let ahead = || cache.prefetch(&store, &key("ahead"), size, 1..size).unwrap();
    assert_eq!(requests(&ahead), (2, size));
    assert_eq!(requests(&ahead), (0, 0));
    let read = || drop(cache.read(&store, &key("ahead"), size, 0..size).unwrap());
    assert_eq!(requests(&read), (0, 0));
}

#[test]
fn small_pieces_of_a_block_are_checked_once() {
    let dir = tempfile::tempdir().unwrap();
    let store = Memory::new();
    let bytes = put(&store, "x", len(40));
    let cache = BlockCache::open(dir.path(), LIMIT).unwrap();
    let read = |from: u64, to: u64| {
        let found = cache.read(&store, &key("x"), 40 * BLOCK, from..to).unwrap();
        let at = |at: u64| usize::try_from(at).unwrap();
        assert!(found == bytes[at(from)..at(to)]);
    };
    read(0, 40 * BLOCK);
    for block in 0..40 {
        for piece in 0..8 {
            let from = block * BLOCK + piece * BLOCK / 8;
            read(from, from + BLOCK / 8);
        }
    }
    let counts = cache.counts();
    assert!(counts.hits <= 40, "each block is read from its file once: {counts:?}");
    assert_eq!(counts.misses, 40);
    // A block that is longer than the object is another's.
    let error = cache.read(&store, &key("x"), 39 * BLOCK + 7, 39 * BLOCK..40 * BLOCK);
    assert_eq!(error.unwrap().len(), 7);
}

#[test]
fn objects_that_are_not_there_or_too_short_are_errors() {
    let dir = tempfile::tempdir().unwrap();
    let store = Memory::new();
    let cache = BlockCache::open(dir.path(), LIMIT).unwrap();
    let error = cache.read(&store, &key("none"), 10, 0..10).unwrap_err().to_string();
    assert!(error.contains("has no 'big/none'"), "{error}");
    put(&store, "short", 1000);
    let error = cache.read(&store, &key("short"), 1001, 0..10).unwrap_err().to_string();
    assert!(error.contains("'big/short'") && error.contains("too short"), "{error}");
    assert_eq!(super::files(dir.path()).len(), 0);
    // What failed is asked for again.
    put(&store, "none", 10);
    assert_eq!(cache.read(&store, &key("none"), 10, 0..10).unwrap().len(), 10);
}

/// A store that lets a request go on when so many threads have asked for its block.
#[derive(Debug)]
struct Gate {
    store: Memory,
    open: Mutex<bool>,
    opened: Condvar,
}

impl Blobs for Gate {
    fn address(&self) -> &str {
        "gate:"
    }

    fn get(&self, key: &Key, range: Range<u64>) -> Result<Option<Vec<u8>>> {
        let mut open = self.open.lock();
        while !*open {
            self.opened.wait(&mut open);
        }
        self.store.get(key, range)
    }

    fn put(&self, key: &Key, bytes: &[u8]) -> Result<()> {
        self.store.put(key, bytes)
    }

    fn upload(&self, key: &Key) -> Result<Box<dyn Upload>> {
        self.store.upload(key)
    }

    fn list(&self, part: &str, after: Option<&Key>, most: usize) -> Result<Vec<ListedObject>> {
        self.store.list(part, after, most)
    }

    fn delete(&self, key: &Key) -> Result<()> {
        self.store.delete(key)
    }
}

#[test]
fn a_block_that_several_want_is_asked_for_once() {
    const THREADS: usize = 8;
    let dir = tempfile::tempdir().unwrap();
    let gate = Gate { store: Memory::new(), open: Mutex::new(false), opened: Condvar::new() };
    let bytes = put(&gate, "x", len(2));
    let cache = BlockCache::open(dir.path(), LIMIT).unwrap();
    let start = Barrier::new(THREADS + 1);
    thread::scope(|scope| {
        let read = || {
            start.wait();
            let found = cache.read(&gate, &key("x"), 2 * BLOCK, 0..2 * BLOCK).unwrap();
            assert!(found == bytes);
        };
        (0..THREADS).for_each(|_| drop(scope.spawn(read)));
        start.wait();
        // One has begun its request; the others find it, or what it brought.
        while cache.counts().requests == 0 {
            thread::yield_now();
        }
        *gate.open.lock() = true;
        gate.opened.notify_all();
    });
    let counts = cache.counts();
    assert_eq!((counts.requests, counts.misses), (1, 2), "{counts:?}");
}

#[test]
fn threads_with_ranges_that_cross_do_not_wait_for_each_other() {
    let dir = tempfile::tempdir().unwrap();
    let store = Memory::new();
    let bytes = put(&store, "x", len(24));
    let cache = BlockCache::open(dir.path(), LIMIT).unwrap();
    thread::scope(|scope| {
        for thread in 0..8_u64 {
            let (cache, store, bytes) = (&cache, &store, &bytes);
            scope.spawn(move || {
                for turn in 0..24 {
                    let start = (thread * 5 + turn * 7) % 20 * BLOCK + thread;
                    let found = cache.read(store, &key("x"), 24 * BLOCK, start..start + 4 * BLOCK);
                    let at = usize::try_from(start).unwrap();
                    assert!(found.unwrap() == bytes[at..at + len(4)]);
                }
            });
        }
    });
    assert_eq!(cache.counts().misses, 24, "{:?}", cache.counts());
}

/// Where the other process finds the store and the cache.
const FOLDER: &str = "SAPWOOD_TEST_BLOCK_CACHE";

#[test]
fn processes_share_what_they_fetched() {
    let dir = tempfile::tempdir().unwrap();
    let store = Folder::new(&dir.path().join("store"));
    let bytes = put(&store, "x", len(5));
    let cache = BlockCache::open(&dir.path().join("cache"), LIMIT).unwrap();
    assert!(cache.read(&store, &key("x"), 5 * BLOCK, 0..3 * BLOCK).unwrap() == bytes[..len(3)]);
    let status = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "tests::reads::the_other_process"])
        .env(FOLDER, dir.path())
        .status();
    assert!(status.unwrap().success());
    // It brought the last two.
    store.delete(&key("x")).unwrap();
    assert!(cache.read(&store, &key("x"), 5 * BLOCK, 0..5 * BLOCK).unwrap() == bytes);
    assert_eq!(cache.counts().misses, 3);
}

#[test]
fn the_other_process() {
    let Some(dir) = std::env::var_os(FOLDER).map(std::path::PathBuf::from) else { return };
    let store = CountedStore::new(Arc::new(Folder::new(&dir.join("store"))));
    let cache = BlockCache::open(&dir.join("cache"), LIMIT).unwrap();
    let found = cache.read(&store, &key("x"), 5 * BLOCK, 0..5 * BLOCK).unwrap();
    assert!(found == noise(len(5)));
    assert_eq!((store.requests().gets, store.requests().bytes_in), (1, 2 * BLOCK));
}
