//! One working copy as the kernel reports it: a watch on each directory, and when each last changed.
//!
//! Administrative folders are not watched, nor what lies below a directory with one of its own, but
//! for the root: that is another working copy. A directory's watch is set before the directory is
//! read, so that no name can come unseen. The root is reached through a handle: that a directory
//! above it gets another name is no matter.
//!
//! inotify does not report mounts: each question looks for them. While there are some below the root nothing is
//! known, and when they have gone no older token is. One that came and went between two questions is found by the
//! kernel's list of mounts, which can be polled for changes (proc(5)): then no older token is known either, since a
//! walk between them may have seen what was mounted.

use std::collections::{BTreeMap, HashMap};
use std::fs::{self, File};
use std::os::fd::{AsRawFd as _, OwnedFd};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::inotify::ReadFlags;
use rustix::fs::{AtFlags, Mode, OFlags, statat};
use rustix::io::Errno;

use crate::mounts;
use crate::protocol::{CHANGED_MAX, ChangedDir, Identity, Token};
use crate::queue::{Event, Owner, Queue};
use crate::{Error, Result};

/// The administrative folder.
const ADM: &str = ".svn";
/// The kernel's list of mounts.
const MOUNTINFO: &str = "/proc/self/mountinfo";
/// Numbers of file systems whose files change without this kernel's knowledge: NFS, SMB, CIFS, FUSE,
/// 9P, AFS, Ceph.
const REMOTE: [u32; 8] =
    [0x6969, 0x517b, 0xff53_4d42, 0xfe53_4d42, 0x6573_5546, 0x0102_1997, 0x5346_414f, 0x00c3_6400];

/// When a directory changed.
#[derive(Clone, Copy, Debug)]
struct Change {
    at: u64,
    below: bool,
}

/// A watched working copy.
#[derive(Debug)]
pub struct Tree {
    path: PathBuf,
    root: OwnedFd,
    identity: Identity,
    /// Its key in the queue.
    owner: Owner,
    /// Directories by the number of their watch.
    dirs: HashMap<i32, String>,
    /// The same the other way round, in the order of paths.
    watches: BTreeMap<String, i32>,
    changes: HashMap<String, Change>,
    now: Token,
    /// Set when the root itself is gone.
    lost: bool,
    /// The kernel's list of mounts.
    mountinfo: PathBuf,
    /// The same list, open: polled, it says whether it changed since it was polled or opened.
    mounts: File,
    /// Whether something was, or may have been, mounted below the root since the watch began.
    is_covered: bool,
    /// Directories that are watched at most.
    most: usize,
}

impl Tree {
    /// Begins to watch a working copy, up to a limit of directories.
    ///
    /// # Errors
    /// [`Error::Unwatchable`] for a path that is no root of a working copy, or lies on a network file
    /// system; errors of the system, those of its limits too.
    pub(crate) fn watch(path: &Path, most: usize, owner: Owner, queue: &mut Queue) -> Result<Self> {
        let failed = |e: Errno| Error::io(e, "Can't open", path);
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = rustix::fs::open(path, flags, Mode::empty()).map_err(failed)?;
        let refused = |why| Err(Error::Unwatchable { path: path.to_owned(), why });
        if !path.join(ADM).is_dir() {
            return refused("it is not the root of a working copy");
        }
        let kind = rustix::fs::fstatfs(&root).map_err(failed)?.f_type;
        // The type of the number differs between platforms; its lower half is the number.
        if u32::try_from(kind & 0xffff_ffff).is_ok_and(|kind| REMOTE.contains(&kind)) {
            return refused("its file system may be changed by other machines");
        }
        let found = fs::metadata(path).map_err(|e| Error::io(e, "Can't look at", path))?;
        let mountinfo = PathBuf::from(MOUNTINFO);
        let mounts = File::open(&mountinfo).map_err(|e| Error::io(e, "Can't open", &mountinfo))?;
        let mut tree = Self {
            path: path.to_owned(),
            root,
            identity: Identity::from(&found),
            owner,
            dirs: HashMap::new(),
            watches: BTreeMap::new(),
            changes: HashMap::new(),
            now: Token { watch: new_name(), at: 0 },
            lost: false,
            mountinfo,
            mounts,
            is_covered: false,
            most,
        };
        match tree.add("", queue) {
            Ok(()) => Ok(tree),
            Err(error) => {
                tree.end(queue);
                Err(error)
            }
        }
    }

    /// Its path when the watch began.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its root.
    #[must_use]
    pub const fn identity(&self) -> Identity {
        self.identity
    }

