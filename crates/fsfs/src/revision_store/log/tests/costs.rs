//! How many requests of the store a server makes.

use sapwood_objects::{CountedStore, Requests};
use sapwood_testkit::patience;

use sapwood_core::PropList;

use super::*;
use crate::locks::UnlockTarget;
use crate::pack::PackOptions;

fn counted(stored: &StoredRepository, name: &str) -> (Server, CountedStore) {
    let counted = CountedStore::new(Arc::clone(&stored.store));
    (stored.server(name, Arc::new(counted.clone())).unwrap(), counted)
}

/// Those that something made.
fn requests_of(counted: &CountedStore, what: impl FnOnce()) -> Requests {
    let before = counted.requests();
    what();
    let after = counted.requests();
    Requests {
        gets: after.gets - before.gets,
        puts: after.puts - before.puts,
        lists: after.lists - before.lists,
        deletes: after.deletes - before.deletes,
        reads: after.reads - before.reads,
        claims: after.claims - before.claims,
        ..Requests::default()
    }
}

/// So many questions for what is new, and claims.
fn asked(reads: u64, claims: u64) -> Requests {
    Requests { reads, claims, ..Requests::default() }
}

/// From the client's first question on: what is new is asked for once, when the transaction begins.
#[test]
fn a_commit_asks_once_what_is_new_and_claims_once() {
    let stored = StoredRepository::new();
    let (server, counted) = counted(&stored, "one");
    server.put("/a", "first").unwrap();
    let second = requests_of(&counted, || assert_eq!(server.put("/b", "x").unwrap(), Revnum(2)));
    assert_eq!(second, asked(1, 1));
    let mut txn = server.writer.begin(server.fs.youngest().unwrap()).unwrap();
    txn.set_text(fspath("/a"), &mut &b"second"[..], None).unwrap();
    let claim = requests_of(&counted, || assert_eq!(txn.commit().unwrap(), Revnum(3)));
    assert_eq!(claim, asked(0, 1));
}

/// Who has lost a claim, or has seen another's entry, asks before it claims again.
#[test]
fn a_commit_that_another_server_comes_before_is_made_again() {
    let stored = StoredRepository::new();
    let (one, requests) = counted(&stored, "one");
    let (two, _) = counted(&stored, "two");
    one.put("/a", "first").unwrap();
    let mut txn = one.writer.begin(one.fs.youngest().unwrap()).unwrap();
    txn.set_text(fspath("/a"), &mut &b"second"[..], None).unwrap();
    two.put("/b", "between").unwrap();
    let lost = requests_of(&requests, || assert_eq!(txn.commit().unwrap(), Revnum(3)));
    // A claim that is lost shows who won; then the entry is read.
    assert_eq!(lost.claims, 2, "{lost:?}");
    assert!(lost.gets + lost.reads <= 4, "{lost:?}");
    two.put("/b", "again").unwrap();
    let seen = requests_of(&requests, || assert_eq!(one.put("/a", "x").unwrap(), Revnum(5)));
    assert_eq!(seen.claims, 1, "{seen:?}");
}

/// What a commit fails by is what is there when it fails, not what this server knew.
#[test]
fn a_lock_that_another_server_removed_stops_no_commit() {
    let stored = StoredRepository::new();
    let (one, _) = counted(&stored, "one");
    let (two, _) = counted(&stored, "two");
    one.put("/a", "first").unwrap();
    let locked = one.lock("/a");
    let token = locked.each[0].1.as_ref().unwrap().token.clone();
    let begin = |text: &'static [u8]| {
        let mut txn = one.writer.begin(one.fs.youngest().unwrap()).unwrap();
        txn.set_text(fspath("/a"), &mut &*text, None).unwrap();
        txn
    };
    // Nothing is new: it is locked.
    assert!(begin(b"no").commit().is_err());
    let txn = begin(b"yes");
    let target = UnlockTarget { path: fspath("/a").to_owned(), token };
    let outcome = two.writer.unlock_paths(&[target], Some("jane"), false);
    assert!(outcome.each[0].1.is_ok(), "{outcome:?}");
    assert_eq!(txn.commit().unwrap(), Revnum(2));
}

