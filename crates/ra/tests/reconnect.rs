//! Connections that end between two requests, or while a request is on its way.

#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a failure is a failed test"
)]

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use sapwood_core::config::{Case, Config};
use sapwood_core::paths::{RelPath, Url};
use sapwood_core::{CancelToken, ErrorCode, Revnum};
use sapwood_fs::OpenOptions;
use sapwood_ra::FileCaches;
use sapwood_ra::RevpropChange;
use sapwood_ra::auth::{AuthOptions, Authenticator};
use sapwood_ra::settings::Settings;
use sapwood_testkit::{Programs, Repository, Server, Shape};

fn settings() -> Settings {
    let empty = || Arc::new(Config::parse(b"", Case::INSENSITIVE).unwrap());
    let options = AuthOptions { non_interactive: true, ..AuthOptions::default() };
    Settings {
        config: empty(),
        servers: empty(),
        auth: Arc::new(Authenticator::new(options, empty(), None)),
        variable: |_| None,
        system_user: None,
        caches: Arc::new(FileCaches::new(1 << 20)),
        http_clients: sapwood_ra::http::HttpClients::default(),
        svn_connections: sapwood_ra::svn::IdleConnections::default(),
        open_options: OpenOptions::default(),
        client_name: None,
        cancel: CancelToken::default(),
    }
}

const UUID: &str = "0f3ea2cb-3e1d-4c27-9d5c-2a1b3c4d5e6f";
/// Greeting, nothing to prove, and the repository.
fn welcome(port: u16, uuid: &str) -> String {
    let root = format!("svn://127.0.0.1:{port}/repo");
    format!(
        "( success ( 2 2 ( ) ( edit-pipeline ) ) ) ( success ( ( ) 0: ) ) \
         ( success ( 36:{uuid} {}:{root} ( ) ) ) ",
        root.len()
    )
}

/// What a server does with one connection.
#[derive(Clone, Copy)]
struct Turn {
    uuid: &'static str,
    /// How many requests for the youngest revision it answers, with its own number.
    answers: usize,
    /// Whether it listens to one more request before it closes the connection.
    listens: bool,
}

/// A server that does one turn after the other, each for one connection, and reports what it received.
fn server(turns: &'static [Turn]) -> (String, Receiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (tell, heard) = channel();
    std::thread::spawn(move || {
        for (number, turn) in turns.iter().enumerate() {
            let Ok((mut stream, _)) = listener.accept() else { return };
            stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
            // The client may be gone before it has everything.
            let _ = stream.write_all(welcome(port, turn.uuid).as_bytes());
            let mut all = String::new();
            for request in 1..=turn.answers {
                hear(&mut stream, &mut all, request);
                let answer = format!("( success ( ( ) 0: ) ) ( success ( {number} ) ) ");
                let _ = stream.write_all(answer.as_bytes());
            }
            hear(&mut stream, &mut all, turn.answers + usize::from(turn.listens));
            let _ = stream.shutdown(Shutdown::Write);
            // The client keeps its end until it has another connection.
            let tell = tell.clone();
            std::thread::spawn(move || {
                hear(&mut stream, &mut all, usize::MAX);
                let _ = tell.send(all);
            });
        }
    });
    (format!("svn://127.0.0.1:{port}/repo"), heard)
}

/// Reads until so many requests were heard, or the end.
fn hear(stream: &mut TcpStream, all: &mut String, requests: usize) {
    let mut buf = [0; 4096];
    let count = |all: &str| all.matches("( get-").count() + all.matches("( change-").count();
    while count(all) < requests {
        match stream.read(&mut buf) {
            Ok(0) | Err(_) => return,
            Ok(n) => all.push_str(std::str::from_utf8(&buf[..n]).unwrap()),
        }
    }
}

/// Waits until the client's end of the connection shows that the server has closed it: only then
/// does the next request find that out before it is sent.
fn settle() {
    std::thread::sleep(Duration::from_millis(100));
}

fn change(revision: u64) -> RevpropChange<'static> {
    RevpropChange { revision: Revnum(revision), name: "p", expected: None, value: Some(b"v") }
}

