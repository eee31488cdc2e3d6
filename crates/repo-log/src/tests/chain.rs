//! Logs: writers that race, states that are read back, and damage that is found.

use std::sync::Arc;
use std::thread;

use sapwood_core::{ErrorCode, SvnError};
use sapwood_objects::{Blobs as _, Folder, Key, Log as _, Memory, Record, Store, Token};

use super::{file, object, revision};
use crate::digest::Digest;
use crate::entry::{Data, Head, Item, write};
use crate::error::Error;
use crate::log::RepositoryLog;
use crate::state::RevisionData;
use crate::verify::verify;

/// A store with a repository of so many revisions, each in an entry.
fn filled(store: Arc<dyn Store>, revisions: u64) -> RepositoryLog {
    let mut log = RepositoryLog::new(store).unwrap();
    log.append(&mut |_| Ok(Some(vec![file("format", "5\n")])), &mut |_, _| false).unwrap();
    for number in 0..revisions {
        let data = format!("data of {number}");
        log.append(&mut |_| Ok(Some(vec![revision(number, &data)])), &mut |_, _| false).unwrap();
    }
    log
}

#[test]
fn what_was_added_is_read_back() {
    let dir = tempfile::tempdir().unwrap();
    let store: Arc<dyn Store> = Arc::new(Folder::new(dir.path()));
    assert!(RepositoryLog::open(Arc::clone(&store)).unwrap().is_none());
    let missing = SvnError::from(verify(&store).unwrap_err());
    assert_eq!(missing.code(), ErrorCode::RA_LOCAL_REPOS_NOT_FOUND);
    let written = filled(Arc::clone(&store), 100);
    let read = RepositoryLog::open(Arc::clone(&store)).unwrap().unwrap();
    assert_eq!(read.state(), written.state());
    assert_eq!(read.state().contents(), written.state().contents());
    for (number, data) in &read.state().data {
        let RevisionData::Inline(location) = data else { panic!("{data:?}") };
        assert_eq!(read.read(location).unwrap(), format!("data of {number}").as_bytes());
        let props = read.read(&read.state().props[number]).unwrap();
        assert_eq!(props, format!("props of {number}").as_bytes());
    }
    assert_eq!(read.read(&read.state().files["format"].bytes).unwrap(), b"5\n");
    assert_eq!(verify(&store).unwrap().entries, 101);
}

#[test]
fn contents_do_not_depend_on_how_they_came() {
    let (one, two): (Arc<dyn Store>, Arc<dyn Store>) =
        (Arc::new(Memory::new()), Arc::new(Memory::new()));
    let one = filled(one, 3);
    let mut two = RepositoryLog::new(two).unwrap();
    let all = (0..3).map(|n| revision(n, &format!("data of {n}")));
    let all: Vec<_> = all.chain([file("format", "5\n")]).collect();
    two.append(&mut |_| Ok(Some(all.clone())), &mut |_, _| false).unwrap();
    assert_eq!(one.state().contents(), two.state().contents());
    two.append(&mut |_| Ok(Some(vec![file("format", "6\n")])), &mut |_, _| false).unwrap();
    assert_ne!(one.state().contents(), two.state().contents());
}

#[test]
fn racing_writers_prepare_again_and_lose_nothing() {
    const WRITERS: usize = 4;
    const EACH: usize = 12;
    let dir = tempfile::tempdir().unwrap();
    let store: Arc<dyn Store> = Arc::new(Folder::new(dir.path()));
    filled(Arc::clone(&store), 1);
    let prepared: usize = thread::scope(|scope| {
        let write = |writer: usize| {
            let mut log = RepositoryLog::open(Arc::clone(&store)).unwrap().unwrap();
            let mut prepared = 0;
            for number in 0..EACH {
                let data = format!("{writer} {number}");
                let mut prepare = |state: &crate::State| {
                    prepared += 1;
                    Ok(Some(vec![revision(state.revisions, &data)]))
                };
                assert!(log.append(&mut prepare, &mut |_, _| false).unwrap());
                assert!(log.state().revisions > 1, "the writer sees its own");
            }
            prepared
        };
        let writers: Vec<_> = (0..WRITERS).map(|n| scope.spawn(move || write(n))).collect();
        writers.into_iter().map(|writer| writer.join().unwrap()).sum()
    });
    let log = RepositoryLog::open(Arc::clone(&store)).unwrap().unwrap();
    let texts: Vec<String> = (1..log.state().revisions)
        .map(|revision| {
            let RevisionData::Inline(at) = log.state().data[&revision] else { panic!() };
            String::from_utf8(log.read(&at).unwrap()).unwrap()
        })
        .collect();
    assert_eq!(texts.len(), WRITERS * EACH, "each is there once, in {prepared} attempts");
    for writer in 0..WRITERS {
        let own: Vec<_> = texts.iter().filter(|t| t.starts_with(&format!("{writer} "))).collect();
        let expected: Vec<String> = (0..EACH).map(|number| format!("{writer} {number}")).collect();
        assert_eq!(own, expected.iter().collect::<Vec<_>>(), "in its order");
    }
    verify(&store).unwrap();
}

