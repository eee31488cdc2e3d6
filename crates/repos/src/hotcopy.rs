//! Copying a repository that may be in use: its folders, and its filesystem.
//!
//! Everything in the repository's folder is copied, whatever program put it there; but `locks` is made new,
//! `db` is copied by the filesystem, and `format`, without which a folder is no repository, comes last.

use sapwood_core::Exact;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use sapwood_core::{CancelToken, ErrorCode, Revnum, SvnError};
use sapwood_fs::admin::hotcopy::HotcopyOptions;
use sapwood_store::write::{
    WriteStorage, copy_into_place, create_beside, is_same, replace_failure, replace_unless_same,
};

use crate::error::Result;
use crate::repository::Repository;

/// The longest lock file whose contents are copied.
const LOCK_LEN: usize = 64 << 10;
/// The greatest depth of folders.
const MAX_DEPTH: u32 = 128;

/// Copies `source` to the folder `to`. `notify` is called with the revisions that were copied.
///
/// # Errors
/// E200004 when both are the same folder; E200011 when there is something at `to`, unless the copy is
/// incremental; those of [`sapwood_fs::Filesystem::hotcopy`].
pub fn hotcopy(
    source: &Repository,
    to: &Path,
    options: &HotcopyOptions,
    cancel: &CancelToken,
    notify: &mut dyn FnMut(Revnum, Revnum) -> sapwood_fs::Result<()>,
) -> Result<()> {
    let absolute = |path: &Path| {
        sapwood_core::paths::absolute(path)
            .map_err(|e| cannot(&e, "Can't determine absolute path of", path))
    };
    let (from, to) = (absolute(source.path())?, absolute(to)?);
    if from == to {
        return Err(SvnError::new(
            ErrorCode::INCORRECT_PARAMS,
            "Hotcopy source and destination are equal",
        )
        .into());
    }
    let storage = source.fs().storage();
    let copy = Copy { storage, options, cancel, to: &to, left_out: None };
    copy.folder(&from, &to, 0)?;
    copy.locks(&from)?;
    let db = to.join("db");
    match storage.create_dir(&db, true) {
        Err(e) if e.kind() == ErrorKind::AlreadyExists && options.incremental => {}
        made => made.map_err(|e| cannot(&e, "Can't create directory", &db))?,
    }
    source.fs().hotcopy(&db, options, cancel, notify)?;
    let format = to.join("format");
    let number = format!("{}\n", source.format());
    let like = from.join("format");
    replace_unless_same(storage, &format, number.as_bytes(), &like, options.flush_to_disk)
        .map_err(|e| SvnError::io(&e, replace_failure(&e, &format)).into())
}

/// Copies everything but revisions, lock files and the file `left_out` in the folder itself: hooks, configuration, folders of the
/// administrator.
pub(crate) fn copy_folders(
    storage: &dyn WriteStorage,
    from: &Path,
    to: &Path,
    left_out: &str,
    options: &HotcopyOptions,
    cancel: &CancelToken,
) -> Result<()> {
    Copy { storage, options, cancel, to, left_out: Some(left_out) }.folder(from, to, 0)
}

struct Copy<'a> {
    storage: &'a dyn WriteStorage,
    options: &'a HotcopyOptions,
    cancel: &'a CancelToken,
    to: &'a Path,
    left_out: Option<&'a str>,
}