#[test]
fn what_is_known_is_not_asked_for_again() {
    let stored = StoredRepository::new();
    let (server, counted) = counted(&stored, "one");
    server.put("/a", "first").unwrap();
    let read = || {
        let root = server.fs.revision_root(Revnum(1)).unwrap();
        assert_eq!(root.node(fspath("/a")).unwrap().length().unwrap(), 5);
        server.fs.revprops(Revnum(1)).unwrap();
    };
    read();
    assert_eq!(requests_of(&counted, read), Requests::default());
    let youngest = requests_of(&counted, || assert_eq!(server.fs.youngest().unwrap(), Revnum(1)));
    assert_eq!(youngest, Requests { reads: 1, ..Requests::default() });
}

#[test]
fn a_program_that_begins_asks_the_same_whatever_the_length_of_the_log() {
    let begin = |revisions: usize| {
        let stored = StoredRepository::new();
        let (server, _) = counted(&stored, "one");
        for n in 0..revisions {
            server.put("/a", &n.to_string()).unwrap();
        }
        drop(server);
        // One that is left and begun again saves what it knows.
        drop(counted(&stored, "one"));
        let counted = CountedStore::new(Arc::clone(&stored.store));
        let store: Arc<dyn Store> = Arc::new(counted.clone());
        requests_of(&counted, || drop(stored.server("one", store).unwrap()))
    };
    let (few, many) = (begin(70), begin(280));
    assert_eq!(few, many);
    assert!(few.reads + few.gets <= 3, "{few:?}");
}

#[test]
fn locks_and_properties_are_a_few_requests() {
    let stored = StoredRepository::new();
    let (server, counted) = counted(&stored, "one");
    server.put("/a", "first").unwrap();
    server.put("/b", "first").unwrap();
    let lock = requests_of(&counted, || {
        let outcome = server.lock("/a");
        assert!(outcome.each[0].1.is_ok(), "{outcome:?}");
    });
    assert_eq!(lock, Requests { reads: 2, claims: 1, ..Requests::default() });
    let change = |value: &'static str| {
        let mut set = |props: &PropList| {
            let mut props = props.clone();
            props.set("color", value);
            Ok(Some(props))
        };
        server.writer.change_revision_props(Revnum(1), &mut set).unwrap();
    };
    let property = requests_of(&counted, || change("blue"));
    assert_eq!(property, Requests { reads: 1, gets: 1, claims: 1, ..Requests::default() });
    server.fs.pack(&PackOptions::default(), &CancelToken::default(), &mut |_| Ok(())).unwrap();
    change("green");
    let packed = requests_of(&counted, || change("red"));
    // The object with the properties of the shard is written anew: begun, written, ended.
    assert!(packed.reads == 1 && packed.claims == 1 && packed.puts <= 3, "{packed:?}");
}

/// What a machine has read once, the next program there does not ask the store for: properties of revisions in packs, of which only some
/// are kept in memory, and of those that are not packed.
#[test]
fn properties_that_were_read_are_kept_on_the_machine() {
    let read_all = |revisions: u64| {
        let stored = StoredRepository::new();
        let (server, _) = counted(&stored, "one");
        for n in 0..revisions {
            server.put("/a", &n.to_string()).unwrap();
        }
        server.fs.pack(&PackOptions::default(), &CancelToken::default(), &mut |_| Ok(())).unwrap();
        for n in 0..10 {
            server.put("/b", &n.to_string()).unwrap();
        }
        drop(server);
        let blocks = stored.path("blocks");
        let read = || {
            let counted = CountedStore::new(Arc::clone(&stored.store));
            let store: Arc<dyn Store> = Arc::new(counted.clone());
            let server = stored.server_with("two", Arc::clone(&store), Some(&blocks)).unwrap();
            requests_of(&counted, move || {
                for revision in 0..=server.fs.youngest().unwrap().0 {
                    server.fs.revprops(Revnum(revision)).unwrap();
                }
                drop(server);
                // What threads fetch ahead is in the folder when none of them has the store any more.
                let is_ours = || Arc::strong_count(&store) == 1;
                assert!(patience::wait(60, is_ours), "something still uses the store");
            })
        };
        (read().gets, read().gets)
    };
    let ((few, few_again), (many, many_again)) = (read_all(40), read_all(160));
    assert_eq!((few_again, many_again), (0, 0), "{few} {many}");
    assert!(many <= 4 * few + 8, "{few} {many}");
}