#[test]
fn a_connection_that_ended_between_requests_is_replaced() {
    let (url, heard) = server(&[
        Turn { uuid: UUID, answers: 2, listens: false },
        Turn { uuid: UUID, answers: 1, listens: false },
        Turn { uuid: UUID, answers: 1, listens: false },
    ]);
    let session = sapwood_ra::open(Url::new(&url).unwrap(), &settings()).unwrap();
    let mut found = Vec::new();
    for _ in 0..4 {
        found.push(session.latest_revnum().unwrap().0);
        settle();
    }
    assert_eq!(found, [0, 0, 1, 2]);
    drop(session);
    let mut asked: Vec<usize> =
        heard.iter().map(|all| all.matches("( get-latest-rev").count()).collect();
    asked.sort_unstable();
    assert_eq!(asked, [1, 1, 2]);
}

#[test]
fn what_only_reads_is_asked_again_and_what_writes_is_not() {
    let (url, heard) = server(&[
        Turn { uuid: UUID, answers: 0, listens: true },
        Turn { uuid: UUID, answers: 1, listens: true },
        // A new one for the next request, then no server at all.
        Turn { uuid: UUID, answers: 1, listens: false },
    ]);
    let session = sapwood_ra::open(Url::new(&url).unwrap(), &settings()).unwrap();
    assert_eq!(session.latest_revnum().unwrap(), Revnum(1));
    let error = session.change_rev_prop(&change(0)).unwrap_err();
    assert_eq!(error.code(), ErrorCode::RA_SVN_CONNECTION_CLOSED);
    assert_eq!(session.latest_revnum().unwrap(), Revnum(2));
    settle();
    let error = session.latest_revnum().unwrap_err();
    assert_eq!(error.code(), ErrorCode::RA_SVN_CONNECTION_CLOSED);
    drop(session);
    let all: String = heard.iter().collect();
    assert_eq!(all.matches("( get-latest-rev").count(), 3);
    assert_eq!(all.matches("( change-rev-prop").count(), 1);
}

#[test]
fn another_repository_in_the_same_place_is_not_taken() {
    const OTHER: &str = "1f3ea2cb-3e1d-4c27-9d5c-2a1b3c4d5e6f";
    let (url, _heard) = server(&[
        Turn { uuid: UUID, answers: 1, listens: false },
        Turn { uuid: OTHER, answers: 1, listens: false },
        Turn { uuid: OTHER, answers: 1, listens: false },
    ]);
    let session = sapwood_ra::open(Url::new(&url).unwrap(), &settings()).unwrap();
    session.latest_revnum().unwrap();
    settle();
    let error = session.latest_revnum().unwrap_err();
    assert_eq!(error.code(), ErrorCode::RA_SVN_CONNECTION_CLOSED);
}

/// Servers compare the beginning only: to the reference's, `/repo.other` is in the repository at `/repo`.
#[test]
fn a_repository_whose_name_goes_on_is_another_one() {
    let (url, heard) = server(&[Turn { uuid: UUID, answers: 1, listens: false }]);
    let session = sapwood_ra::open(Url::new(&url).unwrap(), &settings()).unwrap();
    let other = format!("{}.other/trunk", session.root_url());
    let error = session.reparent(Url::new(&other).unwrap()).unwrap_err();
    assert_eq!(error.code(), ErrorCode::RA_ILLEGAL_URL);
    // The server was not asked, and the session is where it was.
    session.latest_revnum().unwrap();
    drop(session);
    let all = heard.recv().unwrap();
    assert!(!all.contains("reparent"), "{all}");
}

#[test]
fn a_server_that_was_started_again() {
    let repo = Repository::scripted(&Shape::few()[0]);
    let first = Server::start(&Programs::reference(), repo.parent(), &[]);
    let port = first.port();
    let session =
        sapwood_ra::open(Url::new(&first.url("repo/trunk")).unwrap(), &settings()).unwrap();
    let youngest = session.latest_revnum().unwrap();
    // The server believes the session to be below the root from here on.
    session.reparent(Url::new(&first.url("repo/branches")).unwrap()).unwrap();
    assert!(session.check_path(RelPath::ROOT, Some(youngest)).unwrap().is_some());
    drop(first);
    let port_option = port.to_string();
    let again = std::process::Command::new("svnserve")
        .args(["-d", "--foreground", "--listen-host", "127.0.0.1", "--listen-port", &port_option])
        .arg("-r")
        .arg(repo.parent())
        .spawn();
    let mut again = again.unwrap();
    sapwood_testkit::patience::wait(10, || TcpStream::connect(("127.0.0.1", port)).is_ok());
    let kind = session.check_path(RelPath::ROOT, Some(youngest));
    let locks = session.get_locks(RelPath::ROOT, sapwood_core::Depth::Infinity);
    let _ = again.kill();
    let _ = again.wait();
    assert!(kind.unwrap().is_some());
    locks.unwrap();
}
