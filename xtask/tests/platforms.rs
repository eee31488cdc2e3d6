//! Holds where the product uses what only Linux has: in `platform` modules, which have the portable way beside it, and in
//! the files that `docs/platforms.md` says still stand in the way of other systems.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a failure is a failed test"
)]

use std::path::{Path, PathBuf};

/// Names that only Linux has.
const LINUX: [&str; 10] = [
    "syncfs",
    "fadvise",
    "preadv2",
    "RawDir",
    "OFlags::PATH",
    "AtFlags::EMPTY_PATH",
    "rustix::fs::inotify",
    "\"/proc/",
    "std::os::linux",
    "PollFlags::RDHUP",
];

/// Files and folders with such names that are no `platform` modules yet. The list only becomes shorter.
const LEFT: [&str; 1] = ["watch/src"];

/// Crates that are no part of the product.
const OTHERS: [&str; 2] = ["bench", "testkit"];

fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            walk(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn what_only_linux_has_is_in_platform_modules() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("crates");
    let page = crates.join("../docs/platforms.md");
    let page = std::fs::read_to_string(page).unwrap();
    let (mut wrong, mut left, mut modules) = (Vec::new(), Vec::new(), 0);
    let mut files = Vec::new();
    for entry in std::fs::read_dir(&crates).unwrap() {
        let folder = entry.unwrap().path();
        if !OTHERS.iter().any(|other| folder.ends_with(other)) {
            walk(&folder.join("src"), &mut files);
        }
    }
    for file in files {
        let text = std::fs::read_to_string(&file).unwrap();
        let code = text.split("#[cfg(test)]\nmod tests").next().unwrap();
        let mut lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
        let Some(line) = lines.find(|line| LINUX.iter().any(|name| line.contains(name))) else {
            continue;
        };
        let name = file.strip_prefix(&crates).unwrap().display().to_string();
        match LEFT.iter().find(|left| name.starts_with(**left)) {
            _ if name.ends_with("/platform.rs") => modules += 1,
            Some(known) => left.push(*known),
            None => wrong.push(format!("{name}: {}", line.trim())),
        }
    }
    assert!(wrong.is_empty(), "only for `platform` modules: {wrong:#?}");
    assert!(modules > 0, "no platform module was found");
    for known in LEFT {
        assert!(left.contains(&known), "{known} has no such name any more: take it off the list");
        assert!(page.contains(&format!("`{known}`")), "docs/platforms.md does not name {known}");
    }
}
