//! What the packages that the program is made of may be: their licences, and which may be there twice.
//!
//! `cargo tree` says what is linked in; `deny.toml` holds the same lists for `cargo deny`, which also knows
//! advisories, but takes minutes to build; `tools/advisories.py` looks those up in a clone of the RustSec database. Invariant: a package
//! with a licence that is not listed, a second version of a package, or one that is not from the registry of Rust, fails the check until
//! it is listed here with a reason.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use crate::steps::cargo_output;

/// The licences that a package may have; of alternatives one is enough.
const ALLOWED: [&str; 8] =
    ["0BSD", "Apache-2.0", "MIT", "ISC", "BSD-3-Clause", "Zlib", "Unicode-3.0", "Unlicense"];

/// Packages that may be there in two versions, and why.
const TWICE: [(&str, &str); 14] = [
    ("base64", "`instant-acme` is made with the older one"),
    ("bitflags", "`nix` of the feature `secret-service` is made with the older one"),
    ("crypto-common", "comes with `digest`"),
    ("digest", "`object_store` of the feature `s3` has the older one, by `crc-fast`"),
    ("quick-xml", "`object_store` of the feature `s3` is made with the older one"),
    ("thiserror", "`rustbus` of the feature `secret-service` is made with the older one"),
    ("thiserror-impl", "comes with `thiserror`"),
    ("fallible-iterator", "`postgres` has the older one, `rusqlite` the newer"),
    ("getrandom", "`ring` is made with the older one"),
    ("itertools", "`object_store` of the feature `s3` has the newer one, `bindgen` the older"),
    ("nom", "`ldap3` and `x509-parser` have the seventh, `lettre` the eighth"),
    ("shlex", "`bindgen`, which builds for the feature `kerberos`, has the older one"),
    ("syn", "macros are moving from the second to the third; none of it is in the program"),
    ("synstructure", "comes with `syn`"),
];

/// A package: name, version, licence.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Package {
    name: String,
    version: String,
    licence: String,
}

/// The check.
pub(crate) fn check() -> Result<(), String> {
    let packages = packages(&["--workspace", "--all-features"])?;
    let lock = crate::dist::root().join("Cargo.lock");
    let lock = fs::read_to_string(&lock).map_err(|e| crate::dist::at(&lock, &e))?;
    let mut faults = faults(&packages);
    faults.extend(strangers(&lock).into_iter().map(|from| format!("a package is from {from}")));
    if faults.is_empty() {
        eprintln!("xtask: licences of {} packages are as listed", packages.len());
        return Ok(());
    }
    Err(format!("see xtask/src/licences.rs: {}", faults.join("; ")))
}

/// What is wrong with packages.
fn faults(packages: &BTreeSet<Package>) -> Vec<String> {
    let mut versions: BTreeMap<&str, usize> = BTreeMap::new();
    let mut faults = Vec::new();
    for package in packages {
        *versions.entry(&package.name).or_default() += 1;
        if !is_allowed(&package.licence) {
            faults.push(format!("{} has the licence '{}'", package.name, package.licence));
        }
    }
    for (name, count) in versions {
        if count > 1 && !TWICE.iter().any(|(twice, _)| *twice == name) {
            faults.push(format!("{name} is there in {count} versions"));
        }
    }
    faults
}

/// Where packages are from, if it is not the registry of Rust.
fn strangers(lock: &str) -> Vec<&str> {
    const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";
    let sources = lock.lines().filter_map(|line| line.strip_prefix("source = "));
    sources.map(|source| source.trim_matches('"')).filter(|source| *source != REGISTRY).collect()
}

/// Whether an SPDX expression can be met with the licences that are allowed. `AND` has groups of
/// alternatives on its sides, as in all packages so far; `/` is the older way to write `OR`.
fn is_allowed(expression: &str) -> bool {
    expression.split(" AND ").all(|group| {
        let group = group.trim_matches(['(', ')']).replace('/', " OR ");
        group.split(" OR ").any(|licence| ALLOWED.contains(&licence.trim()))
    })
}

/// The packages that `cargo tree` lists, without this workspace's own.
fn packages(options: &[&str]) -> Result<BTreeSet<Package>, String> {
    let fixed = ["tree", "--locked", "--edges=normal,build", "--prefix=none", "--format={p}\t{l}"];
    Ok(parsed(&cargo_output(&[fixed.as_slice(), options].concat())?))
}

