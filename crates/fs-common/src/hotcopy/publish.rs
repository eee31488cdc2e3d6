//! The moment at which readers of a copy see what is new: how far packs go and how far revisions
//! do, which two files say, `min-unpacked-rev` and `current`.
//!
//! Packs that hold nothing newer than the copy's `current` are published first, then `current` is
//! replaced: between the two is the old copy, packed a little further. But packs with revisions
//! that are new to the copy leave no such order: one file without the other names packs beyond
//! the youngest revision, or of revisions that are in no file of their own. Then both become links
//! through one link, for as long as it takes to turn that one around:
//!
//! ```text
//! current          -> hotcopy.state/current            hotcopy.state -> hotcopy.old, then
//! min-unpacked-rev -> hotcopy.state/min-unpacked-rev                    hotcopy.new
//! ```
//!
//! Every program that opens or replaces (renames over) the two files sees through that, so a copy
//! that was left in the middle is one like any other, the old or the new. Afterwards both are plain
//! files again; the next incremental hotcopy makes them so, first of all, after a run that was
//! stopped. On a file system that knows no links the two are replaced one after the other.

use std::io::{self, ErrorKind};
use std::path::Path;

use sapwood_core::Revnum;
use sapwood_fsfs_format::layout::names;

use super::{Copier, CopyError, Result};

/// The link that is turned around.
const STATE: &str = "hotcopy.state";
/// The links while they have no place yet: to [`NEW`], and one of the two files to be.
const TURNED: &str = "hotcopy.turned";
const LINK: &str = "hotcopy.link";
/// The folders with the old and the new state of the two files.
const OLD: &str = "hotcopy.old";
const NEW: &str = "hotcopy.new";
/// The two files.
const BOTH: [&str; 2] = [names::MIN_UNPACKED_REV, names::CURRENT];
/// The longest of the two files that is read.
const SMALL: usize = 256;

/// What the two files are to say.
#[derive(Clone, Copy, Debug)]
pub struct NewState<'a> {
    /// The first revision that is not packed.
    pub packed: Revnum,
    /// Whether `min-unpacked-rev` is there in the format of the filesystem.
    pub has_packs: bool,
    /// The contents of `current`.
    pub current: &'a [u8],
}

impl Copier<'_> {
    /// Makes the two files plain ones, if a run was stopped while they were not, and removes what
    /// it left. What they say stays.
    ///
    /// # Errors
    /// System errors.
    pub fn sync(&self) -> Result<()> {
        let listed = self.storage.list(self.to);
        let listed = listed.map_err(|e| CopyError::io(e, "Can't open directory", self.to))?;
        let links = [STATE, TURNED, LINK];
        let left = |name: &str| listed.iter().any(|listed| listed == name);
        if !links.iter().chain(&[OLD, NEW]).any(|name| left(name)) {
            return Ok(());
        }
        for name in BOTH {
            let contents = self.small(name)?;
            self.replace(&self.target(name), &contents, &self.target(name))?;
        }
        self.clear()
    }

    /// Removes the links and folders, of which none is in use.
    fn clear(&self) -> Result<()> {
        for link in [STATE, TURNED, LINK] {
            self.remove(&self.target(link))?;
        }
        for folder in [OLD, NEW] {
            self.remove_tree(&self.target(folder))?;
        }
        Ok(())
    }

    fn small(&self, name: &str) -> Result<Vec<u8>> {
        let path = self.target(name);
        let read = self.storage.read(&path, SMALL);
        read.map_err(|e| CopyError::io(e, "Can't open file", &path))
    }

    /// Makes everything that was copied durable, and then publishes it.
    ///
    /// # Errors
    /// System errors. The copy is the old or the new one then.
    pub fn publish(&self, new: NewState<'_>) -> Result<()> {
        let NewState { packed, has_packs, current } = new;
        let unpacked = format!("{packed}\n");
        let beyond = self.known.is_some_and(|known| packed > known.youngest.next());
        let linked = beyond && self.prepare(unpacked.as_bytes(), current)?;
        if self.options.flush_to_disk {
            let synced = self.storage.sync_all(self.to);
            synced.map_err(|e| CopyError::io(e, "Can't flush directory", self.to))?;
        }
        if linked {
            for name in BOTH {
                let (link, path) = (self.target(LINK), self.target(name));
                let made = self.storage.symlink(&Path::new(STATE).join(name), &link);
                made.map_err(|e| CopyError::replacing(e, &path))?;
                self.rename(&link, &path, false)?;
            }
            // Both are links now, also after a crash.
            self.flush_names()?;
            self.rename(&self.target(TURNED), &self.target(STATE), self.options.flush_to_disk)?;
        }
        if has_packs {
            let like = self.source(names::MIN_UNPACKED_REV);
            self.publish_one(names::MIN_UNPACKED_REV, unpacked.as_bytes(), &like, linked)?;
        }
        let like = self.source(names::CURRENT);
        self.publish_one(names::CURRENT, current, &like, linked)?;
        if linked { self.clear() } else { Ok(()) }
    }

    /// Replaces one of the two files; a link becomes a plain file, whatever it says.
    fn publish_one(&self, name: &str, contents: &[u8], like: &Path, is_link: bool) -> Result<()> {
        let path = self.target(name);
        match is_link {
            true => self.replace(&path, contents, like),
            false => self.renew(&path, contents, like),
        }
    }

    /// Makes both states and the links to them; no reader opens them yet. False where there can
    /// be no links.
    fn prepare(&self, unpacked: &[u8], current: &[u8]) -> Result<bool> {
        for (link, state) in [(STATE, OLD), (TURNED, NEW)] {
            let path = self.target(link);
            match self.storage.symlink(Path::new(state), &path) {
                Err(e) if has_no_links(&e) => {
                    self.clear()?;
                    return Ok(false);
                }
                made => made.map_err(|e| CopyError::io(e, "Can't create symbolic link", &path))?,
            }
        }
        let old = [self.small(names::MIN_UNPACKED_REV)?, self.small(names::CURRENT)?];
        for (folder, contents) in
            [(OLD, old.each_ref().map(Vec::as_slice)), (NEW, [unpacked, current])]
        {
            let folder = self.target(folder);
            self.make_dir(&folder)?;
            let done = self.storage.copy_permissions(self.to, &folder);
            done.map_err(|e| CopyError::io(e, "Can't set permissions on", &folder))?;
            for (name, contents) in BOTH.into_iter().zip(contents) {
                let path = folder.join(name);
                let done = self
                    .storage
                    .create_with(&path, contents)
                    .and_then(|()| self.storage.copy_permissions(&self.target(name), &path));
                done.map_err(|e| CopyError::io(e, "Can't write to file", &path))?;
            }
        }
        Ok(true)
    }

    fn rename(&self, from: &Path, to: &Path, sync: bool) -> Result<()> {
        let done = self.storage.rename(from, to, sync);
        done.map_err(|e| CopyError::replacing(e, to))
    }

    fn flush_names(&self) -> Result<()> {
        if !self.options.flush_to_disk {
            return Ok(());
        }
        let done = self.storage.sync_dir(self.to);
        done.map_err(|e| CopyError::io(e, "Can't flush directory", self.to))
    }
}

/// Whether an error means that symbolic links are not supported: FAT reports that they are not permitted.
fn has_no_links(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::Unsupported | ErrorKind::PermissionDenied)
}
