//! The repositories that a server names when it has begun.
//!
//! Invariant: what is looked at does not grow with what there is: a folder may have any number of repositories, and the server begins
//! within a second.

use std::path::{Path, PathBuf};

use sapwood_core::{Exact as _, SvnError, SvnResult};
use sapwood_fs::Filesystem;
use sapwood_repos::Repository;

/// The most repositories of a directory that are listed with their URLs.
pub(super) const MAX_LISTED: usize = 20;
/// So many names of a folder are sorted to find these.
const MOST_NAMES: usize = 10_000;

/// The repository at `root`, or some of those in it, sorted: so many that it is known whether all of them are listed.
///
/// # Errors
/// When the folder, or the repository, cannot be read.
pub(super) fn find_repositories(root: &Path) -> SvnResult<Vec<PathBuf>> {
    if Repository::is_root(root) {
        Filesystem::check_readable(&root.join("db"))?;
        return Ok(vec![root.to_owned()]);
    }
    let entries = std::fs::read_dir(root)
        .map_err(|e| SvnError::io(&e, format_args!("Can't read '{}'", root.display())))?;
    let mut paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    Ok(first_of(&mut paths, Repository::is_root))
}

/// The first paths for which something holds, sorted, of those that are looked at: as many as are listed, and one more.
fn first_of(
    paths: &mut dyn Iterator<Item = PathBuf>,
    holds: impl Fn(&Path) -> bool,
) -> Vec<PathBuf> {
    loop {
        let mut some: Vec<PathBuf> = paths.take(MOST_NAMES).collect();
        if some.is_empty() {
            return some;
        }
        some.sort();
        let wanted = MAX_LISTED.plus(1);
        let found: Vec<PathBuf> =
            some.into_iter().filter(|path| holds(path)).take(wanted).collect();
        if !found.is_empty() {
            return found;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    /// How many paths are looked at among so many, of which every other is a repository from one on.
    fn looked_at(all: usize, first: usize) -> (usize, usize, usize) {
        let (taken, looks) = (Cell::new(0), Cell::new(0));
        let mut paths = (0..all).map(|n| {
            taken.set(taken.get() + 1);
            PathBuf::from(format!("/{n:06}"))
        });
        let found = first_of(&mut paths, |path| {
            looks.set(looks.get() + 1);
            let number: usize = path.display().to_string()[1..].parse().unwrap();
            number >= first && number.is_multiple_of(2)
        });
        (taken.get(), looks.get(), found.len())
    }

    #[test]
    fn a_large_folder_is_not_read_whole() {
        assert_eq!(looked_at(25_000, 0), (MOST_NAMES, 41, MAX_LISTED + 1));
        assert_eq!(looked_at(100_000, 0), (MOST_NAMES, 41, MAX_LISTED + 1));
        assert_eq!(looked_at(9, 0), (9, 9, 5));
        assert_eq!(looked_at(0, 0), (0, 0, 0));
        // One that comes late is found.
        assert_eq!(looked_at(25_000, 24_998), (25_000, 25_000, 1));
    }
}
