//! The bin and the archive of a folder: repositories that were moved away, which no program opens.
//!
//! Invariant: what is in there has `format.deleted` in place of `format`, at each moment: the file is renamed before the
//! folder is moved, and gets its name back after. `delete` and `restore` that were killed go on where they are given again.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use sapwood_core::date::{MICROS_PER_SEC, Timestamp};
use sapwood_core::{ErrorCode, SvnError, SvnResult};
use sapwood_repos::Repository;

use super::{cannot, owner, refused, stamp};
use crate::command::Options;

/// The name of the file `format` of a repository that no program may open.
const HIDDEN: &str = "format.deleted";

/// Where a repository is moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bin {
    /// For what is removed some day.
    Deleted,
    /// For what is kept.
    Archived,
}

impl Bin {
    pub(super) const ALL: [Self; 2] = [Self::Deleted, Self::Archived];

    /// The name in the folder of the repositories.
    pub(super) fn folder(self) -> &'static str {
        match self {
            Self::Deleted => ".bin",
            Self::Archived => ".archive",
        }
    }
}

/// Something in a bin.
#[derive(Debug)]
pub(super) struct BinEntry {
    /// The repository's name.
    pub(super) name: String,
    /// When it was moved.
    pub(super) time: Timestamp,
    /// Where it is.
    pub(super) path: PathBuf,
}

/// What is in a bin, by name and time. What has no name that `put` gives is not listed.
pub(super) fn contents(folder: &Path, bin: Bin) -> SvnResult<Vec<BinEntry>> {
    let path = folder.join(bin.folder());
    let entries = match fs::read_dir(&path) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        read => read.map_err(|e| cannot(&e, "Can't read directory", &path))?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|e| cannot(&e, "Can't read directory", &path))?;
        // A link is none of ours, and what it names is not removed.
        let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let is_hidden = is_dir && entry.path().join(HIDDEN).is_file();
        let name = entry.file_name();
        let parsed = name.to_str().and_then(stamp::parsed);
        if let Some((name, time)) = parsed.filter(|_| is_hidden) {
            found.push(BinEntry { name: name.to_owned(), time, path: entry.path() });
        }
    }
    found.sort_by(|a, b| (&a.name, a.time).cmp(&(&b.name, b.time)));
    Ok(found)
}

/// Moves a repository into a bin, and returns where it is then.
///
/// # Errors
/// E165002 for what is no repository; E165000 when transactions are not finished, unless `force`; errors of the system.
pub(super) fn put(path: &Path, bin: Bin, force: bool) -> SvnResult<PathBuf> {
    let (path, folder, name) = located(path)?;
    let (shown, hidden) = (path.join("format"), path.join(HIDDEN));
    if hidden.is_file() && !Repository::is_root(&path) {
        // Hidden already by a command that was killed.
        return moved(&path, &folder, &name, bin);
    }
    if !Repository::is_root(&path) {
        return Err(refused(format!("'{}' is no repository", path.display())));
    }
    let repository = crate::repo::open(&path.to_string_lossy(), &Options::default())?;
    let fs = repository.fs();
    let frozen = fs.freeze()?;
    let transactions = fs.transactions()?;
    if let (Some(first), false) = (transactions.first(), force) {
        let (count, path) = (transactions.len(), path.display());
        return Err(SvnError::new(
            ErrorCode::REPOS_LOCKED,
            format!(
                "{count} transactions of '{path}' are not finished ({first}): commits may be in \
                 progress. 'svnadmin lstxns --long' shows them; '--force' moves it all the same"
            ),
        ));
    }
    rename(&shown, &hidden)?;
    let result = moved(&path, &folder, &name, bin);
    if result.is_err() {
        // It stays where it was, to be used as before. The first error counts.
        let _ = fs::rename(&hidden, &shown);
    }
    drop(frozen);
    result
}

