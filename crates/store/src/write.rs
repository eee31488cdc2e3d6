//! The door to files for writers: [`WriteStorage`], the primitives that a crash can fall between.
//!
//! Each method is one file operation, so that a test can stop before any of them, lose what was
//! not synced or tear the last write. An engine is given one when a filesystem is opened, for reading and
//! writing; modules that only read get it as a [`Storage`].

mod local;
mod local_lock;

use sapwood_core::{Cut, Exact, len64};
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::storage::Storage;

/// A file that is being written, from its start to its end.
pub trait NewFile: Send + fmt::Debug {
    /// Appends `bytes`.
    ///
    /// # Errors
    /// Whatever the system reports.
    fn append(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Cuts the file off at `len` bytes; the next append continues there.
    ///
    /// # Errors
    /// Whatever the system reports.
    fn truncate(&mut self, len: u64) -> io::Result<()>;

    /// Makes everything appended so far durable.
    ///
    /// # Errors
    /// Whatever the system reports.
    fn sync(&mut self) -> io::Result<()>;

    /// Gives the file the permissions `mode`.
    ///
    /// # Errors
    /// Whatever the system reports.
    fn set_mode(&mut self, mode: u32) -> io::Result<()>;

    /// Makes durable what was written to the file system of this file since the file was made, by any
    /// process: contents and names. `false` where that is not known to be as good as syncing each
    /// file and folder; then nothing was done.
    ///
    /// # Errors
    /// Whatever the system reports.
    fn sync_file_system(&mut self) -> io::Result<bool> {
        Ok(false)
    }
}

/// A lock that is held until it is dropped.
pub trait HeldLock: Send + fmt::Debug {}

/// A place that files can be written in. Errors keep their `ErrorKind`.
pub trait WriteStorage: Storage {
    /// Creates a file that is not there yet (`AlreadyExists` when it is).
    ///
    /// # Errors
    /// Whatever the system reports.
    fn create(&self, path: &Path) -> io::Result<Box<dyn NewFile>>;

    /// Creates a file, or empties the one that is there.
    ///
    /// # Errors
    /// Whatever the system reports.
    fn create_over(&self, path: &Path) -> io::Result<Box<dyn NewFile>>;

    /// Opens an existing file to append to it.
    ///
    /// # Errors
    /// Whatever the system reports.
    fn reopen(&self, path: &Path) -> io::Result<Box<dyn NewFile>>;

    /// Renames a file over `to`, atomically. With `sync` the folder of `to` is made durable.
    ///
    /// # Errors
    /// Whatever the system reports.
    fn rename(&self, from: &Path, to: &Path, sync: bool) -> io::Result<()>;

    /// Removes a file.
    ///
    /// # Errors
    /// Whatever the system reports.
    fn remove_file(&self, path: &Path) -> io::Result<()>;

    /// Removes an empty folder.
    ///
    /// # Errors
    /// Whatever the system reports.
    fn remove_dir(&self, path: &Path) -> io::Result<()>;

    /// Makes a folder in an existing one. With `inherit_group` what is made in it will belong to
    /// its group (the set-group-id bit), so that several users can share a repository.
    ///
    /// # Errors
    /// Whatever the system reports; `AlreadyExists` when it is there.
    fn create_dir(&self, path: &Path, inherit_group: bool) -> io::Result<()>;

    /// Makes a symbolic link at `path`, which is not there yet, to `target`, as seen from the folder
    /// of `path`. `Unsupported` in a place that has none.
    ///
    /// # Errors
    /// Whatever the system reports.
    fn symlink(&self, target: &Path, path: &Path) -> io::Result<()> {
        let _ = (target, path);
        Err(io::ErrorKind::Unsupported.into())
    }

    /// The permissions of a file.
    ///
    /// # Errors
    /// Whatever the system reports.
    fn mode(&self, path: &Path) -> io::Result<u32>;

