//! The pristine store: the texts as they are in the repository, by SHA-1.
//!
//! A text is written to `.svn/tmp` and then, within a transaction that has the database's write
//! lock, gets its row and is renamed into place: another program's cleanup, which removes files
//! without rows under the same lock, cannot come in between. Texts that nothing refers to stay
//! until the user asks to remove them.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use sapwood_core::checksum::{Md5Hasher, Sha1Hasher};
use sapwood_core::exact::Exact;
use sapwood_core::{Md5, Sha1, len64};

use crate::db::Db;
use crate::error::{Error, Result};
use crate::layout;
use crate::root::Disk;

/// A text that is being written. Dropped without [`PristineWriter::finish`], it leaves nothing.
#[derive(Debug)]
pub struct PristineWriter {
    file: File,
    path: PathBuf,
    sha1: Sha1Hasher,
    md5: Md5Hasher,
    size: u64,
    kept: bool,
}

/// A text that is written and waits for its place in the store. Dropped, it leaves nothing.
#[derive(Debug)]
pub struct NewPristine {
    path: PathBuf,
    /// The text's name.
    pub sha1: Sha1,
    /// Its MD5.
    pub md5: Md5,
    /// Its length in bytes.
    pub size: u64,
    placed: bool,
}

impl Write for PristineWriter {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.file.write_all(buf)?;
        self.sha1.update(buf);
        self.md5.update(buf);
        self.size = self.size.plus(len64(buf.len()));
        Ok(buf.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl PristineWriter {
    /// Ends the text.
    #[must_use]
    pub fn finish(mut self) -> NewPristine {
        self.kept = true;
        NewPristine {
            path: std::mem::take(&mut self.path),
            sha1: std::mem::take(&mut self.sha1).finish(),
            md5: std::mem::take(&mut self.md5).finish(),
            size: self.size,
            placed: false,
        }
    }
}

impl Drop for PristineWriter {
    fn drop(&mut self) {
        if !self.kept {
            let _ = fs::remove_file(&self.path);
        }
    }
}

impl Drop for NewPristine {
    fn drop(&mut self) {
        if !self.placed {
            let _ = fs::remove_file(&self.path);
        }
    }
}

impl NewPristine {
    /// The file that holds the text until it is installed.
    #[must_use]
    pub fn path(&self) -> &std::path::Path {
        &self.path
    }
}

/// As [`WorkingCopy::stores_pristines`](crate::WorkingCopy::stores_pristines).
#[must_use]
pub(crate) fn stores_pristines(db: &Db) -> bool {
    db.settings().store_pristine
}

/// Opens a text if the store has it.
pub(crate) fn stored_pristine(
    db: &Db,
    disk: &Disk,
    sha1: &Sha1,
    marked: bool,
) -> Result<Option<File>> {
    if stores_pristines(db) {
        return open_pristine(disk, sha1).map(Some);
    }
    if !marked {
        return Ok(None);
    }
    let path = layout::pristine(disk.root(), sha1);
    match File::open(&path) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(None),
        other => other.map(Some).map_err(|e| Error::io(e, "Can't open file", &path)),
    }
}

/// As [`stored_pristine`], by the text's row.
pub(crate) fn at_hand(db: &Db, disk: &Disk, sha1: &Sha1) -> Result<Option<File>> {
    let marked = stores_pristines(db) || db.pristine(sha1)?.is_some_and(|row| row.hydrated);
    stored_pristine(db, disk, sha1, marked)
}

/// As [`WorkingCopy::write_pristine`](crate::WorkingCopy::write_pristine).
pub(crate) fn write_pristine(disk: &Disk) -> Result<PristineWriter> {
    let path = disk.temporary();
    let file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o444)
        .open(&path)
        .map_err(|e| Error::io(e, "Can't create temporary file", &path))?;
    let (sha1, md5) = (Sha1Hasher::new(), Md5Hasher::new());
    Ok(PristineWriter { file, path, sha1, md5, size: 0, kept: false })
}

/// As [`WorkingCopy::install_pristine`](crate::WorkingCopy::install_pristine).
pub(crate) fn install_pristine(db: &Db, disk: &Disk, mut text: NewPristine) -> Result<()> {
    db.write(|db| {
        let place = layout::pristine(disk.root(), &text.sha1);
        if !db.add_pristine(&text.sha1, &text.md5, text.size)? && place.exists() {
            return Ok(());
        }
        place_file(&text.path, &place)?;
        text.placed = true;
        Ok(())
    })
}

/// As [`WorkingCopy::open_pristine`](crate::WorkingCopy::open_pristine).
pub(crate) fn open_pristine(disk: &Disk, sha1: &Sha1) -> Result<File> {
    pristine_file(disk, sha1).open()
}

/// As [`WorkingCopy::pristine_file`](crate::WorkingCopy::pristine_file).
#[must_use]
pub(crate) fn pristine_file(disk: &Disk, sha1: &Sha1) -> PristineFile {
    PristineFile { path: layout::pristine(disk.root(), sha1) }
}

/// As [`WorkingCopy::vacuum_pristines`](crate::WorkingCopy::vacuum_pristines).
pub(crate) fn vacuum_pristines(db: &Db, disk: &Disk) -> Result<()> {
    db.write(|db| {
        for sha1 in db.unreferenced_pristines()? {
            if db.remove_pristine_row(&sha1)? {
                let path = layout::pristine(disk.root(), &sha1);
                remove_file(&path)?;
            }
        }
        Ok(())
    })
}

/// A text of the store, which is not open.
#[derive(Clone, Debug)]
pub struct PristineFile {
    path: PathBuf,
}

impl PristineFile {
    /// Opens it.
    ///
    /// # Errors
    /// When it cannot be read, or the store does not have it.
    pub fn open(&self) -> Result<File> {
        File::open(&self.path).map_err(|e| Error::io(e, "Can't open file", &self.path))
    }
}

/// Renames a file into the store; the folder of two letters is made when it is missing.
pub(crate) fn place_file(from: &std::path::Path, to: &std::path::Path) -> Result<()> {
    let failed = |e| Error::io(e, "Can't move", from);
    match fs::rename(from, to) {
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            if let Some(dir) = to.parent() {
                fs::create_dir_all(dir).map_err(|e| Error::io(e, "Can't create directory", dir))?;
            }
            fs::rename(from, to).map_err(failed)
        }
        other => other.map_err(failed),
    }
}

/// Removes a file; that it is not there is as good.
pub(crate) fn remove_file(path: &std::path::Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(())
        }
        other => other.map_err(|e| Error::io(e, "Can't remove file", path)),
    }
}