    /// Its key in the queue.
    pub(crate) const fn owner(&self) -> Owner {
        self.owner
    }

    /// Whether it was moved, removed or unmounted. (Of a directory that is open, as the root is here, the kernel does
    /// not report its removal.)
    pub(crate) fn is_gone(&self) -> bool {
        self.lost || statat(&self.root, ADM, AtFlags::SYMLINK_NOFOLLOW).is_err()
    }

    /// Needs its watches no longer.
    pub(crate) fn end(&mut self, queue: &mut Queue) {
        for (watch, _) in self.dirs.drain() {
            queue.leave(self.owner, watch);
        }
        self.watches.clear();
    }

    /// How many directories are watched.
    #[must_use]
    pub fn directories(&self) -> usize {
        self.dirs.len()
    }

    /// What changed since a token, up to the last event that it was given. `None` when that is not known.
    ///
    /// # Errors
    /// When it can no longer be watched.
    pub(crate) fn since(
        &mut self,
        token: Token,
        queue: &mut Queue,
    ) -> Result<(Option<Vec<ChangedDir>>, Token)> {
        self.is_covered |= self.mounts_changed()?;
        if self.has_mounts()? {
            self.is_covered = true;
            return Ok((None, self.now));
        }
        if self.is_covered {
            // Directories made under the mount have no watch, and those that were read were the mounted ones.
            self.begin_again(queue)?;
            self.is_covered = false;
        }
        if token.watch != self.now.watch || token.at > self.now.at {
            return Ok((None, self.now));
        }
        let later = self.changes.iter().filter(|(_, change)| change.at > token.at);
        let later = later.map(|(dir, change)| ChangedDir { dir: dir.clone(), below: change.below });
        let changed: Vec<ChangedDir> = later.take(CHANGED_MAX.saturating_add(1)).collect();
        Ok(((changed.len() <= CHANGED_MAX).then_some(changed), self.now))
    }

    /// Whether anything was mounted or unmounted, wherever, since the last call.
    fn mounts_changed(&self) -> Result<bool> {
        let mut list = [PollFd::new(&self.mounts, PollFlags::PRI | PollFlags::ERR)];
        let now = Timespec { tv_sec: 0, tv_nsec: 0 };
        loop {
            match poll(&mut list, Some(&now)) {
                Ok(_) => break,
                Err(Errno::INTR) => {}
                Err(error) => return Err(Error::io(error, "Can't poll", &self.mountinfo)),
            }
        }
        let [list] = list;
        Ok(list.revents().intersects(PollFlags::PRI | PollFlags::ERR))
    }

    /// Whether something is mounted below the root, wherever that is by now.
    fn has_mounts(&self) -> Result<bool> {
        let handle = PathBuf::from(format!("/proc/self/fd/{}", self.root.as_raw_fd()));
        let root = fs::read_link(&handle).map_err(|e| Error::io(e, "Can't look at", &self.path))?;
        let failed = |e| Error::io(e, "Can't read", &self.mountinfo);
        Ok(!mounts::below(&fs::read(&self.mountinfo).map_err(failed)?, &root).is_empty())
    }

    /// Takes an event in.
    ///
    /// # Errors
    /// When it can no longer be watched.
    pub(crate) fn take(&mut self, event: &Event, queue: &mut Queue) -> Result<()> {
        if event.what.contains(ReadFlags::IGNORED) {
            // The directory is gone, or its watch was removed; its number may be used again.
            if let Some(dir) = self.dirs.remove(&event.watch)
                && self.watches.get(&dir) == Some(&event.watch)
            {
                self.watches.remove(&dir);
            }
            return Ok(());
        }
        let Some(dir) = self.dirs.get(&event.watch).cloned() else { return Ok(()) };
        let own = ReadFlags::MOVE_SELF | ReadFlags::DELETE_SELF | ReadFlags::UNMOUNT;
        if event.what.intersects(own) {
            self.lost |= dir.is_empty();
            self.changed(&dir, true);
            return Ok(());
        }
        let Some(name) = &event.name else {
            // The directory's own attributes.
            self.changed(&dir, false);
            return Ok(());
        };
        if name == ADM {
            self.changed(&dir, false);
            return Ok(());
        }
        if !event.what.contains(ReadFlags::ISDIR) {
            self.changed(&dir, false);
            return Ok(());
        }
        let below = join(&dir, name);
        if event.what.intersects(ReadFlags::MOVED_FROM | ReadFlags::DELETE) {
            self.remove(&below, queue);
            self.changed(&dir, false);
            self.changed(&below, true);
        } else if event.what.intersects(ReadFlags::CREATE | ReadFlags::MOVED_TO) {
            self.changed(&dir, false);
            self.changed(&below, true);
            self.add(&below, queue)?;
        } else {
            self.changed(&dir, false);
        }
        Ok(())
    }

