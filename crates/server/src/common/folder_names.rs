//! The names in folders of repositories, sorted, read again when the folder's stamp says so: a page of a list among 100,000
//! must not cost all of them.
//!
//! Invariant: names are handed out again only while no change of the folder can have left its stamp as it was.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use parking_lot::Mutex;
use sapwood_store::{LocalStorage, Stamp, Storage as _};

/// The limit of folders whose names are kept.
const MOST_FOLDERS: usize = 16;

/// The names in a folder, and the stamp that it had then.
type Names = (Stamp, Arc<[String]>);

/// The names of some folders.
#[derive(Debug, Default)]
pub(crate) struct FolderNames {
    kept: Mutex<HashMap<PathBuf, Names>>,
}

impl FolderNames {
    /// The names in a folder, sorted; none when it cannot be read. Those that are not UTF-8 are left out.
    pub(crate) fn of(&self, folder: &Path) -> Arc<[String]> {
        self.at(folder, SystemTime::now())
    }

    fn at(&self, folder: &Path, now: SystemTime) -> Arc<[String]> {
        // The stamp is taken before the names: a change in between shows the next time.
        let stamp = LocalStorage.stamp(folder).ok().filter(|stamp| stamp.is_stable(now));
        if let Some(stamp) = stamp
            && let Some((known, names)) = self.kept.lock().get(folder)
            && *known == stamp
        {
            return Arc::clone(names);
        }
        let Ok(entries) = std::fs::read_dir(folder) else { return Arc::default() };
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut names: Vec<String> = names.collect();
        names.sort_unstable();
        let names: Arc<[String]> = names.into();
        let mut kept = self.kept.lock();
        if kept.len() >= MOST_FOLDERS {
            kept.clear();
        }
        match stamp {
            Some(stamp) => drop(kept.insert(folder.to_owned(), (stamp, Arc::clone(&names)))),
            None => drop(kept.remove(folder)),
        }
        names
    }
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::time::Duration;

    use super::*;

    #[test]
    fn what_came_or_went_is_seen_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let (names, path) = (FolderNames::default(), folder.path());
        assert!(names.of(path).is_empty() && names.of(&path.join("none")).is_empty());
        for name in ["b", "a"] {
            fs::create_dir(path.join(name)).unwrap();
        }
        assert_eq!(&*names.of(path), ["a", "b"]);
        // As if it had not been changed for an hour: then it is not read again.
        let hour = Duration::from_secs(3600);
        File::open(path).unwrap().set_modified(SystemTime::now() - hour).unwrap();
        let later = SystemTime::now() + hour;
        let known = names.at(path, later);
        assert!(Arc::ptr_eq(&known, &names.at(path, later)) && known.len() == 2);
        fs::remove_dir(path.join("a")).unwrap();
        assert_eq!(&*names.at(path, later), ["b"]);
    }
}
