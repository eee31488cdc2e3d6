//! Folders that are damaged, deleted and not writable: the answers stay right.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use sapwood_objects::Memory;

use super::{files, key, put};
use crate::BlockCache;
use crate::block::BLOCK;

#[test]
fn a_damaged_block_is_fetched_again() {
    let dir = tempfile::tempdir().unwrap();
    let store = Memory::new();
    let bytes = put(&store, "x", 300);
    let cache = BlockCache::open_with(dir.path(), 1 << 30, 0).unwrap();
    let read = || assert!(cache.read(&store, &key("x"), 300, 0..300).unwrap() == bytes);
    read();
    let file = files(dir.path()).pop().unwrap();
    let whole = fs::read(&file).unwrap();
    for at in 0..whole.len() {
        let mut changed = whole.clone();
        changed[at] ^= 0x40;
        fs::write(&file, changed).unwrap();
        read();
        fs::write(&file, &whole[..at]).unwrap();
        read();
        assert!(fs::read(&file).unwrap() == whole, "it is mended at {at}");
    }
    fs::write(&file, vec![0; 1 << 20]).unwrap();
    read();
    let counts = cache.counts();
    assert_eq!(counts.damaged, 2 * sapwood_core::len64(whole.len()) + 1);
    assert_eq!(counts.requests, counts.damaged + 1);
}

#[test]
fn a_folder_that_is_deleted_while_it_is_read_costs_only_time() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("cache");
    let store = Memory::new();
    let len = 8 * usize::try_from(BLOCK).unwrap();
    let bytes = put(&store, "x", len);
    let cache = BlockCache::open_with(&folder, 1 << 30, 0).unwrap();
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                // It may be filled while it is removed.
                fs::remove_dir_all(&folder).ok();
                thread::yield_now();
            }
        });
        for turn in 0..60 {
            let start = turn % 7 * BLOCK;
            let found = cache.read(&store, &key("x"), 8 * BLOCK, start..start + BLOCK).unwrap();
            let at = usize::try_from(start).unwrap();
            assert!(found == bytes[at..at + usize::try_from(BLOCK).unwrap()]);
        }
        done.store(true, Ordering::Relaxed);
    });
}

#[test]
fn where_nothing_can_be_written_the_store_is_asked() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("cache");
    let store = Memory::new();
    let bytes = put(&store, "x", 1000);
    let cache = BlockCache::open_with(&folder, 1 << 30, 0).unwrap();
    // Files in the way of folders: root can write anywhere else.
    fs::write(folder.join("blocks"), b"in the way").unwrap();
    fs::create_dir(folder.join("grown")).unwrap();
    for _ in 0..3 {
        assert!(cache.read(&store, &key("x"), 1000, 0..1000).unwrap() == bytes);
    }
    let counts = cache.counts();
    assert_eq!((counts.requests, counts.hits), (3, 0));
    assert!(counts.failures >= 3, "{counts:?}");
    let error = BlockCache::open(&folder.join("blocks/x"), 1).unwrap_err().to_string();
    assert!(error.contains("blocks/x"), "{error}");
    // Without a limit's worth nothing is kept.
    let none = BlockCache::open_with(&dir.path().join("none"), 0, 0).unwrap();
    assert!(none.read(&store, &key("x"), 1000, 0..1000).unwrap() == bytes);
    assert_eq!(files(&dir.path().join("none")).len(), 0);
}

#[test]
fn a_block_that_was_moved_is_not_taken_for_another() {
    let dir = tempfile::tempdir().unwrap();
    let store = Memory::new();
    let (one, cache) =
        (put(&store, "one", 900), BlockCache::open_with(dir.path(), 1 << 30, 0).unwrap());
    cache.read(&store, &key("one"), 900, 0..900).unwrap();
    let first = files(dir.path()).pop().unwrap();
    store_other(&store);
    cache.read(&store, &key("two"), 900, 0..900).unwrap();
    let second = files(dir.path()).into_iter().find(|file| *file != first).unwrap();
    fs::copy(&second, &first).unwrap();
    assert!(cache.read(&store, &key("one"), 900, 0..900).unwrap() == one);
    assert_eq!(cache.counts().damaged, 1);
}

fn store_other(store: &Memory) {
    use sapwood_objects::Blobs as _;
    store.put(&key("two"), &[7; 900]).unwrap();
}
