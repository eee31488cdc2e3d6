//! Equal texts are stored once, whatever server brought the first, and what finding them costs.

use sapwood_core::Sha1;
use sapwood_objects::{CountedStore, Requests};
use sapwood_repo_log::State;

use super::super::upkeep::finish;
use super::*;

fn text(n: usize) -> String {
    format!("the text {n}")
}

fn sum(n: usize) -> Sha1 {
    Sha1::of(text(n).as_bytes())
}

/// A repository whose first revision has so many texts, which are in tables.
fn with_texts(count: usize) -> StoredRepository {
    let stored = StoredRepository::new();
    let server = stored.server("first", Arc::clone(&stored.store)).unwrap();
    let mut txn = server.writer.begin(server.fs.youngest().unwrap()).unwrap();
    // In a folder of their own: a large one is read again by each commit to it.
    txn.make_dir(fspath("/d")).unwrap();
    for n in 0..count {
        let path = format!("/d/{n}");
        txn.make_file(fspath(&path)).unwrap();
        txn.set_text(fspath(&path), &mut text(n).as_bytes(), None).unwrap();
    }
    assert_eq!(txn.commit().unwrap(), Revnum(1));
    drop(server);
    finish();
    stored
}

fn state(server: &Server) -> State {
    server.fs.fs.revisions.as_log().unwrap().log.read().state().clone()
}

fn requests(counted: &CountedStore, what: impl FnOnce()) -> Requests {
    let before = counted.requests();
    what();
    let after = counted.requests();
    Requests {
        gets: after.gets - before.gets,
        puts: after.puts - before.puts,
        reads: after.reads - before.reads,
        claims: after.claims - before.claims,
        ..Requests::default()
    }
}

/// A commit of a server that knows the repository asks once and writes once, however many texts there are: one that is new, and one of whose kind
/// there is one.
#[test]
fn commits_cost_the_same_whatever_the_number_of_texts() {
    for count in [1100, 4400] {
        let stored = with_texts(count);
        let counted = CountedStore::new(Arc::clone(&stored.store));
        let blocks = stored.path("blocks");
        let server = stored.server_with("two", Arc::new(counted.clone()), Some(&blocks)).unwrap();
        let tables = state(&server).reps.tables().count();
        assert_eq!(tables, 1);
        assert!(!stored.path("two").join("db/rep-cache.db").exists());
        // The tables are read, and the block with the text.
        let first =
            requests(&counted, || assert_eq!(server.put("/a", &text(7)).unwrap(), Revnum(2)));
        assert!(first.gets <= 8 && (first.claims, first.puts) == (1, 0), "{first:?}");
        // The tree that they are added to is read, too.
        server.put("/warm", "warm").unwrap();
        let warm = Requests { reads: 1, claims: 1, ..Requests::default() };
        let new = requests(&counted, || assert_eq!(server.put("/b", "new").unwrap(), Revnum(4)));
        assert_eq!(new, warm, "{count}");
        let old = requests(&counted, || assert_eq!(server.put("/c", &text(7)).unwrap(), Revnum(5)));
        assert_eq!(old, warm, "{count}");
        let state = state(&server);
        assert_eq!(state.reps.row(&sum(7)), None, "it is not stored again");
        assert!(state.reps.row(&Sha1::of(b"new")).is_some());
        let found = server.fs.fs.revisions.as_log().unwrap().find_rep(sum(7)).unwrap().unwrap();
        assert_eq!(found.revision, Revnum(1));
        sapwood_repo_log::verify(&stored.store).unwrap();
        server.fs.verify_metadata(None, None, 1, &CancelToken::default(), &mut |_| ()).unwrap();
    }
}

#[test]
fn without_its_table_a_text_is_stored_again_and_nothing_fails() {
    let stored = with_texts(1100);
    let key = stored.store.list("reps", None, 9).unwrap().remove(0).key;
    let whole = stored.store.get(&key, 0..u64::MAX).unwrap().unwrap();
    let mut changed = whole.clone();
    changed[1] ^= 1;
    let mut end_changed = whole.clone();
    let last = whole.len() - 1;
    end_changed[last] ^= 1;
    for (name, damaged) in
        [("cut", &whole[..500]), ("empty", &[]), ("changed", &changed), ("end", &end_changed)]
    {
        stored.store.put(&key, damaged).unwrap();
        let server = stored.server(name, Arc::clone(&stored.store)).unwrap();
        let log = server.fs.fs.revisions.as_log().unwrap();
        let lost = (0..1100).find(|n| log.find_rep(sum(*n)).unwrap().is_none()).unwrap();
        server.put(&format!("/{name}"), &text(lost)).unwrap();
        let youngest = server.fs.youngest().unwrap();
        assert_eq!(state(&server).reps.row(&sum(lost)).unwrap().revision, youngest.0);
        let error = server.fs.verify_metadata(None, None, 1, &CancelToken::default(), &mut |_| ());
        let error = match name {
            // The rows are all there.
            "end" => sapwood_repo_log::verify(&stored.store).unwrap_err().to_string(),
            _ => error.unwrap_err().to_string(),
        };
        assert!(error.contains("damaged"), "{name}: {error}");
    }
    stored.store.put(&key, &whole).unwrap();
    sapwood_repo_log::verify(&stored.store).unwrap();
}

/// What 1.14 calls `build-repcache`: rows that are not there come again.
#[test]
fn rows_are_made_again() {
    let stored = StoredRepository::new();
    let server = stored.server("one", Arc::clone(&stored.store)).unwrap();
    server.put("/a", "text").unwrap();
    let rows = |server: &Server| state(server).reps.rows().count();
    let before = rows(&server);
    let build = |server: &Server| {
        let last = server.fs.youngest().unwrap();
        let cancel = CancelToken::default();
        server.fs.build_rep_cache(Revnum(0), last, &cancel, &mut |_| Ok(())).unwrap();
    };
    let entries = state(&server).revisions;
    build(&server);
    assert_eq!((rows(&server), state(&server).revisions), (before, entries));
    // A folder without its database.
    let folder = stored.path("plain");
    drop(stored.exported("plain"));
    std::fs::remove_file(folder.join("db/rep-cache.db")).unwrap();
    let other =
        StoredRepository { folder: tempfile::tempdir().unwrap(), store: Arc::new(Memory::new()) };
    let store = Arc::clone(&other.store);
    sapwood_repo_transfer::import(&folder, store, &CancelToken::default()).unwrap();
    let server = other.server("one", Arc::clone(&other.store)).unwrap();
    assert_eq!(rows(&server), 0);
    build(&server);
    assert!(rows(&server) > 0);
    assert!(state(&server).reps.row(&Sha1::of(b"text")).is_some());
}
