//! Azure's storage, as far as its emulator goes: `tools/azurite.sh` starts that, `cargo xtask objects` runs it. Google's storage has none that
//! can be had; how its bucket is opened is tried.

use sapwood_objects::testing::suite;
use sapwood_objects::{Attempt, Key, Token, prove};
use sapwood_objects_s3::{Address, Connection, Kind, Settings};

/// Where the emulator is.
fn endpoint() -> String {
    let found = std::env::var("SAPWOOD_AZURE_ENDPOINT");
    found.expect("'tools/azurite.sh' starts an emulator and says where it is")
}

fn open(scheme: &str, variables: &[(&str, &str)]) -> (Address, Connection) {
    let address = format!("{scheme}://sapwood/test/{}", Token::new().unwrap());
    let address = Address::parse(&address).unwrap();
    let variables =
        variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    let connection = Connection::open(&address, &Settings { variables }).unwrap();
    (address, connection)
}

/// The account that azurite has, with the key that its documentation shows.
fn azure(key: &str) -> (Address, Connection) {
    let endpoint = endpoint();
    let variables = [
        ("AZURE_STORAGE_ACCOUNT", "devstoreaccount1"),
        ("AZURE_STORAGE_KEY", key),
        ("AZURE_STORAGE_ENDPOINT", &endpoint),
    ];
    open("az", &variables)
}

const KEY: &str =
    "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==";

fn count(connection: &Connection, kind: Kind) -> u64 {
    connection.requests().iter().find(|(of, _)| *of == kind).unwrap().1
}

#[test]
fn azure_keeps_its_promises() {
    let (address, connection) = azure(KEY);
    suite(&*connection.store(&address));
    assert!(count(&connection, Kind::Claim) >= 20, "{:?}", connection.requests());
    assert!(count(&connection, Kind::List) > 0, "{:?}", connection.requests());
}

#[test]
fn a_bucket_of_google_is_opened_and_says_what_is_wrong() {
    // A port that was free a moment ago.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let variables = [("STORAGE_EMULATOR_HOST", endpoint.as_str()), ("GOOGLE_BEARER_TOKEN", "x")];
    let (address, connection) = open("gs", &variables);
    let store = connection.store(&address);
    let attempt = store.attempt(&Key::new("log").unwrap(), 0, b"x").unwrap();
    let Attempt::Unknown(error) = attempt else { panic!("{attempt:?}") };
    let error = error.to_string();
    assert!(error.contains("gs://sapwood/test/") && error.contains(&endpoint), "{error}");
    assert_eq!((count(&connection, Kind::Claim), count(&connection, Kind::Failed)), (1, 1));
}

#[test]
fn a_wrong_key_is_refused_and_not_shown() {
    let wrong = "d3JvbmctYW5kLXNlY3JldA==";
    let (address, connection) = azure(wrong);
    let store = connection.store(&address);
    let error = store.put(&Key::new("big/x").unwrap(), b"x").unwrap_err().to_string();
    assert!(error.contains("az://sapwood/test/") && !error.contains(wrong), "{error}");
    assert!(prove(&*store).is_err());
}
