//! `svnlook` on every revision, byte for byte beside the reference's.

use crate::common::Both;
use sapwood_testkit::{Repository, Shape};

/// Everything that looks at one revision, with all its options.
fn look(both: &Both, path: &str, revision: &str) {
    for args in [
        &["author"][..],
        &["date"],
        &["log"],
        &["info"],
        &["changed"],
        &["changed", "--copy-info"],
        &["dirs-changed"],
        &["diff"],
        &["diff", "--diff-copy-from"],
        &["diff", "--no-diff-added", "--no-diff-deleted", "-x", "-b"],
        &["diff", "--ignore-properties", "-x", "-w -U 1 -p"],
        &["diff", "--properties-only"],
        &["tree", "--show-ids"],
    ] {
        let mut all = vec![args[0], path, "-r", revision];
        all.extend_from_slice(&args[1..]);
        both.same("svnlook", &all);
    }
    both.same_lines("svnlook", &["proplist", "--revprop", "-v", path, "-r", revision]);
    both.same_lines("svnlook", &["proplist", "--revprop", "--xml", path, "-r", revision]);
}

/// The files and directories of a revision, by the reference.
fn paths(both: &Both, path: &str, revision: &str) -> Vec<String> {
    let tree = both.reference.run("svnlook", ["tree", path, "-r", revision, "--full-paths"]);
    tree.stdout_text().lines().map(str::to_owned).collect()
}

#[test]
fn every_revision_of_the_scripted_history() {
    let both = Both::new();
    let repository = Repository::scripted(&Shape::new("1.10").shard(7));
    let path = repository.arg();
    for revision in 0..=repository.history.youngest() {
        look(&both, &path, &revision.to_string());
    }
}

#[test]
fn random_histories_in_other_formats() {
    let both = Both::new();
    for (seed, shape) in Shape::few().iter().enumerate() {
        let repository = Repository::random(shape, u64::try_from(seed).unwrap() + 100, 24);
        let path = repository.arg();
        for revision in (1..=repository.history.youngest()).step_by(5) {
            look(&both, &path, &revision.to_string());
        }
        both.same("svnlook", &["uuid", &path]);
        both.same("svnlook", &["youngest", &path]);
        both.same("svnlook", &["history", &path, "--show-ids"]);
    }
}

#[test]
fn every_path_of_one_revision() {
    let both = Both::new();
    let repository = Repository::scripted(&Shape::new("1.8").shard(7));
    let path = repository.arg();
    let revision = repository.history.youngest().to_string();
    let mut directories = 0;
    for (at, node) in paths(&both, &path, &revision).iter().enumerate() {
        if at % 7 != 0 && at > 40 {
            continue;
        }
        directories += usize::from(node.ends_with('/'));
        both.same("svnlook", &["cat", &path, node]);
        both.same("svnlook", &["filesize", &path, node]);
        both.same_lines("svnlook", &["proplist", &path, node]);
        both.same_lines("svnlook", &["proplist", "-v", &path, node, "--show-inherited-props"]);
        both.same_lines("svnlook", &["proplist", "--xml", &path, node, "--show-inherited-props"]);
        both.same("svnlook", &["history", &path, node, "--show-ids"]);
        both.same("svnlook", &["history", "-l", "2", &path, node]);
        both.same("svnlook", &["lock", &path, node]);
        both.same("svnlook", &["tree", "-N", &path, node]);
        both.same("svnlook", &["tree", "-N", "--full-paths", "--show-ids", &path, node]);
        both.same("svnlook", &["propget", &path, "svn:eol-style", node]);
        both.same("svnlook", &["propget", "--show-inherited-props", &path, "svn:mergeinfo", node]);
        both.same("svnlook", &["propget", "-v", &path, "svn:mergeinfo", node]);
    }
    assert!(directories > 3);
}

