//! By the number of entries: a directory with files, all added in one revision.

use sapwood_testkit::counted::Order::{Constant, Linear};

use super::{Sizes, loads, ours, targets};
use crate::protocol::flat;

fn sizes() -> Sizes {
    Sizes::of(250, flat)
}

#[test]
fn svnadmin() {
    let sizes = sizes();
    for line in ["verify -q R", "dump -q R", "dump -q --deltas R", "rev-size -r 1 R"] {
        sizes.reads(Linear, &format!("svnadmin {line}"));
    }
    sizes.reads(Constant, "svnadmin info R");
    for line in ["setuuid R", "recover R", "build-repcache -q R", "deltify -q R"] {
        sizes.writes(Linear, &format!("svnadmin {line}"));
    }
    sizes.change("hotcopy", Linear, |made| {
        ours(made, "svnadmin hotcopy -q R").args([made.root().join("copy")])
    });
    loads(&sizes);
}

#[test]
fn svnlook() {
    let sizes = sizes();
    for line in ["youngest R", "uuid R", "info R", "date R", "log R"] {
        sizes.reads(Constant, &format!("svnlook {line}"));
    }
    for line in [
        "author R",
        "tree R",
        "tree --full-paths R d",
        "changed R",
        "changed --copy-info R",
        "dirs-changed R",
        "diff R",
        "cat R d/file000000",
        "filesize R d/file000000",
        "history R d/file000000",
        "proplist R d/file000000",
        "proplist -v --show-inherited-props R d/file000000",
        "lock R d/file000000",
    ] {
        sizes.reads(Linear, &format!("svnlook {line}"));
    }
}

#[test]
fn svnfsfs() {
    let sizes = sizes();
    sizes.reads(Linear, "svnfsfs stats R");
    sizes.reads(Linear, "svnfsfs dump-index -r 1 R");
    sizes.change("load-index", Linear, |made| {
        let index = ours(made, "svnfsfs dump-index -r 1 R").run().stdout;
        ours(made, "svnfsfs load-index R").input(index)
    });
}

#[test]
fn between_repositories() {
    targets(&sizes());
}

#[test]
fn svndumpfilter() {
    let sizes = sizes();
    for line in [
        "include --quiet d",
        "exclude --quiet d/file0000",
        "exclude --quiet --pattern --drop-empty-revs --renumber-revs *file*",
    ] {
        let line = format!("svndumpfilter {line}");
        sizes.check(&line, Linear, |made| ours(made, &line).input(made.stream()));
    }
}

#[test]
fn svnmucc() {
    let sizes = sizes();
    sizes.writes(Linear, "svnmucc -m m put /dev/null U/d/new");
    sizes.writes(Linear, "svnmucc -m m rm U/d");
    sizes.writes(Linear, "svnmucc -m m cp HEAD U/d U/e rm U/d/file000000");
    sizes.writes(Linear, "svnmucc -m m propset name value U/d/file000000");
}
