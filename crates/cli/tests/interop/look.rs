//! `svnlook` on every revision prints the same bytes.

use crate::interop::{chosen_nodes, repositories, thorough};
use sapwood_testkit::{Findings, Programs, Repository, library, long};

/// Subcommands that take a revision and nothing else that matters.
const PLAIN: [&[&str]; 15] = [
    &["author"],
    &["changed"],
    &["changed", "--copy-info"],
    &["date"],
    &["diff"],
    &["diff", "--no-diff-deleted", "--diff-copy-from"],
    &["diff", "--no-diff-added", "--ignore-properties"],
    &["diff", "--properties-only"],
    &["diff", "-x", "-w -p"],
    &["dirs-changed"],
    &["info"],
    &["log"],
    &["tree", "--full-paths"],
    &["tree", "--show-ids"],
    &["tree", "-N"],
];

/// How many shapes the history is looked at in when time is short.
const SHAPES: usize = 3;

/// A repository's path, and a name for its history.
struct About {
    path: String,
    key: String,
}

/// Compares one command. What it says without node ids depends on the history alone: in long runs the
/// reference is asked in one shape, and its answer kept for the others.
fn program(f: &mut Findings, about: &About, args: &[&str], in_order: bool) {
    let ask = || Programs::reference().run("svnlook", args);
    let reference = if long() && !args.contains(&"--show-ids") {
        let words: Vec<&str> =
            args.iter().map(|a| if *a == about.path { "%p" } else { a }).collect();
        library::answer(&about.key, &words, ask)
    } else {
        ask()
    };
    let ours = Programs::ours().run("svnlook", args);
    let what = format!("svnlook {args:?}");
    if in_order {
        f.outputs(&what, &reference, &ours);
    } else {
        f.unordered(&what, &reference, &ours);
    }
}

fn compare(repo: &Repository, number: usize) {
    let mut f = Findings::new(repo.name());
    let path = repo.arg();
    f.program("svnlook", &["uuid", &path]);
    f.program("svnlook", &["youngest", &path]);
    f.program("svnlook", &["info", &path]);
    f.program("svnlook", &["author", "-r", "999999", &path]);
    f.program("svnlook", &["cat", &path, "/no/such/file"]);
    let history = sapwood_core::Md5::of(&repo.history.dump(0..=repo.history.youngest())).to_hex();
    let about = About { path: path.clone(), key: format!("{}-{history}", repo.history.name) };
    let plain = |f: &mut Findings, args: &[&str]| program(f, &about, args, true);
    let sorted = |f: &mut Findings, args: &[&str]| program(f, &about, args, false);
    // When time is short, each revision of the history in one of the shapes.
    let step = if long() { 1 } else { SHAPES };
    for revision in (number % step..=repo.history.youngest()).step_by(step) {
        let number = revision.to_string();
        let at = ["-r", number.as_str()];
        for command in PLAIN {
            let (name, options) = command.split_first().unwrap();
            plain(&mut f, &[&[*name, &path], &at[..], options].concat());
        }
        sorted(&mut f, &[&["proplist", "--revprop", "-v", &path], &at[..]].concat());
        for (node, is) in chosen_nodes(repo, revision, if thorough(repo) { 3 } else { 23 }) {
            let node = node.as_str();
            sorted(&mut f, &[&["proplist", "-v", &path, node], &at[..]].concat());
            sorted(&mut f, &[&["proplist", "--xml", "-v", &path, node], &at[..]].concat());
            plain(&mut f, &[&["history", "--show-ids", &path, node], &at[..]].concat());
            plain(&mut f, &["lock", &path, node]);
            for name in is.props.keys().take(2) {
                plain(&mut f, &[&["propget", &path, name, node], &at[..]].concat());
            }
            if is.text().is_some() {
                plain(&mut f, &[&["cat", &path, node], &at[..]].concat());
                plain(&mut f, &[&["filesize", &path, node], &at[..]].concat());
            } else {
                plain(&mut f, &[&["tree", &path, node], &at[..]].concat());
            }
        }
    }
    f.finish();
}

#[test]
fn svnlook_prints_the_same_bytes() {
    let step = if long() { 1 } else { 8 };
    let mut shapes = 0;
    for (number, repo) in repositories().step_by(step).enumerate() {
        compare(&repo, number);
        shapes = number + 1;
    }
    assert!(shapes >= SHAPES, "a part of the revisions is looked at in none of {shapes} shapes");
}
