//! Where a patched text goes: a temporary file of the working copy, which goes with its owner, or nowhere.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use sapwood_core::{SvnError, SvnResult};

/// A text that is being made.
#[derive(Default)]
pub(super) enum Output {
    /// It is not wanted.
    #[default]
    None,
    /// It is in a file.
    File { path: PathBuf, file: BufWriter<File> },
}

impl Output {
    /// A new file.
    pub(super) fn new(path: PathBuf) -> SvnResult<Self> {
        let file = OpenOptions::new().write(true).create_new(true).open(&path);
        let file =
            file.map_err(|e| SvnError::io(&e, format!("Can't open file '{}'", path.display())))?;
        Ok(Self::File { path, file: BufWriter::new(file) })
    }

    /// The file, with all that was written.
    pub(super) fn finished(&mut self) -> SvnResult<&Path> {
        match self {
            Self::None => Err(SvnError::internal("a patched text that was not wanted")),
            Self::File { path, file } => {
                file.flush().map_err(super::content::unwritten)?;
                Ok(path)
            }
        }
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::None => Ok(bytes.len()),
            Self::File { file, .. } => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::None => Ok(()),
            Self::File { file, .. } => file.flush(),
        }
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if let Self::File { path, .. } = self {
            // A file that stays is removed by cleanup.
            let _ = fs::remove_file(path);
        }
    }
}
