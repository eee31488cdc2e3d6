//! Each make keeps its promises; what does not is refused.

use std::fs;

use crate::testing::{Cheat, Cheater, suite};
use crate::{Blobs as _, Error, Folder, Key, Log as _, Memory, prove};
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
