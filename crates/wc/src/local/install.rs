//! Working files written anew by an operation that made their text itself, as `svn patch` does. Nothing of
//! the database changes: the file is simply modified.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use sapwood_core::paths::RelPath;

use crate::error::{Error, Result};
use crate::files::{Form, create, create_whole};
use crate::root::Disk;
use crate::translate::{Translation, special};

/// A text in normal form that was made for a working file.
#[derive(Clone, Copy, Debug)]
pub enum NewText<'t> {
    /// All of it.
    Bytes(&'t [u8]),
    /// What is in a file.
    File(&'t Path),
}

impl<'t> NewText<'t> {
    /// A reader of it.
    ///
    /// # Errors
    /// That the file cannot be opened.
    pub fn open(self) -> io::Result<Box<dyn Read + 't>> {
        Ok(match self {
            Self::Bytes(bytes) => Box::new(bytes),
            Self::File(path) => Box::new(File::open(path)?),
        })
    }
}

/// As [`WorkingCopy::install_text`](crate::WorkingCopy::install_text).
pub(crate) fn install_text(
    disk: &Disk,
    relpath: &RelPath,
    text: NewText<'_>,
    translation: &Translation,
    executable: bool,
) -> Result<()> {
    let (path, temporary) = (disk.abspath(relpath), disk.temporary());
    let translation = Translation { special: false, ..translation.clone() };
    let form = Form { translation, executable, ..Form::default() };
    match text {
        NewText::Bytes(text) => create_whole(&temporary, text, &form)?,
        NewText::File(text) => {
            let mut text = File::open(text).map_err(|e| Error::io(e, "Can't open file", text))?;
            create(&temporary, &mut text, &form)?
        }
    };
    take_place(&temporary, &path)
}

/// As [`WorkingCopy::install_special`](crate::WorkingCopy::install_special).
pub(crate) fn install_special(disk: &Disk, relpath: &RelPath, normal: &mut dyn Read) -> Result<()> {
    let (path, temporary) = (disk.abspath(relpath), disk.temporary());
    special::create_working(&temporary, normal)
        .map_err(|e| Error::io(e, "Can't create symbolic link", &temporary))?;
    take_place(&temporary, &path)
}

/// Moves a file to its place. A directory that is missing is not made.
fn take_place(temporary: &Path, path: &Path) -> Result<()> {
    fs::rename(temporary, path).or_else(|error| {
        let _ = fs::remove_file(temporary);
        check_directory(path)?;
        let what = format!("Can't move '{}' to '{}'", temporary.display(), path.display());
        Err(Error::Io { what, error })
    })
}

fn check_directory(path: &Path) -> Result<()> {
    let Some(dir) = path.parent() else { return Ok(()) };
    fs::metadata(dir).map(drop).map_err(|e| Error::io(e, "Can't check path", dir))
}
