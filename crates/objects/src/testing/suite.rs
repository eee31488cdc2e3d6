//! The tests that every make must pass.

use std::sync::Barrier;
use std::thread;

use sapwood_core::len64;

use crate::claim::{Claim, Record, claim};
use crate::key::Key;
use crate::proof::prove;
use crate::store::{Attempt, Store};

/// Tries all promises of an empty store; panics at the first that is broken. The store is empty again afterwards, but for
/// entries of logs.
pub fn suite(store: &dyn Store) {
    objects(store);
    uploads(store);
    lists(store);
    entries(store);
    races(store);
    prove(store).unwrap();
    assert_eq!(store.list("proof", None, 10).unwrap(), [], "the trial leaves nothing");
}

fn key(text: &str) -> Key {
    Key::new(text).unwrap()
}

fn objects(store: &dyn Store) {
    let one = key("big/one");
    assert_eq!(store.get(&one, 0..10).unwrap(), None);
    let missing = store.whole(&one, 10).unwrap_err().to_string();
    assert!(missing.contains("'big/one'") && missing.contains(crate::Blobs::address(store)));
    store.delete(&one).unwrap();
    store.put(&one, b"0123456789").unwrap();
    for (range, expected) in
        [(0..10, "0123456789"), (0..u64::MAX, "0123456789"), (3..5, "34"), (9..20, "9"), (4..4, "")]
    {
        let found = store.get(&one, range.clone()).unwrap().unwrap();
        assert_eq!(String::from_utf8(found).unwrap(), expected, "{range:?}");
    }
    assert_eq!(store.get(&one, 10..12).unwrap().unwrap(), b"", "behind the end is nothing");
    assert_eq!(store.get(&key("big/one/more"), 0..1).unwrap(), None);
    store.put(&one, b"other").unwrap();
    assert_eq!(store.whole(&one, 100).unwrap(), b"other");
    let empty = key("big/empty");
    store.put(&empty, b"").unwrap();
    assert_eq!(store.whole(&empty, 10).unwrap(), b"");
    for gone in [&one, &empty] {
        store.delete(gone).unwrap();
        assert_eq!(store.get(gone, 0..1).unwrap(), None);
    }
}

fn uploads(store: &dyn Store) {
    let large = key("big/large");
    // More than one part of any store, in pieces that no part begins with.
    let piece: Vec<u8> = (0..=255).cycle().take(700_001).collect();
    let mut upload = store.upload(&large).unwrap();
    for _ in 0..20 {
        upload.append(&piece).unwrap();
    }
    assert_eq!(store.get(&large, 0..1).unwrap(), None, "nothing is there before the end");
    upload.finish().unwrap();
    let found = store.get(&large, 700_000..1_400_003).unwrap().unwrap();
    assert_eq!(found.len(), 700_003);
    assert_eq!(found[1..700_002], piece);
    let listed = store.list("big", None, 10).unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0].len, 20 * len64(piece.len()));
    store.delete(&large).unwrap();

    let mut dropped = store.upload(&large).unwrap();
    dropped.append(b"half").unwrap();
    drop(dropped);
    assert_eq!(store.get(&large, 0..1).unwrap(), None, "what is not finished is not there");
    assert_eq!(store.list("big", None, 10).unwrap(), []);
    let empty = store.upload(&large).unwrap();
    empty.finish().unwrap();
    assert_eq!(store.whole(&large, 10).unwrap(), b"");
    store.delete(&large).unwrap();
}

