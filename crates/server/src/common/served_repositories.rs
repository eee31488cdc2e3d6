//! The repositories that are served, whatever the location: for what looks at all of them, again and again.
//!
//! Invariants: of a folder no more than [`MOST_ENTRIES`] entries are known. A folder that was not changed is not read again, and what is new in
//! one that was is seen at once; of all others some are looked at each time, so that a look costs the same whatever the number of repositories.
//! No lock is held while a disk is read: who asks meanwhile gets what was found last.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use parking_lot::Mutex;
use sapwood_repos::Repository;
use sapwood_store::{LocalStorage, Stamp, Storage as _};

use super::metrics::sample::ServedFolder;

/// Most entries of a folder that are known.
const MOST_ENTRIES: usize = 10_000;
/// How many folders that are no repositories are looked at each time: they may have become some.
const OTHERS: usize = 100;
/// How many repositories are looked at, which may have gone.
const REPOSITORIES: usize = 100;

/// What is known of folders with repositories.
#[derive(Debug, Default)]
pub(crate) struct ServedRepositories {
    folders: Mutex<HashMap<PathBuf, FolderState>>,
}

/// A folder.
#[derive(Debug)]
struct FolderState {
    /// What is in it; nothing while it is looked at.
    inner: Option<Inner>,
    /// The repositories that were found last.
    repositories: Arc<[PathBuf]>,
}

/// What is in a folder.
#[derive(Debug, Default)]
struct Inner {
    /// The folder's stamp when it was read, if no later change can have left it as it was.
    stamp: Option<Stamp>,
    /// Repositories; those come first that were not looked at for the longest time.
    repositories: VecDeque<PathBuf>,
    /// What else there is.
    others: VecDeque<PathBuf>,
}

impl ServedRepositories {
    /// The repositories that are served, each once, with the path of its URL.
    pub(crate) fn find(&self, folders: Vec<ServedFolder>) -> BTreeMap<PathBuf, String> {
        let is_served = |path: &Path| folders.iter().any(|folder| folder.path == *path);
        self.folders.lock().retain(|path, _| is_served(path));
        let mut found = BTreeMap::new();
        for ServedFolder { url, path } in folders {
            if Repository::is_root(&path) {
                let name = if url.is_empty() { file_name(&path) } else { url };
                found.entry(path).or_insert(name);
                continue;
            }
            for repository in self.look(&path, &Repository::is_root).iter() {
                let name = file_name(repository);
                let name = if url.is_empty() { name } else { format!("{url}/{name}") };
                found.entry(repository.clone()).or_insert(name);
            }
        }
        found
    }

    /// The repositories of a folder.
    fn look(&self, folder: &Path, is_root: &dyn Fn(&Path) -> bool) -> Arc<[PathBuf]> {
        let mut inner = {
            let mut all = self.folders.lock();
            let new =
                || FolderState { inner: Some(Inner::default()), repositories: Arc::default() };
            let known = all.entry(folder.to_owned()).or_insert_with(new);
            match known.inner.take() {
                Some(inner) => inner,
                None => return Arc::clone(&known.repositories),
            }
        };
        inner.look(folder, SystemTime::now(), is_root);
        let found: Arc<[PathBuf]> = inner.repositories.iter().cloned().collect();
        // It may not be served any more.
        if let Some(known) = self.folders.lock().get_mut(folder) {
            *known = FolderState { inner: Some(inner), repositories: Arc::clone(&found) };
        }
        found
    }
}

impl Inner {
    /// Looks what has changed.
    fn look(&mut self, folder: &Path, now: SystemTime, is_root: &dyn Fn(&Path) -> bool) {
        // The stamp is taken before the names: a change in between shows the next time.
        let stamp = LocalStorage.stamp(folder).ok().filter(|stamp| stamp.is_stable(now));
        if stamp.is_none() || stamp != self.stamp {
            self.read(folder, is_root);
            self.stamp = stamp;
        }
        let gone = take_changed(&mut self.repositories, REPOSITORIES, &|path| !is_root(path));
        let come = take_changed(&mut self.others, OTHERS, is_root);
        self.others.extend(gone);
        self.repositories.extend(come);
    }

