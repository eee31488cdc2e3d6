//! The tests that every make must pass, and what only a store beyond this machine can do wrong.

use std::sync::Arc;

use sapwood_core::{ErrorCode, SvnError};
use sapwood_objects::testing::suite;
use sapwood_objects::{Attempt, Error, Key, Token, prove};
use sapwood_objects_s3::{Address, Connection, Kind, Settings};

/// The variables that say where the store is, and those in place of them.
fn settings(other: &[(&str, &str)]) -> Settings {
    let endpoint = std::env::var("SAPWOOD_S3_ENDPOINT");
    let endpoint = endpoint.expect("'cargo xtask objects' starts a store and says where it is");
    let usual = [
        ("AWS_ENDPOINT_URL", endpoint.as_str()),
        ("AWS_ACCESS_KEY_ID", "AK"),
        ("AWS_SECRET_ACCESS_KEY", "SK"),
        ("AWS_REGION", "us-east-1"),
        ("AWS_PAGER", "less"),
    ];
    let all = usual.iter().chain(other);
    Settings {
        variables: all.map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
    }
}

/// A prefix of the test's own.
fn address() -> Address {
    let bucket = std::env::var("SAPWOOD_S3_BUCKET").unwrap_or("sapwood".to_owned());
    Address::parse(&format!("s3://{bucket}/test/{}", Token::new().unwrap())).unwrap()
}

fn count(connection: &Connection, kind: Kind) -> u64 {
    let all = connection.requests();
    all.iter().find(|(of, _)| *of == kind).unwrap().1
}

#[test]
fn a_gateway_keeps_its_promises() {
    let address = address();
    let connection = Connection::open(&address, &settings(&[])).unwrap();
    let store = connection.store(&address);
    suite(&*store);
    assert!(count(&connection, Kind::Claim) >= 20, "{:?}", connection.requests());
    assert_eq!(count(&connection, Kind::Failed), 0, "a condition that does not hold is an answer");
}

#[test]
fn requests_are_counted_and_few() {
    let address = address();
    let connection = Connection::open(&address, &settings(&[])).unwrap();
    let store = connection.store(&address);
    let log = Key::new("log").unwrap();
    let requests = |operation: &mut dyn FnMut()| {
        let before = connection.requests();
        operation();
        let after = connection.requests();
        let new = before.iter().zip(&after).map(|(before, after)| (after.0, after.1 - before.1));
        new.filter(|(_, count)| *count > 0).collect::<Vec<_>>()
    };
    let nothing_new = requests(&mut || assert!(store.read_from(&log, 0, 100).unwrap().is_empty()));
    assert_eq!(nothing_new, [(Kind::Get, 1)]);
    let claimed = requests(&mut || {
        let attempt = store.attempt(&log, 0, b"entry").unwrap();
        assert!(matches!(attempt, Attempt::Created), "{attempt:?}");
    });
    assert_eq!(claimed, [(Kind::Claim, 1)]);
    for slot in 1..40 {
        store.attempt(&log, slot, b"entry").unwrap();
    }
    let tail = requests(&mut || assert_eq!(store.read_from(&log, 0, 100).unwrap().len(), 40));
    assert_eq!(tail, [(Kind::Get, 40), (Kind::List, 1)]);
    let key = Key::new("big/x").unwrap();
    assert_eq!(requests(&mut || store.put(&key, b"x").unwrap()), [(Kind::Put, 1)]);
    assert_eq!(requests(&mut || drop(store.get(&key, 0..9).unwrap())), [(Kind::Get, 1)]);
}

#[test]
fn what_is_refused_is_refused_at_once() {
    let address = address();
    let wrong = settings(&[("AWS_SECRET_ACCESS_KEY", "wrong")]);
    let connection = Connection::open(&address, &wrong).unwrap();
    let store = connection.store(&address);
    let log = Key::new("log").unwrap();
    let error = store.attempt(&log, 0, b"x").unwrap_err();
    let text = error.to_string();
    assert!(text.contains("'log/0000000000000000'") && text.contains("s3://"), "{text}");
    assert!(!text.contains("wrong"), "no secret is shown: {text}");
    assert!(prove(&*store).is_err());
    assert!(matches!(store.get(&log, 0..1), Err(Error::Failed { .. })));
}

#[test]
fn where_no_store_listens_a_claim_is_unknown() {
    let address = address();
    // A port that was free a moment ago.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let connection = Connection::open(&address, &settings(&[("AWS_ENDPOINT_URL", &endpoint)]));
    let connection = connection.unwrap();
    let store = connection.store(&address);
    let attempt = store.attempt(&Key::new("log").unwrap(), 0, b"x").unwrap();
    assert_eq!((count(&connection, Kind::Claim), count(&connection, Kind::Failed)), (1, 1));
    let Attempt::Unknown(error) = attempt else { panic!("{attempt:?}") };
    assert!(error.to_string().contains("refused"), "{error}");
    assert_eq!(SvnError::from(error).code(), ErrorCode::IO_WRITE_ERROR);
}

#[test]
fn stores_of_a_bucket_share_its_threads_and_not_their_objects() {
    let (one, two) = (address(), address());
    let connection = Connection::open(&one, &settings(&[])).unwrap();
    let (first, second) = (connection.store(&one), connection.store(&two));
    let key = Key::new("big/x").unwrap();
    first.put(&key, b"first").unwrap();
    assert_eq!(second.get(&key, 0..9).unwrap(), None);
    assert_eq!(second.list("big", None, 9).unwrap(), []);
    let again = Connection::open(&one, &settings(&[])).unwrap().store(&one);
    assert_eq!(again.whole(&key, 9).unwrap(), b"first");
    assert!(Arc::strong_count(&first) == 1);
}
