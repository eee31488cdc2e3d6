//! Claims when answers and requests are lost, and processes die.

use std::sync::Arc;

use crate::testing::{Fault, Faulty};
use crate::{Claim, Error, Key, Memory, Record, Result, Store, claim};

fn log() -> Key {
    Key::new("log").unwrap()
}

/// A claim of slot 0 that asks as often as `attempts`.
fn try_claim(store: &dyn Store, record: &Record, attempts: u32) -> Result<Claim> {
    claim(store, &log(), 0, record, &mut |so_far, _| so_far < attempts)
}

const FAULTS: [Fault; 7] = [
    Fault::AnswerLost,
    Fault::RequestLost,
    Fault::Delayed(1),
    Fault::Delayed(2),
    Fault::Delayed(50),
    Fault::Twice(1),
    Fault::Twice(2),
];

#[test]
fn what_is_lost_on_the_way_decides_nothing() {
    for fault in FAULTS {
        // The free slot, and one that another writer has.
        for taken in [false, true] {
            for at in 0..3 {
                let memory: Arc<dyn Store> = Arc::new(Memory::new());
                let other = Record::new(b"other").unwrap();
                if taken {
                    memory.attempt(&log(), 0, other.as_bytes()).unwrap();
                }
                let store = Faulty::new(Arc::clone(&memory), at, fault);
                let record = Record::new(b"mine").unwrap();
                let claimed = try_claim(&store, &record, 5).unwrap();
                store.let_all_arrive();
                let there = memory.read_from(&log(), 0, 1).unwrap().pop().unwrap();
                let expected =
                    if taken { Claim::Lost(other.as_bytes().to_vec()) } else { Claim::Won };
                assert_eq!(claimed, expected, "{fault:?} at {at}, taken: {taken}");
                let owner = if taken { &other } else { &record };
                assert_eq!(there, owner.as_bytes(), "{fault:?} at {at}");
            }
        }
    }
}

#[test]
fn without_an_answer_it_stays_in_doubt() {
    for fault in [Fault::StopBefore, Fault::StopAfter, Fault::RequestLost, Fault::Delayed(9)] {
        let memory: Arc<dyn Store> = Arc::new(Memory::new());
        let store = Faulty::new(Arc::clone(&memory), 0, fault);
        let record = Record::new(b"mine").unwrap();
        let error = try_claim(&store, &record, 1).unwrap_err();
        assert!(matches!(error, Error::InDoubt { .. }), "{fault:?}: {error}");
        assert!(error.to_string().contains("'log/0000000000000000'"), "{error}");
        let there = !memory.read_from(&log(), 0, 1).unwrap().is_empty();
        assert_eq!(there, fault == Fault::StopAfter, "{fault:?}");
        store.let_all_arrive();
        let later = !memory.read_from(&log(), 0, 1).unwrap().is_empty();
        assert_eq!(later, matches!(fault, Fault::StopAfter | Fault::Delayed(_)), "{fault:?}");
    }
}

#[test]
fn equal_bodies_of_two_writers_are_two_entries() {
    let store = Memory::new();
    let (one, two) = (Record::new(b"same").unwrap(), Record::new(b"same").unwrap());
    assert_eq!(try_claim(&store, &one, 1).unwrap(), Claim::Won);
    assert_eq!(try_claim(&store, &one, 1).unwrap(), Claim::Won, "it is still ours");
    assert_eq!(try_claim(&store, &two, 1).unwrap(), Claim::Lost(one.as_bytes().to_vec()));
    assert_eq!(Record::parse(one.as_bytes()).unwrap().1, b"same");
    assert_eq!(Record::parse(b"short"), None);
}
