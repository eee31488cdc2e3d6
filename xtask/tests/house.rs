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

/// Source files of the product (no tests beside it), and their text before the unit tests.
fn product() -> Vec<(PathBuf, String)> {
    let is_product = |f: &PathBuf| {
        let name = f.to_string_lossy().into_owned();
        name.starts_with("crates/")
            && name.contains("/src/")
            && !name.starts_with("crates/testkit/")
    };
    let text = |f: &PathBuf| {
        let text = std::fs::read_to_string(root().join(f)).unwrap();
        text.split("#[cfg(test)]").next().unwrap().to_owned()
    };
    rust_files().into_iter().filter(is_product).map(|f| (f.clone(), text(&f))).collect()
}

/// Lines of the product that are no comments and contain one of `words`, but for `allowed` files.
fn uses(words: &[&str], allowed: &[(&str, &str)], within: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (file, text) in product() {
        let name = file.to_string_lossy().into_owned();
        if !name.starts_with(within) || allowed.iter().any(|(allowed, _)| name == *allowed) {
            continue;
        }
        for (number, line) in text.lines().enumerate() {
            let code = line.split("//").next().unwrap();
            if words.iter().any(|word| code.contains(word)) {
                found.push(format!("{name}:{}: {}", number + 1, line.trim()));
            }
        }
    }
    found
}

/// `print!` and its kin panic when the reader has gone. Programs write through `output` and `report`.
#[test]
fn nothing_prints_past_the_one_way_to_write() {
    let words = ["print!(", "println!(", "dbg!("];
    let found = uses(&words, &[], "crates/");
    assert!(found.is_empty(), "write through crates/cli/src/output.rs or report.rs: {found:#?}");
}

/// Where programs may open files that are no arguments of the user, and which.
const OPENS: [(&str, &str); 5] = [
    ("crates/cli/src/input.rs", "the one way to open what the user names"),
    ("crates/cli/src/locale/installed.rs", "the locales of the machine"),
    ("crates/cli/src/platform.rs", "/proc"),
    ("crates/cli/src/user_date.rs", "the rules of the time zone"),
    ("crates/cli/src/remote/editor.rs", "a file of its own, which it has made"),
];

/// What a user names may be a pipe, a device or `-`: `input` knows.
#[test]
fn files_that_the_user_names_are_opened_in_one_place() {
    let words = ["fs::read(", "read_to_string(", "File::open("];
    let found: Vec<String> = uses(&words, &OPENS, "crates/cli/src")
        .into_iter()
        // The table of users, which has one place.
        .filter(|line| !line.contains("/etc/passwd"))
        .collect();
    assert!(found.is_empty(), "open it through crates/cli/src/input.rs: {found:#?}");
}

/// A test that returns early where something is missing passes by absence: it has to fail, with a
/// sentence.
#[test]
fn no_test_passes_by_absence() {
    let mut found = Vec::new();
    for file in rust_files() {
        let name = file.to_string_lossy().into_owned();
        let text = std::fs::read_to_string(root().join(&file)).unwrap();
        let tests = if name.contains("/tests/") {
            0
        } else {
            text.find("#[cfg(test)]").unwrap_or(text.len())
        };
        let lines: Vec<&str> = text[tests..].lines().collect();
        for (at, line) in lines.iter().enumerate() {
            let prints =
                line.contains(concat!("eprint", "ln!(")) || line.contains(concat!("print", "ln!("));
            let leaves = lines[at..].iter().take(5).any(|l| l.trim() == "return;");
            if prints && leaves {
                found.push(format!("{name}: {}", line.trim()));
            }
        }
    }
    assert!(found.is_empty(), "let these fail where something is missing: {found:#?}");
}

#[test]
fn the_files_that_documents_name_are_there() {
    let mut missing = Vec::new();
    let mut found = 0;
    for name in ["ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md"] {
        let text = std::fs::read_to_string(root().join(name)).unwrap();
        for quoted in text.split('`').skip(1).step_by(2) {
            let is_path = quoted.contains("/src/") && !quoted.contains(['*', ' ', ':']);
            if !is_path {
                continue;
            }
            found += 1;
            let paths = [root().join(quoted), root().join("crates").join(quoted)];
            if !paths.iter().any(|path| path.exists()) {
                missing.push(format!("{name}: {quoted}"));
            }
        }
    }
    assert!(found > 60, "only {found} files are named");
    assert!(missing.is_empty(), "these are not there: {missing:#?}");
}

/// Words that hide which part of the system is meant: a comment says the user, the client, the writer,
/// the caller.
const NAMELESS: [&str; 6] = ["nobody", "somebody", "someone", "anybody", "everybody", "whoever"];

#[test]
fn comments_name_their_subject() {
    let (mut seen, mut wrong) = (0, Vec::new());
    for file in rust_files() {
        let text = std::fs::read_to_string(root().join(&file)).unwrap();
        for (at, line) in text.lines().enumerate() {
            let Some((_, comment)) = line.split_once("//") else { continue };
            seen += 1;
            let comment = comment.to_lowercase();
            let mut words = comment.split(|c: char| !c.is_alphanumeric());
            if let Some(word) = words.find(|word| NAMELESS.contains(word)) {
                wrong.push(format!("{}:{}: {word}", file.display(), at + 1));
            }
        }
    }
    assert!(seen > 10_000, "only {seen} comments were found");
    assert!(wrong.is_empty(), "say the user, the client, the writer, the caller: {wrong:#?}");
}

/// A crate's integration tests are one program, which names its files: one that is not named would not run.
#[test]
fn every_file_of_tests_is_in_the_program() {
    let mut seen = 0;
    let mut wrong = Vec::new();
    for crate_folder in std::fs::read_dir(root().join("crates")).unwrap().flatten() {
        let tests = crate_folder.path().join("tests");
        let Ok(program) = std::fs::read_to_string(tests.join("main.rs")) else { continue };
        for entry in std::fs::read_dir(&tests).unwrap().flatten() {
            let path = entry.path();
            let stem = path.file_stem().unwrap().to_string_lossy().into_owned();
            let is_module = path.extension().is_some_and(|e| e == "rs") && stem != "main"
                || path.join("mod.rs").exists();
            seen += usize::from(is_module);
            if is_module && !program.contains(&format!("\nmod {stem};\n")) {
                wrong.push(path.clone());
            }
            if path.join("main.rs").exists() {
                wrong.push(path.join("main.rs"));
            }
        }
    }
    assert!(seen > 80, "only {seen} files of tests were found");
    assert!(wrong.is_empty(), "name them in tests/main.rs: {wrong:#?}");
}
