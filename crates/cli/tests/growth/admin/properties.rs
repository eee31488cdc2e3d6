//! By the number of properties of a revision, of a file and of a directory.

use sapwood_testkit::counted::Order::{Constant, Linear, Square};

use super::{Sizes, copied_revprops, loads, ours, targets};
use crate::protocol::with_props;

fn sizes() -> Sizes {
    Sizes::of(400, with_props)
}

#[test]
fn svnadmin() {
    let sizes = sizes();
    for line in ["verify -q R", "dump -q R", "dump -q --deltas R", "dump-revprops -q R"] {
        sizes.reads(Linear, &format!("svnadmin {line}"));
    }
    for line in [
        "setlog --bypass-hooks R -r 1 /dev/null",
        "setrevprop R -r 1 name /dev/null",
        "delrevprop R -r 1 svn:log",
        "build-repcache -q R",
    ] {
        sizes.writes(Linear, &format!("svnadmin {line}"));
    }
    loads(&sizes);
    sizes.change("svnadmin load-revprops", Linear, |made| {
        let stream = ours(made, "svnadmin dump-revprops -q R").run().stdout;
        ours(made, "svnadmin load-revprops -q --no-flush-to-disk R").input(stream)
    });
}

#[test]
fn readers() {
    let sizes = sizes();
    for line in [
        "proplist -v R d/f",
        "proplist -v --xml R d/f",
        "proplist -v --show-inherited-props R d/f",
        "proplist -v --revprop -r 1 R",
        "propget R name000000 d/f",
        "propget --show-inherited-props R name000000 d/f",
        "propget --revprop -r 1 R name000000",
        "diff R",
        "tree R",
        "log -r 1 R",
    ] {
        sizes.reads(Linear, &format!("svnlook {line}"));
    }
    sizes.reads(Constant, "svnlook youngest R");
    sizes.reads(Linear, "svnfsfs stats R");
    let line = "svndumpfilter exclude --quiet nothing";
    sizes.check(line, Linear, |made| ours(made, line).input(made.stream()));
    sizes.writes(Linear, "svnmucc -m m propset another value U/d/f");
}

#[test]
fn between_repositories() {
    targets(&sizes());
    // Each property is set by itself, and the file of the revision has all of them: few will do.
    copied_revprops(&Sizes::of(80, with_props), Square);
}
