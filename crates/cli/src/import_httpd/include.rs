//! Which files an `Include` means.

use std::io;
use std::path::{Path, PathBuf};

use sapwood_core::exact::Exact as _;

use super::words::{fits, is_pattern};

/// Folders within folders.
const MAX_DEPTH: usize = 32;

/// The files that a name means, in httpd's order: one file, all files below a folder, or what a pattern matches, which
/// may stand in each part of the path. None where nothing is there.
///
/// # Errors
/// When a folder cannot be read, or is too deep.
pub(super) fn matching(pattern: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = vec![PathBuf::new()];
    for part in pattern.components() {
        let name = part.as_os_str().to_string_lossy();
        let mut next = Vec::new();
        for base in found {
            if !is_pattern(&name) {
                next.push(base.join(part));
                continue;
            }
            let names = sorted(&base)?.into_iter().filter(|entry| {
                let entry = entry.file_name().map(|n| n.to_string_lossy().into_owned());
                entry.is_some_and(|entry| {
                    fits(&name, &entry) && (!entry.starts_with('.') || name.starts_with('.'))
                })
            });
            next.extend(names);
        }
        found = next;
    }
    let mut files = Vec::new();
    found.iter().try_for_each(|path| add(path, &mut files, 0))?;
    Ok(files)
}

fn add(path: &Path, files: &mut Vec<PathBuf>, depth: usize) -> io::Result<()> {
    if depth > MAX_DEPTH {
        return Err(io::Error::other("there are too many folders within folders"));
    }
    if path.is_dir() {
        return sorted(path)?.iter().try_for_each(|inner| add(inner, files, depth.plus(1)));
    }
    if path.symlink_metadata().is_ok() {
        files.push(path.to_owned());
    }
    Ok(())
}

/// The content of a directory; empty if it does not exist.
fn sorted(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match std::fs::read_dir(folder) {
        Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(Vec::new());
        }
        entries => entries?,
    };
    let mut found = entries.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_folders_and_patterns() {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        for dir in ["a", "b/deep"] {
            std::fs::create_dir_all(at.join(dir)).unwrap();
        }
        for file in
            ["a/2.conf", "a/1.conf", "a/.hidden.conf", "a/x.load", "b/3.conf", "b/deep/4.conf"]
        {
            std::fs::write(at.join(file), "").unwrap();
        }
        let names = |pattern: &str| -> Vec<String> {
            let found = matching(&at.join(pattern)).unwrap();
            found.iter().map(|p| p.strip_prefix(at).unwrap().display().to_string()).collect()
        };
        assert_eq!(names("a/*.conf"), ["a/1.conf", "a/2.conf"]);
        assert_eq!(names("*/[13].conf"), ["a/1.conf", "b/3.conf"]);
        assert_eq!(names("b"), ["b/3.conf", "b/deep/4.conf"]);
        assert_eq!(names("none"), [""; 0]);
    }
}
