//! Holds how much of the product may go on in silence where something does not fit: each
//! `unwrap_or_default` and each `saturating_*` is either meant, or hides a slip of ours.
//!
//! The numbers can only fall. What fits unless there is a slip says so with `sapwood_core::exact` (`plus`,
//! `minus`, `tail`, `piece`: heard in debug builds), or fails with `SvnError::internal`; numbers for people
//! are added up with `tally`; an empty text that stands for "none" is written `unwrap_or("")`.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a failure is a failed test"
)]

use std::path::Path;

/// For each crate: `unwrap_or_default`, and `saturating_*`, outside comments and unit tests.
const MOST: [(&str, usize, usize); 40] = [
    ("accounts", 2, 3),
    ("acme", 0, 1),
    ("backup", 0, 0),
    ("bench", 5, 16),
    ("block-cache", 0, 0),
    ("cli", 25, 26),
    ("client", 24, 39),
    ("core", 11, 9),
    ("delta", 4, 16),
    ("diff", 19, 22),
    ("fs", 0, 0),
    ("fs-common", 0, 8),
    ("fsfs", 19, 140),
    ("fsfs-format", 11, 40),
    ("fsx", 10, 33),
    ("fsx-format", 12, 14),
    ("kerberos", 0, 0),
    ("ldap", 0, 4),
    ("notify", 0, 1),
    ("objects", 0, 0),
    ("objects-postgres", 0, 0),
    ("objects-s3", 0, 0),
    ("oidc", 0, 2),
    ("peers", 0, 2),
    ("ra", 13, 4),
    ("repo-log", 0, 0),
    ("repo-transfer", 0, 0),
    ("repos", 7, 45),
    ("rules", 1, 7),
    ("search", 0, 1),
    ("server", 0, 30),
    ("store", 3, 16),
    ("testkit", 8, 3),
    ("tls-client", 0, 0),
    ("txn-rules", 1, 15),
    ("watch", 0, 2),
    ("wc", 20, 17),
    ("web", 0, 8),
    ("wire-dav", 2, 1),
    ("wire-svn", 1, 3),
];

/// How often `word` is in the code of the files below `dir`.
fn count(dir: &Path, word: &str) -> usize {
    let mut sum = 0;
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sum += if path.ends_with("tests") { 0 } else { count(&path, word) };
        } else if path.extension().is_some_and(|e| e == "rs") && !path.ends_with("tests.rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            let code = text.split("#[cfg(test)]").next().unwrap();
            let code = code.lines().map(|line| line.split("//").next().unwrap());
            sum += code.map(|line| line.matches(word).count()).sum::<usize>();
        }
    }
    sum
}

#[test]
fn silence_becomes_rarer() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates");
    let mut wrong = Vec::new();
    let mut seen = 0;
    for entry in std::fs::read_dir(&crates).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let src = crates.join(&name).join("src");
        let found = (count(&src, "unwrap_or_default"), count(&src, "saturating_"));
        seen += found.0 + found.1;
        let row = MOST.iter().find(|(row, ..)| *row == name);
        let Some((_, defaults, saturating)) = row else {
            wrong.push(format!("{name} has no row: (\"{name}\", {}, {})", found.0, found.1));
            continue;
        };
        for (what, found, most) in
            [("unwrap_or_default", found.0, *defaults), ("saturating_", found.1, *saturating)]
        {
            if found > most {
                wrong.push(format!("{name}: {found} times `{what}`, and {most} are allowed"));
            } else if found + SLACK < most {
                wrong.push(format!("{name}: only {found} times `{what}`: lower the {most}"));
            }
        }
    }
    assert!(seen > 100, "only {seen} were found");
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// So much may a number be below its row before the row has to follow: two changes that land beside
/// each other need not both write it.
const SLACK: usize = 5;

/// The crates in which a conversion may still put the largest number in place of one that does not fit, without a name
/// for it (`len64`, `clamped`, `signed`, `millis` of `sapwood_core::exact`), how often, and why.
const UNNAMED: [(&str, usize); 3] = [
    // Now in microseconds, from a number of 128 bits: the only place with these two types.
    ("cli", 1),
    // The definitions of the four names.
    ("core", 4),
    // It does without `sapwood_core`: one length of its own.
    ("watch", 1),
];

#[test]
fn conversions_that_do_not_fit_have_names() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates");
    let mut wrong = Vec::new();
    for entry in std::fs::read_dir(&crates).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let types = ["u64", "usize", "i64"];
        let found: usize = types
            .iter()
            .map(|of| {
                count_lines(
                    &crates.join(&name).join("src"),
                    &format!("{of}::try_from("),
                    &format!(".unwrap_or({of}::MAX)"),
                )
            })
            .sum();
        let most = UNNAMED.iter().find(|(row, _)| *row == name).map_or(0, |(_, most)| *most);
        if found > most || found + SLACK < most {
            wrong.push(format!("{name}: {found} conversions, and the row has {most}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// How many lines of code below `dir` have both words.
fn count_lines(dir: &Path, one: &str, other: &str) -> usize {
    let mut sum = 0;
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sum += if path.ends_with("tests") { 0 } else { count_lines(&path, one, other) };
        } else if path.extension().is_some_and(|e| e == "rs") && !path.ends_with("tests.rs") {
            let text = std::fs::read_to_string(&path).unwrap();
            let code = text.split("#[cfg(test)]").next().unwrap();
            let code = code.lines().map(|line| line.split("//").next().unwrap());
            sum += code.filter(|line| line.contains(one) && line.contains(other)).count();
        }
    }
    sum
}

/// How a place asks for the number of an error itself.
const ASKS: [&str; 5] =
    [".code() ==", ".code() !=", "contains(&error.code())", "contains(&e.code())", ".has_code("];

/// The crates above `fsfs`, and how many places there ask so: each is the only one with its question.
const NUMBERS: [(&str, usize); 7] =
    [("bench", 0), ("cli", 26), ("client", 18), ("ra", 7), ("repos", 0), ("server", 4), ("wc", 1)];

#[test]
fn numbers_of_errors_have_names() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates");
    let mut wrong = Vec::new();
    for (name, most) in NUMBERS {
        let src = crates.join(name).join("src");
        let found: usize = ASKS.iter().map(|ask| count(&src, ask)).sum();
        if found > most || found + SLACK < most {
            wrong.push(format!("{name}: {found} places ask for a number, and the row has {most}"));
        }
    }
    assert!(wrong.is_empty(), "give the question a name in core/src/error/meaning.rs: {wrong:#?}");
}
