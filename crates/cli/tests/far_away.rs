//! What a long way costs: requests of one command that do not need each other's replies go out together, however many
//! files there are.
//!
//! A relay between `svn` and our server passes no reply on from the first request of a method to the last one: a client
//! that waited for a reply in between would wait until the test fails.

use std::fs;
use std::path::Path;

use sapwood_testkit::Programs;
use sapwood_testkit::server::Server;

use crate::common::places::{LOGIN_PLACE, Served, svn_as_ada};
use crate::common::relay::{Relay, Rule};

/// Runs our `svn` as ada, which must not fail.
fn svn(args: &[&str]) {
    svn_as_ada(args).expect_success(args[0]);
}

/// Runs our `svn`, whose requests of a method go out together over one connection: no reply passes from the first one to
/// the last one. Returns the turns.
fn together(
    served: &Served,
    wc: &Path,
    method: &'static str,
    wanted: usize,
    args: &[&str],
) -> usize {
    let is_shut = Box::new(move |seen: &[usize]| seen[0] > 0 && seen[0] < wanted);
    let relay = Relay::start(served.port, &[method], is_shut);
    let url = format!("http://127.0.0.1:{}/svn/repo", relay.port);
    svn(&["relocate", &url, wc.to_str().unwrap()]);
    let before = relay.seen();
    svn(args);
    let after = relay.seen();
    assert_eq!(after.requests, [wanted], "requests of {method}");
    assert_eq!(after.connections - before.connections, 1, "one connection");
    after.turns - before.turns
}

#[test]
fn requests_do_not_grow_into_turns() {
    let served = Served::start(LOGIN_PLACE);
    let wc = served.repo.parent().join("far");
    let wc_path = wc.to_str().unwrap();
    let url = format!("http://127.0.0.1:{}/svn/repo", served.port);
    svn(&["checkout", "-q", &url, wc_path]);
    let mut turns = Vec::new();
    for count in [50, 200] {
        let folder = wc.join(format!("many{count}"));
        fs::create_dir(&folder).unwrap();
        let files: Vec<String> =
            (0..count).map(|n| folder.join(format!("f{n}")).to_str().unwrap().to_owned()).collect();
        let write = |what: &str| {
            files.iter().for_each(|file| fs::write(file, format!("{what} of {file}\n")).unwrap());
        };
        write("text");
        let names: Vec<&str> = files.iter().map(String::as_str).collect();
        let folder = folder.to_str().unwrap();
        svn(&["add", "-q", folder]);
        let commit = ["commit", "-q", "-m", "many", wc_path];
        let added = together(&served, &wc, "PUT /", count, &commit);
        write("another text");
        let changed = together(&served, &wc, "PUT /", count, &commit);
        svn(&[&["propset", "-q", "p", "v"], &names[..]].concat());
        let props = together(&served, &wc, "PROPPATCH /", count, &commit);
        let locked =
            together(&served, &wc, "LOCK /", count, &[&["lock", "-q"], &names[..]].concat());
        let freed =
            together(&served, &wc, "UNLOCK /", count, &[&["unlock", "-q"], &names[..]].concat());
        svn(&[&["delete", "-q"], &names[..]].concat());
        let gone = together(&served, &wc, "DELETE /", count, &commit);
        turns.push([added, changed, props, gone, locked, freed]);
    }
    // What ends the last request may come in a piece of its own.
    assert!(
        turns.iter().flatten().all(|turns| *turns <= 8),
        "turns of 50 and of 200 files: {turns:?}"
    );
}

/// Files at the root of the repository.
const FILES: usize = 40;

/// A repository with files whose properties and contents differ, over svn:// and http://, for ada only where she logs in.
struct Far {
    http: Served,
    svn: Server,
}

impl Far {
    fn start() -> Self {
        let http = Served::start(LOGIN_PLACE);
        let repo = http.repo.path();
        fs::write(
            repo.join("conf/svnserve.conf"),
            "[general]\nanon-access = none\nauth-access = write\npassword-db = passwd\n",
        )
        .unwrap();
        fs::write(repo.join("conf/passwd"), "[users]\nada = a\n").unwrap();
        let new = http.repo.parent().join("new");
        for n in 0..FILES {
            fs::create_dir_all(new.join(format!("d{n}"))).unwrap();
            fs::write(new.join(format!("d{n}/f")), format!("text {n} $Rev$\n")).unwrap();
        }
        let local = format!("file://{}/far", repo.display());
        svn(&["import", "-q", "-m", "far", new.to_str().unwrap(), &local]);
        let svn = Server::start(&Programs::ours(), http.repo.parent(), &[]);
        Self { http, svn }
    }

