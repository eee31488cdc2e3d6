//! Holds that each source file that reads a file to its end at once stands in docs/memory.md, with its bound.
#![allow(clippy::unwrap_used, reason = "a failure is a failed test")]

use std::collections::BTreeSet;
use std::path::Path;

/// The crates whose files may be as long as a user's.
const CRATES: [&str; 4] = ["client", "wc", "diff", "delta"];

fn sources(folder: &Path, crates: &Path, found: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, crates, found);
        } else if path.extension().is_some_and(|ext| ext == "rs")
            && path.file_stem().unwrap() != "tests"
        {
            let text = std::fs::read_to_string(&path).unwrap();
            let code = text.split("#[cfg(test)]").next().unwrap();
            if code.contains("read_to_end(") || code.contains("fs::read(") {
                found.insert(path.strip_prefix(crates).unwrap().to_str().unwrap().to_owned());
            }
        }
    }
}

#[test]
fn files_that_are_read_whole_are_listed() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let crates = root.join("crates");
    let mut found = BTreeSet::new();
    for name in CRATES {
        sources(&crates.join(name).join("src"), &crates, &mut found);
    }
    let document = std::fs::read_to_string(root.join("docs/memory.md")).unwrap();
    let rows = document.lines().filter(|line| line.starts_with("| `"));
    let first = rows.filter_map(|line| line.split('|').nth(1));
    let listed = first.flat_map(|cell| cell.split('`').skip(1).step_by(2)).map(str::to_owned);
    assert_eq!(listed.collect::<BTreeSet<_>>(), found);
}
