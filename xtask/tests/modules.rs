//! Holds that the modules of the engine and of what it stands on form no circle: each can be read with
//! what it uses, and that ends somewhere.
//!
//! A module is a file or folder directly below `src`; what a folder has inside is its own affair. What
//! counts is each `crate::name` outside comments and unit tests.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a failure is a failed test"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// The crates that this is true of.
const CRATES: [&str; 2] = ["fsfs", "store"];

type Uses = BTreeMap<String, BTreeSet<String>>;

/// The modules that a file names.
fn named(text: &str) -> BTreeSet<String> {
    let code = text.split("#[cfg(test)]\nmod tests").next().unwrap();
    let lines = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    let mut found = BTreeSet::new();
    for line in lines {
        for rest in line.split("crate::").skip(1) {
            // `use crate::{one, other}` would name several: there is none.
            assert!(!rest.starts_with('{'), "one module a line: {line}");
            let name: String =
                rest.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
            found.insert(name);
        }
    }
    found
}

fn read(dir: &Path, module: Option<&str>, uses: &mut Uses) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let stem = path.file_stem().unwrap().to_str().unwrap().to_owned();
        if stem == "tests" {
            continue;
        }
        let own = module.unwrap_or(&stem);
        if path.is_dir() {
            read(&path, Some(own), uses);
        } else if own != "lib" {
            let names = named(&std::fs::read_to_string(&path).unwrap());
            uses.entry(own.to_owned()).or_default().extend(names);
        }
    }
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
    for name in CRATES {
        let mut uses = Uses::new();
        let src = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates").join(name).join("src");
        read(&src, None, &mut uses);
        assert!(uses.len() > 5, "{name}: the walk found only {uses:?}");
        let left = circles(uses);
        assert!(left.is_empty(), "{name} has a circle among: {left:#?}");
    }
}

#[test]
fn a_circle_is_found() {
    let uses = |pairs: &[(&str, &str)]| {
        let mut uses = Uses::new();
        for (name, text) in pairs {
            uses.insert((*name).to_owned(), named(text));
        }
        uses
    };
    let fine =
        [("a", "use crate::b::B;\n"), ("b", "// crate::a\nfn f() { crate::c::g() }"), ("c", "")];
    assert!(circles(uses(&fine)).is_empty());
    let wrong = [("a", "use crate::b::B;"), ("b", "crate::c::g()"), ("c", "use crate::a::A;")];
    assert_eq!(circles(uses(&wrong)).len(), 3);
}
