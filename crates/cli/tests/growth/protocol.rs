//! Every command of the svn protocol. A server process for one connection (`svnserve -i`) gets
//! greeting and requests at once; the cost of a connection that asks for little is taken off.

use std::fmt::Write as _;

use sapwood_testkit::Programs;
use sapwood_testkit::counted::{Cost, Order, dialogue, grows};

use crate::made::{Made, Stream, text};

const GREETING: &str = "( 2 ( edit-pipeline svndiff1 accepts-svndiff2 absent-entries depth mergeinfo \
                        log-revprops ) 21:svn://localhost/repo/ 10:SVN/1.14.2 ( ) ) \
                        ( ANONYMOUS ( 0: ) ) ";

/// What a connection with these requests costs; none may fail.
fn cost(made: &Made, requests: &str) -> Cost {
    talk(made, &[(requests, "")])
}

/// What an edit that the server drives costs: a command, a report, and the reply to the edit.
fn edit(made: &Made, command: &str, report: &str) -> Cost {
    let requests = format!("{command}{report}( finish-report ( ) ) ");
    talk(made, &[(&requests, "( close-edit ( ) ) "), ("( success ( ) ) ", "( success ( ) ) ")])
}

pub(crate) fn talk(made: &Made, steps: &[(&str, &str)]) -> Cost {
    let mut server = Programs::ours().command("svnserve");
    server.args(["--inetd", "--root"]).arg(made.root());
    let greeting = [(GREETING, "mergeinfo ) ) ) ")];
    let steps: Vec<(&[u8], &[u8])> =
        greeting.iter().chain(steps).map(|(say, end)| (say.as_bytes(), end.as_bytes())).collect();
    let (cost, reply) = dialogue(&server, &steps);
    let last = &reply[reply.len().saturating_sub(400)..];
    let failed = reply.windows(12).any(|part| part == b"( failure ( ");
    assert!(!failed, "{:.300}: {}", steps[1].0.escape_ascii(), last.escape_ascii());
    cost
}

/// A directory `d` with `n` files, and a property on each.
pub(crate) fn flat(n: u64) -> Made {
    let mut stream = Stream::new();
    stream.revision([]);
    stream.add_dir("d");
    for number in 0..n {
        stream.add_file(&format!("d/file{number:06}"), &format!("text {number}\n"));
    }
    stream.load()
}

#[test]
fn listings_by_entries() {
    for (what, request) in [
        ("get-dir", "( get-dir ( 1:d ( ) true true ) ) "),
        ("get-dir, names only", "( get-dir ( 1:d ( ) false true ( kind ) ) ) "),
        ("list", "( list ( 1:d ( ) infinity ( kind size time last-author ) ) ) "),
        ("list, kinds", "( list ( 0: ( ) infinity ( kind ) ) ) "),
    ] {
        grows(what, 500, Order::Linear, |n| cost(&flat(n), request));
    }
}

#[test]
fn one_entry_of_many() {
    for (what, request) in [
        ("stat", "( stat ( 12:d/file000000 ( ) ) ) "),
        ("check-path", "( check-path ( 12:d/file000000 ( ) ) ) "),
        ("get-file", "( get-file ( 12:d/file000000 ( ) true true ) ) "),
        ("get-locations", "( get-locations ( 12:d/file000000 1 ( 1 ) ) ) "),
    ] {
        // The directory itself is read.
        grows(what, 500, Order::Linear, |n| cost(&flat(n.max(1)), request));
    }
}

#[test]
fn commit_by_revision_properties() {
    let made = flat(1).copy();
    grows("commit, revision properties", 2000, Order::Linear, |n| {
        let mut props = String::new();
        for number in (0..n).rev() {
            write!(props, "( {}1:v ) ", text(&format!("p{number:06}"))).unwrap();
        }
        let edit = "( open-root ( ( ) 2:d0 ) ) ( close-dir ( 2:d0 ) ) ( close-edit ( ) ) ";
        cost(&made, &format!("( commit ( 1:m ( ) false ( {props}) ) ) {edit}"))
    });
}

/// One file that `n` revisions changed, in a directory that nothing else happens to.
pub(crate) fn long(n: u64) -> Made {
    long_stream(n).load()
}

/// As [`long`], not loaded yet.
pub(crate) fn long_stream(n: u64) -> Stream {
    let mut stream = Stream::new();
    stream.revision([]);
    stream.add_dir("d");
    stream.add_file("d/f", "begin\n");
    for number in 0..n {
        stream.revision([]);
        stream.change_file("d/f", &format!("text {number}\n"));
    }
    stream.revision([]);
    stream.copy_dir("d", n + 1, "e");
    stream.revision([]);
    stream.delete("d");
    stream
}