#[test]
fn wrong_usage() {
    let both = Both::new();
    let repository = Repository::random(&Shape::new("1.10"), 3, 12);
    let path = repository.arg();
    let path = path.as_str();
    for args in [
        &["author"][..],
        &["author", "/nonexistent"],
        &["author", "file:///x"],
        &["author", path, "extra"],
        &["author", path, "-r", "x"],
        &["author", path, "-r", "-1"],
        &["author", path, "-r", "99999"],
        &["info", path, "-r", "99999"],
        &["tree", path, "-r", "99999"],
        &["author", path, "-t", "nope"],
        &["author", path, "-r", "1", "-t", "2-2"],
        &["propget", path, "--revprop", "--show-inherited-props"],
        &["propget", path],
        &["propget", path, "--revprop"],
        &["propget", path, "a"],
        &["propget", path, "a", "b", "c"],
        &["propget", path, "nope", "/"],
        &["propget", path, "--revprop", "nope"],
        &["propget", path, "--show-inherited-props", "nope", "/"],
        &["proplist", path],
        &["proplist", path, "/nope"],
        &["cat", path],
        &["cat", path, "/"],
        &["cat", path, "/nope"],
        &["cat", path, "http://x/y"],
        &["cat", path, "/a", "/b"],
        &["filesize", path, "/"],
        &["lock", path],
        &["history", path, "/nope"],
        &["history", path, "-l", "0"],
        &["history", path, "-l", "x"],
        &["history", path, "a", "b"],
        &["tree", path, "/nope"],
        &["diff", path, "-x", "--bogus"],
        &["verify", path],
        &["nonsense"],
        &["author", path, "--xml"],
        &["youngest", path, "-r", "1"],
        &["--version", "--xml"],
        &["-r"],
        &["--bogus"],
        &["-Z"],
        &["help", "nonsense"],
        &[],
        &["-q"],
    ] {
        both.same("svnlook", args);
    }
}

#[test]
fn transactions() {
    let both = Both::new();
    let repository = Repository::random(&Shape::new("1.10"), 4, 12);
    let path = repository.arg();
    // A commit that a hook stops leaves its transaction while the hook runs; keep a copy of it.
    let hook = repository.path().join("hooks/pre-commit");
    let kept = repository.parent().join("kept");
    std::fs::write(
        &hook,
        format!(
            "#!/bin/sh\ncp -a \"$1\" '{}'\necho \"$2\" > '{}.name'\nexit 1\n",
            kept.display(),
            kept.display()
        ),
    )
    .unwrap();
    let mut permissions = std::fs::metadata(&hook).unwrap().permissions();
    std::os::unix::fs::PermissionsExt::set_mode(&mut permissions, 0o755);
    std::fs::set_permissions(&hook, permissions).unwrap();
    let url = repository.url();
    let file = repository.parent().join("file");
    std::fs::write(&file, "one\ntwo\n").unwrap();
    let file = file.to_str().unwrap();
    let done = both.reference.run(
        "svnmucc",
        [
            "-m",
            "a message",
            "--with-revprop",
            "x:y=z",
            "-U",
            &url,
            "mkdir",
            "new-dir",
            "put",
            file,
            "new-dir/file",
            "propset",
            "p",
            "v",
            "new-dir/file",
            "cp",
            "HEAD",
            &url,
            "copy",
        ],
    );
    assert_ne!(done.code, 0, "{done:?}");
    let name = std::fs::read_to_string(format!("{}.name", kept.display())).unwrap();
    let name = name.trim();
    let kept = kept.to_str().unwrap();
    for args in [
        &["author"][..],
        &["log"],
        &["changed", "--copy-info"],
        &["dirs-changed"],
        &["diff"],
        &["tree"],
        &["tree", "--show-ids", "-N"],
        &["propget", "--revprop", "x:y"],
        &["propget", "--revprop", "nope"],
        &["propget", "nope", "/new-dir"],
        &["proplist", "-v", "/new-dir/file"],
        &["cat", "/new-dir/file"],
        &["filesize", "/new-dir/file"],
        &["cat", "/nope"],
    ] {
        let mut all = vec![args[0], kept, "-t", name];
        all.extend_from_slice(&args[1..]);
        both.same("svnlook", &all);
    }
    both.same_lines("svnlook", &["proplist", "--revprop", "-v", kept, "-t", name]);
    both.same_lines("svnlook", &["proplist", "--revprop", "--xml", kept, "-t", name]);
    both.same("svnadmin", &["lstxns", kept]);
    both.same("svnadmin", &["lstxns", kept, "-r", "HEAD"]);
    both.same("svnadmin", &["lstxns", kept, "-r", "1"]);
    both.same("svnadmin", &["lstxns", kept, "-r", "1:2"]);
    both.same("svnadmin", &["verify", kept, "-t", name]);
    both.same("svnadmin", &["verify", kept, "-t", "nope"]);
    let _ = path;
}
