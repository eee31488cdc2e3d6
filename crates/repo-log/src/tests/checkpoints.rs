//! Logs that are opened from checkpoints and saved states, and all that can be wrong with these.

use std::sync::Arc;

use proptest::prelude::*;
use sapwood_core::Sha1;
use sapwood_objects::testing::{Fault, Faulty};
use sapwood_objects::{Blobs as _, CountedStore, Folder, Key, Log as _, Memory, Store, Token};

use super::{file, object, revision};
use crate::checkpoint::{Checkpoint, parse, parse_hint, write, write_hint};
use crate::digest::Digest;
use crate::entry::{Data, Item, Rep};
use crate::error::Error;
use crate::log::RepositoryLog;
use crate::state::State;
use crate::tables::TableWriter;
use crate::verify::verify;

fn append(log: &mut RepositoryLog, items: &[Item<'static>]) {
    assert!(log.append(&mut |_| Ok(Some(items.to_vec())), &mut |_, _| false).unwrap());
}

/// Adds revisions, each in an entry, and writes the checkpoints that are due. Their entries.
fn grow(log: &mut RepositoryLog, revisions: u64) -> Vec<u64> {
    let mut written = Vec::new();
    for _ in 0..revisions {
        let next = log.state().revisions;
        append(log, &[revision(next, &format!("data of {next}"))]);
        if let Some(checkpoint) = log.take_checkpoint()
            && checkpoint.write().unwrap()
        {
            written.push(checkpoint.slot());
        }
    }
    written
}

fn opened(store: &Arc<dyn Store>) -> RepositoryLog {
    RepositoryLog::open(Arc::clone(store)).unwrap().unwrap()
}

fn new(store: &Arc<dyn Store>) -> RepositoryLog {
    let mut log = RepositoryLog::new(Arc::clone(store)).unwrap();
    append(&mut log, &[file("format", "5\n"), file("hooks/a b c", "#!/bin/sh\n")]);
    log
}

/// A store with a repository of some entries and two checkpoints.
fn two_checkpoints() -> (Memory, Arc<dyn Store>, State) {
    let memory = Memory::new();
    let store: Arc<dyn Store> = Arc::new(memory.clone());
    let mut log = new(&store);
    assert_eq!(grow(&mut log, 600), [255, 511]);
    let state = log.state().clone();
    (memory, store, state)
}

fn key(slot: u64) -> Key {
    Key::slot(&Key::new("ckpt").unwrap(), slot).unwrap()
}

fn hint() -> Key {
    Key::new("hint").unwrap()
}

/// A state with all that one can have.
fn full() -> State {
    let store: Arc<dyn Store> = Arc::new(Memory::new());
    let mut log = new(&store);
    grow(&mut log, 9);
    let (data, props) = (object(1, b"data"), object(2, b"props"));
    append(&mut log, &[Item::Pack { first: 0, count: 3, data, props }]);
    append(&mut log, &[Item::Pack { first: 3, count: 3, data, props }]);
    let before = Digest::of(b"");
    append(&mut log, &[Item::Props { revision: 1, before, bytes: b"new".as_slice().into() }]);
    let data = Data::Big(object(3, b"big"));
    append(&mut log, &[Item::Revision { revision: 9, data, props: b"".as_slice().into() }]);
    for (first, name) in [(0, 4), (8, 5)] {
        let item = Item::Segment { first, lens: vec![1, 2], data: object(name, b"123") };
        append(&mut log, &[item]);
    }
    let rep = |n: u64| Rep {
        sha1: Sha1::of(&n.to_be_bytes()),
        revision: 1,
        item: n,
        size: 2,
        expanded: u64::MAX,
    };
    append(&mut log, &[Item::Reps((0..3).map(rep).collect())]);
    for (first, end) in [(0, 3), (3, 10)] {
        let mut table = TableWriter::new(&*store);
        table.add(&rep(9)).unwrap();
        let table = table.finish(first, end).unwrap().unwrap();
        assert!(log.announce_table(&table, &mut |_, _| false).unwrap());
    }
    log.state().clone()
}

#[test]
fn a_start_costs_the_same_whatever_the_length_of_the_log() {
    let mut costs = Vec::new();
    for length in [700, 2800] {
        let store: Arc<dyn Store> = Arc::new(Memory::new());
        let mut log = new(&store);
        let written = grow(&mut log, length);
        assert_eq!(sapwood_core::len64(written.len()), (length + 1) / 256, "{written:?}");
        let counted = CountedStore::new(Arc::clone(&store));
        let shared: Arc<dyn Store> = Arc::new(counted.clone());
        assert_eq!(opened(&shared).state(), log.state());
        let requests = counted.requests();
        assert!(requests.entries <= 257, "{requests:?}");
        costs.push(requests.gets + requests.lists + requests.reads - requests.entries / 64);
    }
    assert_eq!(costs[0], costs[1]);
    assert!(costs[0] <= 5, "{costs:?}");
}

#[test]
fn a_saved_state_leaves_only_the_tail_to_read() {
    for length in [300_u64, 1200] {
        let store: Arc<dyn Store> = Arc::new(Memory::new());
        let mut log = new(&store);
        assert_eq!(log.checkpoint_bytes().map(|bytes| parse(&bytes).unwrap().slot), Some(0));
        grow(&mut log, length);
        let saved = log.checkpoint_bytes().unwrap();
        grow(&mut log, 3);
        let counted = CountedStore::new(Arc::clone(&store));
        let shared: Arc<dyn Store> = Arc::new(counted.clone());
        let from = RepositoryLog::open_from(shared, Some(&saved)).unwrap().unwrap();
        assert_eq!(from.state(), log.state());
        let requests = counted.requests();
        assert_eq!((requests.gets, requests.lists, requests.entries), (1, 0, 4), "{requests:?}");
    }
}

#[test]
fn a_server_that_starts_often_still_writes_checkpoints() {
    let store: Arc<dyn Store> = Arc::new(Memory::new());
    let mut saved = new(&store).checkpoint_bytes().unwrap();
    let mut written = Vec::new();
    for _ in 0..60 {
        let opened = RepositoryLog::open_from(Arc::clone(&store), Some(&saved));
        let mut log = opened.unwrap().unwrap();
        written.extend(grow(&mut log, 10));
        saved = log.checkpoint_bytes().unwrap();
    }
    assert_eq!(written, [255, 511]);
}

#[test]
fn a_saved_state_that_does_not_fit_is_passed_over() {
    let (_, store, state) = two_checkpoints();
    let other: Arc<dyn Store> = Arc::new(Memory::new());
    let mut log = new(&other);
    grow(&mut log, 599);
    let same_length = log.checkpoint_bytes().unwrap();
    grow(&mut log, 100);
    let further = log.checkpoint_bytes().unwrap();
    let mut damaged = opened(&store).checkpoint_bytes().unwrap();
    damaged[100] ^= 1;
    // The same repository, further than its log: one that was restored from a copy.
    let Checkpoint { state: own, last, .. } =
        parse(&opened(&store).checkpoint_bytes().unwrap()).unwrap();
    let beyond = write(900, last, &own);
    // Not of this log, though the entry is.
    let forged = write(600, last, &State { repository: Token::from_bytes([1; 16]), ..own });
    for bad in [same_length, further, damaged, beyond, forged, Vec::new(), b"x".to_vec()] {
        let log = RepositoryLog::open_from(Arc::clone(&store), Some(&bad)).unwrap().unwrap();
        assert_eq!(log.state(), &state);
    }
}

/// What is done to a store.
type Change<'a> = &'a dyn Fn(&Memory);

#[test]
fn what_is_wrong_with_checkpoints_costs_only_requests() {
    let changes: [(&str, Change<'_>); 9] = [
        ("no hint", &|store| store.delete(&hint()).unwrap()),
        ("an old hint", &|store| store.put(&hint(), b"255\n").unwrap()),
        ("a hint of what is not there", &|store| store.put(&hint(), b"400\n").unwrap()),
        ("a hint behind the end", &|store| store.put(&hint(), b"99999\n").unwrap()),
        ("a hint that is none", &|store| store.put(&hint(), b"\xff\n").unwrap()),
        ("the newest is lost", &|store| store.delete(&key(511)).unwrap()),
        ("the newest is damaged", &|store| store.put(&key(511), b"x").unwrap()),
        ("the newest is another's", &|store| {
            let other = store.get(&key(255), 0..u64::MAX).unwrap().unwrap();
            store.put(&key(511), &other).unwrap();
        }),
        ("all are lost", &|store| {
            [255, 511].iter().for_each(|slot| store.delete(&key(*slot)).unwrap());
        }),
    ];
    for (what, change) in changes {
        let (memory, store, state) = two_checkpoints();
        change(&memory);
        assert_eq!(opened(&store).state(), &state, "{what}");
        // A later one mends it.
        let mut log = opened(&store);
        assert!(!grow(&mut log, 512).is_empty(), "{what}");
        assert_eq!(opened(&store).state(), log.state(), "{what}");
    }
}

#[test]
fn each_byte_of_a_checkpoint_counts() {
    let bytes = write(99, Digest::of(b"entry"), &full());
    assert_eq!(parse(&bytes).unwrap().state, full_with(&bytes));
    for at in 0..bytes.len() {
        parse(&bytes[..at]).unwrap_err();
        let mut changed = bytes.clone();
        changed[at] ^= 1;
        parse(&changed).unwrap_err();
    }
}

/// The state that bytes say; they are what is written of it.
fn full_with(bytes: &[u8]) -> State {
    let Checkpoint { slot, last, state } = parse(bytes).unwrap();
    assert_eq!(write(slot, last, &state), bytes);
    state
}

#[test]
fn a_checkpoint_without_its_entry_is_damage() {
    let (memory, store, _) = two_checkpoints();
    let log = Key::new("log").unwrap();
    for slot in 511..601 {
        memory.discard(&log, slot).unwrap();
    }
    let error = RepositoryLog::open(Arc::clone(&store)).unwrap_err();
    assert!(matches!(error, Error::Damaged { slot: 511, .. }), "{error}");
    let error = verify(&store).unwrap_err();
    assert!(matches!(error, Error::Damaged { slot: 511, .. }), "{error}");
}

#[test]
fn checkpoints_of_an_earlier_repository_harm_nothing() {
    let (memory, store, _) = two_checkpoints();
    let log = Key::new("log").unwrap();
    (0..601).for_each(|slot| memory.discard(&log, slot).unwrap());
    let mut second = new(&store);
    grow(&mut second, 300);
    assert_eq!(opened(&store).state(), second.state());
    let error = verify(&store).unwrap_err().to_string();
    assert!(error.contains("'ckpt/00000000000001ff' is not of this repository"), "{error}");
}

#[test]
fn checkpoints_are_verified() {
    let (memory, store, _) = two_checkpoints();
    let verified = verify(&store).unwrap();
    assert_eq!((verified.entries, verified.checkpoints), (601, 2));
    let whole = memory.get(&key(255), 0..u64::MAX).unwrap().unwrap();
    let Checkpoint { slot, last, mut state } = parse(&whole).unwrap();
    state.files.remove("format").unwrap();
    memory.put(&key(255), &write(slot, last, &state)).unwrap();
    let error = verify(&store).unwrap_err().to_string();
    assert!(error.contains("'ckpt/00000000000000ff' does not agree"), "{error}");
    memory.put(&key(255), &whole[1..]).unwrap();
    let error = verify(&store).unwrap_err().to_string();
    assert!(error.contains("'ckpt/00000000000000ff' has a wrong sum"), "{error}");
}

#[test]
fn of_several_writers_one_writes_a_checkpoint() {
    let store: Arc<dyn Store> = Arc::new(Memory::new());
    new(&store);
    let mut logs = [opened(&store), opened(&store), opened(&store)];
    let mut written = Vec::new();
    for turn in 0..900 {
        let log = &mut logs[turn % 3];
        log.catch_up().unwrap();
        let next = log.state().revisions;
        append(log, &[revision(next, "x")]);
        if let Some(checkpoint) = log.take_checkpoint()
            && checkpoint.write().unwrap()
        {
            written.push(checkpoint.slot());
        }
    }
    assert_eq!(written.len(), 3, "{written:?}");
}

#[test]
fn long_entries_bring_one_earlier_and_long_checkpoints_later() {
    let store: Arc<dyn Store> = Arc::new(Memory::new());
    let mut log = new(&store);
    let long = "x".repeat(300_000);
    let mut due = Vec::new();
    for revision_number in 0..12 {
        append(&mut log, &[revision(revision_number, &long)]);
        due.push(log.take_checkpoint().is_some());
    }
    assert_eq!(due.iter().filter(|due| **due).count(), 3, "each MiB: {due:?}");
    // Many small revisions an entry: the checkpoints have no more bytes together than the entries twice.
    let (mut entries, mut checkpoints) = (0_u64, 0_u64);
    for _ in 0..300 {
        let first = log.state().revisions;
        let items: Vec<_> =
            (first..first + 64).map(|number| revision(number, &long[..50])).collect();
        entries += items.iter().map(Item::weight).sum::<u64>();
        append(&mut log, &items);
        checkpoints += log.take_checkpoint().map_or(0, |checkpoint| checkpoint.bytes());
    }
    assert!(checkpoints <= 2 * entries, "{checkpoints} bytes for {entries}");
}

#[test]
fn a_writer_that_stops_at_a_checkpoint_harms_nothing() {
    for fault in [Fault::StopBefore, Fault::StopAfter, Fault::AnswerLost, Fault::Delayed(1)] {
        for at in 0..3 {
            let dir = tempfile::tempdir().unwrap();
            let below: Arc<dyn Store> = Arc::new(Folder::new(dir.path()));
            let mut log = new(&below);
            append(&mut log, &[file("large", &"x".repeat(2 << 20))]);
            let mut checkpoint = log.take_checkpoint().unwrap();
            let faulty = Arc::new(Faulty::new(Arc::clone(&below), at, fault));
            checkpoint.store = Arc::<Faulty>::clone(&faulty);
            checkpoint.write().unwrap_err();
            assert_eq!(opened(&below).state(), log.state(), "{fault:?} at {at}");
            faulty.let_all_arrive();
            assert_eq!(opened(&below).state(), log.state(), "{fault:?} at {at}");
            verify(&below).unwrap();
        }
    }
}

#[test]
fn items_are_seen_as_they_are_folded() {
    let (_, store, _) = two_checkpoints();
    let mut log = opened(&store);
    let mut other = opened(&store);
    append(&mut other, &[revision(600, "other"), file("a", "b")]);
    let mut seen = Vec::new();
    let mut note = |slot: u64, item: &Item<'_>| {
        seen.push((slot, matches!(item, Item::Revision { .. })));
    };
    let mut own = |state: &State| Ok(Some(vec![revision(state.revisions, "own")]));
    assert!(log.append_with(&mut own, &mut |_, _| false, &mut note).unwrap());
    append(&mut other_caught_up(other), &[file("c", "d")]);
    log.catch_up_with(&mut note).unwrap();
    assert_eq!(seen, [(601, true), (601, false), (602, true), (603, false)]);
}

fn other_caught_up(mut log: RepositoryLog) -> RepositoryLog {
    log.catch_up().unwrap();
    log
}

proptest! {
    #[test]
    fn no_bytes_of_a_checkpoint_make_it_panic(
        bytes in proptest::collection::vec(any::<u8>(), 0..200),
        line in "(file|program|pack|revision|big|props|seg)( [0-9]{1,19}){1,4}( [0-9a-f]{32}){0,2}( [0-9a-f]{64}){0,2}",
        at in 0usize..3000,
    ) {
        let _ = parse(&bytes);
        let _ = parse_hint(&bytes);
        let whole = write(99, Digest::of(b"entry"), &full());
        for more in [bytes.as_slice(), line.as_bytes()] {
            // A right sum over wrong lines.
            let mut content = whole[..whole.len() - 69].to_vec();
            let at = at % content.len();
            content.splice(at.., more.iter().copied().chain([b'\n']));
            let sum = Digest::of(&content);
            content.extend_from_slice(format!("sum {sum}\n").as_bytes());
            if let Ok(Checkpoint { slot, last, state }) = parse(&content) {
                prop_assert_eq!(write(slot, last, &state), content, "there is one form of each");
            }
        }
    }

    #[test]
    fn hints_come_back(slot in 0..=u64::MAX / 2) {
        prop_assert_eq!(parse_hint(&write_hint(slot)), Some(slot));
    }
}