#[test]
fn histories_by_revisions() {
    for (what, request) in [
        ("log", "( log ( ( 0: ) ( ) ( 1 ) true false 0 false revprops ( 7:svn:log ) ) ) "),
        ("log of a path", "( log ( ( 3:e/f ) ( ) ( 1 ) true false 0 false all-revprops ( ) ) ) "),
        ("log with merged", "( log ( ( 3:e/f ) ( ) ( 1 ) true false 0 true all-revprops ( ) ) ) "),
        ("get-file-revs", "( get-file-revs ( 3:e/f ( 1 ) ( ) false ) ) "),
        ("get-location-segments", "( get-location-segments ( 3:e/f ( ) ( ) ( ) ) ) "),
        ("get-dated-rev", "( get-dated-rev ( 27:2024-01-01T00:00:00.000000Z ) ) "),
        ("get-deleted-rev", "( get-deleted-rev ( 3:d/f 1 HEAD ) ) "),
        ("get-locations", "( get-locations ( 3:e/f HEAD ( ALL ) ) ) "),
    ] {
        grows(what, 60, Order::Linear, |n| {
            let all: String = (1..n + 3).map(|rev| format!("{rev} ")).collect();
            let request = request.replace("HEAD", &(n + 3).to_string()).replace("ALL", &all);
            cost(&long(n), &request)
        });
    }
}

#[test]
fn replays_by_revisions_and_by_changes() {
    let end = "( finish-replay ( ) ) ( success ( ) ) ";
    grows("replay-range", 60, Order::Linear, |n| {
        talk(&long(n), &[(&format!("( replay-range ( 1 {} 0 true ) ) ", n + 3), end)])
    });
    grows("replay", 300, Order::Linear, |n| talk(&flat(n), &[("( replay ( 1 0 true ) ) ", end)]));
}

#[test]
fn edits_by_entries() {
    let all = "( set-path ( 0: 0 true ( ) infinity ) ) ";
    let url = text("svn://localhost/repo");
    let switch = format!("( switch ( ( 1 ) 0: true {url} infinity false false ) ) ");
    let diff = format!("( diff ( ( 1 ) 0: true false {url} true infinity ) ) ");
    for (what, command) in [
        ("update", "( update ( ( 1 ) 0: true infinity false false ) ) "),
        ("status", "( status ( 0: true ( 1 ) infinity ) ) "),
        ("switch", &switch),
        ("diff", &diff),
    ] {
        grows(what, 300, Order::Linear, |n| edit(&flat(n), command, all));
    }
    grows("update, a report of each file", 300, Order::Linear, |n| {
        let mut report = "( set-path ( 0: 1 false ( ) infinity ) ) ".to_owned();
        for number in 0..n {
            let path = text(&format!("d/file{number:06}"));
            write!(report, "( set-path ( {path}1 false ( ) infinity ) ) ").unwrap();
        }
        edit(&flat(n), "( update ( ( 1 ) 0: true infinity false false ) ) ", &report)
    });
}

#[test]
fn requests_by_paths() {
    let made = flat(1000);
    let each = |n: u64, item: fn(&str) -> String| -> String {
        (0..n).map(|number| item(&text(&format!("d/file{number:06}")))).collect()
    };
    let head = "( ) ( 1 ) false false 0 false revprops ( ) ) ) ";
    grows("log of paths", 250, Order::Linear, |n| {
        cost(&made, &format!("( log ( ( {}0: ) {head}", each(n, str::to_owned)))
    });
    grows("get-mergeinfo", 250, Order::Linear, |n| {
        let paths = each(n, str::to_owned);
        cost(&made, &format!("( get-mergeinfo ( ( 0: {paths}) ( 1 ) inherited false ) ) "))
    });
    grows("list, patterns", 250, Order::Linear, |n| {
        let patterns = each(n, str::to_owned);
        cost(&made, &format!("( list ( 0: ( ) infinity ( kind ) ( {patterns}) ) ) "))
    });
}

/// `n` properties on revision 1, on a directory and on a file.
pub(crate) fn with_props(n: u64) -> Made {
    let props: Vec<String> = (0..n).map(|number| format!("name{number:06}")).collect();
    let mut stream = Stream::new();
    stream.revision(props.iter().map(|name| (name.as_str(), "value")));
    stream.add_dir("d");
    stream.add_file("d/f", "text\n");
    stream.revision([]);
    for (path, kind) in [("d", "dir"), ("d/f", "file")] {
        stream.set_props(path, kind, props.iter().map(|name| (name.as_str(), "value")));
    }
    stream.load()
}

#[test]
fn nodes_by_properties() {
    for (what, request) in [
        ("rev-proplist", "( rev-proplist ( 1 ) ) "),
        ("rev-prop", "( rev-prop ( 1 7:svn:log ) ) "),
        ("get-file, properties", "( get-file ( 3:d/f ( ) true false ) ) "),
        ("get-dir, properties", "( get-dir ( 1:d ( ) true false ) ) "),
        ("get-iprops", "( get-iprops ( 3:d/f ( ) ) ) "),
    ] {
        grows(what, 1000, Order::Linear, |n| cost(&with_props(n), request));
    }
}

#[test]
fn paths_by_depth() {
    let made = flat(1);
    for (what, command) in [("check-path", "check-path"), ("stat", "stat")] {
        grows(what, 5000, Order::Linear, |n| {
            let path = text(&format!("d{}", "/x".repeat(usize::try_from(n).unwrap())));
            cost(&made, &format!("( {command} ( {path}( ) ) ) "))
        });
    }
}
