//! Holds that the modules of a crate form no circle: each can be read with
//! what it uses, and that ends somewhere.
//!
//! A module is a file or folder directly below `src`; what counts is each `crate::name` outside comments and
//! unit tests. The same holds inside of each folder: there, what counts is each neighbour that a file names, by
//! `super::name` or by what the folder's own file takes out of it. The types that a folder's own file has are common to
//! all in it.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a failure is a failed test"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The crates within whose folders the modules form no circle.
const FOLDERS_OF: [&str; 10] =
    ["bench", "cli", "client", "core", "fsfs", "ra", "repos", "server", "store", "wc"];

fn crates() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates")
}

type Uses = BTreeMap<String, BTreeSet<String>>;

/// A file without comments and unit tests.
fn code_of(text: &str) -> String {
    let code = text.split("#[cfg(test)]\nmod tests").next().unwrap();
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    lines.collect::<Vec<_>>().join("\n")
}

/// The modules that a file names. `of` says which of them has a name that the crate's root hands on.
fn named(text: &str, of: &BTreeMap<String, String>) -> BTreeSet<String> {
    let code = code_of(text);
    let names =
        code.match_indices("crate::").flat_map(|(at, word)| names_at(&code[at + word.len()..]));
    names.map(|name| of.get(&name).cloned().unwrap_or(name)).collect()
}

fn read(dir: &Path, module: Option<&str>, of: &BTreeMap<String, String>, uses: &mut Uses) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let stem = path.file_stem().unwrap().to_str().unwrap().to_owned();
        if stem == "tests" {
            continue;
        }
        let own = module.unwrap_or(&stem);
        if path.is_dir() {
            read(&path, Some(own), of, uses);
        } else if own != "lib" && own != "main" {
            let names = named(&std::fs::read_to_string(&path).unwrap(), of);
            uses.entry(own.to_owned()).or_default().extend(names);
        }
    }
}

/// The word that a text begins with.
fn first_word(text: &str) -> String {
    text.trim_start().chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect()
}

/// What is named where `text` begins: one name, or those between braces, each by its first part.
fn names_at(text: &str) -> Vec<String> {
    let Some(inside) = text.strip_prefix('{') else { return vec![first_word(text)] };
    let (mut depth, mut parts) = (0, vec![String::new()]);
    for c in inside.chars() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => parts.push(String::new()),
            _ => {}
        }
        parts.last_mut().unwrap().push(c);
    }
    parts.iter().map(|part| first_word(part.trim_start_matches(','))).collect()
}

/// The neighbours that a file of a folder names. `of` says which of them has a name that the folder takes out of it.
fn neighbours(text: &str, prefixes: &[String], of: &BTreeMap<String, String>) -> BTreeSet<String> {
    let code = code_of(text);
    let mut found = BTreeSet::new();
    for prefix in prefixes {
        for (at, _) in code.match_indices(prefix.as_str()) {
            if code[..at].ends_with("super::") {
                continue;
            }
            let names = names_at(&code[at + prefix.len()..]);
            found.extend(names.into_iter().map(|name| of.get(&name).cloned().unwrap_or(name)));
        }
    }
    found
}

/// What the file of a folder takes out of which module in it.
fn taken_out(own: &str, modules: &BTreeSet<String>) -> BTreeMap<String, String> {
    let code = code_of(own);
    let mut of = BTreeMap::new();
    for (at, _) in code.match_indices("use ") {
        let rest = code[at + 4..].trim_start_matches("self::");
        let module = first_word(rest);
        if modules.contains(&module)
            && let Some(rest) = rest[module.len()..].strip_prefix("::")
        {
            of.extend(names_at(rest).into_iter().map(|name| (name, module.clone())));
        }
    }
    of
}

/// Who names whom in each folder below `dir`, which is `path` in its crate.
fn inside(dir: &Path, path: &str, folders: &mut BTreeMap<String, Uses>) {
    let mut texts = BTreeMap::new();
    for entry in std::fs::read_dir(dir).unwrap() {
        let entry = entry.unwrap().path();
        let stem = entry.file_stem().unwrap().to_str().unwrap().to_owned();
        if stem == "tests" {
            continue;
        }
        if entry.is_dir() {
            inside(&entry, &format!("{path}::{stem}"), folders);
            texts.entry(stem).or_default();
        } else if entry.extension().is_some_and(|e| e == "rs") {
            texts.insert(stem, std::fs::read_to_string(&entry).unwrap());
        }
    }
    if path == "crate" {
        return;
    }
    let own = texts.remove("mod");
    let own = own.or_else(|| std::fs::read_to_string(dir.with_extension("rs")).ok());
    let Some(own) = own else { return };
    let modules = texts.keys().cloned().collect();
    let of = taken_out(&own, &modules);
    let prefixes = ["super::".to_owned(), format!("{path}::")];
    let uses = texts.iter().map(|(name, text)| (name.clone(), neighbours(text, &prefixes, &of)));
    folders.insert(path.to_owned(), uses.collect());
}

