//! A server that dies, or whose requests and answers are lost, at each request that it makes of the store.
//!
//! What was acknowledged is there, once and for good; what was refused is not there; what is in doubt is there once or not at all. Another
//! server goes on.

use sapwood_core::{Depth, PropList, SvnError};
use sapwood_objects::testing::{Fault, Faulty};

use super::*;
use crate::pack::PackOptions;

/// What a server knows of something that it did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KnownOutcome {
    Done,
    NotDone,
    InDoubt,
}

/// What an error says of what was tried.
fn known<T>(result: Result<T, SvnError>) -> KnownOutcome {
    match result {
        Ok(_) => KnownOutcome::Done,
        Err(error) if error.to_string().contains("may have been") => KnownOutcome::InDoubt,
        Err(_) => KnownOutcome::NotDone,
    }
}

/// Things that a server does one after the other, each with its name.
fn script(server: &Server) -> Vec<(String, KnownOutcome)> {
    let mut done = Vec::new();
    let put = |path: &str| known(server.put(path, path).map_err(SvnError::from));
    for n in 1..=3 {
        let path = format!("/first-{n}");
        done.push((path.clone(), put(&path)));
    }
    let outcome = server.lock("/first-1");
    let locked = match (outcome.failure, outcome.each.into_iter().next()) {
        (Some(error), _) | (None, Some((_, Err(error)))) => known::<()>(Err(error.into())),
        (None, Some((_, Ok(_)))) => KnownOutcome::Done,
        (None, None) => KnownOutcome::NotDone,
    };
    done.push(("lock".to_owned(), locked));
    let mut set = |props: &PropList| {
        let mut props = props.clone();
        props.set("color", "blue");
        Ok(Some(props))
    };
    let changed = server.writer.change_revision_props(Revnum(1), &mut set);
    done.push(("property".to_owned(), known(changed.map_err(SvnError::from))));
    let packed = server.fs.pack(&PackOptions::default(), &CancelToken::default(), &mut |_| Ok(()));
    done.push(("pack".to_owned(), known(packed.map_err(SvnError::from))));
    done.push(("/first-4".to_owned(), put("/first-4")));
    done
}

/// Whether something of the script is in the repository, and how often.
fn times(plain: &Filesystem, name: &str) -> usize {
    let youngest = plain.youngest().unwrap();
    match name {
        "lock" => plain.lock_files().locks(fspath("/"), Depth::Infinity).unwrap().len(),
        "property" if youngest == Revnum::ZERO => 0,
        "property" => usize::from(plain.revprops(Revnum(1)).unwrap().get("color").is_some()),
        "pack" => usize::from(plain.min_unpacked_rev().unwrap() > Revnum::ZERO),
        path => {
            let brought = |revision: &u64| {
                let changed = plain.changed_paths(Revnum(*revision)).unwrap();
                changed.iter().any(|change| change.path.as_str() == path)
            };
            (1..=youngest.0).filter(brought).count()
        }
    }
}

fn with_fault(at: u64, fault: Fault, early: bool) {
    let what = format!("{fault:?} at {at}, early: {early}");
    let stored = StoredRepository::new();
    let faulty = Arc::new(Faulty::new(Arc::clone(&stored.store), at, fault));
    let first = stored.server("first", Arc::<Faulty>::clone(&faulty));
    let done = first.as_ref().map_or(Vec::new(), script);
    drop(first);
    if early {
        faulty.let_all_arrive();
    }
    let second = stored.server("second", Arc::clone(&stored.store)).unwrap();
    second.put("/second", "x").unwrap();
    faulty.let_all_arrive();
    second.put("/second", "y").unwrap();
    let plain = stored.exported("plain");
    for (name, known) in done {
        let times = times(&plain, &name);
        let fits = match known {
            KnownOutcome::Done => times == 1,
            KnownOutcome::NotDone => times == 0,
            KnownOutcome::InDoubt => times <= 1,
        };
        assert!(fits, "{what}: {name} is {known:?}, and there {times} times");
    }
    for revision in 0..=plain.youngest().unwrap().0 {
        plain.verify_revision(Revnum(revision), &CancelToken::default()).unwrap();
    }
    assert_eq!(times(&plain, "/second"), 2, "{what}");
    sapwood_repo_log::verify(&stored.store).unwrap();
}

fn operations() -> u64 {
    let stored = StoredRepository::new();
    let counting = Arc::new(Faulty::counting(Arc::clone(&stored.store)));
    let server = stored.server("first", Arc::<Faulty>::clone(&counting)).unwrap();
    let done = script(&server);
    assert!(done.iter().all(|(_, known)| *known == KnownOutcome::Done), "{done:?}");
    counting.operations()
}

#[test]
fn a_server_that_dies_at_any_request_loses_nothing() {
    for at in 0..operations() {
        with_fault(at, Fault::StopBefore, true);
        with_fault(at, Fault::StopAfter, true);
    }
}

#[test]
fn answers_and_requests_that_are_lost_or_late_lose_nothing() {
    let faults = [
        (Fault::AnswerLost, true),
        (Fault::RequestLost, true),
        (Fault::Delayed(1000), false),
        (Fault::Twice(2), false),
    ];
    // Each request meets one of them, or with SAPWOOD_LONG=1 all.
    let all = std::env::var_os("SAPWOOD_LONG").is_some();
    for at in 0..operations() {
        for ((fault, early), turn) in faults.into_iter().zip(0..) {
            if all || at % 4 == turn {
                with_fault(at, fault, early);
            }
        }
    }
}
