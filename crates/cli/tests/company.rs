//! Our programs and the reference's on one repository at the same time, and our server killed at
//! random moments: nothing that a client was told of is ever lost.
//!
//! `SAPWOOD_LONG=1` runs them for ten minutes and 500 kills; without it they only show that they
//! still work. `SAPWOOD_SECONDS` and `SAPWOOD_KILLS` say how long instead.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic)]

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use sapwood_testkit::server::Server;
use sapwood_testkit::{Output, Programs};

/// A number out of the environment, or the long or short one.
fn amount(name: &str, short: u64, long: u64) -> u64 {
    match std::env::var(name) {
        Ok(text) => text.parse().unwrap(),
        Err(_) if std::env::var_os("SAPWOOD_LONG").is_some() => long,
        Err(_) => short,
    }
}

/// Small numbers that look random; the same ones in each run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

/// A repository that everybody may write to, with small shards.
fn make(path: &Path) {
    let reference = Programs::reference();
    reference.run("svnadmin", ["create", path.to_str().unwrap()]).expect_success("create");
    std::fs::write(path.join("conf/svnserve.conf"), "[general]\nanon-access = write\n").unwrap();
    let hook = path.join("hooks/pre-revprop-change");
    std::fs::write(&hook, "#!/bin/sh\nexit 0\n").unwrap();
    std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).unwrap();
    let format = path.join("db/format");
    let text = std::fs::read_to_string(&format).unwrap().replace("sharded 1000", "sharded 20");
    std::fs::remove_file(&format).unwrap();
    std::fs::write(&format, text).unwrap();
    // Tight packs, so that changes of properties divide them.
    let config = path.join("db/fsfs.conf");
    let text = std::fs::read_to_string(&config).unwrap();
    std::fs::write(&config, format!("{text}\n[packed-revprops]\nrevprop-pack-size = 1\n")).unwrap();
}

/// What clients were told: revision and log message.
type Told = Mutex<BTreeMap<u64, String>>;

/// Commits with the reference's svnmucc; the revision that it was told of.
fn commit(url: &str, message: &str, actions: &[&str]) -> Result<u64, String> {
    let mut command = Programs::reference().command("svnmucc");
    let out =
        Output::of(command.args(["--non-interactive", "-m", message, "-U", url]).args(actions));
    let text = out.stdout_text();
    let revision = text.strip_prefix('r').and_then(|t| t.split(' ').next()?.parse().ok());
    revision.ok_or_else(|| out.stderr_text())
}

fn tell(told: &Told, revision: u64, message: &str) {
    let old = told.lock().unwrap().insert(revision, message.to_owned());
    assert_eq!(old, None, "r{revision} was given to two");
}

/// All revisions and their log messages, as the reference reads them.
fn messages(path: &Path) -> BTreeMap<u64, String> {
    let url = format!("file://{}", path.display());
    let log = Programs::reference().run("svn", ["log", "-r0:HEAD", &url]).expect_success("log");
    let mut found = BTreeMap::new();
    for entry in log.stdout_text().split(&format!("{}\n", "-".repeat(72))) {
        let mut lines = entry.lines();
        let Some(head) = lines.next().and_then(|line| line.strip_prefix('r')) else { continue };
        let revision = head.split(' ').next().unwrap().parse().unwrap();
        found.insert(revision, lines.nth(1).unwrap_or_default().to_owned());
    }
    // Whether revision 0 has an entry depends on its properties.
    found.remove(&0);
    found
}

/// Every revision that somebody was told of is there once, with the message that it was given, and
/// both programs find the repository whole.
fn check(path: &Path, told: &Told) -> u64 {
    let arg = path.to_str().unwrap();
    for programs in [Programs::reference(), Programs::ours()] {
        programs.run("svnadmin", ["verify", "-q", arg]).expect_success("verify");
    }
    let found = messages(path);
    let youngest = *found.keys().next_back().unwrap();
    assert_eq!(u64::try_from(found.len()).unwrap(), youngest, "a revision is missing");
    for (revision, message) in told.lock().unwrap().iter() {
        assert_eq!(found.get(revision), Some(message), "r{revision}");
    }
    let mut all: Vec<&String> = found.values().filter(|m| m.contains('#')).collect();
    let count = all.len();
    all.sort();
    all.dedup();
    assert_eq!(all.len(), count, "a commit is there twice");
    youngest
}

