//! The scripted history: one of each thing that a repository can hold, in a fixed order, so that
//! tests can name revisions and paths.
//!
//! Invariant: revisions are only ever added at the end.

use crate::history::History;
use crate::rng::Rng;
use crate::tree::{Node, Props};

/// One of everything, in about forty revisions. See the log messages for what is where.
#[must_use]
pub fn everything() -> History {
    let mut h = History::new("scripted");
    let mut rng = Rng::new(1);
    beginnings(&mut h, &mut rng);
    copies_and_moves(&mut h, &mut rng);
    odd_names_and_props(&mut h, &mut rng);
    merges(&mut h, &mut rng);
    large_and_binary(&mut h, &mut rng);
    ends(&mut h);
    h
}

/// A history with one directory of `count` entries, which then changes a little.
#[must_use]
pub fn wide(count: usize) -> History {
    let mut h = History::new(format!("wide-{count}"));
    let mut txn = h.begin("wide", "many entries");
    txn.mkdir("wide");
    // Built in place: adding one by one would copy the directory for each.
    txn.put_files("wide", (0..count).map(|n| (format!("entry {n:05}"), format!("{n}\n"))));
    txn.commit();
    for n in 0..5 {
        let mut txn = h.begin("wide", "one of many");
        txn.edit(&format!("wide/entry {:05}", n * 7 % count), format!("changed in {n}\n"));
        txn.add(&format!("wide/new {n}"), "new\n");
        txn.commit();
    }
    let mut txn = h.begin("wide", "copy of many");
    txn.copy("wide", 4, "copy").delete("copy/entry 00001").edit("copy/entry 00002", "x\n");
    txn.commit();
    h
}

fn beginnings(h: &mut History, rng: &mut Rng) {
    let mut t = h.begin("jrandom", "first directories");
    t.mkdir("trunk").mkdir("branches").mkdir("tags");
    t.commit();
    let mut t = h.begin("jrandom", "a small tree");
    t.mkdir("trunk/src").mkdir("trunk/src/deep").mkdir("trunk/src/deep/er").mkdir("trunk/empty");
    t.add("trunk/README", "Read me.\n").add("trunk/empty.txt", "");
    t.add("trunk/src/main.c", rng.lines(120)).add("trunk/src/util.c", rng.lines(60));
    t.add("trunk/src/deep/er/leaf", "leaf\n").add("trunk/no-eol", "no line feed at the end");
    t.commit();
    for n in 0..6 {
        let mut t =
            h.begin(if n % 2 == 0 { "jrandom" } else { "jconstant" }, "edit main.c\n\nMore.");
        t.edit_with("trunk/src/main.c", |old| rng.change_lines(old));
        t.commit();
    }
    let mut t = h.begin("jrandom", "nothing changes here");
    t.revprop("note", "an empty revision");
    t.commit();
    let mut t = h.begin("jconstant", "text and properties at once; the same text twice");
    t.edit("trunk/README", "Read me.\nAgain.\n");
    t.propset("trunk/README", "svn:eol-style", Some(b"native"));
    t.add("trunk/same1", "shared text\n").add("trunk/same2", "shared text\n");
    t.commit();
}

fn copies_and_moves(h: &mut History, rng: &mut Rng) {
    let mut t = h.begin("jrandom", "branch");
    let base = t.number() - 1;
    t.copy("trunk", base, "branches/b1");
    t.commit();
    let mut t = h.begin("jrandom", "branch with changes in one");
    t.copy("trunk", 2, "branches/mixed").edit("branches/mixed/README", "Mixed.\n");
    t.delete("branches/mixed/src/deep").copy(
        "trunk/src/main.c",
        4,
        "branches/mixed/src/old-main.c",
    );
    t.commit();
    let mut t = h.begin("jconstant", "edit on the branch");
    t.edit_with("branches/b1/src/util.c", |old| rng.change_lines(old));
    t.add("branches/b1/only-here", "b1\n");
    t.commit();
    let mut t = h.begin("jconstant", "a branch of a branch");
    let base = t.number() - 1;
    t.copy("branches/b1", base, "branches/b2");
    t.commit();
    let mut t = h.begin("jconstant", "edit on the branch of a branch");
    t.edit_with("branches/b2/src/main.c", |old| rng.change_lines(old));
    t.edit("branches/b2/src/deep/er/leaf", "leaf\nb2\n");
    t.commit();
    let mut t = h.begin("jrandom", "rename a file and a folder, copy a file");
    t.rename("trunk/src/util.c", "trunk/src/utility.c").rename("trunk/src/deep", "trunk/shallow");
    t.copy("trunk/README", 2, "trunk/README.old");
    t.commit();
    let mut t = h.begin("jrandom", "edit what was renamed");
    t.edit_with("trunk/src/utility.c", |old| rng.change_lines(old));
    t.edit("trunk/shallow/er/leaf", "leaf\nmoved\n");
    t.commit();
    let mut t = h.begin("jrandom", "replace: without history, with history, kind for kind");
    t.put("trunk/same1", Node::file("not the same\n"));
    t.copy("trunk/README", 2, "trunk/same2");
    t.delete("trunk/empty").add("trunk/empty", "now a file\n");
    t.delete("trunk/empty.txt").mkdir("trunk/empty.txt");
    t.commit();
    let mut t = h.begin("jrandom", "delete");
    t.delete("trunk/README.old").delete("trunk/shallow").delete("trunk/src/main.c");
    t.commit();
    let mut t = h.begin("jrandom", "resurrect a file and a folder");
    let before = t.number() - 2;
    t.copy("trunk/src/main.c", before, "trunk/src/main.c").copy(
        "trunk/shallow",
        before,
        "trunk/shallow",
    );
    t.commit();
    let mut t = h.begin("jrandom", "a new file with an old name, and a tag");
    t.add("trunk/README.old", "newer than old\n");
    let base = t.number() - 1;
    t.copy("trunk", base, "tags/1.0");
    t.commit();
}