    /// Reads the names, and looks at those that are new.
    fn read(&mut self, folder: &Path, is_root: &dyn Fn(&Path) -> bool) {
        let entries = std::fs::read_dir(folder).into_iter().flatten().take(MOST_ENTRIES);
        let names: HashSet<PathBuf> =
            entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        self.repositories.retain(|path| names.contains(path));
        self.others.retain(|path| names.contains(path));
        let known: HashSet<PathBuf> =
            self.repositories.iter().chain(&self.others).cloned().collect();
        for path in names.into_iter().filter(|path| !known.contains(path)) {
            match is_root(&path) {
                true => self.repositories.push_back(path),
                false => self.others.push_back(path),
            }
        }
    }
}

/// Looks at some paths, the first ones, and takes out those that have changed; the others are the last from now on.
fn take_changed(
    of: &mut VecDeque<PathBuf>,
    most: usize,
    has_changed: &dyn Fn(&Path) -> bool,
) -> Vec<PathBuf> {
    let mut changed = Vec::new();
    for _ in 0..most.min(of.len()) {
        let Some(path) = of.pop_front() else { break };
        match has_changed(&path) {
            true => changed.push(path),
            false => of.push_back(path),
        }
    }
    changed
}

/// The name of a folder.
pub(crate) fn file_name(path: &Path) -> String {
    path.file_name().map_or(String::new(), |name| name.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::fs::{self, File};
    use std::time::Duration;

    use super::*;

    const HOUR: Duration = Duration::from_secs(3600);

    /// A folder with so many others, of which those with a file `format` are repositories, unchanged for an hour.
    fn folder(all: usize) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for n in 0..all {
            fs::create_dir(folder.path().join(n.to_string())).unwrap();
            if n % 2 == 0 {
                fs::write(folder.path().join(n.to_string()).join("format"), "").unwrap();
            }
        }
        File::open(folder.path()).unwrap().set_modified(SystemTime::now() - HOUR).unwrap();
        folder
    }

    fn is_root(path: &Path) -> bool {
        path.join("format").exists()
    }

    #[test]
    fn a_second_look_costs_the_same_whatever_there_is() {
        let looks = |all: usize| {
            let (folder, looks) = (folder(all), Cell::new(0));
            let is_root = |path: &Path| {
                looks.set(looks.get() + 1);
                is_root(path)
            };
            let mut inner = Inner::default();
            let later = SystemTime::now() + HOUR;
            inner.look(folder.path(), later, &is_root);
            let first = looks.take();
            assert!(first >= all && inner.repositories.len() == all / 2);
            inner.look(folder.path(), later, &is_root);
            looks.take()
        };
        assert_eq!((looks(500), looks(2000)), (OTHERS + REPOSITORIES, OTHERS + REPOSITORIES));
    }

    #[test]
    fn while_a_disk_does_not_answer_the_last_list_counts() {
        let folder = folder(10);
        let served = ServedRepositories::default();
        assert_eq!(served.look(folder.path(), &is_root).len(), 5);
        fs::create_dir(folder.path().join("new")).unwrap();
        let others = Cell::new(0);
        let hangs = |path: &Path| {
            others.set(others.get() + served.look(folder.path(), &is_root).len());
            is_root(path)
        };
        assert_eq!(served.look(folder.path(), &hangs).len(), 5);
        assert!(others.get() >= 5 && others.get().is_multiple_of(5), "{}", others.get());
        fs::write(folder.path().join("new/format"), "").unwrap();
        assert_eq!(served.look(folder.path(), &is_root).len(), 6);
    }

    #[test]
    fn what_comes_and_goes_is_seen() {
        let folder = folder(1000);
        let place = |name: &str| folder.path().join(name);
        let mut inner = Inner::default();
        let later = SystemTime::now() + HOUR;
        inner.look(folder.path(), later, &is_root);
        // The folder itself is changed.
        fs::remove_dir_all(place("0")).unwrap();
        fs::create_dir(place("new")).unwrap();
        fs::write(place("new").join("format"), "").unwrap();
        inner.look(folder.path(), later, &is_root);
        assert!(!inner.repositories.contains(&place("0")));
        assert!(inner.repositories.contains(&place("new")));
        // Only those in it: each is looked at one time or another.
        fs::write(place("1").join("format"), "").unwrap();
        fs::remove_file(place("2").join("format")).unwrap();
        for _ in 0..10 {
            inner.look(folder.path(), later, &is_root);
        }
        assert!(inner.repositories.contains(&place("1")));
        assert!(!inner.repositories.contains(&place("2")));
        drop(fs::remove_dir_all(folder.path()));
        inner.look(folder.path(), later, &is_root);
        assert!(inner.repositories.is_empty());
    }
}
