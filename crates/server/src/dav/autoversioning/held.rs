//! Locks of other programs that a repository cannot store: of directories, and shared ones.
//!
//! They are kept in memory, apply to clients that change things at plain URLs, and end with the server.
//! (Commits of Subversion's clients must respect locks of files; those are in the repository.)

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use sapwood_core::FsPath;
use sapwood_core::path::is_ancestor;
use sapwood_core::paths::FsPathBuf;

/// The limit of locks of a server.
const MAX_HELD: usize = 10_000;
/// The longest time that a lock lasts.
const MAX_TIME: Duration = Duration::from_secs(24 * 3600);

/// A lock.
#[derive(Clone, Debug)]
pub struct DavLock {
    /// The fspath that is locked.
    pub path: FsPathBuf,
    /// The token, with its scheme.
    pub token: String,
    /// The user that has it.
    pub user: String,
    /// What the owner element said.
    pub owner: Option<String>,
    /// Whether that is XML.
    pub is_xml: bool,
    /// Whether others may have one, too.
    pub is_shared: bool,
    /// Whether everything below is locked, too.
    pub is_deep: bool,
    /// When it ends.
    pub ends: Instant,
}

impl DavLock {
    fn covers(&self, path: &FsPath) -> bool {
        self.path == path || (self.is_deep && is_ancestor(&self.path, path))
    }

    /// The seconds that are left.
    #[must_use]
    pub fn seconds(&self) -> u64 {
        self.ends.checked_duration_since(Instant::now()).map_or(0, |left| left.as_secs())
    }
}

/// All such locks, by repository.
#[derive(Debug, Default)]
pub struct HeldLocks {
    all: Mutex<HashMap<PathBuf, Vec<DavLock>>>,
}

/// When a lock ends that shall last so many seconds.
#[must_use]
pub(crate) fn end_after(seconds: Option<u64>) -> Instant {
    let time = seconds.map_or(MAX_TIME, Duration::from_secs).min(MAX_TIME);
    let now = Instant::now();
    now.checked_add(time).unwrap_or(now)
}

impl HeldLocks {
    fn filtered(&self, repository: &Path, test: impl Fn(&DavLock) -> bool) -> Vec<DavLock> {
        let mut all = self.all.lock();
        let Some(locks) = all.get_mut(repository) else { return Vec::new() };
        let now = Instant::now();
        locks.retain(|lock| lock.ends > now);
        if locks.is_empty() {
            all.remove(repository);
            return Vec::new();
        }
        locks.iter().filter(|lock| test(lock)).cloned().collect()
    }

    /// The locks that a path has, of its own or from above.
    #[must_use]
    pub fn on(&self, repository: &Path, path: &FsPath) -> Vec<DavLock> {
        self.filtered(repository, |lock| lock.covers(path))
    }

    /// The locks of what is below a path.
    #[must_use]
    pub fn below(&self, repository: &Path, path: &FsPath) -> Vec<DavLock> {
        self.filtered(repository, |lock| lock.path != path && is_ancestor(path, &lock.path))
    }

    /// Adds a lock, or changes the one with its token. False when there are too many.
    #[must_use]
    pub fn put(&self, repository: &Path, lock: DavLock) -> bool {
        let mut all = self.all.lock();
        let count: usize = all.values().map(Vec::len).sum();
        let locks = all.entry(repository.to_owned()).or_default();
        if let Some(known) = locks.iter_mut().find(|known| known.token == lock.token) {
            *known = lock;
            return true;
        }
        if count < MAX_HELD {
            locks.push(lock);
        }
        count < MAX_HELD
    }

    /// Ends a lock.
    pub fn end(&self, repository: &Path, token: &str) {
        if let Some(locks) = self.all.lock().get_mut(repository) {
            locks.retain(|lock| lock.token != token);
        }
    }

    /// Ends the locks of what is gone: of a path and all below.
    pub fn remove_below(&self, repository: &Path, path: &FsPath) {
        if let Some(locks) = self.all.lock().get_mut(repository) {
            locks.retain(|lock| !is_ancestor(path, &lock.path));
        }
    }

    /// A path whose lock keeps `user`, who shows `tokens`, from changing `path`: with `membership`,
    /// from adding or removing it; with `below`, from changing what is below it.
    #[must_use]
    pub fn in_the_way(
        &self,
        repository: &Path,
        path: &FsPath,
        (membership, below): (bool, bool),
        (user, tokens): (Option<&str>, &[String]),
    ) -> Option<FsPathBuf> {
        let is_shown =
            |lock: &DavLock| user == Some(lock.user.as_str()) && tokens.contains(&lock.token);
        let mut groups = vec![self.on(repository, path)];
        if membership {
            groups.push(self.filtered(repository, |lock| lock.covers(path.parent())));
        }
        if below {
            let inner = self.below(repository, path);
            groups.extend(inner.into_iter().map(|lock| vec![lock]));
        }
        groups.into_iter().find_map(|locks| {
            // Of several shared locks one's own is enough.
            let first = locks.first()?;
            (!locks.iter().any(is_shown)).then(|| first.path.clone())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sapwood_testkit::fspath;

    fn lock_of(path: &FsPath, token: &str, is_shared: bool, is_deep: bool) -> DavLock {
        let text = str::to_owned;
        let (user, ends) = (text("u"), end_after(None));
        let (path, token) = (path.to_owned(), text(token));
        DavLock { path, token, user, owner: None, is_xml: false, is_shared, is_deep, ends }
    }

    #[test]
    fn who_is_kept_out() {
        let (locks, repo) = (HeldLocks::default(), Path::new("/r"));
        assert!(locks.put(repo, lock_of(fspath("/d"), "1", false, true)));
        assert!(locks.put(repo, lock_of(fspath("/s"), "2", true, false)));
        assert!(locks.put(repo, lock_of(fspath("/s"), "3", true, false)));
        let way = |path: &FsPath, scope, tokens: &[&str]| {
            let tokens: Vec<String> = tokens.iter().map(|t| (*t).to_owned()).collect();
            locks.in_the_way(repo, path, scope, (Some("u"), &tokens))
        };
        let (alone, member, tree) = ((false, false), (true, false), (true, true));
        assert_eq!(way(fspath("/d/x"), alone, &[]).as_deref(), Some(fspath("/d")));
        assert_eq!(way(fspath("/d/x"), alone, &["1"]), None);
        assert_eq!(way(fspath("/s"), alone, &["3"]), None);
        assert_eq!(way(fspath("/s"), alone, &["1"]).as_deref(), Some(fspath("/s")));
        assert_eq!(way(fspath("/s/new"), alone, &[]), None);
        assert_eq!(way(fspath("/s/new"), member, &[]).as_deref(), Some(fspath("/s")));
        assert_eq!(way(fspath("/"), tree, &[]).as_deref(), Some(fspath("/d")));
        assert_eq!(way(fspath("/"), tree, &["1", "2", "3"]), None);
        assert!(locks.in_the_way(repo, fspath("/s"), alone, (None, &["2".to_owned()])).is_some());
        locks.remove_below(repo, fspath("/d"));
        assert_eq!(way(fspath("/d/x"), alone, &[]), None);
        locks.end(repo, "2");
        assert_eq!(locks.on(repo, fspath("/s")).len(), 1);
        let over = DavLock { ends: Instant::now(), ..lock_of(fspath("/s"), "3", true, false) };
        assert!(locks.put(repo, over) && locks.on(repo, fspath("/s")).is_empty());
    }
}
