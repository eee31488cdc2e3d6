//! Where a patched text goes: into memory, a long one into a temporary file of the working copy, which goes with
//! its owner, or nowhere.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;

use sapwood_core::exact::Exact;
use sapwood_core::{SvnError, SvnResult};
use sapwood_wc::local::NewText;

/// The longest text that stays in memory.
pub(super) const IN_MEMORY: usize = 1 << 20;

/// A text that is being made.
pub(super) enum Output {
    /// It is not wanted; whether there would be any.
    None { any: bool },
    /// It is in memory, and moves to this path once it is too long.
    Memory { bytes: Vec<u8>, path: PathBuf },
    /// It is in a file.
    File { path: PathBuf, file: BufWriter<File> },
}

impl Default for Output {
    fn default() -> Self {
        Self::None { any: false }
    }
}

impl Output {
    /// Whether nothing was written.
    pub(super) const fn is_empty(&self) -> bool {
        match self {
            Self::None { any } => !*any,
            Self::Memory { bytes, .. } => bytes.is_empty(),
            Self::File { .. } => false,
        }
    }

    /// A new text, for which there may come to be a file.
    pub(super) const fn new(path: PathBuf) -> Self {
        Self::Memory { bytes: Vec::new(), path }
    }

    /// All that was written.
    pub(super) fn finished(&mut self) -> SvnResult<NewText<'_>> {
        match self {
            Self::None { .. } => Err(SvnError::internal("a patched text that was not wanted")),
            Self::Memory { bytes, .. } => Ok(NewText::Bytes(bytes)),
            Self::File { path, file } => {
                file.flush().map_err(unwritten)?;
                Ok(NewText::File(path))
            }
        }
    }

    /// Moves a text from memory to its file, and goes on there.
    fn spill(&mut self) -> io::Result<()> {
        let Self::Memory { bytes, path } = self else { return Ok(()) };
        let mut file = OpenOptions::new().write(true).create_new(true).open(&*path)?;
        file.write_all(bytes)?;
        *self = Self::File { path: std::mem::take(path), file: BufWriter::new(file) };
        Ok(())
    }
}

impl Write for Output {
    fn write(&mut self, new: &[u8]) -> io::Result<usize> {
        if let Self::Memory { bytes, .. } = self {
            if bytes.len().plus(new.len()) <= IN_MEMORY {
                bytes.extend_from_slice(new);
                return Ok(new.len());
            }
            self.spill()?;
        }
        match self {
            Self::File { file, .. } => file.write(new),
            Self::None { any } => {
                *any |= !new.is_empty();
                Ok(new.len())
            }
            Self::Memory { .. } => Ok(new.len()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::None { .. } | Self::Memory { .. } => Ok(()),
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

pub(super) fn unwritten(error: std::io::Error) -> SvnError {
    SvnError::io(&error, "Can't write a patched file")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_long_texts_need_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("text");
        let mut output = Output::new(path.clone());
        output.write_all(&vec![b'x'; IN_MEMORY]).unwrap();
        assert!(
            matches!(output.finished().unwrap(), NewText::Bytes(all) if all.len() == IN_MEMORY)
        );
        assert!(!path.exists());
        output.write_all(b"y").unwrap();
        assert!(matches!(output.finished().unwrap(), NewText::File(file) if file == path));
        assert_eq!(fs::metadata(&path).unwrap().len(), u64::try_from(IN_MEMORY + 1).unwrap());
        drop(output);
        assert!(!path.exists());
    }
}