impl Copy<'_> {
    /// Makes a folder; one that is there must be empty, unless the copy is incremental.
    fn new_folder(&self, path: &Path) -> std::result::Result<(), SvnError> {
        match self.storage.create_dir(path, false) {
            Err(e) if e.kind() == ErrorKind::AlreadyExists => {
                let listed = self.storage.list(path);
                let listed = listed.map_err(|e| cannot(&e, "Can't check directory", path))?;
                if listed.is_empty() || self.options.incremental {
                    return Ok(());
                }
                Err(SvnError::new(
                    ErrorCode::DIR_NOT_EMPTY,
                    format!("'{}' exists and is non-empty", path.display()),
                ))
            }
            made => made.map_err(|e| cannot(&e, "Can't create directory", path)),
        }
    }

    fn folder(&self, from: &Path, to: &Path, depth: u32) -> Result<()> {
        if depth > MAX_DEPTH {
            let what = format!("Directory '{}' is too deep", from.display());
            return Err(SvnError::new(ErrorCode::FS_GENERAL, what).into());
        }
        self.new_folder(to)?;
        let listed = fs::read_dir(from).map_err(|e| cannot(&e, "Can't open directory", from))?;
        for entry in listed {
            if self.cancel.is_cancelled() {
                return Err(SvnError::new(ErrorCode::CANCELLED, "Caught signal").into());
            }
            let entry = entry.map_err(|e| cannot(&e, "Can't read directory", from))?;
            let name = entry.file_name();
            let own = ["db", "locks", "format"].into_iter().chain(self.left_out);
            let (from, to) = (entry.path(), to.join(&name));
            // A copy inside of the repository is not copied into itself.
            if (depth == 0 && own.into_iter().any(|own| name == *own)) || from == *self.to {
                continue;
            }
            let kind = entry.file_type().map_err(|e| cannot(&e, "Can't check path", &from))?;
            if kind.is_dir() {
                self.folder(&from, &to, depth.plus(1))?;
            } else if kind.is_symlink() {
                copy_link(&from, &to)?;
            } else if kind.is_file() {
                self.file(&from, &to)?;
            }
        }
        Ok(())
    }

    /// Copies a file, so that a reader of the copy sees the old or the new one.
    fn file(&self, from: &Path, to: &Path) -> Result<()> {
        let storage = self.storage;
        let is_there = storage.stamp(to).is_ok();
        if is_there && is_same(storage, from, to) {
            let done = storage.copy_permissions(from, to);
            return done.map_err(|e| cannot(&e, "Can't set permissions on", to).into());
        }
        let fail = |e: std::io::Error| {
            let what = format!("Can't copy '{}' to '{}'", from.display(), to.display());
            SvnError::io(&e, what)
        };
        let (beside, file) =
            create_beside(storage, to).map_err(|e| SvnError::io(&e, replace_failure(&e, to)))?;
        drop(file);
        // New ones are made durable all at once, later.
        let sync = is_there && self.options.flush_to_disk;
        copy_into_place(storage, from, &beside, to, sync).map_err(|e| fail(e).into())
    }

    /// The folder of lock files that old programs look for. Their contents are those of the source at
    /// `from`.
    fn locks(&self, from: &Path) -> Result<()> {
        let dir = self.to.join("locks");
        self.new_folder(&dir).map_err(|e| e.context("Creating lock dir"))?;
        for name in ["db.lock", "db-logs.lock"] {
            let path: PathBuf = dir.join(name);
            if self.storage.stamp(&path).is_err() {
                let text = self.storage.read(&from.join("locks").join(name), LOCK_LEN);
                let unused = include_bytes!("create/templates/db.lock");
                let text = text.unwrap_or_else(|_| unused.to_vec());
                let made = self.storage.create_with(&path, &text);
                made.map_err(|e| cannot(&e, "Can't create file", &path))?;
            }
        }
        Ok(())
    }
}

fn copy_link(from: &Path, to: &Path) -> Result<()> {
    let target = fs::read_link(from).map_err(|e| cannot(&e, "Can't read link", from))?;
    match std::os::unix::fs::symlink(&target, to) {
        Err(e) if e.kind() == ErrorKind::AlreadyExists => {
            fs::remove_file(to).and_then(|()| std::os::unix::fs::symlink(&target, to))
        }
        made => made,
    }
    .map_err(|e| cannot(&e, "Can't create symbolic link", to).into())
}

fn cannot(error: &std::io::Error, what: &str, path: &Path) -> SvnError {
    SvnError::io(error, format_args!("{what} '{}'", path.display()))
}