#[test]
fn nothing_to_change_is_no_entry() {
    let mut log = filled(Arc::new(Memory::new()), 1);
    let before = log.entries();
    assert!(!log.append(&mut |_| Ok(None), &mut |_, _| false).unwrap());
    assert_eq!(log.entries(), before);
    let unfit = log.append(&mut |_| Ok(Some(vec![revision(9, "")])), &mut |_, _| false);
    assert!(matches!(unfit, Err(Error::Unfit { .. })));
    assert_eq!(log.entries(), before, "what does not fit does not get there");
}

/// What an error must say, after what was done to a store.
type Damage<'a> = (&'a str, &'a dyn Fn(&Memory));

#[test]
fn damage_is_found_and_named() {
    let big = object(9, b"big data");
    let damages: [Damage<'_>; 6] = [
        ("entry 2 of its log is missing", &|store| store.discard(&log_key(), 2).unwrap()),
        ("entry 2 of its log has a wrong sum", &|store| change(store, 2, |bytes| bytes[40] ^= 1)),
        // The sum is without the token; the chain is with it.
        ("entry 3 of its log does not follow", &|store| change(store, 2, |bytes| bytes[0] ^= 1)),
        ("entry 2 of its log says that it is entry 1", &|store| {
            let one = store.read_from(&log_key(), 1, 1).unwrap().remove(0);
            change(store, 2, |bytes| one.clone_into(bytes));
        }),
        ("entry 5 of its log is of another repository", &|store| {
            let last = store.read_from(&log_key(), 4, 1).unwrap().remove(0);
            let repository = Token::from_bytes([1; 16]);
            let head = Head { slot: 5, repository, before: Digest::of(&last) };
            let record = Record::new(&write(&head, &[])).unwrap();
            store.attempt(&log_key(), 5, record.as_bytes()).unwrap();
        }),
        ("'big/09090909090909090909090909090909' is not what entry 4", &|store| {
            store.put(&Key::of_token("big", big.token).unwrap(), b"big dat4").unwrap();
        }),
    ];
    for (expected, damage) in damages {
        let store = Memory::new();
        let shared: Arc<dyn Store> = Arc::new(store.clone());
        let mut log = filled(Arc::clone(&shared), 3);
        store.put(&Key::of_token("big", big.token).unwrap(), b"big data").unwrap();
        let data = Data::Big(big);
        let item = Item::Revision { revision: 3, data, props: b"".as_slice().into() };
        log.append(&mut |_| Ok(Some(vec![item.clone()])), &mut |_, _| false).unwrap();
        assert_eq!(verify(&shared).unwrap().objects, 1);
        damage(&store);
        let error = verify(&shared).unwrap_err().to_string();
        assert!(error.contains(expected), "{expected}: {error}");
        assert!(error.contains("'memory:'"), "{error}");
    }
}

fn log_key() -> Key {
    Key::new("log").unwrap()
}

fn change(store: &Memory, slot: u64, how: impl Fn(&mut Vec<u8>)) {
    let mut bytes = store.read_from(&log_key(), slot, 1).unwrap().remove(0);
    how(&mut bytes);
    store.put(&Key::slot(&log_key(), slot).unwrap(), &bytes).unwrap();
}
