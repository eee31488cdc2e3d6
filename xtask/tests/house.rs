//! House rules that a machine can check: every Rust file says at its head what it holds, and no
//! file grows beyond what a reader can hold in mind.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a failure is a failed test"
)]

use std::path::{Path, PathBuf};

/// Lines that a file may have. Longer ones are listed in [`LONG`] with a reason.
const MOST_LINES: usize = 800;

/// Files that may be longer, and why.
const LONG: [(&str, &str); 0] = [];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// All Rust files of ours, as paths relative to the workspace.
fn rust_files() -> Vec<PathBuf> {
    fn walk(dir: &Path, found: &mut Vec<PathBuf>) {
        let mut entries: Vec<_> = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap()).collect();
        entries.sort_by_key(|e| e.file_name());
        for entry in entries {
            let path = entry.path();
            if entry.file_type().unwrap().is_dir() {
                if !matches!(entry.file_name().to_str(), Some("target" | "corpus" | "artifacts")) {
                    walk(&path, found);
                }
            } else if path.extension().is_some_and(|e| e == "rs") {
                found.push(path);
            }
        }
    }
    let root = root();
    let mut found = Vec::new();
    for part in ["crates", "xtask", "fuzz"] {
        let dir = root.join(part);
        if dir.is_dir() {
            walk(&dir, &mut found);
        }
    }
    found.iter().map(|p| p.strip_prefix(&root).unwrap().to_path_buf()).collect()
}

#[test]
fn every_file_says_what_it_holds() {
    let files = rust_files();
    assert!(files.len() > 20, "the walk found only {} files", files.len());
    let silent: Vec<_> = files
        .iter()
        .filter(|f| !std::fs::read_to_string(root().join(f)).unwrap().starts_with("//! "))
        .collect();
    assert!(silent.is_empty(), "these files do not begin with a `//! ` head: {silent:#?}");
}

#[test]
fn no_file_is_too_long() {
    let long: Vec<_> = rust_files()
        .into_iter()
        .map(|f| (std::fs::read_to_string(root().join(&f)).unwrap().lines().count(), f))
        .filter(|(lines, f)| {
            *lines > MOST_LINES && !LONG.iter().any(|(name, _)| Path::new(name) == f)
        })
        .collect();
    assert!(long.is_empty(), "split these, or list them with a reason: {long:#?}");
}

#[test]
fn the_list_of_long_files_is_true() {
    for (name, reason) in LONG {
        let lines = std::fs::read_to_string(root().join(name)).unwrap().lines().count();
        assert!(lines > MOST_LINES, "{name} has {lines} lines: take it off the list");
        assert!(!reason.is_empty(), "{name} needs a reason");
    }
}
