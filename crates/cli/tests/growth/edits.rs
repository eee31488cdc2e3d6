//! The commands of the svn protocol that change a repository: commits, locks, revision properties.
//! See [`crate::growth::protocol`].

use std::process::Stdio;

use sapwood_testkit::Programs;
use sapwood_testkit::counted::Order::{Constant, Linear, Proportional};
use sapwood_testkit::counted::{self, Cost, dialogue, grows};

use crate::growth::admin::{locked, open_revprops};
use crate::growth::made::{Made, text};
use crate::growth::sizes::{Size, by_size, everything, flat};

/// The commands that are counted here.
pub(crate) const COMMANDS: [&str; 7] =
    ["commit", "lock", "lock-many", "unlock", "unlock-many", "change-rev-prop", "change-rev-prop2"];

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

/// What every connection costs.
fn connection() -> Cost {
    cost(&everything(Size::NONE).load(), "")
}

/// A commit: what happens in the directory `d`.
fn commit(made: &Made, changes: &str) -> Cost {
    let edit = format!(
        "( open-root ( ( ) 2:d0 ) ) ( open-dir ( 1:d 2:d0 2:d1 ( ) ) ) {changes}\
         ( close-dir ( 2:d1 ) ) ( close-dir ( 2:d0 ) ) ( close-edit ( ) ) "
    );
    cost(made, &format!("( commit ( 1:m ( ) false ( ) ) ) {edit}"))
}

/// `n` paths in `d` whose names begin with a word.
fn each(n: u64, word: &str, what: impl Fn(&str) -> String) -> String {
    (0..n).map(|number| what(&text(&format!("d/{word}{number:06}")))).collect()
}

/// A text without windows, for the file `f`.
const DELTA: &str = "( apply-textdelta ( 1:f ( ) ) ) ( textdelta-chunk ( 1:f 4:SVN\u{0} ) ) \
                     ( textdelta-end ( 1:f ) ) ";

/// A kind of change, and what a client says to make `n` of it.
type Change = (&'static str, fn(u64) -> String);

/// What a commit may do in a directory that has the files of [`flat`].
fn changes() -> [Change; 6] {
    [
        ("new files", |n| {
            each(n, "new", |path| {
                format!("( add-file ( {path}2:d1 1:f ( ) ) ) {DELTA}( close-file ( 1:f ( ) ) ) ")
            })
        }),
        ("new directories", |n| {
            each(n, "dir", |path| {
                format!("( add-dir ( {path}2:d1 2:d2 ( ) ) ) ( close-dir ( 2:d2 ) ) ")
            })
        }),
        ("copied files", |n| {
            let from = text("svn://localhost/repo/d/file000000");
            each(n, "copy", |path| {
                format!("( add-file ( {path}2:d1 1:f ( {from}1 ) ) ) ( close-file ( 1:f ( ) ) ) ")
            })
        }),
        ("changed files", |n| {
            each(n, "file", |path| {
                format!(
                    "( open-file ( {path}2:d1 1:f ( ) ) ) {DELTA}( change-file-prop ( 1:f 1:p ( 1:v ) ) ) \
                     ( close-file ( 1:f ( ) ) ) "
                )
            })
        }),
        ("properties of a directory", |n| {
            (0..n)
                .map(|i| format!("( change-dir-prop ( 2:d1 {}( 1:v ) ) ) ", text(&format!("p{i}"))))
                .collect()
        }),
        ("deleted files", |n| {
            (0..n)
                .map(|i| {
                    format!(
                        "( delete-entry ( {}( ) 2:d1 ) ) ",
                        text(&format!("d/file{:06}", 400 + i))
                    )
                })
                .collect()
        }),
    ]
}

#[test]
fn commits() {
    let base = connection();
    let full = flat(800);
    grows("commit of everything", 50, Linear, base, |n| {
        commit(&full, &changes().map(|(_, of)| of(n)).concat())
    });
    if sapwood_testkit::long() {
        for (what, of) in changes() {
            grows(&format!("commit, {what}"), 50, Linear, base, |n| commit(&full, &of(n)));
        }
    }
    by_size("commit of one file", Linear, base, |size| {
        let made = everything(size).load();
        commit(&made, "( delete-entry ( 12:d/file000000 ( ) 2:d1 ) ) ")
    });
}

#[test]
fn locks() {
    let base = connection();
    let full = flat(200);
    let many = |n: u64, item: &str| each(n, "file", |path| format!("( {path}{item}) "));
    grows("lock-many", 50, Linear, base, |n| {
        cost(&full, &format!("( lock-many ( ( ) false ( {}) ) ) ", many(n, "( ) ")))
    });
    grows("unlock-many", 50, Linear, base, |n| {
        cost(&locked(n), &format!("( unlock-many ( true ( {}) ) ) ", many(n, "( ) ")))
    });
    for request in [
        "( lock ( 12:d/file000000 ( ) true ( ) ) ) ",
        "( unlock ( 12:d/file000000 ( ) true ) ) ",
        "( get-lock ( 12:d/file000000 ) ) ",
        "( get-locks ( 0: ( infinity ) ) ) ",
        "( get-locks ( 12:d/file000000 ( infinity ) ) ) ",
    ] {
        grows(request, 50, Linear, base, |n| cost(&locked(n), request));
    }
    grows("commit beside locks", 50, Linear, base, |n| {
        commit(&locked(n), "( add-dir ( 5:d/new 2:d1 2:d2 ( ) ) ) ( close-dir ( 2:d2 ) ) ")
    });
}

/// The client asks a repository on this machine: what it does with each outcome does not grow with the others.
#[test]
fn locks_without_a_server() {
    let full = flat(2400);
    for command in ["lock", "unlock"] {
        let cost = |n: u64| {
            let made = full.copy();
            let url = format!("file://{}", made.path().display());
            let targets = made.root().join("targets");
            let line = |number| format!("{url}/d/file{number:06}\n");
            std::fs::write(&targets, (0..n).map(line).collect::<String>()).unwrap();
            let svn = |command: &str| {
                let mut svn = Programs::ours().command("svn");
                svn.args([command, "--force", "--targets"]).arg(&targets);
                svn
            };
            if command == "unlock" {
                assert!(svn("lock").stdout(Stdio::null()).status().unwrap().success());
            }
            let (cost, printed) = counted::counted(&svn(command), b"");
            let lines =
                printed.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).count();
            assert_eq!(u64::try_from(lines).unwrap(), n, "{command}");
            cost
        };
        grows(command, 600, Proportional, Cost::default(), cost);
    }
}

#[test]
fn revision_properties() {
    let base = connection();
    for (order, revision) in [(Linear, 1), (Constant, 2)] {
        let requests = [
            format!("( change-rev-prop ( {revision} 7:svn:log 3:new ) ) "),
            format!("( change-rev-prop2 ( {revision} 7:svn:log ( 3:new ) ( false 4:made ) ) ) "),
        ];
        for request in requests {
            by_size(&request, order, base, |size| cost(&everything(size).load(), &request));
        }
    }
}
