//! Several servers of one repository in a store, which forward to each other, while they are killed and ended.

use std::collections::BTreeSet;
use std::fs;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use sapwood_testkit::{Programs, Rng, patience};

use crate::common::cluster::{Cluster, SECRET, ask, begin, done, merge};
use crate::common::places::{ADA, status};

/// Commits through random servers and both protocols, while random servers are killed and begin again.
#[test]
fn what_was_acknowledged_is_there_whatever_server_is_killed() {
    let commits: usize = if std::env::var_os("SAPWOOD_LONG").is_some() { 2_000 } else { 45 };
    let all = Cluster::new(3, "");
    fs::write(all.path("text"), SECRET).unwrap();
    let text = all.path("text").display().to_string();
    let urls: Vec<String> = (0..3).flat_map(|at| [all.svn_url(at), all.http_url(at)]).collect();
    let all = Mutex::new(all);
    let (next, ends) = (AtomicUsize::new(0), AtomicBool::new(false));
    let acknowledged = Mutex::new(BTreeSet::new());
    std::thread::scope(|scope| {
        let commit = |client: u64| {
            let mut rng = Rng::new(client);
            loop {
                let number = next.fetch_add(1, Ordering::SeqCst);
                if number >= commits {
                    break;
                }
                let (url, name) = (&urls[rng.below(urls.len())], format!("f{number}"));
                let put = ["-m", "x", "-U", url, "--username", "ada", "--password", "a"];
                let more = ["--no-auth-cache", "--non-interactive", "put", &text, &name];
                if Programs::reference().run("svnmucc", [&put[..], &more[..]].concat()).code == 0 {
                    acknowledged.lock().unwrap().insert(name);
                }
            }
        };
        let committing: Vec<_> = (0..3).map(|client| scope.spawn(move || commit(client))).collect();
        scope.spawn(|| {
            let mut rng = Rng::new(77);
            let mut seen = 0;
            while !ends.load(Ordering::SeqCst) {
                // After some commits, one of them.
                let wanted = seen + 4;
                patience::wait(20, || {
                    next.load(Ordering::SeqCst) >= wanted || ends.load(Ordering::SeqCst)
                });
                seen = next.load(Ordering::SeqCst);
                let mut all = all.lock().unwrap();
                let at = rng.below(3);
                all.kill(at);
                all.start(at);
            }
        });
        committing.into_iter().for_each(|one| one.join().unwrap());
        ends.store(true, Ordering::SeqCst);
    });
    let all = all.into_inner().unwrap();
    let acknowledged = acknowledged.into_inner().unwrap();
    assert!(acknowledged.len() * 3 > commits, "{} of {commits}", acknowledged.len());
    for at in 0..3 {
        for url in [all.svn_url(at), all.http_url(at)] {
            let found: BTreeSet<String> = done(&["ls", &url]).lines().map(str::to_owned).collect();
            assert!(found.is_superset(&acknowledged), "{:?}", acknowledged.difference(&found));
        }
    }
    // Each once: no revision adds what another has added.
    let log = done(&["log", "-q", "-v", &all.svn_url(0)]);
    let added: Vec<&str> = log.lines().filter_map(|line| line.strip_prefix("   A /")).collect();
    let once: BTreeSet<&str> = added.iter().copied().collect();
    assert_eq!(once.len(), added.len(), "{log}");
    let forwarded = |door| (0..3).map(|at| all.routed(at, door, "forwarded")).sum::<u64>();
    assert!(forwarded("svn") + forwarded("http") > 0);
}

/// An owner that is asked to end finishes the commits that it has begun; new ones are made by the others.
#[test]
fn an_owner_that_ends_drops_no_commit() {
    let all = Cluster::new(2, "");
    let (owner, other) = (all.owner(), all.other());
    let put = |name: &str, file: &str| {
        status(&ask(&all, other, &format!("PUT /repo/!svn/txr/{name}/{file}"), ADA, "text\n"))
    };
    let name = begin(&all, other);
    assert_eq!(put(&name, "a"), 201);
    let pid = all.pid(owner).to_string();
    assert!(std::process::Command::new("kill").arg(pid).status().unwrap().success());
    let refuses = || std::net::TcpStream::connect(("127.0.0.1", all.members[owner].http)).is_err();
    assert!(patience::wait(30, refuses));
    // It is about to end: a commit that begins now is made here.
    let new = begin(&all, other);
    assert_ne!(new.split_once('.').unwrap().1, name.split_once('.').unwrap().1);
    assert_eq!((put(&new, "b"), put(&name, "c")), (201, 201));
    for name in [&name, &new] {
        assert_eq!(status(&ask(&all, other, "MERGE /repo", ADA, &merge(name))), 200);
    }
    assert_eq!(done(&["ls", &all.svn_url(other)]), "a\nb\nc\n");
}
