//! Every command of the svn protocol. A server process for one connection (`svnserve -i`) gets
//! greeting and requests at once; the cost of a connection that asks for little is taken off.

use std::fmt::Write as _;

use sapwood_testkit::Programs;
use sapwood_testkit::counted::{Cost, Order, counted, grows};

use crate::made::{Made, Stream};

const GREETING: &str = "( 2 ( edit-pipeline svndiff1 accepts-svndiff2 absent-entries depth mergeinfo \
                        log-revprops ) 21:svn://localhost/repo/ 10:SVN/1.14.2 ( ) ) \
                        ( ANONYMOUS ( 0: ) ) ";

/// What a connection with these requests costs; the last reply has to be a success.
fn cost(made: &Made, requests: &str) -> Cost {
    let mut server = Programs::ours().command("svnserve");
    server.args(["--inetd", "--root"]).arg(made.root());
    let (cost, reply) = counted(&server, format!("{GREETING}{requests}").as_bytes());
    let last = &reply[reply.len().saturating_sub(400)..];
    let failed = reply.windows(12).any(|part| part == b"( failure ( ");
    assert!(!failed, "{:.300}: {}", requests, last.escape_ascii());
    cost
}

fn text(text: &str) -> String {
    format!("{}:{text} ", text.len())
}

/// A directory `d` with `n` files, and a property on each.
fn flat(n: u64) -> Made {
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
    let made = flat(1);
    grows("commit, revision properties", 2000, Order::Linear, |n| {
        let mut props = String::new();
        for number in (0..n).rev() {
            write!(props, "( {}1:v ) ", text(&format!("p{number:06}"))).unwrap();
        }
        let edit = "( open-root ( ( ) 2:d0 ) ) ( close-dir ( 2:d0 ) ) ( close-edit ( ) ) ";
        cost(&made, &format!("( commit ( 1:m ( ) false ( {props}) ) ) {edit}"))
    });
}