/// Takes away modules that use none of those left, until no more can go.
fn circles(mut uses: Uses) -> Uses {
    loop {
        let names: BTreeSet<String> = uses.keys().cloned().collect();
        for (name, used) in &mut uses {
            used.retain(|other| other != name && names.contains(other));
        }
        let before = uses.len();
        uses.retain(|_, used| !used.is_empty());
        if uses.len() == before {
            return uses;
        }
    }
}

#[test]
fn modules_form_no_circle() {
    let mut seen = 0;
    for entry in std::fs::read_dir(crates()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let mut uses = Uses::new();
        let src = crates().join(&name).join("src");
        let root =
            ["lib.rs", "main.rs"].map(|file| src.join(file)).into_iter().find(|file| file.exists());
        let lib = std::fs::read_to_string(root.expect("a root file")).unwrap();
        read(&src, None, &BTreeMap::new(), &mut uses);
        let modules = std::mem::take(&mut uses).into_keys().collect();
        read(&src, None, &taken_out(&lib, &modules), &mut uses);
        seen += uses.len();
        let left = circles(uses);
        assert!(left.is_empty(), "{name} has a circle among: {left:#?}");
    }
    assert!(seen > 600, "the walk found only {seen} modules");
}

#[test]
fn folders_form_no_circle() {
    let mut seen = 0;
    for name in FOLDERS_OF {
        let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates").join(name).join("src");
        let mut folders = BTreeMap::new();
        inside(&src, "crate", &mut folders);
        seen += folders.len();
        for (folder, uses) in folders {
            let left = circles(uses);
            assert!(left.is_empty(), "{folder} of {name} has a circle among: {left:#?}");
        }
    }
    assert!(seen > 8, "the walk found only {seen} folders");
}

/// Adds each line of code below `dir` that names one of `modules` of its crate.
fn namings(dir: &Path, modules: &[&str], hits: &mut Vec<String>, files: &mut usize) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            namings(&path, modules, hits, files);
        } else {
            namings_in(&path, modules, hits);
            *files += 1;
        }
    }
}

/// Adds each line of code of a file that names one of `modules` of its crate.
fn namings_in(path: &Path, modules: &[&str], hits: &mut Vec<String>) {
    let code = code_of(&std::fs::read_to_string(path).unwrap());
    let names_one = |line: &&str| {
        let after = ["crate::", "super::"].into_iter().flat_map(|p| line.split(p).skip(1));
        after.flat_map(names_at).any(|name| modules.contains(&&*name))
    };
    let at = path.display();
    hits.extend(code.lines().filter(names_one).map(|line| format!("{at}: {line}")));
}

#[test]
fn what_protocols_share_names_none() {
    let server = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/server/src");
    let folders = std::fs::read_dir(&server).unwrap().map(|entry| entry.unwrap().path());
    let folders = folders.filter(|path| path.is_dir() && !path.ends_with("common"));
    let protocols: Vec<_> =
        folders.map(|path| path.file_name().unwrap().to_str().unwrap().to_owned()).collect();
    let protocols: Vec<_> = protocols.iter().map(String::as_str).collect();
    assert!(protocols.contains(&"dav") && protocols.contains(&"svn"), "{protocols:?}");
    let (mut hits, mut files) = (Vec::new(), 0);
    namings(&server.join("common"), &protocols, &mut hits, &mut files);
    assert!(files > 10, "the walk found only {files} files");
    assert!(hits.is_empty(), "server/src/common names a protocol: {hits:#?}");
    // The walk sees what it looks for.
    namings(&server.join("dav"), &["common"], &mut hits, &mut files);
    assert!(!hits.is_empty());
}

