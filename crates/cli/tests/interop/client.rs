//! The reference's `svn` against both servers: same output, same trees.

use crate::interop::{all_shapes, chosen_nodes, thorough};
use sapwood_testkit::repository::{DELTIFY_ALL, Packing};
use sapwood_testkit::{Pair, Repository, Shape, long};

/// Repositories for the comparisons by client, which are not cheap.
fn repositories() -> Vec<Repository> {
    if long() {
        let of = |shape| {
            let mut all = vec![Repository::scripted(&shape)];
            if thorough(&all[0]) {
                all.push(Repository::random(&shape, 11, 40));
            }
            all
        };
        return all_shapes().into_iter().flat_map(of).collect();
    }
    let random = Shape::new("1.9").shard(7).config(DELTIFY_ALL);
    vec![
        Repository::random(&random, 11, 40),
        Repository::scripted(&Shape::new("1.10").shard(7).pack(Packing::Half)),
        Repository::scripted(&Shape::new("1.6").shard(7).pack(Packing::All)),
        Repository::scripted(&Shape::new("1.1")),
    ]
}

/// Every `step`th revision, always with the youngest; every one in thorough runs.
fn revisions(repo: &Repository, step: usize) -> Vec<usize> {
    let youngest = repo.history.youngest();
    let step = if thorough(repo) { 1 } else { step };
    (1..=youngest).rev().step_by(step).collect()
}

fn for_each(check: impl Fn(&Repository, &mut Pair)) {
    for repo in repositories() {
        let mut pair = Pair::start(&repo, &[]);
        check(&repo, &mut pair);
        pair.finish();
    }
}

#[test]
fn log() {
    for_each(|repo, pair| {
        for options in ["-v", "-q", "-v --xml", "-v -g --xml", "--xml --with-all-revprops -l 7"] {
            let options: Vec<&str> = options.split(' ').collect();
            for target in [
                &["log", "%u"][..],
                &["log", "%u", "-r", "0:HEAD"],
                &["log", "%u/trunk", "-r", "HEAD:2"],
                &["log", "%u/trunk", "--stop-on-copy"],
            ] {
                let args = [target, &options[..]].concat();
                if options.contains(&"--xml") {
                    pair.svn_unordered(&args);
                } else {
                    pair.svn(&args);
                }
            }
        }
        pair.svn(&["log", "%u", "trunk", "branches", "-v"]);
        pair.svn(&["log", "%u", "-c", "2,4,7-9", "-v"]);
        pair.svn(&["log", "%u", "-r", "{2004-02-25}:{2004-02-28T10:00:00Z}"]);
        pair.svn_unordered(&["log", "%u", "--search", "edit", "--diff"]);
        pair.svn_unordered(&["log", "%u", "--with-revprop", "svn:author", "--xml"]);
        pair.svn(&["log", "%u/no/such/path"]);
        pair.svn(&["log", "%u", "-r", "99999"]);
        for revision in revisions(repo, 9) {
            for (path, _) in chosen_nodes(repo, revision, 11) {
                let url = format!("%u/{}@{revision}", encode(&path));
                pair.svn_unordered(&["log", "-v", "-g", "--xml", &url]);
                pair.svn(&["log", "-q", &url]);
            }
        }
    });
}

#[test]
fn listings_and_properties() {
    for_each(|repo, pair| {
        for revision in revisions(repo, 4) {
            let number = revision.to_string();
            let r = &["-r", number.as_str()][..];
            pair.svn_unordered(&[&["list", "-R", "-v", "--xml", "%u"], r].concat());
            pair.svn(&[&["list", "--depth", "immediates", "%u/trunk"], r].concat());
            pair.svn(&[&["list", "-R", "--search", "*e*", "%u"], r].concat());
            pair.svn_unordered(&[&["info", "-R", "--xml", "%u"], r].concat());
            pair.svn(&[&["info", "%u/trunk"], r].concat());
            pair.svn_unordered(&[&["proplist", "-v", "-R", "%u"], r].concat());
            pair.svn_unordered(&[&["proplist", "-v", "--revprop", "%u"], r].concat());
            pair.svn_unordered(&[&["propget", "svn:mergeinfo", "-R", "--xml", "%u"], r].concat());
            pair.svn_unordered(
                &[&["proplist", "-v", "--show-inherited-props", "%u/trunk"], r].concat(),
            );
        }
        pair.svn_unordered(&["info", "%u/no/such"]);
        pair.svn(&["list", "%u/no/such"]);
    });
}

