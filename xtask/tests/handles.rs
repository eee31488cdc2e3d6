//! Holds that a signature of `wc` says what an operation may touch: methods of `WorkingCopy`, which has the database,
//! the files and the locks, stand in few files, and those in `operations` only hand on the handles that are needed.
#![allow(clippy::unwrap_used, reason = "a failure is a failed test")]

use std::path::{Path, PathBuf};

/// The files outside `operations` that have methods of it: what it is, and two things that need all of it.
const OWN: [&str; 3] = ["root.rs", "queue/run.rs", "status/cache/mod.rs"];

/// How many files there may be in all.
const MOST: usize = 12;

fn src() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/wc/src")
}

fn with_methods(dir: &Path, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            with_methods(&path, found);
        } else if std::fs::read_to_string(&path).unwrap().contains("\nimpl WorkingCopy {") {
            found.push(path.strip_prefix(src()).unwrap().to_str().unwrap().to_owned());
        }
    }
}

#[test]
fn methods_of_the_working_copy_stand_in_few_files() {
    let mut found = Vec::new();
    with_methods(&src(), &mut found);
    found.sort();
    assert!(found.len() <= MOST, "{} files: {found:#?}", found.len());
    found.retain(|file| !file.starts_with("operations/") && !OWN.contains(&file.as_str()));
    assert!(found.is_empty(), "a function of its handles in place of a method: {found:#?}");
}

#[test]
fn operations_decide_nothing() {
    let mut methods = 0;
    for entry in std::fs::read_dir(src().join("operations")).unwrap() {
        let path = entry.unwrap().path();
        for (number, line) in std::fs::read_to_string(&path).unwrap().lines().enumerate() {
            methods += usize::from(line.starts_with("    pub fn "));
            let decides = ["if ", "match ", "let ", "for ", "while ", "loop "];
            let decides = decides.iter().any(|word| line.trim_start().starts_with(word));
            assert!(!decides, "{}:{}: {line}", path.display(), number + 1);
        }
    }
    assert!(methods > 80, "only {methods} operations were found");
}