/// One of four writers.
fn write(number: u64, url: &str, dir: &Path, told: &Told, stop: &AtomicBool) -> u64 {
    let mut dice = Dice(number);
    let file = dir.join(format!("text{number}"));
    let (file_arg, own) = (file.to_str().unwrap().to_owned(), format!("w{number}"));
    let mut refused = 0;
    for turn in 0.. {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let message = format!("w{number} #{turn}");
        std::fs::write(
            &file,
            format!("{message}\n").repeat(usize::try_from(1 + turn % 90).unwrap()),
        )
        .unwrap();
        let name = format!("{own}/f{}", dice.roll(7));
        let copy = format!("{own}/c{turn}");
        let done = match dice.roll(10) {
            0..=4 => commit(url, &message, &["put", &file_arg, &name]),
            5..=7 => commit(url, &message, &["put", &file_arg, "shared"]),
            8 => commit(url, &message, &["cp", "HEAD", "shared", &copy]),
            _ => commit(url, &message, &["propset", "p", &message, &own]),
        };
        match done {
            Ok(revision) => tell(told, revision, &message),
            // Another writer was faster at the same file.
            Err(text) => {
                let conflict = ["E160024", "E160028", "E170004", "E160042", "E155011"];
                assert!(conflict.iter().any(|code| text.contains(code)), "{message}: {text}");
                refused += 1;
            }
        }
    }
    refused
}

#[test]
fn four_writers_a_packer_an_editor_a_copier_and_two_readers() {
    let seconds = amount("SAPWOOD_SECONDS", 10, 600);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("repo");
    make(&path);
    let arg = path.to_str().unwrap().to_owned();
    let servers =
        [Programs::ours(), Programs::reference()].map(|p| Server::start(&p, dir.path(), &[]));
    let urls: Vec<String> = servers.iter().map(|server| server.url("repo")).collect();
    let (told, stop) = (Told::default(), AtomicBool::new(false));
    commit(&urls[0], "first", &["mkdir", "w0", "mkdir", "w1", "mkdir", "w2", "mkdir", "w3"])
        .unwrap();
    let empty = dir.path().join("empty");
    std::fs::write(&empty, "").unwrap();
    commit(&urls[1], "second", &["put", empty.to_str().unwrap(), "shared"]).unwrap();
    let youngest = AtomicU64::new(2);
    let (packs, edits, copies, reads) =
        (AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0), AtomicU64::new(0));
    let last_edits = Mutex::new(BTreeMap::new());
    let both = [Programs::reference(), Programs::ours()];
    let side = |turn: u64| &both[usize::try_from(turn % 2).unwrap()];
    let run = |programs: &Programs, command: &str, args: &[&str]| {
        let out = programs.run("svnadmin", [&[command], args].concat());
        // The reference's hotcopy does not find what is packed under its feet.
        let packed = command == "hotcopy" && programs.label == "reference";
        let said = out.stderr_text();
        if !(packed && said.contains("E000002: Can't ") || said.contains("not there yet")) {
            out.expect_success(command);
        }
    };
    let running = || !stop.load(Ordering::Relaxed);
    let refused: u64 = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..4u64)
            .map(|number| {
                let url = &urls[usize::try_from(number / 2).unwrap()];
                let (dir, told, stop) = (dir.path(), &told, &stop);
                scope.spawn(move || write(number, url, dir, told, stop))
            })
            .collect();
        let packer = scope.spawn(|| {
            while running() {
                run(side(packs.fetch_add(1, Ordering::Relaxed)), "pack", &["-q", &arg]);
                std::thread::sleep(Duration::from_millis(300));
            }
        });
        let editor = scope.spawn(|| {
            let mut dice = Dice(99);
            let file = dir.path().join("value");
            while running() {
                let turn = edits.fetch_add(1, Ordering::Relaxed);
                let revision = dice.roll(youngest.load(Ordering::Relaxed) + 1).to_string();
                let value =
                    format!("edit {turn} ").repeat(usize::try_from(dice.roll(60) + 1).unwrap());
                std::fs::write(&file, &value).unwrap();
                let file = file.to_str().unwrap();
                if turn % 4 < 2 {
                    let args = ["setrevprop", &arg, "-r", &revision, "edited", file];
                    side(turn).run("svnadmin", args).expect_success("setrevprop");
                } else {
                    let url = &urls[usize::try_from(turn % 2).unwrap()];
                    let args =
                        ["propset", "-q", "--revprop", "-r", &revision, "edited", "-F", file, url];
                    both[0].run("svn", args).expect_success("propset");
                }
                last_edits.lock().unwrap().insert(revision, value);
            }
        });
        let copier = scope.spawn(|| {
            while running() {
                let copy = dir.path().join("copy");
                let args = ["--incremental", "-q", &arg, copy.to_str().unwrap()];
                run(side(copies.fetch_add(1, Ordering::Relaxed)), "hotcopy", &args);
                std::thread::sleep(Duration::from_millis(500));
            }
        });
        let readers: Vec<_> = urls
            .iter()
            .map(|url| {
                let (reads, youngest, running) = (&reads, &youngest, &running);
                scope.spawn(move || {
                    let svn = Programs::reference();
                    while running() {
                        let log =
                            svn.run("svn", ["log", "-v", "-r0:HEAD", url]).expect_success("log");
                        let text = log.stdout_text();
                        let starts = text.lines().filter(|line| {
                            line.starts_with('r') && line.contains(" | ") && line.contains(" line")
                        });
                        let found = u64::try_from(starts.count()).unwrap();
                        // Revision 0 has no entry of its own in every log: there may be one more.
                        youngest.fetch_max(found.saturating_sub(1), Ordering::Relaxed);
                        svn.run("svn", ["ls", "-R", url]).expect_success("ls");
                        reads.fetch_add(1, Ordering::Relaxed);
                    }
                })
            })
            .collect();
        let end = Instant::now() + Duration::from_secs(seconds);
        let others = || packer.is_finished() || editor.is_finished() || copier.is_finished();
        while Instant::now() < end
            && !others()
            && !readers.iter().any(|reader| reader.is_finished())
            && !writers.iter().any(|writer| writer.is_finished())
        {
            std::thread::sleep(Duration::from_millis(50));
        }
        stop.store(true, Ordering::Relaxed);
        let refused = writers.into_iter().map(|writer| writer.join().unwrap()).sum();
        packer.join().unwrap();
        editor.join().unwrap();
        copier.join().unwrap();
        readers.into_iter().for_each(|reader| reader.join().unwrap());
        refused
    });
    let youngest = check(&path, &told);
    assert_eq!(told.lock().unwrap().len(), usize::try_from(youngest - 2).unwrap());
    for (revision, value) in last_edits.lock().unwrap().iter() {
        for programs in &both {
            let args = ["propget", "--revprop", "-r", revision, &arg, "edited"];
            let read = programs.run("svnlook", args).expect_success("propget");
            assert_eq!(read.stdout_text(), *value, "r{revision}");
        }
    }
    let copy = dir.path().join("copy");
    both[0].run("svnadmin", ["hotcopy", "--incremental", "-q", &arg, copy.to_str().unwrap()]);
    assert_eq!(check(&copy, &told), youngest);
    println!(
        "{seconds} s: r{youngest}, {refused} refused, {} packs, {} edits, {} copies, {} reads",
        packs.into_inner(),
        edits.into_inner(),
        copies.into_inner(),
        reads.into_inner()
    );
}