#[test]
fn contents_and_blame() {
    for_each(|repo, pair| {
        for revision in revisions(repo, 6) {
            let files = repo.history.revision(revision).root.files();
            let step = if thorough(repo) { 1 } else { 5 };
            let urls: Vec<String> = files
                .iter()
                .step_by(step)
                .map(|path| format!("%u/{}@{revision}", encode(path)))
                .collect();
            // One process for all files of a revision: most of its time would be its start.
            let all = |command: &[&'static str]| -> Vec<&str> {
                command.iter().copied().chain(urls.iter().map(String::as_str)).collect()
            };
            pair.svn(&all(&["cat"]));
            pair.svn_unordered(&all(&["blame", "--xml", "-g", "--force"]));
            pair.svn(&all(&["blame", "-v", "--force"]));
        }
        pair.svn(&["blame", "%u/trunk/src/main.c", "-r", "3:8"]);
        pair.svn(&["blame", "%u/trunk/src/main.c", "-r", "8:3"]);
        pair.svn(&["cat", "%u/trunk"]);
        pair.svn(&["cat", "%u/no/such"]);
    });
}

#[test]
fn checkouts_exports_and_updates() {
    for_each(|repo, pair| {
        let revisions = revisions(repo, 10);
        for revision in &revisions {
            let number = revision.to_string();
            pair.svn_unordered(&["export", "-r", &number, "%u", "export"]);
            pair.trees(&format!("export of r{revision}"), "export");
            pair.svn_unordered(&["checkout", "-r", &number, "%u", "wc"]);
            pair.trees(&format!("checkout of r{revision}"), "wc");
            pair.svn_unordered(&["status", "-u", "-v", "wc"]);
            pair.svn_unordered(&["info", "-R", "wc"]);
            pair.svn_unordered(&["update", "-r", &number, "wc"]);
            pair.remove("wc");
            pair.remove("export");
        }
        // One working copy goes from every revision to every other, each way once.
        let mut at = revisions[0];
        pair.svn_unordered(&["checkout", "-q", "-r", &at.to_string(), "%u", "wc"]);
        for (n, target) in tour(&revisions).into_iter().enumerate() {
            pair.svn_unordered(&["update", "-r", &target.to_string(), "wc"]);
            pair.trees(&format!("update from r{at} to r{target}"), "wc");
            if n % 9 == 0 {
                pair.svn_unordered(&["info", "-R", "wc"]);
            }
            at = target;
        }
        pair.remove("wc");
    });
}

/// A walk that begins at the first of some places and goes from each to each other once.
fn tour(places: &[usize]) -> Vec<usize> {
    let mut out = Vec::new();
    for (n, place) in places.iter().enumerate() {
        for other in places.iter().skip(n + 2) {
            out.extend([*other, *place]);
        }
        out.extend(places.get(n + 1));
    }
    out.extend(places.iter().rev().skip(1));
    out
}

#[test]
fn a_tour_has_every_pair_once() {
    let mut pairs: Vec<[usize; 2]> = Vec::new();
    let mut at = 0;
    for to in tour(&[0, 1, 2, 3, 4]) {
        pairs.push([at, to]);
        at = to;
    }
    pairs.sort_unstable();
    let all = (0..5).flat_map(|a| (0..5).filter(move |b| a != *b).map(move |b| [a, b]));
    assert_eq!(pairs, all.collect::<Vec<_>>());
}