fn lists(store: &dyn Store) {
    let names: Vec<Key> = (0..25).map(|n| key(&format!("seg/{n:02}"))).collect();
    for name in names.iter().rev().chain([&key("segment/x"), &key("sea/x")]) {
        store.put(name, name.as_str().as_bytes()).unwrap();
    }
    let mut found = Vec::new();
    loop {
        let page = store.list("seg", found.last(), 7).unwrap();
        assert!(page.len() <= 7);
        if page.is_empty() {
            break;
        }
        assert!(page.iter().all(|listed| listed.len == len64(listed.key.as_str().len())));
        found.extend(page.into_iter().map(|listed| listed.key));
    }
    assert_eq!(found, names);
    times(store, &names);
    assert_eq!(store.list("nothing", None, 7).unwrap(), []);
    for name in names.iter().chain([&key("segment/x"), &key("sea/x")]) {
        store.delete(name).unwrap();
    }
    assert_eq!(store.list("seg", None, 7).unwrap(), []);
}

/// An object that is written is not older than one that was written before, whatever the clock says.
fn times(store: &dyn Store, names: &[Key]) {
    let modified = |key: &Key| {
        let listed = store.list("seg", None, 100).unwrap();
        listed.iter().find(|listed| listed.key == *key).unwrap().modified
    };
    let before = modified(&names[0]);
    let bytes = store.whole(&names[1], 100).unwrap();
    store.put(&names[1], &bytes).unwrap();
    assert!(modified(&names[1]) >= before);
}

fn entries(store: &dyn Store) {
    let log = key("trial-log");
    assert!(store.read_from(&log, 0, 5).unwrap().is_empty());
    for slot in [0_u64, 1, 2, 4] {
        let attempt = store.attempt(&log, slot, format!("entry {slot}").as_bytes()).unwrap();
        assert!(matches!(attempt, Attempt::Created), "{attempt:?}");
        let again = store.attempt(&log, slot, b"another").unwrap();
        assert!(matches!(again, Attempt::Taken), "{again:?}");
    }
    let texts = |first, most| -> Vec<String> {
        let found = store.read_from(&log, first, most).unwrap();
        found.into_iter().map(|bytes| String::from_utf8(bytes).unwrap()).collect()
    };
    assert_eq!(texts(0, 10), ["entry 0", "entry 1", "entry 2"], "to the gap");
    assert_eq!(texts(1, 1), ["entry 1"]);
    assert_eq!(texts(4, 10), ["entry 4"]);
    assert_eq!(texts(3, 10), [""; 0]);
    assert_eq!(store.list("trial-log", None, 10).unwrap().len(), 4, "entries are objects");
    for slot in [0, 1, 2, 4] {
        store.discard(&log, slot).unwrap();
    }
    assert!(store.read_from(&log, 0, 5).unwrap().is_empty());
}

/// Writers that claim the next slot until each has its entries: none is lost, none is there twice.
fn races(store: &dyn Store) {
    const WRITERS: u8 = 4;
    const EACH: u8 = 5;
    let log = key("race-log");
    let start = Barrier::new(usize::from(WRITERS));
    let write = |writer: u8| {
        start.wait();
        let mut slot = 0;
        for number in 0..EACH {
            let record = Record::new(&[writer, number]).unwrap();
            while let Claim::Lost(other) =
                claim(store, &log, slot, &record, &mut |_, _| true).unwrap()
            {
                assert_ne!(other, record.as_bytes());
                slot += 1;
            }
        }
    };
    thread::scope(|scope| (0..WRITERS).for_each(|writer| drop(scope.spawn(move || write(writer)))));
    let found = store.read_from(&log, 0, 1000).unwrap();
    assert_eq!(found.len(), usize::from(WRITERS * EACH));
    let mut bodies: Vec<_> = found.iter().map(|r| Record::parse(r).unwrap().1.to_vec()).collect();
    for writer in 0..WRITERS {
        let own: Vec<u8> = bodies.iter().filter(|b| b[0] == writer).map(|b| b[1]).collect();
        assert_eq!(own, (0..EACH).collect::<Vec<_>>(), "those of a writer are in its order");
    }
    bodies.sort();
    bodies.dedup();
    assert_eq!(bodies.len(), usize::from(WRITERS * EACH));
    for slot in 0..len64(found.len()) {
        store.discard(&log, slot).unwrap();
    }
}
