//! Writers that stop, and answers and requests that are lost, before and after each operation on the store.
//!
//! What was acknowledged is there once; what was refused is not there; what is in doubt is there once or not at all.

use std::sync::Arc;

use sapwood_objects::testing::{Fault, Faulty};
use sapwood_objects::{Folder, Memory, Store};

use super::{file, revision};
use crate::error::{Error, Result};
use crate::log::RepositoryLog;
use crate::state::RevisionData;
use crate::verify::verify;

/// What a writer knows of one of its revisions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KnownOutcome {
    There,
    NotThere,
    InDoubt,
}

const REVISIONS: usize = 6;

/// Opens the repository or makes it, and adds revisions, each named by the writer; what it knows of each in the end.
fn write(store: &Arc<dyn Store>, writer: &str, asks: u32) -> Vec<KnownOutcome> {
    let mut known = vec![KnownOutcome::NotThere; REVISIONS];
    let mut patience = |attempts: u32, _: &sapwood_objects::Error| attempts < asks;
    let opened = (|| -> Result<RepositoryLog> {
        if let Some(log) = RepositoryLog::open(Arc::clone(store))? {
            return Ok(log);
        }
        let mut log = RepositoryLog::new(Arc::clone(store))?;
        log.append(
            &mut |state| {
                Ok((!state.files.contains_key("format")).then(|| vec![file("format", "5\n")]))
            },
            &mut patience,
        )?;
        Ok(log)
    })();
    let Ok(mut log) = opened else { return known };
    for (number, known) in known.iter_mut().enumerate() {
        let data = format!("{writer} {number}");
        let added = log
            .append(&mut |state| Ok(Some(vec![revision(state.revisions, &data)])), &mut patience);
        *known = match added {
            Ok(_) => KnownOutcome::There,
            Err(Error::Store(sapwood_objects::Error::InDoubt { .. })) => KnownOutcome::InDoubt,
            Err(_) => KnownOutcome::NotThere,
        };
        // A server that is in doubt, or has lost the store, ends.
        if *known != KnownOutcome::There {
            break;
        }
    }
    known
}

/// The texts of all revisions.
fn texts(store: &Arc<dyn Store>) -> Vec<String> {
    let Some(log) = RepositoryLog::open(Arc::clone(store)).unwrap() else { return Vec::new() };
    let text = |data: &RevisionData| {
        let RevisionData::Inline(at) = data else { panic!("{data:?}") };
        String::from_utf8(log.read(at).unwrap()).unwrap()
    };
    log.state().data.values().map(text).collect()
}

fn check(store: &Arc<dyn Store>, writer: &str, known: &[KnownOutcome], what: &str) {
    let texts = texts(store);
    for (number, known) in known.iter().enumerate() {
        let times = texts.iter().filter(|text| **text == format!("{writer} {number}")).count();
        let fits = match known {
            KnownOutcome::There => times == 1,
            KnownOutcome::NotThere => times == 0,
            KnownOutcome::InDoubt => times <= 1,
        };
        assert!(fits, "{what}: {writer} {number} is {known:?}, and there {times} times");
    }
}

/// All operations of a writer, each with a fault; then a second writer goes on, and late writes arrive before or after it.
fn matrix(new_store: &mut dyn FnMut() -> Arc<dyn Store>, faults: &[Fault]) {
    let counting = Arc::new(Faulty::counting(new_store()));
    let counted: Arc<dyn Store> = Arc::<Faulty>::clone(&counting);
    assert_eq!(write(&counted, "first", 1), [KnownOutcome::There; REVISIONS]);
    let operations = counting.operations();
    assert!(operations >= 8, "only {operations} operations");
    for fault in faults {
        for at in 0..operations {
            for (asks, early) in [(1, true), (1, false), (4, true)] {
                let what = format!("{fault:?} at {at}, {asks} attempts, early: {early}");
                let below = new_store();
                let faulty = Arc::new(Faulty::new(Arc::clone(&below), at, *fault));
                let store: Arc<dyn Store> = Arc::<Faulty>::clone(&faulty);
                let first = write(&store, "first", asks);
                if early {
                    faulty.let_all_arrive();
                }
                let second = write(&below, "second", 1);
                faulty.let_all_arrive();
                assert_eq!(second, [KnownOutcome::There; REVISIONS], "{what}");
                check(&below, "first", &first, &what);
                check(&below, "second", &second, &what);
                verify(&below).unwrap();
                let lost = matches!(fault, Fault::StopBefore | Fault::StopAfter);
                if asks > 1 && !lost {
                    assert!(
                        !first.contains(&KnownOutcome::InDoubt),
                        "{what}: it asked until it knew"
                    );
                }
            }
        }
    }
}

const FAULTS: [Fault; 7] = [
    Fault::StopBefore,
    Fault::StopAfter,
    Fault::AnswerLost,
    Fault::RequestLost,
    Fault::Delayed(2),
    Fault::Delayed(100),
    Fault::Twice(3),
];

#[test]
fn nothing_acknowledged_is_lost_and_nothing_is_there_twice() {
    matrix(&mut || Arc::new(Memory::new()), &FAULTS);
}

#[test]
fn in_a_folder_too() {
    let dir = tempfile::tempdir().unwrap();
    let mut made = 0;
    let mut new_store = || -> Arc<dyn Store> {
        made += 1;
        Arc::new(Folder::new(&dir.path().join(made.to_string())))
    };
    matrix(&mut new_store, &[Fault::StopBefore, Fault::StopAfter, Fault::Delayed(100)]);
}
