//! Segments: how many requests they spare, and all that can be wrong with them.

use std::collections::BTreeSet;
use std::sync::Arc;

use sapwood_block_cache::BlockCache;
use sapwood_core::len64;
use sapwood_objects::testing::{Fault, Faulty};
use sapwood_objects::{Blobs as _, CountedStore, Key, Memory, Store};

use super::{file, object, revision};
use crate::entry::{FoundItem, Item};
use crate::log::RepositoryLog;
use crate::state::{Location, RevisionData, State};
use crate::verify::verify;

fn append(log: &mut RepositoryLog, items: &[Item<'static>]) {
    assert!(log.append(&mut |_| Ok(Some(items.to_vec())), &mut |_, _| false).unwrap());
}

fn new(store: &Arc<dyn Store>) -> RepositoryLog {
    let mut log = RepositoryLog::new(Arc::clone(store)).unwrap();
    append(&mut log, &[file("format", "5\n")]);
    log
}

/// Does what is due.
fn keep_up(log: &mut RepositoryLog) {
    if let Some(checkpoint) = log.take_checkpoint() {
        checkpoint.write().unwrap();
    }
    if let Some(segments) = log.take_segments() {
        log.announce(&segments.write().unwrap(), &mut |_, _| false).unwrap();
    }
}

fn grow(log: &mut RepositoryLog, revisions: u64) {
    for _ in 0..revisions {
        let next = log.state().revisions;
        append(log, &[revision(next, &format!("data of {next}"))]);
        keep_up(log);
    }
}

fn opened(store: &Arc<dyn Store>) -> RepositoryLog {
    RepositoryLog::open(Arc::clone(store)).unwrap().unwrap()
}

fn locations(state: &State) -> Vec<(String, Location)> {
    let data = state.data.iter().filter_map(|(n, data)| match data {
        RevisionData::Inline(location) => Some((format!("data of {n}"), *location)),
        RevisionData::Big(..) => None,
    });
    data.chain(state.props.iter().map(|(n, at)| (format!("props of {n}"), *at))).collect()
}

fn is_whole(log: &RepositoryLog) {
    for (text, location) in locations(log.state()) {
        assert_eq!(log.read(&location).unwrap(), text.as_bytes());
    }
}

#[test]
fn many_revisions_are_in_few_objects() {
    let mut objects = Vec::new();
    for length in [1000, 4000] {
        let store: Arc<dyn Store> = Arc::new(Memory::new());
        let mut log = new(&store);
        grow(&mut log, length);
        let log = opened(&store);
        let places =
            locations(log.state()).into_iter().map(|(_, at)| log.state().place(&at).unwrap());
        let keys: BTreeSet<Key> = places.map(|place| place.key).collect();
        let segments = keys.iter().filter(|key| key.is_in("seg")).count();
        assert!(keys.len() - segments <= 64, "{} are alone", keys.len() - segments);
        objects.push(segments);
        is_whole(&log);
        verify(&store).unwrap();
    }
    assert_eq!(objects, [15, 63]);
}

#[test]
fn a_machine_that_has_nothing_reads_many_revisions_by_few_requests() {
    let mut found = Vec::new();
    for length in [1000, 4000] {
        let store = CountedStore::new(Arc::new(Memory::new()));
        let shared: Arc<dyn Store> = Arc::new(store.clone());
        let mut log = new(&shared);
        // As long as small revisions are.
        let text = "x".repeat(1000);
        for next in 0..length {
            append(&mut log, &[revision(next, &text)]);
            keep_up(&mut log);
        }
        let dir = tempfile::tempdir().unwrap();
        let cache = BlockCache::open(dir.path(), 1 << 30).unwrap();
        let log = opened(&shared);
        let before = store.requests();
        for (_, location) in locations(log.state()) {
            let place = log.state().place(&location).unwrap();
            let bytes = cache.read(&store, &place.key, place.object_len, place.range).unwrap();
            assert_eq!(crate::Digest::of(&bytes), location.digest);
        }
        let gets = store.requests().gets - before.gets;
        let segments = len64(log.state().segments.len());
        assert!(gets <= segments + 64, "{gets} requests for {length} revisions");
        found.push(segments);
    }
    assert_eq!(found, [15, 63]);
}

#[test]
fn each_entry_is_written_once_more_and_long_ones_are_not_read() {
    for length in [70_u64, 280] {
        let store = CountedStore::new(Arc::new(Memory::new()));
        let shared: Arc<dyn Store> = Arc::new(store.clone());
        let mut log = new(&shared);
        let long = "x".repeat(140_000);
        for turn in 0..length {
            let next = log.state().revisions;
            append(&mut log, &[revision(next, &long)]);
            let before = store.requests();
            let segments = log.take_segments();
            assert_eq!(segments.is_some(), (turn + 2) % 64 == 0, "at {turn}");
            if let Some(segments) = segments {
                // The first entry is short, and alone.
                assert_eq!(segments.write().unwrap().count(), 0);
                let after = store.requests();
                assert_eq!((after.lists - before.lists, after.bytes_in), (1, before.bytes_in));
            }
        }
    }
    // Between long ones, those that are beside each other.
    let store: Arc<dyn Store> = Arc::new(Memory::new());
    let mut log = new(&store);
    for next in 0..63 {
        let text = if next % 20 == 9 { "x".repeat(140_000) } else { format!("data of {next}") };
        append(&mut log, &[revision(next, &text)]);
    }
    keep_up(&mut log);
    let found: Vec<_> = log.state().segments.iter().map(|(at, s)| (*at, s.lens.len())).collect();
    assert_eq!(found, [(0, 10), (11, 19), (31, 19), (51, 13)]);
    verify(&store).unwrap();
}

/// What is done to an object of a store.
type Damage<'a> = &'a dyn Fn(&Memory, &Key);

#[test]
fn a_segment_that_is_lost_or_damaged_costs_only_requests() {
    let damages: [Damage<'_>; 3] = [
        &|store, key| store.delete(key).unwrap(),
        &|store, key| store.put(key, b"short").unwrap(),
        &|store, key| {
            let mut bytes = store.get(key, 0..u64::MAX).unwrap().unwrap();
            bytes.reverse();
            store.put(key, &bytes).unwrap();
        },
    ];
    for damage in damages {
        let memory = Memory::new();
        let store: Arc<dyn Store> = Arc::new(memory.clone());
        grow(&mut new(&store), 100);
        let key = memory.list("seg", None, 1).unwrap().remove(0).key;
        damage(&memory, &key);
        is_whole(&opened(&store));
        let error = verify(&store).unwrap_err().to_string();
        assert!(error.contains(&format!("'{key}' is not what entry 64")), "{error}");
    }
}

#[test]
fn what_is_packed_is_in_no_segment() {
    let store: Arc<dyn Store> = Arc::new(Memory::new());
    let mut log = new(&store);
    grow(&mut log, 200);
    assert_eq!(log.state().segments.len(), 3);
    let (data, props) = (object(1, b"data"), object(2, b"props"));
    append(&mut log, &[Item::Pack { first: 0, count: 150, data, props }]);
    // The first has a file of the repository.
    let left: Vec<u64> = log.state().segments.keys().copied().collect();
    assert_eq!(left, [0, 128]);
    assert_eq!(opened(&store).state(), log.state());
    let read = log.checkpoint_bytes().unwrap();
    assert_eq!(&crate::checkpoint::parse(&read).unwrap().state, log.state());
}

#[test]
fn of_two_that_make_segments_one_is_first() {
    let memory = Memory::new();
    let store: Arc<dyn Store> = Arc::new(memory.clone());
    let mut one = new(&store);
    for next in 0..70 {
        append(&mut one, &[revision(next, "x")]);
    }
    let mut two = opened(&store);
    let (first, second) = (one.take_segments().unwrap(), two.take_segments().unwrap());
    let (first, second) = (first.write().unwrap(), second.write().unwrap());
    assert_eq!(memory.list("seg", None, 9).unwrap().len(), 4);
    assert!(one.announce(&first, &mut |_, _| false).unwrap());
    assert!(!two.announce(&second, &mut |_, _| false).unwrap());
    assert_eq!(memory.list("seg", None, 9).unwrap().len(), 2, "the others are removed");
    assert_eq!(two.state(), one.state());
    assert!(one.take_segments().is_none() && two.take_segments().is_none());
    verify(&store).unwrap();
}

#[test]
fn segments_that_do_not_fit_are_refused() {
    let store: Arc<dyn Store> = Arc::new(Memory::new());
    let mut log = new(&store);
    grow(&mut log, 70);
    assert_eq!(log.state().segmented, 64);
    let segment = |first: u64, lens: &[u64], len: usize| Item::Segment {
        first,
        lens: lens.to_vec(),
        data: object(1, &vec![0; len]),
    };
    let fits = |item: Item<'static>| {
        let found = [FoundItem { item, at: 0 }];
        log.state().fits(log.entries(), &found).is_ok()
    };
    assert!(fits(segment(64, &[1, 2], 3)));
    let many = vec![0; 2000];
    for (first, lens, len) in [
        (63, [1, 2].as_slice(), 3),
        (64, &[1, 2], 4),
        (64, &[], 0),
        (64, &[u64::MAX, 1], 0),
        (u64::MAX, &[1], 1),
        (71, &[1, 1], 2),
        (64, &many, 0),
    ] {
        assert!(!fits(segment(first, lens, len)), "{first} {}", lens.len());
    }
}

#[test]
fn a_writer_that_stops_at_a_segment_harms_nothing() {
    for fault in [Fault::StopBefore, Fault::StopAfter, Fault::AnswerLost, Fault::Delayed(2)] {
        for at in 0..6 {
            let below: Arc<dyn Store> = Arc::new(Memory::new());
            let mut log = new(&below);
            for next in 0..63 {
                append(&mut log, &[revision(next, &format!("data of {next}"))]);
            }
            let faulty = Arc::new(Faulty::new(Arc::clone(&below), at, fault));
            let shared: Arc<dyn Store> = Arc::<Faulty>::clone(&faulty);
            if let Ok(Some(mut stopped)) = RepositoryLog::open(shared) {
                let segments = stopped.take_segments().unwrap();
                if let Ok(segments) = segments.write() {
                    drop(stopped.announce(&segments, &mut |_, _| false));
                }
            }
            faulty.let_all_arrive();
            is_whole(&opened(&below));
            verify(&below).unwrap();
            let mut second = opened(&below);
            keep_up(&mut second);
            assert_eq!(second.state().segments.len(), 1, "{fault:?} at {at}");
            verify(&below).unwrap();
        }
    }
}
