//! Paths are of the types of `sapwood_core::paths`: what is called a relpath is a `RelPath`, not any text.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure is a failed test")]

use std::path::{Path, PathBuf};

/// Files in which a relpath may still be any text. Paths are only ever taken off this list.
const STILL_TEXT: [&str; 5] = [
    "crates/cli/src/svnlook/diff.rs",
    "crates/client/src/url_changes/plan.rs",
    "crates/repos/src/commit.rs",
    "crates/repos/src/dump/editor.rs",
    "crates/repos/src/dump/editor/check.rs",
];

fn rust_files(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// Whether a line declares a relpath as borrowed text: `relpath: &str`, with or without a lifetime.
fn is_text(line: &str) -> bool {
    line.match_indices("relpath: &").any(|(at, found)| {
        let before = line.get(..at).and_then(|before| before.chars().next_back());
        let whole = before.is_none_or(|c| !c.is_alphanumeric() && c != '_');
        let rest = line.get(at.saturating_add(found.len())..).unwrap_or_default();
        let rest = match rest.strip_prefix('\'') {
            Some(named) => named.trim_start_matches(|c: char| c.is_alphanumeric() || c == '_'),
            None => rest,
        };
        let rest = rest.trim_start().strip_prefix("str");
        let ends = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_');
        whole && rest.is_some_and(ends)
    })
}

#[test]
fn relpaths_are_no_text() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    for krate in std::fs::read_dir(root.join("crates")).unwrap() {
        let krate = krate.unwrap();
        if krate.file_name() != "core" {
            rust_files(&krate.path().join("src"), &mut files);
        }
    }
    assert!(files.len() > 100, "the walk found only {} files", files.len());
    let mut found: Vec<String> = files
        .iter()
        .filter(|file| std::fs::read_to_string(file).unwrap().lines().any(is_text))
        .map(|file| file.strip_prefix(&root).unwrap().to_string_lossy().into_owned())
        .collect();
    found.sort();
    assert_eq!(
        found, STILL_TEXT,
        "a relpath is a `RelPath`; what no longer is text leaves the list"
    );
}

#[test]
fn what_is_seen() {
    for line in ["fn f(relpath: &str) {", "relpath: &'a str,", "|relpath: &'_ str| x"] {
        assert!(is_text(line), "{line}");
    }
    for line in ["repos_relpath: &str,", "relpath: &RelPath,", "relpath: &strange::Path"] {
        assert!(!is_text(line), "{line}");
    }
}
