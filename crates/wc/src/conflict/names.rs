//! The names of the files that conflicts leave beside a node.

use std::fs::OpenOptions;
use std::io::ErrorKind;

use sapwood_core::ErrorCode;
use sapwood_core::paths::{RelPath, RelPathBuf};

use crate::error::{Error, Result};
use crate::root::{Disk, WorkingCopy};

/// The name of the file about property conflicts of a directory, without its extension.
pub const DIRECTORY: &str = "dir_conflicts";
/// The extension of files about property conflicts.
const PREJ: &str = ".prej";
/// How many names are tried.
const TRIES: u32 = 99_999;

/// Makes an empty file in the directory `dir` whose name is `name` with `suffix`, or with `.2`,
/// `.3`, ... in between when that is taken. The path is below the working copy's root.
///
/// # Errors
/// When no file can be made there; `E135003` when all names are taken.
pub fn reserve(disk: &Disk, dir: &RelPath, name: &str, suffix: &str) -> Result<RelPathBuf> {
    let base = dir.child(name);
    for number in 1..=TRIES {
        let relpath = RelPathBuf::new(match number {
            1 => format!("{base}{suffix}"),
            number => format!("{base}.{number}{suffix}"),
        })?;
        let file = disk.abspath(&relpath);
        match OpenOptions::new().write(true).create_new(true).open(&file) {
            Ok(_) => return Ok(relpath),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(Error::io(error, "Can't open", &file)),
        }
    }
    let shown = disk.abspath(&base);
    Err(Error::new(
        ErrorCode::IO_UNIQUE_NAMES_EXHAUSTED,
        format!("Unable to make name for '{}'", shown.display()),
    ))
}

/// Makes the empty `.prej` file of a node: for a file beside it, for a directory in it.
///
/// # Errors
/// As [`reserve`].
pub(crate) fn reserve_prej(wc: &WorkingCopy, relpath: &RelPath) -> Result<RelPathBuf> {
    if wc.abspath(relpath).is_dir() {
        reserve(wc.disk(), relpath, DIRECTORY, PREJ)
    } else {
        let (dir, name) = relpath.parent_and_name();
        reserve(wc.disk(), dir, name, PREJ)
    }
}
