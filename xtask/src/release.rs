//! `cargo xtask release`: all files of a release, in `target/release-VERSION`: the Debian package, the program as an archive,
//! the source, the container file, what changed, and checksums.
//!
//! Invariant: a release is made of a commit: nothing that is not committed gets in, and the same commit gives the same
//! archives of source and documents.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::dist;
use crate::steps::target;

/// Makes the files.
pub(crate) fn release(args: &[String]) -> Result<(), String> {
    let machine = match args {
        [] => None,
        [flag, triple] if flag == "--target" => Some(dist::Machine::named(triple)?),
        _ => return Err("usage: cargo xtask release [--target TRIPLE]".to_owned()),
    };
    let version = env!("CARGO_PKG_VERSION");
    let root = dist::root();
    let changes =
        fs::read_to_string(root.join("CHANGELOG.md")).map_err(|e| format!("CHANGELOG.md: {e}"))?;
    let changes = section(&changes, version)
        .ok_or_else(|| format!("CHANGELOG.md has no section '## {version}'"))?;
    let status = dist::run(Command::new("git").current_dir(&root).args(["status", "--porcelain"]))?;
    if !status.is_empty() {
        let files = String::from_utf8_lossy(&status).into_owned();
        return Err(format!("a release is made of a commit; these are not committed:\n{files}"));
    }
    let made = dist::build("release", machine)?;
    let of_machine = machine.map_or(String::new(), |_| format!("-{}", made.architecture));
    let out = target()?.join(format!("release-{version}{of_machine}"));
    let _ = fs::remove_dir_all(&out);
    fs::create_dir_all(&out).map_err(|e| dist::at(&out, &e))?;
    for file in [&made.package, &made.container] {
        dist::copy(file, &out.join(file.file_name().unwrap_or_default()), 0o644)?;
    }
    let name = format!("sapwood-{version}-linux-{}", made.architecture);
    program(&made.tree, &out, &name)?;
    let prefix = format!("--prefix=sapwood-{version}/");
    let source = out.join(format!("sapwood-{version}.tar.gz"));
    let archive = ["archive", "--format=tar.gz", &prefix, "-o"];
    dist::run(Command::new("git").current_dir(&root).args(archive).arg(&source).arg("HEAD"))?;
    dist::write(&out.join("CHANGES.md"), changes, 0o644)?;
    checksums(&out)?;
    eprintln!("xtask: {}", out.display());
    Ok(())
}

/// The archive for machines without `dpkg`: the program, its pages, its documents and the units.
fn program(tree: &Path, out: &Path, name: &str) -> Result<(), String> {
    let folder = out.join(name);
    for (from, to) in [
        ("usr/bin/sapwood", "bin/sapwood"),
        ("usr/lib/sapwood/man", "share/man"),
        ("usr/share/man", "share/man"),
        ("usr/share/sapwood", "share/sapwood"),
        ("usr/share/doc/sapwood", "share/doc/sapwood"),
        ("usr/lib/systemd/system", "share/systemd"),
    ] {
        let (from, to) = (tree.join(from), folder.join(to));
        let parent = to.parent().unwrap_or(&to);
        fs::create_dir_all(parent).map_err(|e| dist::at(parent, &e))?;
        let mut copy = Command::new("cp");
        dist::run(copy.arg("-rT").arg(&from).arg(&to))?;
    }
    let mut pack = Command::new("tar");
    pack.current_dir(out).args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner"]);
    pack.arg(format!("--mtime=@{}", dist::last_commit())).env("GZIP", "-n");
    dist::run(pack.arg("-czf").arg(format!("{name}.tar.gz")).arg(name))?;
    fs::remove_dir_all(&folder).map_err(|e| dist::at(&folder, &e))
}

/// `SHA256SUMS`, which `sha256sum -c` checks.
fn checksums(out: &Path) -> Result<(), String> {
    let entries = fs::read_dir(out).map_err(|e| dist::at(out, &e))?;
    let mut names: Vec<PathBuf> =
        entries.flatten().filter_map(|entry| entry.path().file_name().map(PathBuf::from)).collect();
    names.sort();
    let sums = dist::run(Command::new("sha256sum").current_dir(out).args(&names))?;
    dist::write(&out.join("SHA256SUMS"), &String::from_utf8_lossy(&sums), 0o644)
}

/// What the changelog says of a version.
fn section<'c>(changelog: &'c str, version: &str) -> Option<&'c str> {
    let heading = format!("\n## {version}");
    let (_, rest) = changelog.split_once(&heading)?;
    let rest = rest
        .strip_prefix('\n')
        .or_else(|| rest.strip_prefix(" (")?.split_once(")\n").map(|p| p.1))?;
    let text = rest.split("\n## ").next().unwrap_or(rest).trim();
    (!text.is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_section_of_a_version() {
        let log = "# Changelog\n\n## Unreleased\n\n- x\n\n## 0.2.0 (2026-11-27)\n\n- a\n\n### More\n\n- b\n\n\
                   ## 0.1.0\n\n- c\n\n## 0.0.9\n";
        assert_eq!(section(log, "0.2.0"), Some("- a\n\n### More\n\n- b"));
        assert_eq!(section(log, "0.1.0"), Some("- c"));
        assert_eq!(
            (section(log, "0.2"), section(log, "0.0.9"), section(log, "1")),
            (None, None, None)
        );
    }

    #[test]
    fn the_changelog_has_this_version() {
        let log = fs::read_to_string(dist::root().join("CHANGELOG.md")).unwrap();
        let version = env!("CARGO_PKG_VERSION");
        let text = section(&log, version).unwrap_or_else(|| panic!("no section of {version}"));
        let lines = text.lines().filter(|line| line.starts_with("- ")).count();
        assert!((1..=40).contains(&lines), "{lines} lines");
    }
}
