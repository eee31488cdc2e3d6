//! Objects that writers left: found when they are old, and only these.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use sapwood_objects::{Blobs as _, Key, Log as _, Memory, Store};

use super::{file, object, revision};
use crate::entry::{Data, Item};
use crate::error::{Error, Result};
use crate::log::RepositoryLog;
use crate::sweep::find_orphans;
use crate::verify::verify;

const WEEK: Duration = Duration::from_secs(7 * 86_400);

fn key(part: &str, name: u8) -> Key {
    Key::of_token(part, object(name, b"").token).unwrap()
}

/// A store with objects that entries name, all of them old, and some that none names.
fn filled() -> (Memory, Arc<dyn Store>, RepositoryLog) {
    let memory = Memory::new();
    let store: Arc<dyn Store> = Arc::new(memory.clone());
    let mut log = RepositoryLog::new(Arc::clone(&store)).unwrap();
    let mut append = |items: Vec<Item<'static>>| {
        assert!(log.append(&mut |_| Ok(Some(items.clone())), &mut |_, _| false).unwrap());
    };
    for (part, name) in [("big", 1), ("pack", 2), ("props", 3), ("props", 4)] {
        memory.put(&key(part, name), &[name]).unwrap();
    }
    append(vec![file("format", "5\n")]);
    for number in 0..70 {
        append(vec![revision(number, "x")]);
    }
    let big = Item::Revision {
        revision: 70,
        data: Data::Big(object(1, &[1])),
        props: b"".as_slice().into(),
    };
    append(vec![big]);
    // A pack, and the same with other properties: the entry before names the earlier ones.
    for props in [3, 4] {
        let (data, props) = (object(2, &[2]), object(props, &[props]));
        append(vec![Item::Pack { first: 0, count: 3, data, props }]);
    }
    let segments = log.take_segments().unwrap().write().unwrap();
    assert!(log.announce(&segments, &mut |_, _| false).unwrap());
    verify(&store).unwrap();
    for part in ["big", "pack", "props", "seg"] {
        for listed in memory.list(part, None, 100).unwrap() {
            make_old(&memory, &listed.key);
        }
    }
    (memory, store, log)
}

fn make_old(memory: &Memory, key: &Key) {
    let before = SystemTime::now().checked_sub(WEEK + Duration::from_secs(60)).unwrap();
    memory.set_modified(key, before);
}

#[test]
fn what_others_have_the_place_of_is_removed_when_that_is_old() {
    let (memory, store, log) = filled();
    // The properties of the pack that has others now. All objects are old, and the entries are not.
    let found = find_orphans(&store, WEEK).unwrap();
    assert_eq!((found.count(), &found.superseded), (0, &Vec::new()));
    for listed in memory.list("log", None, 1000).unwrap() {
        make_old(&memory, &listed.key);
    }
    let found = find_orphans(&store, WEEK).unwrap();
    let gone: Vec<Key> = found.superseded.iter().map(|listed| listed.key.clone()).collect();
    assert_eq!((gone, found.orphans.len()), (vec![key("props", 3)], 0));
    found.remove(&*store, &mut |_| Ok::<(), Error>(())).unwrap();
    verify(&store).unwrap();
    assert_eq!(find_orphans(&store, WEEK).unwrap().count(), 0);
    assert_eq!(RepositoryLog::open(Arc::clone(&store)).unwrap().unwrap().state(), log.state());
    drop(log);
    // Everything is packed: what is left are the newest pack and its properties.
    let mut log = RepositoryLog::open(Arc::clone(&store)).unwrap().unwrap();
    for first in (0..69).step_by(3) {
        let (data, props) = (object(2, &[2]), object(4, &[4]));
        let items = vec![Item::Pack { first, count: 3, data, props }];
        log.append(&mut |_| Ok(Some(items.clone())), &mut |_, _| false).unwrap();
    }
    let (data, props) = (object(2, &[2]), object(4, &[4]));
    let rest = vec![revision(71, "x"), Item::Pack { first: 69, count: 3, data, props }];
    log.append(&mut |_| Ok(Some(rest.clone())), &mut |_, _| false).unwrap();
    for listed in memory.list("log", None, 1000).unwrap() {
        make_old(&memory, &listed.key);
    }
    let found = find_orphans(&store, WEEK).unwrap();
    assert!(found.superseded.iter().any(|listed| listed.key == key("big", 1)), "{found:?}");
    assert!(found.superseded.iter().all(|listed| listed.key != key("pack", 2)), "{found:?}");
    found.remove(&*store, &mut |_| Ok::<(), Error>(())).unwrap();
    verify(&store).unwrap();
}

