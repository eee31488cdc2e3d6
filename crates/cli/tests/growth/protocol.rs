//! The commands of the svn protocol that read. A server process for one connection (`svnserve -i`)
//! gets greeting and requests; what a connection without requests costs is taken off. Commands that
//! change something are in [`crate::growth::edits`].

use std::fmt::Write as _;

use sapwood_testkit::Programs;
use sapwood_testkit::counted::Order::{self, Constant, Linear};
use sapwood_testkit::counted::{Cost, dialogue, grows};

use crate::growth::made::{Made, text};
use crate::growth::sizes::{Size, by_size, everything, flat};

const GREETING: &str = "( 2 ( edit-pipeline svndiff1 accepts-svndiff2 absent-entries depth mergeinfo \
                        log-revprops ) 21:svn://localhost/repo/ 10:SVN/1.14.2 ( ) ) \
                        ( ANONYMOUS ( 0: ) ) ";

/// What a connection with these requests costs; none may fail.
fn cost(made: &Made, requests: &str) -> Cost {
    talk(made, &[(requests, "")])
}

/// As [`cost`], in steps: what is said, and how the answer ends.
pub(crate) fn talk(made: &Made, steps: &[(&str, &str)]) -> Cost {
    talk_to(made, &[], steps)
}

/// As [`talk`], with more options of the server.
fn talk_to(made: &Made, options: &[&str], steps: &[(&str, &str)]) -> Cost {
    let mut server = Programs::ours().command("svnserve");
    server.args(["--inetd", "--root"]).arg(made.root()).args(options);
    let greeting = [(GREETING, "mergeinfo ) ) ) ")];
    let steps: Vec<(&[u8], &[u8])> =
        greeting.iter().chain(steps).map(|(say, end)| (say.as_bytes(), end.as_bytes())).collect();
    let (cost, reply) = dialogue(&server, &steps);
    let last = &reply[reply.len().saturating_sub(400)..];
    let failed = reply.windows(12).any(|part| part == b"( failure ( ");
    assert!(!failed, "{:.300}: {}", steps[1].0.escape_ascii(), last.escape_ascii());
    cost
}

/// What every connection costs.
fn connection() -> Cost {
    cost(&everything(Size::NONE).load(), "")
}

/// Requests, and how their cost grows with everything. `HEAD` is the youngest revision, `ALL` a list
/// of all of them.
pub(crate) const ASKED: [(Order, &str); 39] = [
    (Constant, "( get-latest-rev ( ) ) "),
    (Constant, "( reparent ( 22:svn://localhost/repo/d ) ) "),
    (Linear, "( get-dated-rev ( 27:2024-01-01T00:00:00.000000Z ) ) "),
    (Linear, "( rev-proplist ( 1 ) ) "),
    (Linear, "( rev-prop ( 1 7:svn:log ) ) "),
    (Constant, "( rev-proplist ( 2 ) ) "),
    (Linear, "( get-file ( 12:d/file000000 ( ) true true ) ) "),
    (Linear, "( get-file ( 3:p/f ( ) true false ) ) "),
    (Linear, "( get-file ( 3:c/f ( ) true true ) ) "),
    (Linear, "( get-dir ( 1:d ( ) true true ) ) "),
    (Linear, "( get-dir ( 1:d ( ) false true ( kind ) ) ) "),
    (Linear, "( get-dir ( 1:p ( ) true false ) ) "),
    (Linear, "( check-path ( 12:d/file000000 ( ) ) ) "),
    (Linear, "( stat ( 12:d/file000000 ( ) ) ) "),
    (Linear, "( list ( 1:d ( ) infinity ( kind size time last-author ) ) ) "),
    (Linear, "( list ( 0: ( ) infinity ( kind ) ) ) "),
    (Linear, "( get-iprops ( 3:p/f ( ) ) ) "),
    (Linear, "( get-mergeinfo ( ( 1:m ) ( ) inherited true ) ) "),
    (Linear, "( get-lock ( 12:d/file000000 ) ) "),
    (Linear, "( get-locks ( 0: ( infinity ) ) ) "),
    (Linear, "( log ( ( 0: ) ( ) ( 1 ) true false 0 false revprops ( 7:svn:log ) ) ) "),
    (Linear, "( log ( ( 0: ) ( ) ( 1 ) true false 0 false all-revprops ( ) ) ) "),
    (Linear, "( log ( ( 3:c/f ) ( ) ( 1 ) true false 0 false all-revprops ( ) ) ) "),
    (Linear, "( log ( ( 3:c/f ) ( ) ( 1 ) true false 0 true all-revprops ( ) ) ) "),
    (Linear, "( get-locations ( 12:d/file000000 1 ( 1 ) ) ) "),
    (Linear, "( get-locations ( 3:c/f HEAD ( ALL ) ) ) "),
    (Linear, "( get-location-segments ( 3:c/f ( ) ( ) ( ) ) ) "),
    (Linear, "( get-file-revs ( 3:c/f ( 1 ) ( ) false ) ) "),
    (Linear, "( get-file-revs ( 3:c/f ( 1 ) ( ) true ) ) "),
    (Linear, "( get-deleted-rev ( 3:e/f 1 HEAD ) ) "),
    (Linear, "( update ( ( ) 0: true infinity false false ) ) "),
    (Linear, "( update ( ( 1 ) 0: true infinity false false ) ) "),
    (Linear, "( status ( 0: true ( ) infinity ) ) "),
    (Linear, "( switch ( ( ) 0: true 20:svn://localhost/repo infinity false false ) ) "),
    (Linear, "( diff ( ( ) 0: true false 20:svn://localhost/repo true infinity ) ) "),
    (Linear, "( replay ( 1 0 true ) ) "),
    (Linear, "( replay ( 2 0 true ) ) "),
    (Linear, "( replay ( HEAD 0 true ) ) "),
    (Linear, "( replay-range ( 1 HEAD 0 true ) ) "),
];

