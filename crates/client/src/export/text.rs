//! The text of a file on its way to the disk: a small one waits in memory until the file's
//! properties are known, a large one in a file beside its place.

use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use sapwood_core::Md5;
use sapwood_core::checksum::Md5Hasher;
use sapwood_core::exact::Exact;
use tempfile::NamedTempFile;

/// The most bytes that are kept in memory.
const IN_MEMORY: usize = 256 << 10;

/// A text in normal form, as it comes.
pub(super) struct Spool {
    /// The hash of the part on disk, if it is wanted; the part in memory is hashed later.
    md5: Option<Md5Hasher>,
    text: Text,
    /// Where a large one is kept: on the disk that it is for.
    dir: Box<Path>,
}

/// A text that came.
pub(super) enum Text {
    Memory(Vec<u8>),
    Kept(NamedTempFile),
}

impl Spool {
    /// For a file that will be at `to`, and whose text was checked where it comes from.
    pub(super) fn beside(to: &Path) -> Self {
        let dir = to.parent().unwrap_or(to).into();
        Self { md5: None, text: Text::Memory(Vec::new()), dir }
    }

    /// For a file that will be at `to`, and whose text is compared with a checksum.
    pub(super) fn summed_beside(to: &Path) -> Self {
        Self { md5: Some(Md5Hasher::new()), ..Self::beside(to) }
    }

    /// The text, and its checksum if it is on disk and wanted.
    pub(super) fn finish(self) -> (Text, Option<Md5>) {
        let md5 = self.md5.filter(|_| matches!(self.text, Text::Kept(_))).map(Md5Hasher::finish);
        (self.text, md5)
    }
}

impl Write for Spool {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        match &mut self.text {
            Text::Memory(text) if text.len().plus(buffer.len()) <= IN_MEMORY => {
                text.extend_from_slice(buffer);
            }
            Text::Memory(text) => {
                // It may become the file itself: with what the umask leaves.
                let mode = Permissions::from_mode(0o666);
                let mut kept = tempfile::Builder::new()
                    .prefix("svn-")
                    .suffix(".tmp")
                    .permissions(mode)
                    .tempfile_in(&self.dir)?;
                for piece in [text.as_slice(), buffer] {
                    self.md5.iter_mut().for_each(|md5| md5.update(piece));
                    kept.write_all(piece)?;
                }
                self.text = Text::Kept(kept);
            }
            Text::Kept(kept) => {
                self.md5.iter_mut().for_each(|md5| md5.update(buffer));
                kept.write_all(buffer)?;
            }
        }
        Ok(buffer.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Makes what was kept on disk the file at `to`, where nothing is.
pub(super) fn place(kept: NamedTempFile, to: &Path, executable: bool) -> io::Result<File> {
    let file = kept.persist_noclobber(to).map_err(|e| e.error)?;
    if executable {
        let mode = file.metadata()?.permissions().mode();
        // Execute permission follows read permission.
        fs::set_permissions(to, Permissions::from_mode(mode | ((mode & 0o444) >> 2)))?;
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A text of `len` bytes that came in pieces, its checksum compared where one is wanted.
    fn spooled(len: usize, folder: &Path) -> Text {
        let mut spool = Spool::summed_beside(&folder.join("f"));
        let text = vec![b'x'; len];
        for piece in text.chunks(10_000) {
            spool.write_all(piece).unwrap();
        }
        let (kept, md5) = spool.finish();
        assert!(md5.is_none_or(|md5| md5 == Md5::of(&text)));
        assert_eq!(md5.is_none(), matches!(kept, Text::Memory(_)));
        kept
    }

    #[test]
    fn only_small_texts_are_in_memory() {
        let folder = tempfile::tempdir().unwrap();
        assert!(matches!(spooled(IN_MEMORY, folder.path()), Text::Memory(_)));
        let large = spooled(IN_MEMORY + 1, folder.path());
        assert!(matches!(large, Text::Kept(_)));
        drop(large);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_large_text_becomes_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let to = folder.path().join("f");
        let Text::Kept(kept) = spooled(IN_MEMORY * 2, folder.path()) else { panic!("in memory") };
        place(kept, &to, true).unwrap();
        let found = fs::metadata(&to).unwrap();
        assert_eq!(found.len(), u64::try_from(IN_MEMORY * 2).unwrap());
        assert_eq!(found.permissions().mode() & 0o500, 0o500);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