    /// Gives `to` the permissions of `from`.
    ///
    /// # Errors
    /// Whatever the system reports.
    fn copy_permissions(&self, from: &Path, to: &Path) -> io::Result<()>;

    /// Takes write permission away from everyone.
    ///
    /// # Errors
    /// Whatever the system reports.
    fn set_read_only(&self, path: &Path) -> io::Result<()>;

    /// Makes the names in a folder durable.
    ///
    /// # Errors
    /// Whatever the system reports.
    fn sync_dir(&self, path: &Path) -> io::Result<()>;

    /// Waits for the exclusive lock that the file `path`, which must exist, stands for: against
    /// the threads of this process and against other processes.
    ///
    /// # Errors
    /// Whatever the system reports.
    fn lock(&self, path: &Path) -> io::Result<Box<dyn HeldLock>>;

    /// Takes the lock if it is free.
    ///
    /// # Errors
    /// Whatever the system reports.
    fn try_lock(&self, path: &Path) -> io::Result<Option<Box<dyn HeldLock>>>;

    /// Makes a file of the contents and permissions of `from`, over the one that is there. Not
    /// atomic: only for files that no reader looks at yet. With `sync` its contents are durable then.
    ///
    /// # Errors
    /// Whatever the system reports.
    fn copy(&self, from: &Path, to: &Path, sync: bool) -> io::Result<()> {
        let source = self.open(from)?;
        let mut file = self.create_over(to)?;
        let mut buffer = vec![0; COPY_PIECE];
        let mut offset = 0u64;
        loop {
            let n = source.read_at(&mut buffer, offset)?;
            if n == 0 {
                break;
            }
            file.append(buffer.head(n))?;
            offset = offset.plus(len64(n));
        }
        if sync {
            file.sync()?;
        }
        self.copy_permissions(from, to)
    }

    /// Makes everything durable that was written so far to the file system that the folder `path`
    /// is on.
    ///
    /// # Errors
    /// Whatever the system reports.
    fn sync_all(&self, path: &Path) -> io::Result<()>;

    /// Writes a new file whole.
    ///
    /// # Errors
    /// Whatever the system reports.
    fn create_with(&self, path: &Path, contents: &[u8]) -> io::Result<()> {
        let mut file = self.create(path)?;
        if contents.is_empty() { Ok(()) } else { file.append(contents) }
    }

