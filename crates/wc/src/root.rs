//! The handles of a working copy: [`Disk`], its files below its root; [`Db`], its database; and [`WorkingCopy`], both
//! with the locks that this process holds and the options.
//!
//! Invariant: what needs one of the two takes that one, so that a signature says what an operation may touch; the
//! operations that others call are methods of [`WorkingCopy`], in `operations`.

use std::cell::RefCell;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::{ErrorCode, Meter};

use crate::clock::RecordedTimes;
use crate::db::{Access, Db, FORMAT, FORMAT_OPTIONAL_PRISTINES, depth_of};
use crate::error::{Error, Result};
use crate::layout;

/// What the configuration says about working copies.
#[derive(Clone, Debug)]
pub struct Options {
    /// How databases are opened.
    pub access: Access,
    /// Whether files get the date of their last change (`use-commit-times`).
    pub use_commit_times: bool,
    /// `preserved-conflict-file-exts`: patterns of extensions that conflict files keep.
    pub preserved_extensions: Vec<String>,
    /// Whether operations that record times wait until the clock of the file system has moved on.
    pub wait_for_tick: bool,
    /// The times that were recorded in working copies opened with these options.
    pub recorded: RecordedTimes,
    /// Where the user lives: keywords have local time.
    pub zone: jiff::tz::TimeZone,
    /// The socket of the user's monitor, if there may be one (`sapwood-watch`).
    pub monitor: Option<PathBuf>,
    /// Counts the files and bytes of updates and commits.
    pub meter: Meter,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            access: Access::default(),
            use_commit_times: false,
            preserved_extensions: Vec::new(),
            wait_for_tick: true,
            recorded: RecordedTimes::default(),
            zone: jiff::tz::TimeZone::UTC,
            monitor: None,
            meter: Meter::default(),
        }
    }
}

/// A lock that this process holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldLock {
    /// The directory.
    pub relpath: RelPathBuf,
    /// How many levels below it: -1 for all.
    pub levels: i64,
}

impl HeldLock {
    /// Whether this lock covers a directory.
    pub(crate) fn covers(&self, relpath: &RelPath) -> bool {
        relpath.is_at_or_below(&self.relpath)
            && (self.levels < 0
                || depth_of(&self.relpath).saturating_add(self.levels) >= depth_of(relpath))
    }
}

/// The files of a working copy: its root directory, and what lies below it. Paths below the root are relpaths: UTF-8,
/// names divided by `/`, empty for the root. With this handle alone one can read and write files, but not `wc.db`.
#[derive(Debug)]
pub struct Disk {
    root: PathBuf,
}

impl Disk {
    /// The root's absolute path.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Where a path is on disk.
    #[must_use]
    pub fn abspath(&self, relpath: &RelPath) -> PathBuf {
        if relpath.is_empty() { self.root.clone() } else { self.root.join(relpath.as_str()) }
    }

    /// The path below the root of an absolute path.
    ///
    /// # Errors
    /// E155007 when it is not below the root; E000022 when it is not UTF-8.
    pub fn relpath(&self, abspath: &Path) -> Result<RelPathBuf> {
        let rest = abspath
            .strip_prefix(&self.root)
            .map_err(|_| Error::NotWorkingCopy(abspath.to_owned()))?;
        let text = rest.to_str().ok_or_else(|| {
            let shown = abspath.display();
            Error::new(
                ErrorCode(22),
                format!("Can't convert string from native encoding to 'UTF-8': '{shown}'"),
            )
        })?;
        Ok(RelPathBuf::canonicalize(text))
    }

    /// A path for a new temporary file, below `.svn/tmp`. The name is not in use by this process.
    #[must_use]
    pub fn temporary(&self) -> PathBuf {
        use std::sync::atomic::{AtomicU64, Ordering};
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        layout::tmp(&self.root).join(format!("svn-{}-{number}.tmp", std::process::id()))
    }
}

/// A working copy; clones share its database. Paths below its root are relpaths: UTF-8, names
/// divided by `/`, empty for the root.
#[derive(Clone, Debug)]
pub struct WorkingCopy {
    shared: Rc<SharedState>,
}

#[derive(Debug)]
struct SharedState {
    disk: Disk,
    db: Db,
    options: Options,
    /// The locks that this process holds.
    held: RefCell<Vec<HeldLock>>,
}

impl WorkingCopy {
    /// Opens the working copy whose root is `root`.
    ///
    /// # Errors
    /// E155036 or E155021 when it has another format; SQLite's.
    pub fn open_root(root: &Path, options: Options) -> Result<Self> {
        let db = Db::open(&layout::db(root), options.access)?;
        let format = db.format();
        if !(FORMAT..=FORMAT_OPTIONAL_PRISTINES).contains(&format) {
            return Err(Error::Format { path: root.to_owned(), format });
        }
        Ok(Self::with(root, db, options))
    }

    fn with(root: &Path, mut db: Db, options: Options) -> Self {
        db.note_times_at(options.recorded.clock(&layout::tmp(root)));
        let disk = Disk { root: root.to_owned() };
        let held = RefCell::new(Vec::new());
        Self { shared: Rc::new(SharedState { disk, db, options, held }) }
    }

    /// Opens the working copy that `abspath` (absolute, without `.` and `..`) is in: the nearest
    /// directory at or above it that has a `.svn`. Also returns the path below its root. `abspath`
    /// itself need not be there. A symbolic link is a node of the working copy that it stands in, if
    /// that has such a node, else what it leads to counts.
    ///
    /// # Errors
    /// E155007 when there is none; those of [`WorkingCopy::open_root`].
    pub fn find(abspath: &Path, options: Options) -> Result<(Self, RelPathBuf)> {
        Self::find_among(abspath, options, &[])
    }

