//! What path rules cost: requests that a server was asked before, with an authz file of some hundred
//! sections that hides a part from the user, beside the same requests without one.

use std::fmt::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::time::{SystemTime, UNIX_EPOCH};

use sapwood_testkit::long;
use sapwood_testkit::patience::wait;

use crate::growth::made::{Made, Stream, text};
use crate::growth::protocol::talk;

/// Directories, each of which has files and a section in the rules; and revisions that change a few files each.
fn sizes() -> (usize, usize) {
    if long() { (120, 160) } else { (60, 80) }
}

fn history() -> Stream {
    let (dirs, revisions) = sizes();
    let mut stream = Stream::new();
    stream.revision([]);
    for dir in 0..dirs {
        stream.add_dir(&format!("d{dir:03}"));
        for file in 0..3 {
            stream.add_file(&format!("d{dir:03}/file{file}"), &format!("text {file}\n"));
        }
    }
    stream.add_file("f", "begin\n");
    for number in 0..revisions {
        stream.revision([]);
        for step in 0..3 {
            let dir = (number * 7 + step * 101) % dirs;
            stream.change_file(&format!("d{dir:03}/file{step}"), &format!("text {number}\n"));
        }
        if number % 8 == 0 {
            stream.change_file("f", &format!("text {number}\n"));
        }
    }
    stream
}

/// Every directory belongs to a team; one of twenty is hidden from all others.
fn rules() -> String {
    let mut out = "[groups]\n".to_owned();
    for team in 0..10 {
        writeln!(out, "team{team} = user{team}, lead").unwrap();
    }
    out.push_str("[/]\n* = r\n");
    for dir in 0..sizes().0 {
        writeln!(out, "[/d{dir:03}]\n@team{} = rw", dir % 10).unwrap();
        if dir % 20 == 7 {
            out.push_str("* =\n");
        }
    }
    out
}

/// What is said, and how the answer ends.
type Steps<'s> = [(&'s str, &'s str)];

/// Instructions of `count` hot requests.
fn hot(made: &Made, steps: &Steps<'_>, count: usize) -> u64 {
    let times = |n: usize| talk(made, &steps.repeat(n)).instructions;
    let (few, many) = (times(2), times(2 + count));
    many.saturating_sub(few)
}

#[test]
fn hot_requests_cost_little_more_with_path_rules() {
    let (open, ruled) = (history().load(), history().load().copy());
    let conf = ruled.root().join("repo/conf");
    std::fs::write(conf.join("authz"), rules()).unwrap();
    std::fs::write(conf.join("svnserve.conf"), "[general]\nauthz-db = authz\n").unwrap();
    // What changed within the last two seconds is not cached, by the time of change, which no program can set.
    let is_old = |repository: &Made| {
        let conf = std::fs::metadata(repository.root().join("repo/conf")).unwrap();
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs();
        i64::try_from(now).unwrap() - conf.ctime() > 2
    };
    assert!(wait(60, || is_old(&open) && is_old(&ruled)), "the clock stands still");
    let done = "( success ( ) ) ";
    let report = "( set-path ( 0: 0 true ( ) infinity ) ) ( finish-report ( ) ) ";
    let export = format!("( update ( ( {} ) 0: true infinity false false ) ) {report}", sizes().1);
    let log = "( log ( ( 0: ) ( ) ( 1 ) true false 0 false revprops ( 7:svn:log ) ) ) ";
    let blame = format!("( get-file-revs ( {}( 1 ) ( ) false ) ) ", text("f"));
    let blame = [(blame.as_str(), "done ( success ( ) ) ")];
    let export = [(export.as_str(), "( close-edit ( ) ) "), (done, done)];
    // Of what costs little there are many: beside them it does not show when a thread begins.
    let requests: [(&str, usize, &Steps<'_>); 4] = [
        ("log", 160, &[(log, "done ( success ( ) ) ")]),
        ("list", 320, &[("( list ( 0: ( ) infinity ( kind ) ) ) ", "done ( success ( ) ) ")]),
        ("export", 2, &export),
        ("blame", 10, &blame),
    ];
    let mut dear = Vec::new();
    for (what, count, steps) in requests {
        let (without, with) = (hot(&open, steps, count), hot(&ruled, steps, count));
        let line = format!("{what}: {without} instructions without rules, {with} with them");
        println!("{line}");
        if with > without.saturating_mul(3) / 2 {
            dear.push(line);
        }
    }
    assert!(dear.is_empty(), "{dear:#?}");
}
