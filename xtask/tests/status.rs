//! Holds docs/STATUS.md against the sources: every test that it names as a proof exists, and runs.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a failure is a failed test")]

use std::path::Path;

#[test]
fn every_test_that_is_named_exists() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let status = std::fs::read_to_string(root.join("docs/STATUS.md")).unwrap();
    let mut named = 0;
    let mut wrong = Vec::new();
    // Every second piece between backquotes is a name in code.
    for name in status.split('`').skip(1).step_by(2) {
        let Some((file, function)) = name.split_once("::") else { continue };
        if file == "crate/path/file" {
            continue;
        }
        named += 1;
        let file = match file.strip_prefix("interop/") {
            Some(rest) => format!("crates/cli/tests/interop/{rest}.rs"),
            None if file.starts_with("xtask/") => format!("{file}.rs"),
            None => format!("crates/{file}.rs"),
        };
        let text = std::fs::read_to_string(root.join(&file)).unwrap_or_default();
        match text.find(&format!("fn {function}(")) {
            None => wrong.push(format!("{name}: not in {file}")),
            Some(at) => {
                let before: Vec<&str> = text[..at].lines().rev().take(4).collect();
                if before.iter().take_while(|l| !l.is_empty()).any(|l| l.contains("#[ignore")) {
                    wrong.push(format!("{name}: is ignored"));
                }
            }
        }
    }
    assert!(named > 30, "only {named} tests are named");
    assert!(wrong.is_empty(), "docs/STATUS.md is wrong:\n{}", wrong.join("\n"));
}
