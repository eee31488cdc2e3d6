//! Holds the two tables of ARCHITECTURE.md against the manifests: which crate uses which (only
//! downwards), and why each dependency from outside is there.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::panic,
    reason = "a failure is a failed test"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

/// The dependencies of one crate, by section.
#[derive(Default, Debug)]
struct Manifest {
    normal: BTreeSet<String>,
    dev: BTreeSet<String>,
}

/// Reads a manifest as far as we write them: one dependency a line, or `[dependencies.NAME]`.
fn parse(text: &str) -> Manifest {
    let mut manifest = Manifest::default();
    let mut section = String::new();
    for line in text.lines().map(str::trim) {
        if let Some(name) = line.strip_prefix('[').and_then(|l| l.strip_suffix(']')) {
            section = name.to_owned();
            let dotted = [("dependencies.", true), ("dev-dependencies.", false)];
            for (prefix, normal) in dotted {
                if let Some(dependency) = section.strip_prefix(prefix) {
                    let set = if normal { &mut manifest.normal } else { &mut manifest.dev };
                    set.insert(dependency.to_owned());
                }
            }
            continue;
        }
        let name: String =
            line.chars().take_while(|c| c.is_ascii_alphanumeric() || "-_".contains(*c)).collect();
        if name.is_empty() || line.starts_with('#') {
            continue;
        }
        if section == "dependencies" || section == "build-dependencies" {
            manifest.normal.insert(name);
        } else if section == "dev-dependencies" {
            manifest.dev.insert(name);
        } else if section.starts_with("target.") && section.ends_with("dependencies") {
            panic!("the layer test does not know section [{section}]: teach it");
        }
    }
    manifest
}

/// The manifests of all crates of ours, by short name (`core`, not `sapwood-core`).
fn manifests() -> BTreeMap<String, Manifest> {
    let mut found = BTreeMap::new();
    let read = |dir: &Path| parse(&std::fs::read_to_string(dir.join("Cargo.toml")).unwrap());
    for entry in std::fs::read_dir(root().join("crates")).unwrap() {
        let entry = entry.unwrap();
        found.insert(entry.file_name().into_string().unwrap(), read(&entry.path()));
    }
    found.insert("xtask".to_owned(), read(&root().join("xtask")));
    found
}

/// The rows of the table under a heading of ARCHITECTURE.md, cells without backquotes.
fn table(heading: &str) -> Vec<Vec<String>> {
    let text = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let rows: Vec<Vec<String>> = text
        .lines()
        .skip_while(|l| l.trim() != heading)
        .skip(1)
        .take_while(|l| !l.starts_with("## "))
        .filter(|l| l.starts_with("| "))
        .skip(1)
        .map(|l| l.trim_matches('|').split('|').map(|c| c.trim().replace('`', "")).collect())
        .collect();
    assert!(!rows.is_empty(), "ARCHITECTURE.md has no table under {heading:?}");
    rows
}

fn cell(row: &[String], n: usize) -> &str {
    row.get(n).map_or("", String::as_str)
}

fn ours(names: &BTreeSet<String>) -> BTreeSet<String> {
    names.iter().filter_map(|n| n.strip_prefix("sapwood-")).map(str::to_owned).collect()
}

#[test]
fn dependencies_point_downwards_only() {
    let rows = table("## Crates");
    let place: BTreeMap<&str, usize> =
        rows.iter().enumerate().map(|(n, row)| (cell(row, 0), n)).collect();
    let mut wrong = Vec::new();
    for (name, manifest) in manifests() {
        let Some(&own) = place.get(name.as_str()) else {
            wrong.push(format!("`{name}` has no row"));
            continue;
        };
        let used = ours(&manifest.normal);
        let listed: BTreeSet<String> = cell(&rows[own], 2)
            .split(',')
            .map(|c| c.trim().to_owned())
            .filter(|c| !c.is_empty() && c != "-")
            .collect();
        if used != listed {
            let list: Vec<&str> = used.iter().map(String::as_str).collect();
            wrong.push(format!("the row of `{name}` should say: {}", list.join(", ")));
        }
        for dependency in used.iter().chain(&ours(&manifest.dev)) {
            if place.get(dependency.as_str()).is_none_or(|&below| below <= own) {
                wrong.push(format!("`{name}` must not use `{dependency}`, which is not below it"));
            }
        }
        if used.contains("testkit") {
            wrong.push(format!("`{name}` may use `testkit` in tests only"));
        }
    }
    let known = manifests();
    for name in place.keys().filter(|n| !known.contains_key(**n)) {
        wrong.push(format!("there is no crate `{name}`"));
    }
    assert!(wrong.is_empty(), "ARCHITECTURE.md or a manifest is wrong:\n{}", wrong.join("\n"));
}