fn orphans(store: &Arc<dyn Store>) -> BTreeSet<Key> {
    let found = find_orphans(store, WEEK).unwrap();
    found.orphans.into_iter().map(|listed| listed.key).collect()
}

#[test]
fn what_no_entry_names_is_removed_when_it_is_old() {
    let (memory, store, log) = filled();
    assert_eq!(orphans(&store), BTreeSet::new(), "all are named");
    let left: Vec<Key> =
        ["big", "pack", "props", "seg", "reps", "clock"].map(|part| key(part, 9)).to_vec();
    for key in &left {
        memory.put(key, b"left").unwrap();
    }
    let young = find_orphans(&store, WEEK).unwrap();
    assert_eq!((young.orphans.len(), young.young), (0, 6));
    left.iter().for_each(|key| make_old(&memory, key));
    assert_eq!(orphans(&store), left.iter().cloned().collect());
    let found = find_orphans(&store, WEEK).unwrap();
    assert_eq!((found.count(), found.bytes(), found.young), (6, 24, 0));
    let mut removed = 0;
    let mut count = |_: &_| -> Result<()> {
        removed += 1;
        Ok(())
    };
    found.remove(&*store, &mut count).unwrap();
    assert_eq!(removed, 6);
    assert_eq!(orphans(&store), BTreeSet::new());
    verify(&store).unwrap();
    assert_eq!(RepositoryLog::open(Arc::clone(&store)).unwrap().unwrap().state(), log.state());
    assert_eq!(memory.list("clock", None, 9).unwrap(), [], "its own object is gone");
}

#[test]
fn another_clock_than_the_store_s_has_no_effect() {
    let (memory, store, _) = filled();
    memory.put(&key("big", 9), b"left").unwrap();
    // In the future, as a machine sees it whose clock is slow.
    let later = SystemTime::now().checked_add(WEEK * 10).unwrap();
    memory.set_modified(&key("big", 9), later);
    assert_eq!(orphans(&store), BTreeSet::new());
}

#[test]
fn where_entries_were_lost_nothing_is_an_orphan() {
    let (memory, store, log) = filled();
    let name = Key::new("log").unwrap();
    // One in the middle: all that later ones name would seem to be left.
    memory.discard(&name, 40).unwrap();
    let error = find_orphans(&store, WEEK).unwrap_err();
    assert!(matches!(error, Error::Damaged { slot: 40, .. }), "{error}");
    // The end, and a checkpoint says so.
    let (memory, store, mut longer) = filled();
    let items = vec![file("large", &"x".repeat(2 << 20))];
    assert!(longer.append(&mut |_| Ok(Some(items.clone())), &mut |_, _| false).unwrap());
    longer.take_checkpoint().unwrap().write().unwrap();
    memory.discard(&name, log.entries()).unwrap();
    let error = find_orphans(&store, WEEK).unwrap_err();
    assert!(matches!(error, Error::Damaged { .. }), "{error}");
    // No repository: whatever is there is not ours.
    let memory = Memory::new();
    memory.put(&key("big", 9), b"left").unwrap();
    make_old(&memory, &key("big", 9));
    let store: Arc<dyn Store> = Arc::new(memory);
    assert!(matches!(find_orphans(&store, WEEK), Err(Error::NotThere(_))));
}
