//! Each make keeps its promises; what does not is refused.

use std::fs;
use std::sync::Arc;

use crate::testing::{Cheat, Cheater, Fault, Faulty, suite};
use crate::{Blobs as _, CountedStore, Error, Folder, Key, Log as _, Memory, prove};
use sapwood_core::{ErrorCode, SvnError};

#[test]
fn memory_keeps_its_promises() {
    let store = Memory::new();
    suite(&store);
    assert_eq!(store.clone().list("trial-race", None, 1).unwrap(), []);
}

#[test]
fn a_folder_keeps_its_promises() {
    let dir = tempfile::tempdir().unwrap();
    let store = Folder::new(&dir.path().join("deep/store"));
    suite(&store);
    // Nothing but empty folders is left.
    for entry in fs::read_dir(dir.path().join("deep/store")).unwrap() {
        let left = fs::read_dir(entry.unwrap().path()).unwrap().count();
        assert_eq!(left, 0);
    }
}

#[test]
fn what_a_killed_process_leaves_in_a_folder_is_no_object() {
    let dir = tempfile::tempdir().unwrap();
    let store = Folder::new(dir.path());
    let key = Key::new("big/x").unwrap();
    store.put(&key, b"x").unwrap();
    fs::write(dir.path().join("big/.new-0123"), b"half").unwrap();
    let listed = store.list("big", None, 10).unwrap();
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0].key, key);
}

#[test]
fn errors_name_store_and_key() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("log"), b"a file in the way").unwrap();
    let store = Folder::new(dir.path());
    let error = store.attempt(&Key::new("log").unwrap(), 7, b"x").unwrap_err();
    let text = error.to_string();
    assert!(text.contains("'log/0000000000000007'"), "{text}");
    assert!(text.contains(&format!("'file://{}'", dir.path().display())), "{text}");
    assert_eq!(SvnError::from(error).code(), ErrorCode::ENOTDIR);
    assert!(!dir.path().join("log").is_dir());
}

#[test]
fn stores_that_cheat_are_refused() {
    for how in
        [Cheat::IgnoresTheCondition, Cheat::LooksFirst, Cheat::WritesNothing, Cheat::KeepsTheLast]
    {
        let store = Cheater::new(how, 8);
        let error = prove(&store).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("'cheater:'") && text.contains("'proof/"), "{how:?}: {text}");
        let several = matches!(how, Cheat::IgnoresTheCondition | Cheat::LooksFirst);
        let fits = match error {
            Error::Cheats { winners, writers, .. } => several && winners == 8 && writers == 8,
            Error::Forgets { .. } => !several,
            _ => false,
        };
        assert!(fits, "{how:?}: {text}");
        assert_eq!(store.list("proof", None, 10).unwrap(), [], "{how:?}");
    }
}

#[test]
fn what_a_store_is_asked_for_is_counted() {
    let counted = CountedStore::new(Arc::new(Memory::new()));
    suite(&counted);
    let before = counted.requests();
    let (log, key) = (Key::new("log").unwrap(), Key::new("big/x").unwrap());
    for expected in ["Created", "Taken"] {
        let attempt = counted.attempt(&log, 0, b"entry").unwrap();
        assert_eq!(format!("{attempt:?}"), expected);
    }
    counted.attempt(&log, 1, b"entry").unwrap();
    assert_eq!(counted.read_from(&log, 0, 9).unwrap().len(), 2);
    counted.put(&key, b"0123456789").unwrap();
    counted.get(&key, 2..5).unwrap();
    counted.get(&Key::new("big/y").unwrap(), 0..1).unwrap();
    counted.list("big", None, 5).unwrap();
    counted.delete(&key).unwrap();
    let mut upload = counted.clone().upload(&key).unwrap();
    upload.append(b"abc").unwrap();
    upload.finish().unwrap();
    let after = counted.requests().named();
    let new =
        before.named().into_iter().zip(after).map(|((name, old), (_, new))| (name, new - old));
    let expected = [
        ("get", 2),
        ("put", 3),
        ("list", 1),
        ("delete", 1),
        ("read", 1),
        ("entries", 2),
        ("claim", 3),
        ("taken", 1),
        ("failures", 0),
        ("bytes_in", 13),
        ("bytes_out", 28),
    ];
    assert_eq!(new.collect::<Vec<_>>(), expected);
    let lost = Faulty::new(Arc::new(Memory::new()), 0, Fault::StopBefore);
    let counted = CountedStore::new(Arc::new(lost));
    counted.get(&key, 0..1).unwrap_err();
    counted.attempt(&log, 0, b"x").unwrap();
    assert_eq!(counted.requests().failures, 2);
}