/// The cost of a request of the table, and of what belongs to it.
fn asked(size: Size, request: &str) -> Cost {
    let made = everything(size).load();
    let all: String = (1..made.head()).map(|rev| format!("{rev} ")).collect();
    let request = request.replace("HEAD", &made.head().to_string()).replace("ALL", &all);
    match request.split(' ').nth(1) {
        Some("update" | "status" | "switch" | "diff") => {
            edit(&made, &request, "( set-path ( 0: 0 true ( ) infinity ) ) ")
        }
        Some("replay" | "replay-range") => {
            talk(&made, &[(&request, "( finish-replay ( ) ) ( success ( ) ) ")])
        }
        _ => cost(&made, &request),
    }
}

/// What an edit that the server drives costs: a command, a report, and the reply to the edit.
fn edit(made: &Made, command: &str, report: &str) -> Cost {
    let requests = format!("{command}{report}( finish-report ( ) ) ");
    talk(made, &[(&requests, "( close-edit ( ) ) "), ("( success ( ) ) ", "( success ( ) ) ")])
}

/// Every third row of the table.
fn third(number: usize) {
    let base = connection();
    for (order, request) in ASKED.iter().skip(number).step_by(3) {
        by_size(request.trim_end(), *order, base, |size| asked(size, request));
    }
}

#[test]
fn requests_a() {
    third(0);
}

#[test]
fn requests_b() {
    third(1);
}

#[test]
fn requests_c() {
    third(2);
}

/// By the number of paths that a request names.
#[test]
fn requests_by_paths() {
    let made = flat(600);
    let base = connection();
    let each = |n: u64, item: fn(&str) -> String| -> String {
        (0..n).map(|number| item(&text(&format!("d/file{number:06}")))).collect()
    };
    let head = "( ) ( 1 ) false false 0 false revprops ( ) ) ) ";
    grows("log of paths", 150, Linear, base, |n| {
        cost(&made, &format!("( log ( ( {}0: ) {head}", each(n, str::to_owned)))
    });
    grows("get-mergeinfo", 150, Linear, base, |n| {
        let paths = each(n, str::to_owned);
        cost(&made, &format!("( get-mergeinfo ( ( 0: {paths}) ( 1 ) inherited false ) ) "))
    });
    grows("list, patterns", 150, Linear, base, |n| {
        let patterns = each(n, str::to_owned);
        cost(&made, &format!("( list ( 0: ( ) infinity ( kind ) ( {patterns}) ) ) "))
    });
    grows("update, a report of each file", 150, Linear, base, |n| {
        let mut report = "( set-path ( 0: 1 false ( ) infinity ) ) ".to_owned();
        for number in 0..n {
            let path = text(&format!("d/file{number:06}"));
            write!(report, "( set-path ( {path}1 false ( ) infinity ) ) ").unwrap();
        }
        edit(&flat(n), "( update ( ( 1 ) 0: true infinity false false ) ) ", &report)
    });
}

/// What grows so slowly that only many of them show it: long paths, and long lists of properties.
#[test]
fn long_things() {
    let made = flat(1);
    let base = connection();
    for command in ["check-path", "stat"] {
        grows(&format!("{command}, depth"), 5000, Linear, base, |n| {
            let path = text(&format!("d{}", "/x".repeat(usize::try_from(n).unwrap())));
            cost(&made, &format!("( {command} ( {path}( ) ) ) "))
        });
    }
    grows("reparent, depth", 2000, Linear, base, |n| {
        let path = "/x".repeat(usize::try_from(n).unwrap());
        let url = text(&format!("svn://localhost/repo{path}"));
        cost(&made, &format!("( reparent ( {url}) ) "))
    });
    let properties =
        |n| everything(Size { entries: 0, properties: n, sources: 0, revisions: 0 }).load();
    grows("get-file, properties", 1000, Linear, base, |n| {
        cost(&properties(n), "( get-file ( 3:p/f ( ) true false ) ) ")
    });
    let own = made.copy();
    grows("commit, revision properties", 2000, Linear, base, |n| {
        let mut props = String::new();
        for number in (0..n).rev() {
            write!(props, "( {}1:v ) ", text(&format!("p{number:06}"))).unwrap();
        }
        let edit = "( open-root ( ( ) 2:d0 ) ) ( close-dir ( 2:d0 ) ) ( close-edit ( ) ) ";
        cost(&own, &format!("( commit ( 1:m ( ) false ( {props}) ) ) {edit}"))
    });
}