    /// Runs our `svn` with URLs of so many files, through a relay; returns what it printed.
    fn run(&self, wire: &str, relay: &Relay, count: usize, args: &[&str]) -> String {
        let repo = match wire {
            "svn" => self.http.repo.path().file_name().unwrap().to_str().unwrap().to_owned(),
            _ => "svn/repo".to_owned(),
        };
        let base = format!("{wire}://127.0.0.1:{}/{repo}/far", relay.port);
        let urls: Vec<String> = (0..count).map(|n| format!("{base}/d{n}/f")).collect();
        let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
        let output = svn_as_ada(&[args, &urls[..]].concat());
        let output = output.expect_success(args[0]);
        String::from_utf8(output.stdout).unwrap().replace(&format!(":{}/", relay.port), ":PORT/")
    }
}

/// Never holds a reply back.
fn open() -> Rule {
    Box::new(|_| false)
}

#[test]
fn many_targets_are_asked_over_one_connection() {
    let far = Far::start();
    let commands: [&[&str]; 5] =
        [&["cat"], &["info"], &["list", "-v"], &["proplist", "-v"], &["blame"]];
    for (wire, port) in [("svn", far.svn.port()), ("http", far.http.port)] {
        for args in commands {
            for count in [FILES / 4, FILES] {
                let relay = Relay::start(port, &[], open());
                far.run(wire, &relay, count, args);
                assert_eq!(relay.seen().connections, 1, "{wire}: {args:?} of {count}");
            }
        }
    }
}

#[test]
fn what_is_asked_of_a_url_goes_out_together() {
    let far = Far::start();
    for count in [FILES / 4, FILES] {
        // All that sessions ask first, after the first of them, which is asked again with a password.
        let words = ["OPTIONS /", "PROPFIND /", "GET /", "REPORT /"];
        let first = move |seen: &[usize]| seen[0] > 2 && seen[0] < count + 1;
        let with_text = move |seen: &[usize]| first(seen) || seen[1] > seen[2];
        let relay = Relay::start(far.http.port, &words, Box::new(with_text));
        let text = far.run("http", &relay, count, &["cat"]);
        assert_eq!(text.lines().count(), count);
        assert_eq!(relay.seen().requests, [count + 1, count, count, 0]);
        let with_lock = move |seen: &[usize]| first(seen) || seen[1] > seen[3];
        let relay = Relay::start(far.http.port, &words, Box::new(with_lock));
        let over_http = far.run("http", &relay, count, &["info"]);
        assert_eq!(relay.seen().requests, [count + 1, count, 0, count]);

        let words =
            ["( get-latest-rev (", "( stat (", "( get-lock (", "( get-file (", "( reparent ("];
        let in_one = |seen: &[usize]| seen[0] > seen[2];
        let relay = Relay::start(far.svn.port(), &words, Box::new(in_one));
        let over_svn = far.run("svn", &relay, count, &["info"]);
        assert_eq!(relay.seen().requests, [count, count, count, 0, 1]);
        let relay = Relay::start(far.svn.port(), &words, open());
        assert_eq!(far.run("svn", &relay, count, &["cat"]), text);
        assert_eq!(relay.seen().requests, [0, 0, 0, count, 1], "one request a file");
        let lines = |text: &str| text.lines().filter(|line| !line.contains("URL")).count();
        assert_eq!(lines(&over_http), lines(&over_svn));
    }
}

#[test]
fn externals_share_the_session_of_their_working_copy() {
    let far = Far::start();
    for (wire, port, path, most) in [
        ("svn", far.svn.port(), far.http.repo.path().file_name().unwrap().to_str().unwrap(), 4),
        ("http", far.http.port, "svn/repo", 4),
    ] {
        let relay = Relay::start(port, &[], open());
        let url = format!("{wire}://127.0.0.1:{}/{path}/far/d0", relay.port);
        let wc = far.http.repo.parent().join(format!("externals-{wire}"));
        let wc = wc.to_str().unwrap();
        svn(&["checkout", "-q", &url, wc]);
        let mut turns = Vec::new();
        for count in [FILES / 4, FILES] {
            let value: String = (0..count).map(|n| format!("^/far/d{n} e{n}\n")).collect();
            svn(&["propset", "-q", "svn:externals", &value, wc]);
            let before = relay.seen();
            svn(&["update", "-q", wc]);
            let after = relay.seen();
            assert_eq!(after.connections - before.connections, 1, "{wire}: {count} externals");
            turns.push(after.turns - before.turns);
        }
        let each = (turns[1] - turns[0]).div_ceil(FILES - FILES / 4);
        assert!(each <= most, "{wire}: {each} turns an external: {turns:?}");
        // The first ones are made anew, as the rest of the others are: what comes with any update is the same.
        let base = turns[0] - each * (FILES / 4);
        assert!(base + 3 * each <= 20, "{wire}: three externals: {turns:?}");
    }
}
