//! Connections that SASL signs or encrypts: both clients against both servers, as seen by one who listens in between, and
//! by one who changes a byte.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sapwood_testkit::{Output, Programs, Repository, Shape};

use super::sasl::{PASSWORD, Server, configure, sasldb};

/// Passes bytes on, from and to one server, and keeps them.
struct Between {
    port: u16,
    heard: Arc<parking_lot::Mutex<Vec<u8>>>,
    ended: Arc<AtomicBool>,
    worker: Option<std::thread::JoinHandle<()>>,
}

/// Which byte of which direction is changed.
#[derive(Clone, Copy, Default)]
struct Changed {
    from_client: Option<usize>,
    from_server: Option<usize>,
}

impl Between {
    fn start(server: u16, changed: Changed) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let (heard, ended) = (Arc::default(), Arc::new(AtomicBool::new(false)));
        let (ours, stop) = (Arc::clone(&heard), Arc::clone(&ended));
        let worker = std::thread::spawn(move || {
            for client in listener.incoming() {
                if stop.load(Ordering::SeqCst) {
                    return;
                }
                let client = client.unwrap();
                let server = TcpStream::connect(("127.0.0.1", server)).unwrap();
                let ways = [
                    (client.try_clone().unwrap(), server.try_clone().unwrap(), changed.from_client),
                    (server, client, changed.from_server),
                ];
                // They end with the connection.
                for (from, to, at) in ways {
                    let heard = Arc::clone(&ours);
                    std::thread::spawn(move || pass_on(&from, &to, at, &heard));
                }
            }
        });
        Self { port, heard, ended, worker: Some(worker) }
    }
}

impl Drop for Between {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(("127.0.0.1", self.port));
        let _ = self.worker.take().unwrap().join();
    }
}