#[test]
fn killed_at_random_moments() {
    let kills = amount("SAPWOOD_KILLS", 8, 500);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("repo");
    make(&path);
    let (told, stop) = (Told::default(), AtomicBool::new(false));
    let start = || Server::start(&Programs::ours(), dir.path(), &[]);
    let first = start();
    let url = Mutex::new(first.url("repo"));
    let server = Mutex::new(Some(first));
    commit(&url.lock().unwrap(), "first", &["mkdir", "w0", "mkdir", "w1", "mkdir", "w2"]).unwrap();
    std::thread::scope(|scope| {
        let clients: Vec<_> = (0..3u64)
            .map(|number| {
                let (url, dir, told, stop) = (&url, dir.path(), &told, &stop);
                scope.spawn(move || client(number, url, dir, told, stop))
            })
            .collect();
        let mut dice = Dice(7);
        for kill in 0..kills {
            let before = told.lock().unwrap().len();
            std::thread::sleep(Duration::from_millis(dice.roll(250)));
            // Some commits are under way, but now and then one must also end.
            let patience = Instant::now();
            while kill % 4 == 0
                && told.lock().unwrap().len() == before
                && patience.elapsed() < Duration::from_secs(20)
            {
                std::thread::sleep(Duration::from_millis(dice.roll(20)));
            }
            if clients.iter().any(|client| client.is_finished()) {
                break;
            }
            // Dropping it kills it with SIGKILL.
            drop(server.lock().unwrap().take());
            if kill % 50 == 49 {
                let mut verify = Programs::reference().command("svnadmin");
                Output::of(verify.args(["verify", "-q"]).arg(&path)).expect_success("verify");
            }
            let next = start();
            *url.lock().unwrap() = next.url("repo");
            *server.lock().unwrap() = Some(next);
        }
        stop.store(true, Ordering::Relaxed);
        clients.into_iter().for_each(|client| client.join().unwrap());
    });
    drop(server.into_inner());
    let youngest = check(&path, &told);
    // The next commit works, by both.
    let url = format!("file://{}", path.display());
    commit(&url, "after", &["mkdir", "after"]).unwrap();
    let server = start();
    commit(&server.url("repo"), "last", &["rm", "after"]).unwrap();
    check(&path, &told);
    println!("{kills} kills: r{youngest}, {} told", told.lock().unwrap().len());
}