/// The packages of lines `name vVERSION (more)<tab>LICENCE`.
fn parsed(tree: &str) -> BTreeSet<Package> {
    let package = |line: &str| {
        let (package, licence) = line.split_once('\t')?;
        let mut words = package.split(' ');
        let (name, version) = (words.next()?, words.next()?.strip_prefix('v')?);
        let is_own = name == "xtask" || name.starts_with("sapwood-");
        // A package that was listed above is marked so.
        let licence = licence.trim_end_matches(" (*)");
        let owned = (name.to_owned(), version.to_owned(), licence.to_owned());
        (!is_own).then_some(Package { name: owned.0, version: owned.1, licence: owned.2 })
    };
    tree.lines().filter_map(package).collect()
}

/// The page of a package of ours: what is linked into the program, with the texts of the licences.
pub(crate) fn page() -> Result<String, String> {
    let packages = packages(&["--package=sapwood-cli", "--features=sapwood-cli/s3"])?;
    let metadata = cargo_output(&["metadata", "--format-version=1", "--locked"])?;
    let folders = folders(&metadata);
    let mut page = "The program contains these packages, under these licences.\n\n".to_owned();
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for package in &packages {
        let title = format!("{}-{}", package.name, package.version);
        let _ = writeln!(page, "{} {}: {}", package.name, package.version, package.licence);
        let folder = folders.iter().find(|f| f.file_name().is_some_and(|n| *n == *title));
        for text in folder.map_or_else(Vec::new, |folder| licence_texts(folder)) {
            texts.entry(text).or_default().push(title.clone());
        }
    }
    for (text, whose) in texts {
        let _ = write!(page, "\n{}\nOf {}:\n\n{}\n", "-".repeat(78), whose.join(", "), text.trim());
    }
    Ok(page)
}

/// The folders of all packages, as `cargo metadata` names their manifests.
fn folders(metadata: &str) -> Vec<PathBuf> {
    let manifests = metadata.split("\"manifest_path\":\"").skip(1);
    let paths = manifests.filter_map(|rest| rest.split('"').next());
    paths.filter_map(|path| Path::new(path).parent().map(Path::to_owned)).collect()
}

/// The files of a package that hold its licence.
fn licence_texts(folder: &Path) -> Vec<String> {
    let is_one = |path: &PathBuf| {
        let name = path.file_name().map(|n| n.to_string_lossy().to_uppercase());
        name.is_some_and(|n| {
            ["LICENSE", "LICENCE", "COPYING", "NOTICE"].iter().any(|w| n.starts_with(w))
        })
    };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> = entries.filter(is_one).collect();
    files.sort();
    files.iter().filter_map(|file| fs::read_to_string(file).ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions() {
        for good in [
            "MIT",
            "MIT OR Apache-2.0 OR LGPL-2.1-or-later",
            "MIT/Apache-2.0",
            "(MIT OR Apache-2.0) AND Unicode-3.0",
            "Apache-2.0 WITH LLVM-exception OR Apache-2.0 OR MIT",
        ] {
            assert!(is_allowed(good), "{good}");
        }
        for bad in ["", "GPL-3.0", "LGPL-2.1-or-later", "MIT AND GPL-2.0", "Apache-2.0 WITH X"] {
            assert!(!is_allowed(bad), "{bad}");
        }
    }

    #[test]
    fn faults_are_found() {
        let tree = "sapwood-cli v0.1.0 (/x)\tApache-2.0\na v1.0.0\tMIT\na v1.0.0\tMIT (*)\nb v2.0.0\tGPL-3.0\nc v1.0.0 (proc-macro)\tMIT\nc v2.0.0\tMIT\n";
        let packages = parsed(tree);
        assert_eq!(packages.len(), 4);
        let wanted = ["b has the licence 'GPL-3.0'", "c is there in 2 versions"];
        assert_eq!(faults(&packages), wanted);
        let lock = "source = \"registry+https://github.com/rust-lang/crates.io-index\"\nsource = \"git+https://x\"\n";
        assert_eq!(strangers(lock), ["git+https://x"]);
    }

    /// `cargo deny` is told the same.
    #[test]
    fn deny_toml_has_the_same_lists() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let text = fs::read_to_string(root.join("deny.toml")).unwrap();
        let quoted = |section: &str| {
            let list = text.split_once(section).unwrap().1.split_once(']').unwrap().0;
            list.split('"').skip(1).step_by(2).map(str::to_owned).collect::<BTreeSet<_>>()
        };
        let owned = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect::<BTreeSet<_>>();
        assert_eq!(quoted("\nallow = ["), owned(&ALLOWED));
        assert_eq!(quoted("\nskip = ["), owned(&TWICE.map(|(name, _)| name)));
    }
}
