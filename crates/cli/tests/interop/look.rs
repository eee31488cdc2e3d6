//! `svnlook` on every revision prints the same bytes.

use crate::repositories;
use sapwood_testkit::{Findings, Repository, long};

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

fn compare(repo: &Repository) {
    let mut f = Findings::new(repo.name());
    let path = repo.arg();
    f.program("svnlook", &["uuid", &path]);
    f.program("svnlook", &["youngest", &path]);
    f.program("svnlook", &["info", &path]);
    f.program("svnlook", &["author", "-r", "999999", &path]);
    f.program("svnlook", &["cat", &path, "/no/such/file"]);
    for revision in 0..=repo.history.youngest() {
        let number = revision.to_string();
        let at = ["-r", number.as_str()];
        for command in PLAIN {
            let (name, options) = command.split_first().unwrap();
            f.program("svnlook", &[&[*name, &path], &at[..], options].concat());
        }
        f.program_unordered(
            "svnlook",
            &[&["proplist", "--revprop", "-v", &path], &at[..]].concat(),
        );
        // One of the nodes of each revision in turn, or all.
        let nodes = repo.history.revision(revision).root.walk();
        let chosen = nodes.iter().enumerate().filter(|(n, _)| long() || n % 23 == revision % 23);
        for (_, (node, is)) in chosen {
            f.program_unordered("svnlook", &[&["proplist", "-v", &path, node], &at[..]].concat());
            f.program_unordered(
                "svnlook",
                &[&["proplist", "--xml", "-v", &path, node], &at[..]].concat(),
            );
            f.program("svnlook", &[&["history", "--show-ids", &path, node], &at[..]].concat());
            f.program("svnlook", &["lock", &path, node]);
            for name in is.props.keys().take(2) {
                f.program("svnlook", &[&["propget", &path, name, node], &at[..]].concat());
            }
            if is.text().is_some() {
                f.program("svnlook", &[&["cat", &path, node], &at[..]].concat());
                f.program("svnlook", &[&["filesize", &path, node], &at[..]].concat());
            } else {
                f.program("svnlook", &[&["tree", &path, node], &at[..]].concat());
            }
        }
    }
    f.finish();
}

#[test]
fn svnlook_prints_the_same_bytes() {
    let step = if long() { 1 } else { 5 };
    for repo in repositories().step_by(step) {
        compare(&repo);
    }
}