/// A repository's absolute path, the folder that it is in, and its name.
fn located(path: &Path) -> SvnResult<(PathBuf, PathBuf, String)> {
    let is_link = fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink());
    if is_link {
        let message = format!("'{}' is a link: name the repository itself", path.display());
        return Err(refused(message));
    }
    let path = fs::canonicalize(path).map_err(|e| cannot(&e, "Can't find", path))?;
    let (folder, name) = match (path.parent(), path.file_name()) {
        (Some(folder), Some(name)) => (folder.to_owned(), name.to_str().map(str::to_owned)),
        _ => return Err(refused("The root folder cannot be moved")),
    };
    let name = name.ok_or_else(|| refused(format!("'{}' is not UTF-8", path.display())))?;
    Ok((path, folder, name))
}

/// Moves a hidden repository.
fn moved(path: &Path, folder: &Path, name: &str, bin: Bin) -> SvnResult<PathBuf> {
    let bin = folder.join(bin.folder());
    match fs::create_dir(&bin) {
        Err(e) if e.kind() == ErrorKind::AlreadyExists => {}
        made => {
            made.map_err(|e| cannot(&e, "Can't create directory", &bin))?;
            owner::inherit(&bin)?;
        }
    }
    let mut time = Timestamp::now();
    let mut target = bin.join(stamp::stamped(name, time));
    // One of the same name in the same second is possible in scripts.
    while fs::symlink_metadata(&target).is_ok() {
        time = Timestamp(time.0.checked_add(MICROS_PER_SEC).ok_or_else(|| refused("No time"))?);
        target = bin.join(stamp::stamped(name, time));
    }
    rename(path, &target)?;
    Ok(target)
}

/// Moves back what was put into a bin last under a name, and returns where it was.
///
/// # Errors
/// E165002 when there is something of this name, or nothing in the bins; errors of the system.
pub(super) fn restore(folder: &Path, name: &str) -> SvnResult<PathBuf> {
    if name.is_empty() || name.contains('/') || matches!(name, "." | "..") {
        return Err(refused(format!("'{name}' is no name of a repository")));
    }
    let target = folder.join(name);
    let (shown, hidden) = (target.join("format"), target.join(HIDDEN));
    if hidden.is_file() && !Repository::is_root(&target) {
        // Moved back already by a command that was killed, or not yet moved away by one.
        rename(&hidden, &shown)?;
        return Ok(hidden);
    }
    if fs::symlink_metadata(&target).is_ok() {
        return Err(refused(format!("'{}' exists", target.display())));
    }
    let mut found: Vec<BinEntry> = Vec::new();
    for bin in Bin::ALL {
        found.extend(contents(folder, bin)?.into_iter().filter(|kept| kept.name == name));
    }
    let Some(last) = found.into_iter().max_by_key(|kept| kept.time) else {
        let message = format!("There is no '{name}' in the bin or the archive of");
        return Err(refused(format!("{message} '{}'", folder.display())));
    };
    rename(&last.path, &target)?;
    rename(&hidden, &shown)?;
    Ok(last.path)
}

/// Removes what was deleted before a time, and reports each.
pub(super) fn empty(
    folder: &Path,
    before: Timestamp,
    removed: &mut dyn FnMut(&Path) -> SvnResult<()>,
) -> SvnResult<()> {
    for kept in contents(folder, Bin::Deleted)?.into_iter().filter(|kept| kept.time < before) {
        remove(&kept.path)?;
        removed(&kept.path)?;
    }
    Ok(())
}

/// Removes a repository, the file that marks it last: a removal that was killed goes on the next time.
fn remove(path: &Path) -> SvnResult<()> {
    let failed = |e: &std::io::Error| cannot(e, "Can't remove", path);
    for entry in fs::read_dir(path).map_err(|e| failed(&e))? {
        let entry = entry.map_err(|e| failed(&e))?;
        if entry.file_name() == HIDDEN {
            continue;
        }
        let is_dir = entry.file_type().map_err(|e| failed(&e))?.is_dir();
        let path = entry.path();
        let gone = if is_dir { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        gone.map_err(|e| cannot(&e, "Can't remove", &path))?;
    }
    fs::remove_dir_all(path).map_err(|e| failed(&e))
}

fn rename(from: &Path, to: &Path) -> SvnResult<()> {
    fs::rename(from, to).map_err(|e| {
        SvnError::io(&e, format_args!("Can't move '{}' to '{}'", from.display(), to.display()))
    })
}