fn odd_names_and_props(h: &mut History, rng: &mut Rng) {
    let mut t = h
        .begin("j\u{e9}r\u{f4}me", "names: spaces, \u{fc}n\u{ef}c\u{f6}d\u{e9}, % and more <&>\"'");
    t.mkdir("trunk/a dir").add("trunk/a dir/a file", "x\n").add("trunk/100% sure", "%20\n");
    t.mkdir("trunk/\u{65e5}\u{672c}").add("trunk/\u{65e5}\u{672c}/\u{fc}ber", "\u{fc}\n");
    t.add("trunk/a%20b", "percent\n")
        .add("trunk/semi;colon&amp", "x\n")
        .add("trunk/[x]{y}~", "x\n");
    t.add("trunk/at@sign", "at\n").add("trunk/ leading", "x\n").add("trunk/#hash", "x\n");
    t.commit();
    let mut t = h.begin("jrandom", "properties");
    t.propset("trunk", "svn:ignore", Some(b"*.o\n*.lo\n"));
    t.propset("trunk/src", "svn:externals", Some(b"^/tags/1.0/src ext\n"));
    t.propset("trunk/a dir/a file", "binary", Some(&[0, 1, 2, 255, 10, 0]));
    t.propset("trunk/a dir/a file", "empty", Some(b""));
    t.propset("trunk/a dir/a file", "lines", Some(b"one\ntwo\nEND\nK 3\n"));
    t.propset("trunk/100% sure", "svn:mime-type", Some(b"text/plain"));
    t.propset("trunk/at@sign", "svn:keywords", Some(b"Id Rev Author"));
    t.propset("trunk/at@sign", "svn:executable", Some(b"*"));
    t.propset("", "on-the-root", Some(b"yes"));
    t.commit();
    let mut t = h.begin("jrandom", "change and remove properties");
    t.propset("trunk", "svn:ignore", Some(b"*.o\n")).propset("trunk/a dir/a file", "empty", None);
    t.propset("trunk/a dir/a file", "binary", Some(&rng.bytes(300)));
    t.propset("trunk/src", "svn:externals", None);
    t.commit();
    let mut t = h.begin("", "no author, no date, odd revision properties");
    t.no_revprop("svn:author").no_revprop("svn:date");
    t.revprop("bin", vec![0, 255, 10, 13, 1]).revprop("empty", "").revprop("long", rng.lines(200));
    t.edit("trunk/at@sign", "$Id$ $Rev$ $Author$\n");
    t.commit();
    let mut t = h.begin("jrandom", "");
    t.no_revprop("svn:log").edit("trunk/100% sure", "no log message\n");
    t.commit();
    let mut t = h.begin("jrandom", "a link, line ends of other systems");
    t.add("trunk/link", "link src/main.c").propset("trunk/link", "svn:special", Some(b"*"));
    t.add("trunk/dos", "one\r\ntwo\r\n").add("trunk/mixed-eol", "one\r\ntwo\nthree\rfour");
    t.add("trunk/crlf", "a\r\nb\r\n").propset("trunk/crlf", "svn:eol-style", Some(b"CRLF"));
    t.commit();
}

