//! Locks on paths, and their files: FSFS and FSX keep them in the same form, `db/locks/abc/DIGEST`.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io::{Error, ErrorKind};
use std::path::Path;

use sapwood_core::paths::FsPathBuf;
use sapwood_core::{SvnError, SvnResult};
use sapwood_fs_common::lock_paths;
pub use sapwood_fs_common::lock_paths::{LockOptions, LockTarget, UnlockTarget};

/// What became of several paths.
#[derive(Debug)]
pub struct LockOutcome<T> {
    /// One result for each path. Paths that were given twice have one; those that were not looked at
    /// because of a failure have none.
    pub each: Vec<(FsPathBuf, crate::Result<T>)>,
    /// What went wrong with all of them.
    pub failure: Option<crate::Error>,
}

impl<T, E> From<lock_paths::LockOutcome<T, E>> for LockOutcome<T>
where
    crate::Error: From<E>,
{
    fn from(outcome: lock_paths::LockOutcome<T, E>) -> Self {
        let each = outcome.each.into_iter();
        Self {
            each: each.map(|(path, done)| (path, done.map_err(crate::Error::from))).collect(),
            failure: outcome.failure.map(crate::Error::from),
        }
    }
}

/// Makes the locks of the filesystem in the folder `to` those of the one in `from`. Neither may be in use.
///
/// # Errors
/// Those of the system.
pub fn mirror_locks(from: &Path, to: &Path) -> SvnResult<()> {
    mirror(&from.join("locks"), &to.join("locks"), 0)
}

/// The folder of digests, and the folders in it.
const LEVELS: u32 = 2;

fn mirror(from: &Path, to: &Path, level: u32) -> SvnResult<()> {
    let failed = |error: &Error, what: &str, path: &Path| {
        SvnError::io(error, format_args!("{what} '{}'", path.display()))
    };
    let names = |path: &Path| -> SvnResult<BTreeSet<OsString>> {
        let listed = match fs::read_dir(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(BTreeSet::new()),
            listed => listed.map_err(|error| failed(&error, "Can't open directory", path))?,
        };
        let names = listed.map(|entry| entry.map(|entry| entry.file_name()));
        names
            .collect::<Result<_, _>>()
            .map_err(|error| failed(&error, "Can't read directory", path))
    };
    let (wanted, present) = (names(from)?, names(to)?);
    for name in present.difference(&wanted) {
        let path = to.join(name);
        let removed =
            if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        removed.map_err(|error| failed(&error, "Can't remove", &path))?;
    }
    if !wanted.is_empty() {
        fs::create_dir_all(to).map_err(|error| failed(&error, "Can't create directory", to))?;
    }
    for name in wanted {
        let (from, to) = (from.join(&name), to.join(&name));
        if from.is_dir() && level < LEVELS {
            mirror(&from, &to, level + 1)?;
        } else {
            fs::copy(&from, &to).map_err(|error| failed(&error, "Can't copy", &from))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_gone_goes_and_what_is_new_comes() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        for (db, files) in
            [(&from, ["locks/abc/one", "locks/abd/two"]), (&to, ["locks/abc/one", "locks/abe/old"])]
        {
            for file in files {
                fs::create_dir_all(db.join(file).parent().unwrap()).unwrap();
                fs::write(db.join(file), format!("{}", db.display())).unwrap();
            }
        }
        mirror_locks(&from, &to).unwrap();
        assert!(!to.join("locks/abe").exists());
        for file in ["locks/abc/one", "locks/abd/two"] {
            assert_eq!(fs::read(to.join(file)).unwrap(), fs::read(from.join(file)).unwrap());
        }
        mirror_locks(&folder.path().join("none"), &to).unwrap();
        assert_eq!(fs::read_dir(to.join("locks")).unwrap().count(), 0);
    }
}