    fn changed(&mut self, dir: &str, below: bool) {
        self.now.at = self.now.at.saturating_add(1);
        let at = self.now.at;
        match self.changes.get_mut(dir) {
            Some(change) => *change = Change { at, below: below || change.below },
            None => drop(self.changes.insert(dir.to_owned(), Change { at, below })),
        }
    }

    /// Drops everything and reads the tree again, under a new token.
    pub(crate) fn begin_again(&mut self, queue: &mut Queue) -> Result<()> {
        self.end(queue);
        self.changes.clear();
        self.now = Token { watch: new_name(), at: 0 };
        self.add("", queue)
    }

    /// The way to a directory, through the root's handle.
    fn way_to(&self, dir: &str) -> PathBuf {
        let root = PathBuf::from(format!("/proc/self/fd/{}", self.root.as_raw_fd()));
        // The dot makes the root a directory to look into, not the link in /proc.
        root.join(if dir.is_empty() { "." } else { dir })
    }

    /// Watches a directory and all below it. A directory that went away in between is passed
    /// over: its events report that.
    fn add(&mut self, dir: &str, queue: &mut Queue) -> Result<()> {
        let mut left = vec![dir.to_owned()];
        let too_many = || {
            let why = "there are too many directories (fs.inotify.max_user_watches)";
            Err(Error::Unwatchable { path: self.path.clone(), why })
        };
        while let Some(dir) = left.pop() {
            if self.dirs.len() >= self.most {
                return too_many();
            }
            let way = self.way_to(&dir);
            let shown = || self.path.join(&dir);
            match queue.add(self.owner, &way) {
                Ok(watch) => {
                    if let Some(before) = self.dirs.insert(watch, dir.clone())
                        && before != dir
                        && self.watches.get(&before) == Some(&watch)
                    {
                        self.watches.remove(&before);
                    }
                    self.watches.insert(dir.clone(), watch);
                }
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) if !dir.is_empty() => continue,
                Err(Errno::NOSPC) => return too_many(),
                Err(error) => return Err(Error::io(error, "Can't watch", shown())),
            }
            match self.below(&way, dir.is_empty()) {
                Ok(names) => left.extend(names.iter().map(|name| join(&dir, name))),
                Err(error) if is_gone(&error) && !dir.is_empty() => {}
                Err(error) => return Err(Error::io(error, "Can't read directory", shown())),
            }
        }
        Ok(())
    }

    /// The names of the directories in a directory that are to be watched.
    fn below(&self, way: &Path, is_root: bool) -> std::io::Result<Vec<String>> {
        let mut names = Vec::new();
        if fs::metadata(way)?.dev() != self.identity.device {
            return Err(std::io::Error::other("another file system is mounted here"));
        }
        for entry in fs::read_dir(way)? {
            let entry = entry?;
            if !entry.file_type()?.is_dir() {
                continue;
            }
            // A name that is not UTF-8 cannot be versioned.
            match entry.file_name().into_string() {
                Ok(name) if name == ADM && is_root => {}
                Ok(name) if name == ADM => return Ok(Vec::new()),
                Ok(name) => names.push(name),
                Err(_) => {}
            }
        }
        Ok(names)
    }

    /// Stops watching a directory and everything below it.
    fn remove(&mut self, dir: &str, queue: &mut Queue) {
        let below = format!("{dir}/");
        let mut gone: Vec<(String, i32)> = Vec::new();
        gone.extend(self.watches.get(dir).map(|watch| (dir.to_owned(), *watch)));
        let later = self.watches.range(below.clone()..);
        let later = later.take_while(|(path, _)| path.starts_with(&below));
        gone.extend(later.map(|(path, watch)| (path.clone(), *watch)));
        for (path, watch) in gone {
            self.watches.remove(&path);
            self.dirs.remove(&watch);
            queue.leave(self.owner, watch);
        }
    }
}

/// A number that no other watch has, and that is not 0.
fn new_name() -> u64 {
    use std::hash::{BuildHasher as _, Hasher as _};
    // Its keys come from the system's random numbers.
    std::collections::hash_map::RandomState::new().build_hasher().finish().max(1)
}

fn is_gone(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory)
}

fn join(dir: &str, name: &str) -> String {
    if dir.is_empty() { name.to_owned() } else { format!("{dir}/{name}") }
}

#[cfg(test)]
mod tests;
