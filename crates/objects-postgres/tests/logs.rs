//! The tests that every make must pass, and what only a database can do.

use std::sync::Arc;

use sapwood_core::{ErrorCode, SvnError};
use sapwood_objects::testing::suite;
use sapwood_objects::{Attempt, Claim, Folder, Key, Record, Store, claim, prove};
use sapwood_objects_postgres::{Address, Connection, OpenError, Settings};

use crate::server::Server;

fn address(server: &Server, name: &str, folder: &tempfile::TempDir) -> Address {
    Address::parse(&server.address(&folder.path().join(name))).unwrap()
}

fn connection(server: &Server) -> Connection {
    let address = Address::parse("postgres:///sapwood+file:///x").unwrap();
    Connection::open(&address, &server.settings()).unwrap()
}

fn open(server: &Server, name: &str, folder: &tempfile::TempDir) -> Arc<dyn Store> {
    let objects = folder.path().join(name);
    let connection = connection(server);
    connection.store(&address(server, name, folder), Arc::new(Folder::new(&objects))).unwrap()
}

#[test]
fn a_log_in_a_database_keeps_its_promises() {
    let (server, folder) = (Server::start(), tempfile::tempdir().unwrap());
    let store = open(&server, "one", &folder);
    suite(&*store);
    // Several servers begin at once, and repositories of one database are apart.
    let log = Key::new("log").unwrap();
    assert!(matches!(store.attempt(&log, 0, b"first").unwrap(), Attempt::Created));
    std::thread::scope(|scope| {
        for name in ["one", "two"] {
            let (server, folder) = (&server, &folder);
            scope.spawn(move || drop(open(server, name, folder)));
        }
    });
    assert_eq!(open(&server, "one", &folder).read_from(&log, 0, 9).unwrap(), [b"first"]);
    assert!(open(&server, "two", &folder).read_from(&log, 0, 9).unwrap().is_empty());
    // An entry is an object that is read in parts, and no file.
    let key = Key::slot(&log, 0).unwrap();
    assert_eq!(store.get(&key, 1..3).unwrap().unwrap(), b"ir");
    assert!(!folder.path().join("one/log").exists());
    let error = store.whole(&Key::slot(&log, 1).unwrap(), 9).unwrap_err().to_string();
    assert!(error.contains("'postgres:///sapwood+file://"), "{error}");
}

#[test]
fn a_database_that_was_away_is_used_again() {
    let (server, folder) = (Server::start(), tempfile::tempdir().unwrap());
    let store = open(&server, "one", &folder);
    let log = Key::new("log").unwrap();
    let record = |text: &str| Record::new(text.as_bytes()).unwrap();
    let first = record("first");
    assert_eq!(claim(&*store, &log, 0, &first, &mut |_, _| false).unwrap(), Claim::Won);
    server.kill();
    // Nothing is known of a claim then, and what is read fails.
    let attempt = store.attempt(&log, 1, b"lost").unwrap();
    assert!(matches!(attempt, Attempt::Unknown(_)), "{attempt:?}");
    let error = SvnError::from(store.read_from(&log, 0, 9).unwrap_err());
    assert_eq!(error.code(), ErrorCode::IO_WRITE_ERROR);
    assert!(error.message().contains("postgres:///sapwood+file://"), "{error}");
    let error = claim(&*store, &log, 1, &record("doubt"), &mut |_, _| false).unwrap_err();
    assert!(error.to_string().contains("may have been"), "{error}");
    // One that is patient goes on when the database is back.
    let second = record("second");
    let mut again = |attempts: u32, _: &sapwood_objects::Error| {
        if attempts == 1 {
            server.begin();
        }
        attempts < 50
    };
    assert_eq!(claim(&*store, &log, 1, &second, &mut again).unwrap(), Claim::Won);
    assert_eq!(claim(&*store, &log, 1, &second, &mut |_, _| false).unwrap(), Claim::Won);
    let there = store.read_from(&log, 0, 9).unwrap();
    assert_eq!(there, [first.as_bytes(), second.as_bytes()], "acknowledged, and kept");
    prove(&*store).unwrap();
}

/// Sessions that programs of ours have in a database.
fn sessions(server: &Server) -> i64 {
    let mut config = postgres::Config::new();
    config.host(&server.socket()).user("svn").dbname("sapwood");
    let mut client = config.connect(postgres::NoTls).unwrap();
    let count = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'sapwood'";
    client.query_one(count, &[]).unwrap().get(0)
}

#[test]
fn repositories_of_a_database_share_its_connections() {
    let count = |repositories: usize| {
        let (server, folder) = (Server::start(), tempfile::tempdir().unwrap());
        let (connection, log) = (connection(&server), Key::new("log").unwrap());
        let stores: Vec<Arc<dyn Store>> = (0..repositories)
            .map(|n| {
                let address = address(&server, &format!("r{n}"), &folder);
                connection.store(&address, Arc::new(Folder::new(folder.path()))).unwrap()
            })
            .collect();
        for store in &stores {
            assert!(matches!(store.attempt(&log, 0, b"first").unwrap(), Attempt::Created));
        }
        sessions(&server)
    };
    assert_eq!((count(10), count(40)), (1, 1));
}

#[test]
fn what_cannot_be_used_is_said() {
    let (server, folder) = (Server::start(), tempfile::tempdir().unwrap());
    let objects = || Arc::new(Folder::new(folder.path()));
    let try_it = |address: &str, settings: &Settings| {
        let address = Address::parse(address)?;
        Connection::open(&address, settings)?.store(&address, objects())
    };
    let tried =
        |address: &str, settings: &Settings| try_it(address, settings).map(drop).unwrap_err();
    let error = tried("postgres:///no-such+file:///x", &server.settings());
    assert!(error.to_string().contains("database \"no-such\" does not exist"), "{error}");
    assert_eq!(SvnError::from(error).code(), ErrorCode::BAD_CONFIG_VALUE);
    let mut settings = server.settings();
    settings.variables.push(("PGSSLMODE".to_owned(), "perhaps".to_owned()));
    let error = tried("postgres:///sapwood+file:///x", &settings);
    assert!(error.to_string().contains("PGSSLMODE is 'disable'"), "{error}");
    let mut settings = server.settings();
    settings.variables.push(("PGPORT".to_owned(), "x".to_owned()));
    assert!(tried("postgres:///sapwood+file:///x", &settings).to_string().contains("PGPORT"));
    let error = tried("postgres:///+file:///x", &server.settings());
    assert!(matches!(error, OpenError::BadAddress { .. }), "{error}");
}
