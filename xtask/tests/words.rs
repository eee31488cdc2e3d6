//! Holds that comments use the field's words: each crate has a number of comment words from a
//! private dialect that it may still hold, and the number may only fall.
//!
//! The word for what was meant is usually one of these: report, send, notify, call or print (in
//! place of "tell"); sync, stable, resolve or finish ("settle"); permit ("seat"); the caller, the
//! client or the user (where no subject is named).
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a failure is a failed test"
)]

use std::path::Path;

/// The words that are gone, in lower case.
const GONE: [&str; 12] = [
    "told", "tell", "tells", "telling", "settle", "settled", "settles", "seat", "restless",
    "whoever", "nobody", "somebody",
];

/// For each crate, how many of these words its comments may still hold: a crate without a row, none.
const MOST: [(&str, usize); 3] = [("client", 2), ("testkit", 4), ("wc", 2)];

/// A number may be so far above the count before it has to be lowered: two changes that land
/// beside each other need not both write it.
const SLACK: usize = 5;

/// The comment on a line, if there is one. A `//` after anything but a space belongs to a URL.
fn comment(line: &str) -> Option<&str> {
    let line = line.trim_start();
    line.strip_prefix("//").or_else(|| line.split_once(" // ").map(|(_, comment)| comment))
}

/// The words of a text that are gone.
fn gone(text: &str) -> impl Iterator<Item = &'static str> {
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
    words.filter_map(|word| GONE.into_iter().find(|gone| gone.eq_ignore_ascii_case(word)))
}

/// Adds file, line and word of each hit in the comments below `dir`.
fn look(dir: &Path, hits: &mut Vec<String>, comments: &mut usize) {
    let mut paths: Vec<_> = std::fs::read_dir(dir).unwrap().map(|e| e.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            look(&path, hits, comments);
        } else if path.extension().is_some_and(|e| e == "rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            for (at, line) in text.lines().enumerate() {
                let Some(comment) = comment(line) else { continue };
                *comments += 1;
                let place = |word| format!("{}:{}: {word}", path.display(), at + 1);
                hits.extend(gone(comment).map(place));
            }
        }
    }
}

#[test]
fn words_of_the_old_dialect_become_rarer() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("crates");
    let mut wrong = Vec::new();
    let mut comments = 0;
    let mut names: Vec<_> = std::fs::read_dir(&crates)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    for name in &names {
        let mut hits = Vec::new();
        look(&crates.join(name).join("src"), &mut hits, &mut comments);
        let most = MOST.iter().find(|(row, _)| row == name).map_or(0, |(_, most)| *most);
        if hits.len() > most {
            let all = hits.join("\n");
            wrong.push(format!("{name}: {} words, and {most} are allowed:\n{all}", hits.len()));
        } else if hits.len() + SLACK < most {
            wrong.push(format!("{name}: only {} words: lower the {most}", hits.len()));
        }
    }
    for (name, _) in MOST {
        assert!(names.iter().any(|crate_name| crate_name == name), "there is no crate {name}");
    }
    assert!(comments > 10_000, "only {comments} lines with comments were found");
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// For each crate, how many words of its names in code may still be `tell` or `told` (for them: notify,
/// report, send): a crate without a row, none.
const NAMES: [(&str, usize); 3] = [
    ("bench", 14),
    // Texts of several lines, which users read: no names.
    ("cli", 5),
    ("testkit", 5),
];

/// How many words of the names on a line of code are `tell`, `told` and their like. What is between quotation
/// marks is no name.
fn old_names(line: &str) -> usize {
    let code = line.split(" // ").next().unwrap_or("");
    if code.trim_start().starts_with("//") {
        return 0;
    }
    let code: String = code.split('"').step_by(2).collect();
    let mut words = String::new();
    for letter in code.chars() {
        if letter.is_uppercase() {
            words.push(' ');
        }
        words.push(letter.to_ascii_lowercase());
    }
    let words = words.split(|c: char| !c.is_alphanumeric());
    words.filter(|word| matches!(*word, "tell" | "tells" | "told" | "telling")).count()
}

/// The number of them in the files below `dir`.
fn count_names(dir: &Path) -> usize {
    let mut sum = 0;
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sum += count_names(&path);
        } else if path.extension().is_some_and(|e| e == "rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            sum += text.lines().map(old_names).sum::<usize>();
        }
    }
    sum
}

#[test]
fn old_words_in_names_become_rarer() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("crates");
    let mut wrong = Vec::new();
    for entry in std::fs::read_dir(&crates).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let found = count_names(&crates.join(&name).join("src"));
        let most = NAMES.iter().find(|(row, _)| *row == name).map_or(0, |(_, most)| *most);
        if found > most || found + SLACK < most {
            wrong.push(format!("(\"{name}\", {found}), and the row has {most}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn words_of_names_count() {
    assert_eq!(old_names("fn tell_all(told: &Tell) { foretell(\"told\") } // told"), 3);
    assert_eq!(old_names("    /// tell"), 0);
}

#[test]
fn only_whole_words_in_comments_count() {
    assert_eq!(comment("    /// Tells it."), Some("/ Tells it."));
    assert_eq!(comment("let a = 1; // told"), Some("told"));
    assert_eq!(comment("let told = \"http://tell/\";"), None);
    let found: Vec<_> = gone("/ Tells; `untold` is_settled storyteller, Nobody.").collect();
    assert_eq!(found, ["tells", "nobody"]);
}
