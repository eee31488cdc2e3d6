//! What changes a repository over the svn protocol: commits, locks, revision properties; and the commands
//! that cost next to nothing. See [`crate::protocol`].

use std::fmt::Write as _;

use sapwood_testkit::Programs;
use sapwood_testkit::counted::Order::{Constant, Linear};
use sapwood_testkit::counted::{Cost, dialogue, grows};

use crate::admin::{locked, open_revprops};
use crate::made::{Made, text};
use crate::protocol::{flat, long, with_props};

/// What a connection of a user costs who sends this on a copy of a repository.
fn cost(made: &Made, requests: &str) -> Cost {
    let own = made.copy();
    open_revprops(&own.path());
    let mut server = Programs::ours().command("svnserve");
    server.args(["--tunnel", "--tunnel-user", "somebody", "--root"]).arg(own.root());
    let address = text("svn://localhost/repo");
    let all = format!("( 2 ( edit-pipeline svndiff1 ) {address}) ( EXTERNAL ( 0: ) ) {requests}");
    let (cost, reply) = dialogue(&server, &[(all.as_bytes(), b"")]);
    let last = &reply[reply.len().saturating_sub(400)..];
    let failed = reply.windows(12).any(|part| part == b"( failure ( ");
    assert!(!failed, "{requests:.300}: {}", last.escape_ascii());
    cost
}

/// A commit: what happens in the directory `d`.
fn commit(made: &Made, changes: &str) -> Cost {
    let edit = format!(
        "( open-root ( ( ) 2:d0 ) ) ( open-dir ( 1:d 2:d0 2:d1 ( ) ) ) {changes}\
         ( close-dir ( 2:d1 ) ) ( close-dir ( 2:d0 ) ) ( close-edit ( ) ) "
    );
    cost(made, &format!("( commit ( 1:m ( ) false ( ) ) ) {edit}"))
}

fn each(n: u64, what: impl Fn(&str) -> String) -> String {
    (0..n).map(|number| what(&text(&format!("d/file{number:06}")))).collect()
}

#[test]
fn commits() {
    let empty = flat(0);
    // A text without windows.
    let delta = "( apply-textdelta ( 1:f ( ) ) ) \
                 ( textdelta-chunk ( 1:f 4:SVN\u{0} ) ) \
                 ( textdelta-end ( 1:f ) ) ";
    grows("commit, new files", 60, Linear, |n| {
        commit(
            &empty,
            &each(n, |path| {
                format!("( add-file ( {path}2:d1 1:f ( ) ) ) {delta}( close-file ( 1:f ( ) ) ) ")
            }),
        )
    });
    grows("commit, new directories", 60, Linear, |n| {
        commit(
            &empty,
            &each(n, |path| format!("( add-dir ( {path}2:d1 2:d2 ( ) ) ) ( close-dir ( 2:d2 ) ) ")),
        )
    });
    let full = flat(400);
    grows("commit, changed files", 60, Linear, |n| {
        commit(
            &full,
            &each(n, |path| {
                format!("( open-file ( {path}2:d1 1:f ( ) ) ) {delta}( close-file ( 1:f ( ) ) ) ")
            }),
        )
    });
    grows("commit, properties of files", 60, Linear, |n| {
        commit(
            &full,
            &each(n, |path| {
                format!(
                    "( open-file ( {path}2:d1 1:f ( ) ) ) ( change-file-prop ( 1:f 1:p ( 1:v ) ) ) \
                 ( close-file ( 1:f ( ) ) ) "
                )
            }),
        )
    });
    grows("commit, deleted files", 60, Linear, |n| {
        commit(&full, &each(n, |path| format!("( delete-entry ( {path}( ) 2:d1 ) ) ")))
    });
    grows("commit, properties of a directory", 100, Linear, |n| {
        let props = (0..n)
            .map(|i| format!("( change-dir-prop ( 2:d1 {}( 1:v ) ) ) ", text(&format!("p{i}"))));
        commit(&full, &props.collect::<String>())
    });
    grows("commit of one file by what is beside it", 250, Linear, |n| {
        commit(&flat(n.max(1)), "( delete-entry ( 12:d/file000000 ( ) 2:d1 ) ) ")
    });
}

#[test]
fn locks() {
    let full = flat(400);
    grows("lock-many", 50, Linear, |n| {
        let paths = each(n, |path| format!("( {path}( ) ) "));
        cost(&full, &format!("( lock-many ( ( ) false ( {paths}) ) ) "))
    });
    grows("unlock-many", 50, Linear, |n| {
        let paths = each(n, |path| format!("( {path}( ) ) "));
        cost(&locked(n), &format!("( unlock-many ( true ( {paths}) ) ) "))
    });
    for (what, request) in [
        ("lock", "( lock ( 12:d/file000000 ( ) true ( ) ) ) "),
        ("unlock", "( unlock ( 12:d/file000000 ( ) true ) ) "),
        ("get-lock", "( get-lock ( 12:d/file000000 ) ) "),
        ("get-locks", "( get-locks ( 0: ( infinity ) ) ) "),
        ("get-locks of a file", "( get-locks ( 12:d/file000000 ( infinity ) ) ) "),
    ] {
        grows(what, 50, Linear, |n| cost(&locked(n.max(1)), request));
    }
    grows("commit beside locks", 50, Linear, |n| {
        commit(&locked(n.max(1)), "( add-dir ( 5:d/new 2:d1 2:d2 ( ) ) ) ( close-dir ( 2:d2 ) ) ")
    });
}

#[test]
fn revision_properties() {
    for request in [
        "( change-rev-prop ( 1 7:svn:log 3:new ) ) ",
        "( change-rev-prop2 ( 1 7:svn:log ( 3:new ) ( false 4:made ) ) ) ",
    ] {
        grows(request, 300, Linear, |n| cost(&with_props(n), request));
        grows(request, 60, Constant, |n| cost(&long(n), request));
    }
}

#[test]
fn small_requests() {
    let address = text("svn://localhost/repo/d");
    for what in ["( get-latest-rev ( ) ) ", &format!("( reparent ( {address}) ) ")] {
        grows(what, 60, Constant, |n| cost(&long(n), what));
        grows(what, 250, Constant, |n| cost(&flat(n), what));
    }
    let made = flat(1);
    grows("reparent, depth", 2000, Linear, |n| {
        let mut url = "svn://localhost/repo".to_owned();
        for _ in 0..n {
            write!(url, "/x").unwrap();
        }
        cost(&made, &format!("( reparent ( {}) ) ", text(&url)))
    });
}
