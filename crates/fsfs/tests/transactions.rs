//! Transactions that the reference began: their trees and changes, compared with `svnlook -t`.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::as_conversions,
    reason = "tests"
)]

use std::io::Read as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use sapwood_core::NodeKind;
use sapwood_fsfs::{Caches, Filesystem, Node, OpenOptions};
use sapwood_testkit::fspath;
use sapwood_testkit::{Output, Programs, Repository, Shape};

/// Stops a commit in its pre-commit hook, and keeps a copy of the repository as it was then.
fn stopped(repo: &Repository) -> PathBuf {
    let hook = repo.path().join("hooks/pre-commit");
    std::fs::write(
        &hook,
        "#!/bin/sh\ncp -a \"$1\" \"$1.stopped\"\necho \"$2\" > \"$1.txn\"\nexit 1\n",
    )
    .unwrap();
    std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).unwrap();
    let file = repo.parent().join("text");
    std::fs::write(&file, "a new text\n".repeat(20_000)).unwrap();
    let reference = Programs::reference();
    let mut command = reference.command("svnmucc");
    let text = file.to_str().unwrap();
    command.args(["-m", "stopped", "-U", &repo.url()]);
    command.args(["mkdir", "txn-dir", "put", text, "txn-dir/new file"]);
    command.args(["cp", "HEAD", "trunk", "txn-dir/copy", "put", text, "txn-dir/copy/another"]);
    command.args(["propset", "color", "blue", "trunk", "propset", "size", "big", "txn-dir"]);
    let out = Output::of(&mut command);
    assert!(out.stderr_text().contains("pre-commit"), "{}", out.stderr_text());
    repo.parent().join("repo.stopped")
}

fn tree(node: &Node, depth: usize, out: &mut String) {
    let name = sapwood_core::path::basename(node.path());
    let slash = if node.kind() == NodeKind::Dir { "/" } else { "" };
    out.push_str(&format!("{}{name}{slash} <{}>\n", " ".repeat(depth), node.id()));
    if node.kind() == NodeKind::Dir {
        for entry in node.entries().unwrap().iter() {
            tree(&node.child(entry.name).unwrap().unwrap(), depth + 1, out);
        }
    }
}

#[test]
fn trees_of_transactions() {
    let reference = Programs::reference();
    for shape in [Shape::new("1.1"), Shape::new("1.6"), Shape::new("1.10").shard(7)] {
        let repo = Repository::scripted(&shape);
        let path = stopped(&repo);
        let name = std::fs::read_to_string(repo.parent().join("repo.txn")).unwrap();
        let name = name.trim();
        let arg = path.to_str().unwrap();
        let fs = Filesystem::open(&path.join("db"), &Caches::new(8 << 20), &OpenOptions::default())
            .unwrap();
        let root = fs.txn_root(name).unwrap();
        assert_eq!(root.base_revision(), fs.youngest().unwrap());
        assert_eq!(root.txn_name(), Some(name));
        let mut ours = String::new();
        tree(&root.node(fspath("/")).unwrap(), 0, &mut ours);
        let theirs = reference
            .run("svnlook", ["tree", "--show-ids", "-t", name, arg])
            .expect_success("tree")
            .stdout_text();
        let (mut a, mut b): (Vec<_>, Vec<_>) =
            (ours.lines().collect(), theirs.trim().lines().collect());
        a.sort_unstable();
        b.sort_unstable();
        assert_eq!(a, b, "{}", shape.name());
        for file in ["/txn-dir/new file", "/txn-dir/copy/another"] {
            let mut text = String::new();
            let node = root.node(fspath(file)).unwrap();
            node.contents().unwrap().read_to_string(&mut text).unwrap();
            assert_eq!(text, "a new text\n".repeat(20_000));
            assert_eq!(node.length().unwrap(), 220_000);
        }
        let props = root.node(fspath("/txn-dir")).unwrap().props().unwrap();
        assert_eq!(props.get("size"), Some(&b"big"[..]));
        assert!(root.node(fspath("/txn-dir")).unwrap().has_props().unwrap());
        let changes = root.changed_paths().unwrap();
        let paths: Vec<&str> = changes.iter().map(|c| c.path.as_str()).collect();
        let want =
            ["/trunk", "/txn-dir", "/txn-dir/copy", "/txn-dir/copy/another", "/txn-dir/new file"];
        assert_eq!(paths, want, "{}", shape.name());
        let copy = changes.find(fspath("/txn-dir/copy")).unwrap();
        assert_eq!(copy.copy_from, Some((fs.youngest().unwrap(), fspath("/trunk"))));
        assert!(fs.txn_root("99-99").is_err());
        assert!(root.history(fspath("/trunk")).is_err());
    }
}
