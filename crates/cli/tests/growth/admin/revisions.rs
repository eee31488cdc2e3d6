//! By the number of revisions: one file that each of them changes.

use sapwood_testkit::counted::Order::{Constant, Linear};

use super::{Sizes, Work, copied_revprops, loads, ours, targets};
use crate::protocol::{long, long_stream};

const SIZE: u64 = 60;

#[test]
fn svnadmin_reads() {
    let sizes = Sizes::of(SIZE, long);
    for line in ["verify -q R", "dump -q R", "dump -q --deltas R", "dump-revprops -q R"] {
        sizes.reads(Linear, &format!("svnadmin {line}"));
    }
    // What the text is a delta to grows as the logarithm.
    sizes.reads(Linear, "svnadmin verify -q -r HEAD R");
    sizes.reads(Linear, "svnadmin dump -q --incremental -r HEAD R");
    for line in ["info R", "rev-size -r 1 R", "lslocks R", "lstxns R"] {
        sizes.reads(Constant, &format!("svnadmin {line}"));
    }
    sizes.change("hotcopy", Linear, |made| {
        ours(made, "svnadmin hotcopy -q R").args([made.root().join("copy")])
    });
    sizes.change("hotcopy --incremental of nothing new", Linear, |made| {
        let copy = made.root().join("copy");
        ours(made, "svnadmin hotcopy -q R").args([&copy]).run();
        ours(made, "svnadmin hotcopy -q --incremental R").args([&copy])
    });
}

#[test]
fn svnadmin_writes() {
    let sizes = Sizes::of(SIZE, long);
    for line in [
        "setlog --bypass-hooks R -r 1 /dev/null",
        "setrevprop R -r 1 name /dev/null",
        "delrevprop R -r 1 svn:log",
        "setuuid R",
    ] {
        sizes.writes(Constant, &format!("svnadmin {line}"));
    }
    for line in ["recover R", "build-repcache -q R", "deltify -q R"] {
        sizes.writes(Linear, &format!("svnadmin {line}"));
    }
    loads(&sizes);
    sizes.change("svnadmin load-revprops", Linear, |made| {
        let stream = ours(made, "svnadmin dump-revprops -q R").run().stdout;
        ours(made, "svnadmin load-revprops -q --no-flush-to-disk R").input(stream)
    });
}

/// With shards of ten revisions, and with one that holds them all.
#[test]
fn packs_and_upgrades() {
    let shards = Sizes::of(SIZE, |n| long_stream(n).load_as("1.14", Some(10)));
    shards.writes(Linear, "svnadmin pack -q R");
    let packed = |made: &crate::made::Made, line: &str| -> Work {
        ours(made, "svnadmin pack -q R").run();
        ours(made, line)
    };
    for line in [
        "svnadmin pack -q R",
        "svnadmin setlog --bypass-hooks R -r 5 /dev/null",
        "svnadmin rev-size -q -r 5 R",
        "svnlook log R -r 5",
    ] {
        shards.change(&format!("{line}, packed"), Constant, |made| packed(made, line));
    }
    for line in ["svnadmin verify -q R", "svnlook history R e/f", "svnfsfs stats R"] {
        shards.change(&format!("{line}, packed"), Linear, |made| packed(made, line));
    }
    let one = Sizes::of(SIZE, |n| long_stream(n).load_as("1.14", Some(n + 4)));
    one.writes(Linear, "svnadmin pack -q R");
    let line = "svnfsfs dump-index -r 1 R";
    one.change(&format!("{line}, one pack"), Linear, |made| packed(made, line));
    let line = "svnadmin dump-revprops -q R";
    one.change(&format!("{line}, one pack"), Linear, |made| packed(made, line));
    let old = Sizes::of(SIZE, |n| long_stream(n).load_as("1.6", Some(10)));
    old.change("svnadmin upgrade", Linear, |made| packed(made, "svnadmin upgrade R"));
}

#[test]
fn readers() {
    let sizes = Sizes::of(SIZE, long);
    for line in ["youngest R", "uuid R", "info R", "date R", "log R -r 2", "changed R -r 2"] {
        sizes.reads(Constant, &format!("svnlook {line}"));
    }
    for line in ["history R e/f", "cat R e/f", "diff R", "tree R", "filesize R e/f"] {
        sizes.reads(Linear, &format!("svnlook {line}"));
    }
    sizes.reads(Linear, "svnfsfs stats R");
    let line = "svndumpfilter exclude --quiet --drop-empty-revs --renumber-revs e";
    sizes.check(line, Linear, |made| ours(made, line).input(made.stream()));
}

#[test]
fn between_repositories() {
    let sizes = Sizes::of(SIZE, long);
    targets(&sizes);
    copied_revprops(&sizes, Linear);
}