fn pass_on(
    mut from: &TcpStream,
    mut to: &TcpStream,
    changed: Option<usize>,
    heard: &parking_lot::Mutex<Vec<u8>>,
) {
    let (mut at, mut bytes) = (0, [0; 4096]);
    while let Ok(got @ 1..) = from.read(&mut bytes) {
        if let Some(changed) = changed.filter(|changed| (at..at + got).contains(changed)) {
            bytes[changed - at] ^= 1;
        }
        at += got;
        heard.lock().extend_from_slice(&bytes[..got]);
        if to.write_all(&bytes[..got]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Write);
    let _ = from.shutdown(Shutdown::Read);
}

fn run(client: &Programs, program: &str, port: u16, before: &[&str], after: &[&str]) -> Output {
    let url = format!("svn://127.0.0.1:{port}/repo");
    let mut args = before.to_vec();
    args.extend([&*url]);
    args.extend(after);
    args.extend(["--username", "ada", "--password", PASSWORD]);
    args.extend(["--non-interactive", "--no-auth-cache"]);
    client.run(program, args)
}

#[test]
fn connections_are_signed_and_encrypted() {
    let both = [Programs::reference(), Programs::ours()];
    for (server, is_reference) in both.iter().zip([true, false]) {
        let repo = Repository::scripted(&Shape::few()[0]);
        let db = repo.parent().join("sasldb");
        sasldb(&db);
        let sasl = format!(
            "auxprop_plugin: sasldb\nsasldb_path: {}\nmech_list: DIGEST-MD5\n",
            db.display()
        );
        let mut whole = None;
        for (limits, qop, is_hidden) in [
            ("max-encryption = 0\n", "auth", false),
            ("min-encryption = 1\nmax-encryption = 1\n", "auth-int", false),
            ("min-encryption = 57\nmax-encryption = 112\n", "auth-conf", true),
            ("min-encryption = 128\n", "auth-conf", true),
            ("", "auth-conf", true),
        ] {
            configure(&repo, &format!("[sasl]\nuse-sasl = true\n{limits}"), &sasl);
            let server = Server::start_of(server, &repo);
            // Debian's Cyrus SASL offers triple DES, and then has none.
            let is_3des = limits.contains("112");
            if is_3des && is_reference {
                continue;
            }
            for client in both.iter().skip(usize::from(is_3des)) {
                let between = Between::start(server.port, Changed::default());
                let dump = run(client, "svnrdump", between.port, &["dump", "-q"], &["-r", "0:3"]);
                let dump = dump.expect_success(limits);
                assert_eq!(&dump.stdout, whole.get_or_insert_with(|| dump.stdout.clone()));
                let heard = between.heard.lock().clone();
                let has = |text: &str| heard.windows(text.len()).any(|w| w == text.as_bytes());
                assert_eq!(has("( replay"), !is_hidden, "{limits:?}");
                // The answer, as base64, says what was agreed.
                let said = said_in_answer(&heard);
                assert!(said.contains(&format!("qop={qop},")), "{said}");
                assert_eq!(said.contains("cipher="), is_hidden, "{said}");
            }
        }
        for client in &both {
            let message = "a commit of which nothing is seen";
            let server = Server::start_of(server, &repo);
            let between = Between::start(server.port, Changed::default());
            let file = repo.parent().join("large");
            fs::write(&file, "0123456789abcdef".repeat(10_000)).unwrap();
            let put = ["-m", message, "put", file.to_str().unwrap(), "trunk/large", "-U"];
            run(client, "svnmucc", between.port, &put, &[]).expect_success("a commit");
            let removed = run(
                client,
                "svnmucc",
                between.port,
                &["-m", message, "rm", "trunk/large", "-U"],
                &[],
            );
            removed.expect_success("a second one");
            let heard = between.heard.lock().clone();
            assert!(!heard.windows(message.len()).any(|w| w == message.as_bytes()));
        }
    }
}

/// The client's answer to the challenge, in what was heard.
fn said_in_answer(heard: &[u8]) -> String {
    let text = String::from_utf8_lossy(heard);
    // `username=` in base64, at the beginning of a string.
    let at = text.find(":dXNlcm5hbWU9").expect("an answer");
    let encoded = text[at + 1..].split(' ').next().unwrap();
    let bytes = sapwood_core::base64::decode(encoded.as_bytes()).unwrap();
    String::from_utf8(bytes).unwrap()
}

#[test]
fn a_changed_byte_ends_the_connection() {
    let repo = Repository::scripted(&Shape::few()[0]);
    for limits in ["min-encryption = 1\nmax-encryption = 1\n", ""] {
        configure(&repo, &format!("[sasl]\nuse-sasl = true\n{limits}"), "mech_list: DIGEST-MD5\n");
        let server = Server::start(&repo);
        let from_server = Changed { from_server: Some(3000), ..Changed::default() };
        let between = Between::start(server.port, from_server);
        for client in [Programs::reference(), Programs::ours()] {
            let dump = run(&client, "svnrdump", between.port, &["dump", "-q"], &[]);
            assert_eq!(dump.code, 1, "{limits:?}");
            let said = dump.stderr_text();
            assert!(said.contains("E170001: SASL authentication error: "), "{limits:?} {said}");
        }
        let from_client = Changed { from_client: Some(1500), ..Changed::default() };
        let between = Between::start(server.port, from_client);
        let file = repo.parent().join("large");
        fs::write(&file, "0123456789abcdef".repeat(10_000)).unwrap();
        let put = ["-m", "never", "put", file.to_str().unwrap(), "trunk/large", "-U"];
        let refused = run(&Programs::ours(), "svnmucc", between.port, &put, &[]);
        assert_eq!(refused.code, 1, "{limits:?}");
        // The server has served others meanwhile, and has not taken the commit.
        server.svn(&["cat"], "ada", PASSWORD).expect_success("another connection");
        assert_eq!(run(&Programs::ours(), "svn", server.port, &["cat"], &["/trunk/large"]).code, 1);
    }
}