#[test]
fn every_outside_dependency_has_a_reason() {
    let rows = table("## Dependencies from outside");
    let listed: BTreeSet<String> = rows.iter().map(|r| cell(r, 0).to_owned()).collect();
    let used: BTreeSet<String> = manifests()
        .values()
        .flat_map(|m| m.normal.iter().chain(&m.dev))
        .filter(|n| !n.starts_with("sapwood-"))
        .cloned()
        .collect();
    assert_eq!(used, listed, "left: in the manifests; right: in ARCHITECTURE.md");
    for row in &rows {
        assert!(!cell(row, 1).is_empty(), "{} needs a reason", cell(row, 0));
    }
}

#[test]
fn the_manifest_reader_reads_what_we_write() {
    let manifest = parse(
        "[package]\nname = \"x\"\n[dependencies]\n# note\nsapwood-core.workspace = true\n\
         itoa = \"1\"\n[dependencies.memchr]\nversion = \"2\"\n[dev-dependencies]\ntempfile.workspace = true\n",
    );
    let set = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect::<BTreeSet<_>>();
    assert_eq!(manifest.normal, set(&["sapwood-core", "itoa", "memchr"]));
    assert_eq!(manifest.dev, set(&["tempfile"]));
}

/// The Rust files below a folder.
fn rust_files(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rust_files(&path, found);
        } else if path.extension().is_some_and(|e| e == "rs") {
            found.push(path);
        }
    }
}

/// What is common to protocols, and the interfaces of `ra` and `server` above all, names no codec.
#[test]
fn codecs_stay_with_their_protocol() {
    let places = [
        ("ra", "sapwood_wire_svn", "svn"),
        ("ra", "sapwood_wire_dav", "http"),
        ("server", "sapwood_wire_svn", "svn"),
        ("server", "sapwood_wire_dav", "dav"),
    ];
    let mut wrong = Vec::new();
    for (name, codec, folder) in places {
        let src = root().join("crates").join(name).join("src");
        let (mut files, mut seen) = (Vec::new(), 0);
        rust_files(&src, &mut files);
        for file in files {
            if std::fs::read_to_string(&file).unwrap().contains(codec) {
                seen += 1;
                if !file.starts_with(src.join(folder)) {
                    wrong.push(format!("{} names {codec}", file.display()));
                }
            }
        }
        assert!(seen > 3, "{name} names {codec} in {seen} files only");
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// What several layers speak of has one type, in `core`: a second one of the name would need a conversion, and the two
/// would drift apart.
#[test]
fn values_of_all_layers_are_declared_once() {
    let names = [
        "CommitRequest",
        "Dirent",
        "DirentFields",
        "FileRev",
        "FileRevsRequest",
        "ListRequest",
        "LogEntry",
        "LogRequest",
        "MergeinfoRequest",
        "ReplayRequest",
        "ReportRequest",
        "Segment",
    ];
    let mut places: BTreeMap<&str, Vec<PathBuf>> = names.iter().map(|n| (*n, Vec::new())).collect();
    for entry in std::fs::read_dir(root().join("crates")).unwrap() {
        let mut files = Vec::new();
        rust_files(&entry.unwrap().path().join("src"), &mut files);
        for file in files {
            for line in std::fs::read_to_string(&file).unwrap().lines() {
                let Some(declared) = line.trim_start().strip_prefix("pub struct ") else {
                    continue;
                };
                let end = declared.find(|c: char| !c.is_ascii_alphanumeric());
                if let Some(found) = places.get_mut(&declared[..end.unwrap_or(declared.len())]) {
                    found.push(file.clone());
                }
            }
        }
    }
    let core = root().join("crates/core/src");
    places.retain(|_, found| !matches!(&found[..], [one] if one.starts_with(&core)));
    assert!(places.is_empty(), "not declared once, in core: {places:#?}");
}

/// Above `fs` no program and no protocol knows which engine keeps a repository, nor how its files are called. (Tests that damage
/// a repository do.)
#[test]
fn engines_stay_below_fs() {
    let names = [
        "sapwood_fsfs",
        "sapwood_fsx",
        "fsfs.conf",
        "fsx.conf",
        "db/current",
        "db/format",
        "db/revs",
        "min-unpacked-rev",
        "rep-cache.db",
        "revprop-generation",
        "txn-current",
        "txn-protorevs",
    ];
    let mut wrong = Vec::new();
    for name in ["repos", "server", "ra", "client", "cli"] {
        let mut files = Vec::new();
        rust_files(&root().join("crates").join(name).join("src"), &mut files);
        assert!(files.len() > 20, "{name}");
        for file in files {
            let text = std::fs::read_to_string(&file).unwrap();
            let product = text.split("#[cfg(test)]").next().unwrap_or_default();
            let code = product.lines().filter(|line| !line.trim_start().starts_with("//"));
            for line in code {
                if let Some(found) = names.iter().find(|name| line.contains(**name)) {
                    wrong.push(format!("{} names {found}: {}", file.display(), line.trim()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
