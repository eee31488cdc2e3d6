//! Repositories in a store: several servers, used by the reference's clients.

use std::fs;
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use sapwood_testkit::server::Server;
use sapwood_testkit::{Programs, Rng};
use tempfile::TempDir;

/// A repository in a store, which all may write to, and folders for it.
struct Stored {
    folder: TempDir,
    address: String,
}

fn ours(args: &[&str]) -> String {
    Programs::ours().run("sapwood", args).expect_success(args[0]).stdout_text()
}

impl Stored {
    fn in_a_folder(folders: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let address = format!("file://{}", folder.path().join("store").display());
        Self::new(folder, address, folders)
    }

    fn new(folder: TempDir, address: String, folders: &[&str]) -> Self {
        let stored = Self { folder, address };
        for (name, verb) in folders.iter().zip(["create", "attach", "attach"]) {
            fs::create_dir(stored.path(name)).unwrap();
            ours(&["store", verb, &stored.address, &stored.repository(name)]);
        }
        let conf = stored.path(folders[0]).join("repo/conf/svnserve.conf");
        fs::write(conf, "[general]\nanon-access = write\n").unwrap();
        let pushed = ours(&["store", "push", &stored.repository(folders[0])]);
        assert_eq!(pushed, "conf/svnserve.conf\n");
        assert_eq!(ours(&["store", "push", &stored.repository(folders[0])]), "");
        stored
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn repository(&self, name: &str) -> String {
        self.path(name).join("repo").to_str().unwrap().to_owned()
    }

    fn server(&self, name: &str) -> Server {
        Server::start(&Programs::ours(), &self.path(name), &[])
    }
}

/// What the reference's client says, if it succeeds.
fn reference(program: &str, args: &[&str]) -> Option<String> {
    let output = Programs::reference().run(program, args);
    (output.code == 0).then(|| output.stdout_text())
}

const NAMES: [&str; 3] = ["one", "two", "three"];

#[test]
fn servers_that_are_killed_lose_nothing_that_was_acknowledged() {
    commit_while_servers_are_killed(&Stored::in_a_folder(&NAMES), || {});
}

#[test]
fn a_property_that_was_changed_elsewhere_is_seen_at_once() {
    let stored = Stored::in_a_folder(&NAMES);
    let server = stored.server("two");
    let url = server.url("repo");
    let seen = || {
        reference("svn", &["propget", "--revprop", "-r", "0", "svn:log", &url]).unwrap_or_default()
    };
    for text in ["first", "second", "third"] {
        let file = stored.path("message");
        fs::write(&file, text).unwrap();
        // By another program, on another machine's folder.
        let (repository, file) = (stored.repository("one"), file.to_str().unwrap());
        let words = ["setlog", "--bypass-hooks", "-r", "0", &repository, file];
        Programs::ours().run("svnadmin", words).expect_success("setlog");
        assert_eq!(seen().trim_end(), text);
    }
}

/// `cargo xtask objects` runs it, beside a store. Its gateway is killed, too, and comes back.
#[cfg(feature = "s3")]
#[test]
fn servers_of_a_bucket_that_are_killed_lose_nothing_that_was_acknowledged() {
    let found = |name| std::env::var(name).expect("'cargo xtask objects' starts a store");
    assert_eq!(found("AWS_ENDPOINT_URL"), found("SAPWOOD_S3_ENDPOINT"));
    let folder = tempfile::tempdir().unwrap();
    let (gateway, process) = (found("SAPWOOD_S3_GATEWAY"), std::process::id());
    let kill = || {
        let number = fs::read_to_string(&gateway).unwrap();
        let killed = std::process::Command::new("kill").args(["-KILL", number.trim()]).status();
        assert!(killed.unwrap().success(), "{number}");
    };
    let stored = Stored::new(folder, format!("s3://sapwood/killed/{process}"), &NAMES);
    commit_while_servers_are_killed(&stored, kill);
}

/// Clients commit on three servers of one repository, which are killed and begin again; and `harm` is done at times.
fn commit_while_servers_are_killed(stored: &Stored, harm: impl Fn() + Send) {
    let commits: usize = if std::env::var_os("SAPWOOD_LONG").is_some() { 10_000 } else { 45 };
    let names = NAMES;
    let servers = names.map(|name| Mutex::new(Some(stored.server(name))));
    let url = |at: usize| {
        let server = servers[at].lock().unwrap();
        server.as_ref().map(|server| server.url("repo"))
    };
    let text = stored.path("text");
    fs::write(&text, "text\n").unwrap();
    let (next, ends) = (AtomicUsize::new(0), AtomicBool::new(false));
    let acknowledged = Mutex::new(Vec::new());
    std::thread::scope(|scope| {
        let committing: Vec<_> = (0..3)
            .map(|client| {
                let (url, text, next, acknowledged) = (&url, &text, &next, &acknowledged);
                scope.spawn(move || {
                    let mut rng = Rng::new(client);
                    loop {
                        let number = next.fetch_add(1, Ordering::SeqCst);
                        if number >= commits {
                            break;
                        }
                        let Some(url) = url(rng.below(3)) else { continue };
                        let name = format!("f{number}");
                        let put = ["-m", "x", "-U", &url, "put", text.to_str().unwrap(), &name];
                        if reference("svnmucc", &put).is_some() {
                            acknowledged.lock().unwrap().push(name);
                        }
                    }
                })
            })
            .collect();
        let (servers, acknowledged, ends) = (&servers, &acknowledged, &ends);
        scope.spawn(move || {
            let mut rng = Rng::new(99);
            let mut killed = 0;
            while !ends.load(Ordering::SeqCst) {
                // When some more were committed, a server dies, and another begins in its place.
                let done = acknowledged.lock().unwrap().len();
                if done < (killed + 1) * 4 {
                    std::thread::yield_now();
                    continue;
                }
                let at = rng.below(3);
                drop(servers[at].lock().unwrap().take());
                *servers[at].lock().unwrap() = Some(stored.server(names[at]));
                killed += 1;
                if killed % 3 == 2 {
                    harm();
                }
            }
            assert!(killed >= 2, "only {killed} servers were killed");
        });
        committing.into_iter().for_each(|client| client.join().unwrap());
        ends.store(true, Ordering::SeqCst);
    });
    let acknowledged = acknowledged.into_inner().unwrap();
    assert!(acknowledged.len() > commits / 2, "{} of {commits}", acknowledged.len());
    let lists = [0, 1, 2].map(|at| reference("svn", &["ls", &url(at).unwrap()]).unwrap());
    assert!(lists[0] == lists[1] && lists[1] == lists[2], "{lists:?}");
    for name in &acknowledged {
        assert_eq!(lists[0].lines().filter(|line| line == name).count(), 1, "{name}");
    }
    // One history, in which each came once.
    let log = reference("svn", &["log", "-q", "-v", &url(0).unwrap()]).unwrap();
    let added = log.lines().filter(|line| line.starts_with("   A /f")).count();
    assert_eq!(added, lists[0].lines().count());
    let plain = stored.path("plain");
    ours(&["store", "export", "-q", &stored.address, plain.to_str().unwrap()]);
    reference("svnadmin", &["verify", "-q", plain.to_str().unwrap()]).expect("1.14 verifies it");
}