    /// As [`WorkingCopy::find`]; a working copy that is among `open` is not opened again.
    ///
    /// # Errors
    /// As there.
    pub fn find_among(
        abspath: &Path,
        options: Options,
        open: &[Self],
    ) -> Result<(Self, RelPathBuf)> {
        let at_root = |root: &Path, options: Options| match open.iter().find(|w| w.root() == root) {
            Some(known) => Ok(known.clone()),
            None => Self::open_root(root, options),
        };
        let on_disk = fs::symlink_metadata(abspath).ok().map(|found| found.file_type());
        let is = |what: fn(&fs::FileType) -> bool| on_disk.as_ref().is_some_and(what);
        let start = if is(fs::FileType::is_dir) { Some(abspath) } else { abspath.parent() };
        // What is there is in a directory.
        let found = match start {
            Some(start) => find_root(start, on_disk.is_some() || start.is_dir())?,
            None => None,
        };
        if is(fs::FileType::is_symlink) {
            let inside = found.and_then(|(root, _)| {
                let wc = at_root(root, options.clone()).ok()?;
                let relpath = wc.relpath(abspath).ok()?;
                let known = wc.db().top(&relpath).ok()?.is_some()
                    || wc.db().actual(&relpath).ok()?.is_some_and(|a| a.conflict_data.is_some());
                known.then_some((wc, relpath))
            });
            if let Some(inside) = inside {
                return Ok(inside);
            }
            // The root of a working copy may be reached through a link.
            if layout::db(abspath).exists() {
                let wc = at_root(abspath, options)?;
                return Ok((wc, RelPathBuf::default()));
            }
        }
        let (root, has_db) = found.ok_or_else(|| Error::NotWorkingCopy(abspath.to_owned()))?;
        if !has_db {
            return Err(without_db(root));
        }
        let wc = at_root(root, options)?;
        let relpath = wc.relpath(abspath)?;
        Ok((wc, relpath))
    }

    /// Makes `root` the root of a new working copy with an empty database. The directory must be
    /// there.
    ///
    /// # Errors
    /// That files cannot be made; SQLite's.
    pub fn create(root: &Path, options: Options) -> Result<Self> {
        layout::create(root)?;
        let db = Db::create(&layout::db(root), options.access)?;
        Ok(Self::with(root, db, options))
    }

    /// Its files.
    #[must_use]
    pub fn disk(&self) -> &Disk {
        &self.shared.disk
    }

    /// The root's absolute path.
    #[must_use]
    pub fn root(&self) -> &Path {
        self.disk().root()
    }

    /// The database.
    #[must_use]
    pub fn db(&self) -> &Db {
        &self.shared.db
    }

    /// What it was opened with.
    #[must_use]
    pub fn options(&self) -> &Options {
        &self.shared.options
    }

    pub(crate) fn held_locks(&self) -> &RefCell<Vec<HeldLock>> {
        &self.shared.held
    }

    /// As [`Disk::abspath`].
    #[must_use]
    pub fn abspath(&self, relpath: &RelPath) -> PathBuf {
        self.disk().abspath(relpath)
    }

    /// As [`Disk::relpath`].
    ///
    /// # Errors
    /// As there.
    pub fn relpath(&self, abspath: &Path) -> Result<RelPathBuf> {
        self.disk().relpath(abspath)
    }

    /// As [`Disk::temporary`].
    #[must_use]
    pub fn temporary(&self) -> PathBuf {
        self.disk().temporary()
    }
}

/// The nearest directory at or above `start` that has a database, with `true`; or `start` itself with `false`, when it
/// has the files of an old format, which are in each directory. (What is not there is looked for with all above.)
fn find_root(start: &Path, is_there: bool) -> Result<Option<(&Path, bool)>> {
    for dir in start.ancestors() {
        let adm = layout::adm(dir);
        // Most directories have none: one question is enough for them.
        if !is_at(&adm, dir)? {
            continue;
        }
        if is_at(&adm.join(layout::DB), dir)? {
            return Ok(Some((dir, true)));
        }
        let may_be_old = dir == start || !is_there;
        if may_be_old && is_at(&adm.join("entries"), dir)? {
            return Ok(Some((dir, false)));
        }
    }
    Ok(None)
}

/// Whether something is at a path; what may not be asked is an error, which names the database of `root`.
fn is_at(path: &Path, root: &Path) -> Result<bool> {
    match fs::metadata(path) {
        Ok(_) => Ok(true),
        Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(false)
        }
        Err(e) => Err(Error::io(e, "Can't check path", &layout::db(root))),
    }
}

/// Refuses a root of a format before 1.7, which has no database.
fn without_db(root: &Path) -> Error {
    let entries = layout::adm(root).join("entries");
    let text = match fs::read(&entries) {
        Ok(text) => text,
        Err(e) => return Error::io(e, "Can't open file", &entries),
    };
    let shown = root.display();
    if text == layout::OLD_FORMAT.as_bytes() {
        let message = format!("The working copy database at '{shown}' is missing.");
        return Error::new(ErrorCode::WC_CORRUPT, message);
    }
    let format = layout::old_format(root).unwrap_or(0);
    Error::Format { path: root.to_owned(), format }
}

/// Whether there is anything at a path, a link counting as itself.
///
/// # Errors
/// Errors of the file system.
pub fn disk_kind(path: &Path) -> Result<Option<fs::FileType>> {
    match fs::symlink_metadata(path) {
        Ok(found) => Ok(Some(found.file_type())),
        Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(e) => Err(Error::io(e, "Can't check path", path)),
    }
}
