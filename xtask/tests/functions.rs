//! Holds that functions stay at one level of abstraction: none of the product is longer than a page, but for those that a
//! table or the contract's order of decisions asks for.
//!
//! The code is formatted by rustfmt: a function ends where a closing brace has the indent of its first line.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a failure is a failed test"
)]

use std::path::Path;

/// Lines that a function may have.
const PAGE: usize = 60;

/// Functions that may be longer: file, name, and why.
const LONGER: [(&str, &str, &str); 10] = [
    ("cli/src/svn/given.rs", "take_value", "a table: an arm for each option"),
    ("cli/src/svn/tree_options.rs", "does", "a table: an arm for each resolution"),
    ("cli/src/svn/notify.rs", "write", "a table: an arm for each action"),
    ("cli/src/svn/notify/lines.rs", "plain_line", "a table: an arm for each action"),
    ("cli/src/store.rs", "store", "a table: an arm for each verb"),
    ("wc/src/status/assemble.rs", "assemble", "the contract's order of decisions"),
    ("wire-svn/src/editor/drive.rs", "apply", "a table: an arm for each command"),
    ("txn-rules/src/merge.rs", "merge_dir", "the contract's order of decisions"),
    ("wc/src/queue/run.rs", "do_item", "a table: an arm for each kind of work"),
    ("wc/src/work_item.rs", "parse", "a table: an arm for each kind of work"),
];

/// Name and length of each function in a text without unit tests.
fn functions(text: &str) -> Vec<(String, usize)> {
    let lines: Vec<&str> = text.lines().collect();
    let mut found = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        let code = line.trim_start();
        let Some(name) = name_of(code) else { continue };
        if line.ends_with('}') || line.ends_with(';') {
            continue;
        }
        let indent = &line[..line.len() - code.len()];
        let ends = |other: &&str| {
            let rest = other.strip_prefix(indent).filter(|rest| !rest.starts_with(' '));
            rest.is_some_and(|rest| rest == "}" || rest.ends_with(';'))
        };
        // One without an end is a text that looks like code.
        let Some(end) = lines[at + 1..].iter().position(ends) else { continue };
        found.push((name, end + 2));
    }
    found
}

/// The name of the function that a line begins.
fn name_of(code: &str) -> Option<String> {
    let mut words = code.split_whitespace();
    let word = words.find(|word| {
        let before = ["const", "async", "unsafe", "pub"].contains(word) || word.starts_with("pub(");
        !before
    })?;
    let rest = code.split_once("fn ").filter(|_| word == "fn")?.1;
    Some(rest.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect())
}

/// Adds file, name and length of each function below `dir` that is longer than a page.
fn long_ones(dir: &Path, crates: &Path, found: &mut Vec<(String, String, usize)>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap();
        if path.is_dir() && name != "tests" {
            long_ones(&path, crates, found);
        } else if name.ends_with(".rs") && name != "tests.rs" {
            let text = std::fs::read_to_string(&path).unwrap();
            let code = text.split("#[cfg(test)]").next().unwrap();
            let file = path.strip_prefix(crates).unwrap().to_str().unwrap();
            let long = functions(code).into_iter().filter(|(_, length)| *length > PAGE);
            found.extend(long.map(|(name, length)| (file.to_owned(), name, length)));
        }
    }
}

/// All functions of the product that are longer than a page.
fn long_functions() -> Vec<(String, String, usize)> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates");
    let mut found = Vec::new();
    for entry in std::fs::read_dir(&crates).unwrap() {
        let folder = entry.unwrap().path();
        if !folder.ends_with("testkit") {
            long_ones(&folder.join("src"), &crates, &mut found);
        }
    }
    found
}

#[test]
fn functions_are_short() {
    let mut others = long_functions();
    others.retain(|(file, name, _)| !LONGER.iter().any(|(f, n, _)| f == file && n == name));
    assert!(
        others.is_empty(),
        "longer than {PAGE} lines: split them, or give a reason: {others:#?}"
    );
}

#[test]
fn the_longer_ones_are_there() {
    let found = long_functions();
    for (file, name, reason) in LONGER {
        let is_there = found.iter().any(|(f, n, _)| f == file && n == name);
        assert!(is_there && !reason.is_empty(), "{file}: {name} is no longer so long");
    }
}

#[test]
fn lengths_are_counted() {
    let text = "impl A {\n    pub(crate) fn a(\n        &self,\n    ) -> B {\n        b;\n    }\n\n    fn c();\n\
                \n    const fn d() {}\n}\n\nasync fn e() {\n    fn f() {\n    }\n}\n";
    let found = functions(text);
    let found: Vec<_> = found.iter().map(|(name, length)| (name.as_str(), *length)).collect();
    assert_eq!(found, [("a", 5), ("e", 4), ("f", 2)]);
}
