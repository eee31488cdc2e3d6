//! How many requests of the store a server makes.

use sapwood_objects::{Counted, Requests};

use sapwood_core::PropList;

use super::*;
use crate::pack::PackOptions;

fn counted(stored: &Stored, name: &str) -> (Server, Counted) {
    let counted = Counted::new(Arc::clone(&stored.store));
    (stored.server(name, Arc::new(counted.clone())).unwrap(), counted)
}

/// Those that something made.
fn requests_of(counted: &Counted, what: impl FnOnce()) -> Requests {
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

#[test]
fn a_commit_asks_once_what_is_new_and_claims_once() {
    let stored = Stored::new();
    let (server, counted) = counted(&stored, "one");
    server.put("/a", "first").unwrap();
    server.put("/b", "first").unwrap();
    let mut txn = server.writer.begin(server.fs.youngest().unwrap()).unwrap();
    txn.set_text(fspath("/a"), &mut &b"second"[..], None).unwrap();
    let requests = requests_of(&counted, || assert_eq!(txn.commit().unwrap(), Revnum(3)));
    assert_eq!(requests, Requests { reads: 1, claims: 1, ..Requests::default() });
}

#[test]
fn what_is_known_is_not_asked_for_again() {
    let stored = Stored::new();
    let (server, counted) = counted(&stored, "one");
    server.put("/a", "first").unwrap();
    let read = || {
        let root = server.fs.revision_root(Revnum(1)).unwrap();
        assert_eq!(root.node(fspath("/a")).unwrap().length().unwrap(), 5);
    };
    read();
    assert_eq!(requests_of(&counted, read), Requests::default());
    let youngest = requests_of(&counted, || assert_eq!(server.fs.youngest().unwrap(), Revnum(1)));
    assert_eq!(youngest, Requests { reads: 1, ..Requests::default() });
    // All properties of one request of a client ask once whether others have changed some.
    let read = || {
        let mut snapshot = server.fs.revprops_snapshot();
        (0..=1).for_each(|revision| drop(snapshot.get(Revnum(revision)).unwrap()));
    };
    read();
    let properties = requests_of(&counted, read);
    assert_eq!(properties, Requests { reads: 1, ..Requests::default() });
}

#[test]
fn what_another_server_has_changed_is_seen_at_once() {
    let stored = Stored::new();
    let [one, two] = ["one", "two"].map(|name| counted(&stored, name).0);
    one.put("/a", "first").unwrap();
    assert_eq!(two.fs.youngest().unwrap(), Revnum(1));
    for value in ["blue", "green"] {
        let mut set = |props: &PropList| {
            let mut props = props.clone();
            props.set("color", value);
            Ok(Some(props))
        };
        one.writer.change_revision_props(Revnum(1), &mut set).unwrap();
        let seen = two.fs.revprops(Revnum(1)).unwrap();
        assert_eq!(seen.get("color"), Some(value.as_bytes()));
    }
}

#[test]
fn a_program_that_begins_asks_the_same_whatever_the_length_of_the_log() {
    let begin = |revisions: usize| {
        let stored = Stored::new();
        let (server, _) = counted(&stored, "one");
        for n in 0..revisions {
            server.put("/a", &n.to_string()).unwrap();
        }
        drop(server);
        // One that is left and begun again saves what it knows.
        drop(counted(&stored, "one"));
        let counted = Counted::new(Arc::clone(&stored.store));
        let store: Arc<dyn Store> = Arc::new(counted.clone());
        requests_of(&counted, || drop(stored.server("one", store).unwrap()))
    };
    let (few, many) = (begin(70), begin(280));
    assert_eq!(few, many);
    assert!(few.reads + few.gets <= 3, "{few:?}");
}

#[test]
fn locks_and_properties_are_a_few_requests() {
    let stored = Stored::new();
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
