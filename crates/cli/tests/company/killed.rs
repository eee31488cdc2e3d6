//! Our server is killed at random moments: what clients were told of is never lost.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use sapwood_testkit::{Output, Programs, Server};

use super::{Dice, Kept, Told, amount, check, commit, make, tell};

#[test]
fn killed_at_random_moments() {
    killed(Kept::Fsfs);
}

#[test]
fn killed_at_random_moments_with_fsx() {
    killed(Kept::Fsx);
}

fn killed(kept: Kept) {
    let kills = amount("SAPWOOD_KILLS", 8, 500);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("repo");
    make(&path, kept);
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
