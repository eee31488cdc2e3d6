//! Holds that no type is named by a bare participle: `Kept` or `Waiting` says what was done to a thing, and not what it is.
#![allow(clippy::unwrap_used, reason = "a failure is a failed test")]

use std::path::Path;

/// Words that end as participles do, and are nouns.
const NOUNS: [&str; 18] = [
    "Addressing",
    "Anything",
    "Coding",
    "Dismantling",
    "Encoding",
    "Everything",
    "Feed",
    "Finding",
    "Greeting",
    "Listing",
    "Meaning",
    "Nesting",
    // The name of the standard library.
    "Owned",
    "Packing",
    "Reading",
    "Ring",
    "Seed",
    "String",
];

/// Participles that do not end in `ed` or `ing`.
const IRREGULAR: [&str; 24] = [
    "Begun", "Brought", "Built", "Chosen", "Done", "Drawn", "Found", "Given", "Gone", "Held",
    "Hidden", "Kept", "Known", "Left", "Lost", "Made", "Met", "Read", "Said", "Seen", "Sent",
    "Shown", "Taken", "Written",
];

/// Whether a name is one word, and a participle.
fn is_participle(name: &str) -> bool {
    let is_one_word = name.chars().skip(1).all(char::is_lowercase);
    let ends = name.ends_with("ed") || name.ends_with("ing") || IRREGULAR.contains(&name);
    is_one_word && ends && !NOUNS.contains(&name)
}

/// The name of the type that a line defines.
fn defined(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let line = match line.strip_prefix("pub") {
        Some(rest) => rest.trim_start_matches("(crate)").trim_start_matches("(super)").trim_start(),
        None => line,
    };
    let (keyword, rest) = line.split_once(' ')?;
    let is_type = matches!(keyword, "enum" | "struct" | "trait" | "type" | "union");
    let end = rest.find(|c: char| !c.is_alphanumeric()).unwrap_or(rest.len());
    rest.get(..end).filter(|name| is_type && !name.is_empty())
}

/// Adds the types below `dir` that are named so; counts all.
fn look(dir: &Path, wrong: &mut Vec<String>, types: &mut usize) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            look(&path, wrong, types);
        } else if path.extension().is_some_and(|e| e == "rs") {
            for name in std::fs::read_to_string(&path).unwrap().lines().filter_map(defined) {
                *types += 1;
                if is_participle(name) {
                    wrong.push(format!("{}: {name}", path.display()));
                }
            }
        }
    }
}

#[test]
fn no_type_is_named_by_a_bare_participle() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join("crates");
    let (mut wrong, mut types) = (Vec::new(), 0);
    for entry in std::fs::read_dir(&crates).unwrap() {
        look(&entry.unwrap().path().join("src"), &mut wrong, &mut types);
    }
    assert!(types > 2000, "only {types} types were found");
    assert!(wrong.is_empty(), "say what it is, too (`KeptText`):\n{}", wrong.join("\n"));
}

#[test]
fn participles_are_seen() {
    assert_eq!(defined("    pub(super) struct Kept<T> {"), Some("Kept"));
    assert_eq!(defined("pub type Seen<'a> = u8;"), Some("Seen"));
    assert_eq!(defined("let kept = Kept;"), None);
    assert!(is_participle("Kept") && is_participle("Waiting") && is_participle("Listed"));
    assert!(!is_participle("KeptText") && !is_participle("Listing") && !is_participle("Feed"));
}