    /// Replaces or makes a file so that a reader sees the old or the new contents, whole: writes
    /// beside it, syncs if requested, renames. Permissions are taken from `like`, if given.
    ///
    /// # Errors
    /// Whatever the system reports; the file beside is then removed.
    fn replace(
        &self,
        path: &Path,
        contents: &[u8],
        like: Option<&Path>,
        sync: bool,
    ) -> io::Result<()> {
        let (beside, mut file) = create_beside(self, path)?;
        let mut write = || {
            file.append(contents)?;
            if sync {
                file.sync()?;
            }
            if let Some(like) = like {
                self.copy_permissions(like, &beside)?;
            }
            self.rename(&beside, path, sync)
        };
        write().inspect_err(|_| {
            // The error that is reported is the first one.
            let _ = self.remove_file(&beside);
        })
    }
}

/// As [`WriteStorage::replace`], but a file that holds `contents` already only gets the permissions of `like`. It is as durable
/// as its writer made it.
///
/// # Errors
/// Whatever the system reports.
pub fn replace_unless_same<S: WriteStorage + ?Sized>(
    storage: &S,
    path: &Path,
    contents: &[u8],
    like: &Path,
    sync: bool,
) -> io::Result<()> {
    match storage.read(path, contents.len()) {
        Ok(there) if there == contents => storage.copy_permissions(like, path),
        _ => storage.replace(path, contents, Some(like), sync),
    }
}

/// Makes `to` a copy of `from`, by way of a new file `beside` it, so that a reader sees the old or
/// the new one, whole. With `sync` that is also true after a crash.
///
/// # Errors
/// Whatever the system reports; the file beside is then removed.
pub fn copy_into_place<S: WriteStorage + ?Sized>(
    storage: &S,
    from: &Path,
    beside: &Path,
    to: &Path,
    sync: bool,
) -> io::Result<()> {
    let copied = storage.copy(from, beside, sync).and_then(|()| storage.rename(beside, to, false));
    copied.inspect_err(|_| {
        // The error that is reported is the first one.
        let _ = storage.remove_file(beside);
    })
}

/// Whether two small files hold the same; no when one of them cannot be read, or is long.
pub fn is_same<S: WriteStorage + ?Sized>(storage: &S, one: &Path, other: &Path) -> bool {
    const LIMIT: usize = 1 << 20;
    let (Ok(a), Ok(b)) = (storage.stamp(one), storage.stamp(other)) else { return false };
    let read = |path| storage.read(path, LIMIT).ok();
    a.len == b.len && read(one).is_some_and(|one| read(other).is_some_and(|other| one == other))
}

/// Bytes that are copied at once where the system does not do it itself.
const COPY_PIECE: usize = 256 << 10;
/// Names tried for a file beside another before giving up.
const BESIDE_TRIES: u32 = 100_000;
/// The next number of a file beside another.
static BESIDE_NUMBER: AtomicU32 = AtomicU32::new(0);

/// Creates a new file in the folder of `path`, with a name made of its.
///
/// # Errors
/// Whatever the system reports.
pub fn create_beside<S: WriteStorage + ?Sized>(
    storage: &S,
    path: &Path,
) -> io::Result<(PathBuf, Box<dyn NewFile>)> {
    // Numbers start far apart in different processes, so that writers seldom meet, and go on in
    // one process, so that what a failed write left behind is not met again.
    let start = std::process::id().wrapping_mul(2_654_435_761);
    for _ in 0..BESIDE_TRIES {
        let number = start.wrapping_add(BESIDE_NUMBER.fetch_add(1, Ordering::Relaxed));
        let mut name = path.as_os_str().to_owned();
        name.push(format!(".{number:x}.tmp"));
        let beside = PathBuf::from(name);
        match storage.create(&beside) {
            Ok(file) => return Ok((beside, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// What the reference says, without the system's words, when [`WriteStorage::replace`] failed: it
/// names the temporary file beside it when that cannot be made.
#[must_use]
pub fn replace_failure(error: &io::Error, path: &Path) -> String {
    if is_opening_failure(error) {
        let template = path.with_file_name("svn-XXXXXX");
        format!("Can't create temporary file from template '{}'", template.display())
    } else {
        format!("Can't write to file '{}'", path.display())
    }
}

/// The same for [`WriteStorage::lock`].
#[must_use]
pub fn lock_failure(error: &io::Error, path: &Path) -> String {
    let verb = if is_opening_failure(error) {
        "Can't open file"
    } else {
        "Can't get exclusive lock on file"
    };
    format!("{verb} '{}'", path.display())
}

/// Whether a file could not be opened or made. Operations on an open file do not fail so.
fn is_opening_failure(error: &io::Error) -> bool {
    use io::ErrorKind::{IsADirectory, NotADirectory, NotFound, PermissionDenied};
    let kinds = [NotFound, PermissionDenied, NotADirectory, IsADirectory];
    kinds.contains(&error.kind()) || error.kind() == io::ErrorKind::ReadOnlyFilesystem
}

/// Waits for the exclusive lock that a file stands for; makes the file when it is not there.
///
/// # Errors
/// Whatever the system reports.
pub fn lock_or_create<S: WriteStorage + ?Sized>(
    storage: &S,
    path: &Path,
) -> io::Result<Box<dyn HeldLock>> {
    match storage.lock(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            match storage.create_with(path, b"") {
                // Another process was quicker.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                created => created?,
            }
            storage.lock(path)
        }
        locked => locked,
    }
}