#[test]
fn sparse_and_mixed_working_copies() {
    for_each(|_, pair| {
        pair.svn_unordered(&["checkout", "--depth", "empty", "%u/trunk", "wc"]);
        pair.svn_unordered(&["update", "--set-depth", "files", "wc"]);
        pair.svn_unordered(&["update", "--set-depth", "immediates", "wc"]);
        pair.trees("immediates", "wc");
        pair.svn_unordered(&["update", "--set-depth", "infinity", "wc", "-r", "5"]);
        pair.trees("infinity", "wc");
        pair.svn_unordered(&["update", "wc/src", "wc/README"]);
        pair.svn_unordered(&["update", "-r", "3", "wc/README"]);
        pair.svn_unordered(&["status", "-u", "-v", "wc"]);
        pair.svn_unordered(&["diff", "-r", "HEAD", "wc"]);
        pair.svn_unordered(&["update", "--set-depth", "exclude", "wc/src"]);
        pair.svn_unordered(&["update", "wc"]);
        pair.trees("after exclusion", "wc");
        pair.svn_unordered(&["update", "--set-depth", "infinity", "wc"]);
        pair.trees("after all", "wc");
    });
}

#[test]
fn switches() {
    for_each(|repo, pair| {
        let youngest = repo.history.youngest();
        for revision in [youngest, youngest * 2 / 3, youngest / 2] {
            let root = &repo.history.revision(revision).root;
            let branches = root.get("branches").and_then(|b| b.entries());
            let mut targets: Vec<String> = branches
                .into_iter()
                .flat_map(|b| b.keys().map(|n| format!("branches/{n}")))
                .collect();
            targets.push("trunk".to_owned());
            pair.svn_unordered(&["checkout", "-q", "-r", &revision.to_string(), "%u/trunk", "wc"]);
            for target in &targets {
                let url = format!("%u/{}@{revision}", encode(target));
                pair.svn_unordered(&["switch", "--ignore-ancestry", &url, "wc"]);
                pair.trees(&format!("switch to {url}"), "wc");
                pair.svn_unordered(&["diff", "--old", "%u/trunk", "--new", &url, "--summarize"]);
                pair.svn_unordered(&["diff", &format!("%u/trunk@{revision}"), &url]);
            }
            pair.remove("wc");
        }
    });
}

#[test]
fn diffs() {
    for_each(|repo, pair| {
        for from in revisions(repo, 12) {
            for to in (1..=repo.history.youngest()).rev().step_by(11) {
                let range = format!("{from}:{to}");
                pair.svn_unordered(&["diff", "-r", &range, "%u"]);
                pair.svn_unordered(&["diff", "--summarize", "--xml", "-r", &range, "%u"]);
            }
        }
        for revision in revisions(repo, 4) {
            pair.svn_unordered(&["diff", "-c", &revision.to_string(), "--git", "%u"]);
            pair.svn_unordered(&["diff", "-c", &revision.to_string(), "--notice-ancestry", "%u"]);
        }
    });
}

#[test]
fn merges_and_mergeinfo() {
    for_each(|repo, pair| {
        let branches = repo.history.head().get("branches").and_then(|b| b.entries());
        let branches: Vec<String> = branches.into_iter().flat_map(|b| b.keys().cloned()).collect();
        for name in branches {
            let url = format!("%u/branches/{}", encode(&name));
            for show in ["merged", "eligible"] {
                pair.svn(&["mergeinfo", "--show-revs", show, "-R", &url, "%u/trunk"]);
                pair.svn(&["mergeinfo", "--show-revs", show, "--log", "-v", "%u/trunk", &url]);
            }
            pair.svn(&["mergeinfo", &url, "%u/trunk"]);
            pair.svn_unordered(&["checkout", "-q", "%u/trunk", "wc"]);
            pair.svn_unordered(&["merge", "--accept", "postpone", &url, "wc"]);
            pair.trees(&format!("merge from {url}"), "wc");
            pair.svn_unordered(&["status", "wc"]);
            pair.svn_unordered(&["diff", "wc"]);
            pair.remove("wc");
        }
    });
}

/// A path as part of a URL.
fn encode(path: &str) -> String {
    path.bytes()
        .map(|b| match b {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' | b'~' => {
                char::from(b).to_string()
            }
            _ => format!("%{b:02X}"),
        })
        .collect()
}
