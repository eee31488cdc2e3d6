//! The limit of the folder.

use sapwood_objects::Memory;

use super::{files, key, put};
use crate::BlockCache;
use crate::block::BLOCK;

/// Bytes of the files of a folder, as they are on disk.
fn size(folder: &std::path::Path) -> u64 {
    let files = files(folder);
    files.iter().map(|file| file.metadata().unwrap().len().div_ceil(4096) * 4096).sum()
}

#[test]
fn the_limit_is_held_and_what_is_used_stays() {
    let dir = tempfile::tempdir().unwrap();
    let store = Memory::new();
    let limit = 60 * (BLOCK + 4096);
    let cache = BlockCache::open_with(dir.path(), limit, 0).unwrap();
    let read = |name: &str| {
        put(&store, name, usize::try_from(BLOCK).unwrap());
        cache.read(&store, &key(name), BLOCK, 0..BLOCK).unwrap();
    };
    read("hot");
    for turn in 0..300 {
        read(&format!("cold{turn}"));
        // It is used each time, so the hand spares it.
        read("hot");
        cache.wait_for_evictor();
        assert!(size(dir.path()) <= limit, "{} at {turn}", size(dir.path()));
    }
    let counts = cache.counts();
    assert!(size(dir.path()) > limit / 2, "it does not empty the folder");
    assert!(counts.evicted >= 240, "{counts:?}");
    // Ten times around, and it may be taken when a round finds nothing else.
    assert!(counts.misses <= 301 + 10, "{counts:?}");
}

#[test]
fn two_at_a_time_hold_it_together() {
    let dir = tempfile::tempdir().unwrap();
    let limit = 50 * (BLOCK + 4096);
    std::thread::scope(|scope| {
        for thread in 0..2 {
            let folder = dir.path();
            scope.spawn(move || {
                let store = Memory::new();
                let cache = BlockCache::open_with(folder, limit, 0).unwrap();
                for turn in 0..150 {
                    let name = format!("{thread}-{turn}");
                    put(&store, &name, usize::try_from(BLOCK).unwrap());
                    cache.read(&store, &key(&name), BLOCK, 0..BLOCK).unwrap();
                    cache.wait_for_evictor();
                }
                assert_eq!(cache.counts().damaged, 0);
            });
        }
    });
    // One of them may have written its last block while the other held the limit.
    assert!(size(dir.path()) <= limit, "{}", size(dir.path()));
}

#[test]
fn what_others_wrote_and_left_is_counted() {
    let dir = tempfile::tempdir().unwrap();
    let store = Memory::new();
    let limit = 40 * (BLOCK + 4096);
    // Each is closed before it has written enough to look at the folder by itself.
    for turn in 0..200 {
        let cache = BlockCache::open_with(dir.path(), limit, 0).unwrap();
        let name = format!("x{turn}");
        put(&store, &name, 100_000);
        cache.read(&store, &key(&name), 100_000, 0..10).unwrap();
        drop(cache);
        assert!(size(dir.path()) <= limit, "at {turn}");
    }
    // What a killed process left is removed like what is not used.
    let folder = files(dir.path()).pop().unwrap().parent().unwrap().to_owned();
    let left = folder.join(".new-0123");
    std::fs::write(&left, [0; 9]).unwrap();
    for turn in 0..400 {
        let cache = BlockCache::open_with(dir.path(), limit, 0).unwrap();
        let name = format!("y{turn}");
        put(&store, &name, 100_000);
        cache.read(&store, &key(&name), 100_000, 0..10).unwrap();
    }
    assert!(!left.exists());
}