fn merges(h: &mut History, rng: &mut Rng) {
    let mut t = h.begin("jrandom", "edit on trunk, to be merged");
    let first = t.number();
    t.edit_with("trunk/src/utility.c", |old| rng.change_lines(old));
    t.commit();
    let mut t = h.begin("jrandom", "another edit on trunk");
    t.edit_with("trunk/src/utility.c", |old| rng.change_lines(old));
    t.add("trunk/src/feature.c", rng.lines(30));
    t.commit();
    let mut t = h.begin("jrandom", "merge trunk to b1");
    let merged = t.root().get("trunk/src/utility.c").unwrap().text().unwrap().to_vec();
    t.edit("branches/b1/src/util.c", merged);
    t.copy("trunk/src/feature.c", first + 1, "branches/b1/src/feature.c");
    t.propset(
        "branches/b1",
        "svn:mergeinfo",
        Some(format!("/trunk:{first}-{}", first + 1).as_bytes()),
    );
    t.commit();
    let mut t = h.begin("jconstant", "edit on b1, after the merge");
    t.edit_with("branches/b1/src/feature.c", |old| rng.change_lines(old));
    let on_branch = t.commit();
    let mut t = h.begin("jconstant", "merge b1 back, a subtree with mergeinfo of its own");
    let text = t.root().get("branches/b1/src/feature.c").unwrap().text().unwrap().to_vec();
    t.edit("trunk/src/feature.c", text);
    t.propset("trunk", "svn:mergeinfo", Some(format!("/branches/b1:12-{on_branch}").as_bytes()));
    t.propset(
        "trunk/src",
        "svn:mergeinfo",
        Some(format!("/branches/b1/src:12-{on_branch}*\n/branches/b2/src:16").as_bytes()),
    );
    t.commit();
    let mut t = h.begin("jconstant", "merge trunk to b2, through b1");
    t.propset(
        "branches/b2",
        "svn:mergeinfo",
        Some(format!("/branches/b1:14-{on_branch}\n/trunk:{first}").as_bytes()),
    );
    t.edit_with("branches/b2/src/util.c", |old| rng.change_lines(old));
    t.commit();
    let mut t = h.begin("jrandom", "empty mergeinfo on a file");
    t.propset("trunk/src/main.c", "svn:mergeinfo", Some(b""));
    t.edit_with("trunk/src/main.c", |old| rng.change_lines(old));
    t.commit();
}

fn large_and_binary(h: &mut History, rng: &mut Rng) {
    let mut t = h.begin("jrandom", "binary files and a large one");
    t.add("trunk/blob", rng.bytes(3_000)).propset(
        "trunk/blob",
        "svn:mime-type",
        Some(b"application/octet-stream"),
    );
    t.add("trunk/zeros", vec![0; 250_000]).add("trunk/large", rng.lines(40_000));
    t.commit();
    for _ in 0..3 {
        let mut t = h.begin("jrandom", "edit the large file and the binary one");
        t.edit_with("trunk/large", |old| {
            let mut new = old.to_vec();
            let at = rng.below(new.len());
            new.splice(at..at, rng.lines(300));
            let at = rng.below(new.len() - 5_000);
            new.drain(at..at + 4_000);
            new
        });
        t.edit_with("trunk/blob", |old| [&old[1_000..], &rng.bytes(700), &old[..900]].concat());
        t.commit();
    }
    let mut t = h.begin("jrandom", "the large file is emptied, the empty one filled");
    t.edit("trunk/large", "").edit("trunk/zeros", rng.bytes(250_000));
    t.commit();
}

fn ends(h: &mut History) {
    let mut t = h.begin("jrandom", "a deep folder, many empty ones");
    let mut path = "trunk/nest".to_owned();
    t.mkdir(&path);
    for n in 0..25 {
        path = format!("{path}/{n}");
        t.mkdir(&path);
    }
    t.add(&format!("{path}/bottom"), "bottom\n");
    t.commit();
    let mut t = h.begin("jrandom", "delete a branch, replace another");
    t.delete("branches/mixed").copy("trunk", 12, "branches/b2");
    t.commit();
    let mut t = h.begin("jrandom", "a node with a property list of its own, added whole");
    let props = Props::from([("a".to_owned(), b"1".to_vec()), ("b".to_owned(), b"2".to_vec())]);
    t.put("trunk/whole", Node { props: props.clone(), ..Node::file("whole\n") });
    t.put("trunk/whole dir", Node { props, ..Node::dir() });
    t.commit();
    let mut t = h.begin("jrandom", "the last revision");
    t.edit("trunk/README", "Read me.\nAgain.\nAnd again.\n");
    t.commit();
}