/// What all programs of `cli` stand on: a file or folder directly in `src` that is neither a program, nor the table of
/// them, nor `main`.
#[test]
fn what_programs_share_names_none() {
    let cli = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/cli/src");
    let table = std::fs::read_to_string(cli.join("programs.rs")).unwrap();
    let programs: BTreeSet<String> = table
        .split("run: crate::")
        .skip(1)
        .map(first_word)
        .filter(|word| !word.is_empty())
        .collect();
    let programs: Vec<_> = programs.iter().map(String::as_str).collect();
    assert!(programs.contains(&"svn") && programs.contains(&"svnadmin"), "{programs:?}");
    let (mut hits, mut files) = (Vec::new(), 0);
    for entry in std::fs::read_dir(&cli).unwrap() {
        let path = entry.unwrap().path();
        let stem = path.file_stem().unwrap().to_str().unwrap();
        if programs.contains(&stem) || ["main", "programs"].contains(&stem) {
            continue;
        }
        if path.is_dir() {
            namings(&path, &programs, &mut hits, &mut files);
        } else {
            namings_in(&path, &programs, &mut hits);
            files += 1;
        }
    }
    assert!(files > 30, "the walk found only {files} files");
    assert!(hits.is_empty(), "a file that programs share names a program: {hits:#?}");
    // The walk sees what it looks for.
    namings_in(&cli.join("programs.rs"), &programs, &mut hits);
    assert!(hits.len() >= programs.len());
}

/// What asks the system about a terminal, or changes it.
const TERMINAL: [&str; 6] =
    ["tcgetwinsize", "tcgetattr", "tcsetattr", "is_terminal()", "isatty", "NO_COLOR"];

/// Adds each line of code below `dir` that has one of [`TERMINAL`].
fn terminal_uses(dir: &Path, hits: &mut BTreeMap<String, Vec<String>>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            terminal_uses(&path, hits);
            continue;
        }
        let code = code_of(&std::fs::read_to_string(&path).unwrap());
        let lines = code.lines().filter(|line| TERMINAL.iter().any(|word| line.contains(word)));
        let lines: Vec<_> = lines.map(str::to_owned).collect();
        if !lines.is_empty() {
            hits.insert(path.display().to_string(), lines);
        }
    }
}

#[test]
fn the_terminal_is_in_one_place() {
    let cli = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/cli/src");
    let mut hits = BTreeMap::new();
    terminal_uses(&cli, &mut hits);
    let (inside, outside): (BTreeMap<_, _>, BTreeMap<_, _>) =
        hits.into_iter().partition(|(path, _)| {
            path.contains("/cli/src/terminal") || path.contains("/cli/src/hidden_typing")
        });
    assert!(inside.len() == 2, "{inside:#?}");
    assert!(outside.is_empty(), "use cli/src/terminal.rs or hidden_typing.rs: {outside:#?}");
}

#[test]
fn a_circle_in_a_folder_is_found() {
    let own = "mod a;\nmod b;\npub use self::b::{B, C as D};\nuse a::A;\nstruct Own;\n";
    let of = taken_out(own, &["a".to_owned(), "b".to_owned()].into());
    let uses = |pairs: &[(&str, &str)]| -> Uses {
        let prefixes = ["super::".to_owned(), "crate::f::".to_owned()];
        let one =
            |(name, text): &(&str, &str)| ((*name).to_owned(), neighbours(text, &prefixes, &of));
        pairs.iter().map(one).collect()
    };
    let fine =
        [("a", "use super::{Own, b::{X, Y}};\nuse super::super::a;"), ("b", "use super::Own;")];
    assert!(circles(uses(&fine)).is_empty());
    for back in ["use super::{Own, a};", "use super::A;", "crate::f::a::go()"] {
        assert_eq!(circles(uses(&[("a", "use super::{Own, B};"), ("b", back)])).len(), 2, "{back}");
    }
}

#[test]
fn a_circle_is_found() {
    let uses = |pairs: &[(&str, &str)]| {
        let mut uses = Uses::new();
        for (name, text) in pairs {
            uses.insert((*name).to_owned(), named(text, &BTreeMap::new()));
        }
        uses
    };
    let fine =
        [("a", "use crate::b::B;\n"), ("b", "// crate::a\nfn f() { crate::c::g() }"), ("c", "")];
    assert!(circles(uses(&fine)).is_empty());
    let wrong = [("a", "use crate::b::B;"), ("b", "crate::c::g()"), ("c", "use crate::a::A;")];
    assert_eq!(circles(uses(&wrong)).len(), 3);
}
