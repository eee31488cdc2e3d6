//! Removes the files of old formats.
//!
//! The `entries` file of a directory is removed last: it names the directories below, so that the
//! remains of a killed process can still be found. Only administrative directories are touched, and
//! symbolic links to them are not followed.

use std::fs;
use std::path::{Path, PathBuf};

use super::read::{entries, is_missing};
use crate::db::Kind;
use crate::error::{Error, Result};
use crate::fan_out::over;
use crate::files;
use crate::layout;
use crate::pristine::remove_file;

/// Files of programs before 1.7, below the administrative folder.
const OLD_FILES: [&str; 10] = [
    "format",
    "entries",
    "empty-file",
    "README.txt",
    "dir-wcprops",
    "all-wcprops",
    "dir-props",
    "dir-prop-base",
    "dir-prop-revert",
    "lock",
];
/// And folders.
const OLD_FOLDERS: [&str; 4] = ["wcprops", "text-base", "props", "prop-base"];

/// Removes the old files in the administrative directory of a root. A file that cannot be removed
/// does no harm.
pub(super) fn wipe_root(root: &Path) {
    for name in OLD_FILES {
        let _none = fs::remove_file(layout::adm(root).join(name));
    }
    for name in OLD_FOLDERS {
        let _none = fs::remove_dir_all(layout::adm(root).join(name));
    }
}

/// A directory whose administrative directory is removed.
#[derive(Debug)]
struct Old {
    path: PathBuf,
    /// Whether the directory goes too, if nothing is in it: it is deleted, and no user wanted to keep it.
    deleted: bool,
}

/// Ends an upgrade: removes the administrative directories below a root that its old entries name, and the
/// old files in the root's own. Several threads remove those at the same depth.
///
/// # Errors
/// That a folder cannot be removed.
pub(crate) fn wipe_directories(root: &Path) -> Result<()> {
    let mut levels: Vec<Vec<Old>> = Vec::new();
    let mut todo = vec![root.to_owned()];
    while !todo.is_empty() {
        let (level, below): (Vec<_>, Vec<_>) =
            over(&todo, |path, _, found| found.extend(look(path))).into_iter().unzip();
        levels.push(level);
        todo = below.into_iter().flatten().collect();
    }
    // Parents come after their children.
    for level in levels.iter().skip(1).rev() {
        let failed = over(level, |old, _, failed| {
            failed.extend(remove_adm(&old.path).err());
            if old.deleted {
                let _full = fs::remove_dir(&old.path);
            }
        });
        failed.into_iter().next().map_or(Ok(()), Err)?;
    }
    wipe_root(root);
    Ok(())
}

/// An old directory, and those directly below it. `None` for a directory that is not an old one, or was
/// handled already.
fn look(path: &Path) -> Option<(Old, Vec<PathBuf>)> {
    let old = entries(path).ok()?;
    let mut below = Vec::new();
    for child in &old.children {
        let hidden = child.kind != Kind::Dir || child.is_hidden().unwrap_or(true);
        let at = path.join(&child.name);
        if !hidden && is_old_directory(&at) {
            below.push(at);
        }
    }
    let deleted = old.this.schedule == super::entry::Schedule::Delete && !old.this.keep_local;
    Some((Old { path: path.to_owned(), deleted }, below))
}

/// Whether a directory is one of an old working copy, and not another one's root.
pub(super) fn is_old_directory(path: &Path) -> bool {
    let is_dir = |path: &Path| path.symlink_metadata().is_ok_and(|found| found.is_dir());
    is_dir(path) && is_dir(&layout::adm(path)) && fs::symlink_metadata(layout::db(path)).is_err()
}

/// Removes an administrative folder, the entries after everything else.
fn remove_adm(dir: &Path) -> Result<()> {
    let adm = layout::adm(dir);
    let listing = match fs::read_dir(&adm) {
        Ok(listing) => listing,
        Err(error) => {
            let error = Error::io(error, "Can't open directory", &adm);
            return if is_missing(&error) { Ok(()) } else { Err(error) };
        }
    };
    for member in listing {
        let path = member.map_err(|e| Error::io(e, "Can't read directory", &adm))?.path();
        if path.file_name().is_some_and(|name| name == "entries") {
            continue;
        }
        if path.symlink_metadata().is_ok_and(|found| found.is_dir()) {
            files::remove_tree(&path)?;
        } else {
            remove_file(&path)?;
        }
    }
    files::remove_tree(&adm)
}