/// Commits until told to stop; what fails because the server died is tried no more.
fn client(number: u64, url: &Mutex<String>, dir: &Path, told: &Told, stop: &AtomicBool) {
    let file = dir.join(format!("text{number}"));
    for turn in 0..u64::MAX {
        if stop.load(Ordering::Relaxed) {
            return;
        }
        let message = format!("w{number} #{turn}");
        std::fs::write(&file, message.repeat(usize::try_from(1 + turn % 3000).unwrap())).unwrap();
        let now = url.lock().unwrap().clone();
        let name = format!("w{number}/f{}", turn % 5);
        match commit(&now, &message, &["put", file.to_str().unwrap(), &name]) {
            Ok(revision) => tell(told, revision, &message),
            Err(text) => {
                let gone = ["E210002", "E000111", "E000104", "E000032", "E170013"];
                assert!(gone.iter().any(|code| text.contains(code)), "{message}: {text}");
            }
        }
    }
}

/// A small file system of its own, unmounted at the end. `None` where that is not allowed.
struct Mounted(PathBuf);

impl Mounted {
    fn new(path: &Path, options: &str) -> Option<Self> {
        std::fs::create_dir_all(path).unwrap();
        let mount = std::process::Command::new("mount")
            .args(["-t", "tmpfs", "-o", options, "tmpfs"])
            .arg(path)
            .stderr(std::process::Stdio::null())
            .status();
        mount.is_ok_and(|status| status.success()).then(|| Self(path.to_owned()))
    }

    fn remount(&self, options: &str) {
        let status = std::process::Command::new("mount")
            .args(["-o", &format!("remount,{options}")])
            .arg(&self.0)
            .status();
        assert!(status.unwrap().success());
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = std::process::Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

/// The code of the innermost error, and its cause in words: which file it was differs.
fn cause(out: &str) -> (String, String) {
    let line = out.lines().rfind(|line| line.contains(": E")).unwrap_or_default();
    let code = line.split(": ").nth(1).unwrap_or_default().to_owned();
    (code, line.rsplit(": ").next().unwrap_or_default().to_owned())
}

#[test]
fn full_and_read_only_file_systems() {
    let dir = tempfile::tempdir().unwrap();
    let sides = [Programs::reference(), Programs::ours()].map(|programs| {
        let root = dir.path().join(programs.label);
        let mounted = Mounted::new(&root, "size=600k")?;
        let path = root.join("repo");
        make(&path);
        let server = Server::start(&programs, &root, &[]);
        let url = server.url("repo");
        let large = dir.path().join("large");
        let mut dice = Dice(5);
        let noise: Vec<u8> =
            (0..800_000).map(|_| u8::try_from(33 + dice.roll(94)).unwrap()).collect();
        std::fs::write(&large, &noise).unwrap();
        let small = dir.path().join("small");
        std::fs::write(&small, "small\n").unwrap();
        let put = |file: &Path, name: &str| {
            let done = commit(&url, "m", &["put", file.to_str().unwrap(), name]);
            done.map_err(|text| cause(&text))
        };
        let set = |revision: &str| {
            let arg = path.to_str().unwrap();
            let out = programs
                .run("svnadmin", ["setrevprop", arg, "-r", revision, "p", large.to_str().unwrap()]);
            (out.code, cause(&out.stderr_text()))
        };
        let mut results = vec![put(&small, "a"), put(&large, "large"), put(&small, "b")];
        let mut others = vec![set("1")];
        mounted.remount("ro");
        results.push(put(&small, "c"));
        others.push(set("1"));
        mounted.remount("rw");
        results.push(put(&small, "d"));
        let arg = path.to_str().unwrap();
        for verifier in [Programs::reference(), Programs::ours()] {
            verifier.run("svnadmin", ["verify", "-q", arg]).expect_success("verify");
        }
        Some((results, others))
    });
    let [Some(reference), Some(ours)] = sides else {
        // Only root can mount.
        assert_ne!(rustix::process::geteuid().as_raw(), 0, "mounting a tmpfs failed");
        return;
    };
    let last = ours.0.len() - 1;
    assert_eq!((&reference.0[..last], &reference.1), (&ours.0[..last], &ours.1));
    // What the reference leaves behind of a change that failed fills its disk for good.
    assert_eq!(ours.0[last], Ok(3));
    assert_eq!(ours.0[1].as_ref().unwrap_err().1, "No space left on device");
    assert_eq!(ours.0[3].as_ref().unwrap_err().1, "Read-only file system");
}
