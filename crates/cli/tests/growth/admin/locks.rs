//! By the number of locks and of unfinished transactions.

use std::fmt::Write as _;

use sapwood_testkit::counted::Order::{Constant, Linear};

use super::{Sizes, ours};
use crate::made::{Made, text};
use crate::protocol::flat;

/// `n` files that are locked, and one that is not.
pub(crate) fn locked(n: u64) -> Made {
    let made = flat(n + 1).copy();
    let mut files = String::new();
    for number in 0..n {
        write!(files, "( {}( ) ) ", text(&format!("d/file{number:06}"))).unwrap();
    }
    let address = text("svn://localhost/repo");
    let requests = format!(
        "( 2 ( edit-pipeline svndiff1 ) {address}) ( EXTERNAL ( 0: ) ) \
         ( lock-many ( ( ) false ( {files}) ) ) "
    );
    let root = made.root().display().to_string();
    let line = format!("svnserve --tunnel --tunnel-user somebody --root {root}");
    let said = ours(&made, &line).input(requests).run().stdout_text();
    assert_eq!(u64::try_from(said.matches("opaquelocktoken").count()).unwrap(), n, "{said}");
    made
}

fn file(n: u64) -> String {
    format!("/d/file{n:06}")
}

#[test]
fn locks() {
    let sizes = Sizes::of(100, locked);
    let count = |made: &Made| {
        let locks = ours(made, "svnadmin lslocks R").run().stdout_text();
        u64::try_from(locks.matches("Owner: ").count()).unwrap()
    };
    sizes.reads(Linear, "svnadmin lslocks R");
    sizes.reads(Linear, "svnadmin lslocks R d");
    sizes.reads(Linear, "svnadmin lslocks R d/file000000");
    sizes.reads(Linear, "svnlook lock R d/file000000");
    sizes.reads(Constant, "svnadmin info R");
    // The list of the directory's locks is written again.
    sizes.change("svnadmin lock", Linear, |made| {
        ours(made, "svnadmin lock -q R").args([&file(count(made)), "somebody", "/dev/null"])
    });
    sizes.writes(Linear, "svnadmin rmlocks -q R d/file000000");
    sizes.change("rmlocks of all", Linear, |made| {
        ours(made, "svnadmin rmlocks -q R").args((0..count(made)).map(file))
    });
    sizes.change("hotcopy with locks", Linear, |made| {
        ours(made, "svnadmin hotcopy -q R").args([made.root().join("copy")])
    });
    sizes.writes(Linear, "svnmucc -m m mkdir U/d/new");
}

/// A repository with `n` unfinished transactions.
fn begun(n: u64) -> Made {
    let made = flat(1).copy();
    for number in 0..n {
        let folder = made.path().join(format!("db/transactions/1-{number}.txn"));
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join("props"), "END\n").unwrap();
    }
    made
}

#[test]
fn transactions() {
    let sizes = Sizes::of(500, begun);
    sizes.reads(Linear, "svnadmin lstxns R");
    sizes.reads(Linear, "svnadmin info R");
    sizes.change("rmtxns of all", Linear, |made| {
        let names = ours(made, "svnadmin lstxns R").run().stdout_text();
        ours(made, "svnadmin rmtxns -q R").args(names.lines())
    });
    sizes.writes(Linear, "svnadmin rmtxns -q R 1-0");
    sizes.writes(Linear, "svnmucc -m m mkdir U/new");
}
