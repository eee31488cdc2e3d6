//! Working files: writing them, and their flags.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::sync::OnceLock;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use sapwood_core::date::Timestamp;
use sapwood_core::exact::Cut;
use sapwood_core::{ErrorCode, SvnError};

use crate::error::{Error, Result};
use crate::platform;
use crate::translate::{Direction, TranslatedReader, Translation, special};
use crate::view::FileStat;

/// How a working file is to be.
#[derive(Clone, Debug, Default)]
pub(crate) struct Form {
    /// How it is made of the text in normal form.
    pub(crate) translation: Translation,
    /// With its executable bits.
    pub(crate) executable: bool,
    /// Without its bits for writing.
    pub(crate) read_only: bool,
    /// With this time.
    pub(crate) time: Option<Timestamp>,
}

impl Form {
    const fn mode(&self) -> u32 {
        match (self.executable, self.read_only) {
            (false, false) => 0o666,
            (true, false) => 0o777,
            (false, true) => 0o444,
            (true, true) => 0o555,
        }
    }
}

/// Writes a new working file at `path` from its text in normal form. Fails with
/// [`io::ErrorKind::AlreadyExists`] inside when something is there. Returns what to record; nothing
/// for special files.
pub(crate) fn create(path: &Path, text: &mut dyn Read, form: &Form) -> Result<Option<FileStat>> {
    if form.translation.special {
        return match special::create_working(path, text) {
            Ok(()) => Ok(None),
            // The text could not be read.
            Err(e) if e.get_ref().is_some_and(|inner| inner.is::<SvnError>()) => {
                Err(Error::Svn(SvnError::from_stream(e)))
            }
            Err(e) => Err(Error::io(e, "Can't create symbolic link", path)),
        };
    }
    fill_new(path, form, |file| write_text(file, text, form))
}

/// As [`create`], of a text that is in memory.
pub(crate) fn create_whole(path: &Path, text: &[u8], form: &Form) -> Result<Option<FileStat>> {
    if form.translation.special || form.translation.changes_normal_form() {
        return create(path, &mut &*text, form);
    }
    fill_new(path, form, |file| {
        file.write_all(text).map_err(|e| Error::io(e, "Can't write to file", path))
    })
}

/// As [`replace`], from a file: where the form is the text as it is, the system copies it, and where the
/// file system can share blocks, nothing is copied at all.
pub(crate) fn replace_from(
    path: &Path,
    temporary: &Path,
    text: &mut File,
    form: &Form,
) -> Result<Option<FileStat>> {
    if form.translation.special || form.translation.changes_normal_form() {
        return replace(path, temporary, text, form);
    }
    let stat = fill_new(temporary, form, |file| {
        io::copy(text, file).map_err(|e| Error::io(e, "Can't write to file", path)).map(drop)
    })?;
    take_place(path, temporary)?;
    Ok(stat)
}

/// Makes a file, and removes it when it cannot be filled.
fn fill_new(
    path: &Path,
    form: &Form,
    fill: impl FnOnce(&mut File) -> Result<()>,
) -> Result<Option<FileStat>> {
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(form.mode())
        .open(path)
        .map_err(|e| Error::io(e, "Can't open file", path))?;
    if let Err(e) = fill(&mut file) {
        let _ = fs::remove_file(path);
        return Err(e);
    }
    if let Some(time) = form.time {
        set_time(&file, time).map_err(|e| Error::io(e, "Can't set access time of", path))?;
    }
    let found = file.metadata().map_err(|e| Error::io(e, "Can't stat", path))?;
    Ok(Some(FileStat::of(&found)))
}

/// Writes the working form of a text in normal form.
fn write_text(file: &mut File, text: &mut dyn Read, form: &Form) -> Result<()> {
    let failed = |e| Error::Svn(sapwood_core::SvnError::from_stream(e));
    if form.translation.changes_normal_form() {
        let translator = form.translation.translator(Direction::ToWorking, true)?;
        let mut reader = TranslatedReader::new(text, translator);
        copy(&mut reader, file).map_err(failed)
    } else {
        copy(text, file).map_err(failed)
    }
}

fn copy(from: &mut dyn Read, to: &mut File) -> io::Result<()> {
    let mut buffer = vec![0; 64 << 10];
    loop {
        match from.read(&mut buffer) {
            Ok(0) => return Ok(()),
            Ok(len) => to.write_all(buffer.head(len))?,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
}

/// Writes a working file that may be there already: to `temporary` first, then in one step into its
/// place. Missing parents are made.
pub(crate) fn replace(
    path: &Path,
    temporary: &Path,
    text: &mut dyn Read,
    form: &Form,
) -> Result<Option<FileStat>> {
    let stat = create(temporary, text, form)?;
    take_place(path, temporary)?;
    Ok(stat)
}

/// As [`replace`], of a text that is in memory.
pub(crate) fn replace_whole(
    path: &Path,
    temporary: &Path,
    text: &[u8],
    form: &Form,
) -> Result<Option<FileStat>> {
    let stat = create_whole(temporary, text, form)?;
    take_place(path, temporary)?;
    Ok(stat)
}

fn take_place(path: &Path, temporary: &Path) -> Result<()> {
    move_into_place(temporary, path).inspect_err(|_| {
        let _ = fs::remove_file(temporary);
    })
}

/// Renames a file over another; missing parents are made.
pub(crate) fn move_into_place(from: &Path, to: &Path) -> Result<()> {
    let failed = |e| Error::Io {
        what: format!("Can't move '{}' to '{}'", from.display(), to.display()),
        error: e,
    };
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

/// Makes a directory, and its parents; a directory that is there is as good, a link to one is not.
pub(crate) fn ensure_directory(path: &Path) -> Result<()> {
    match fs::create_dir(path) {
        Ok(()) => Ok(()),
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {
            let found = fs::symlink_metadata(path).map_err(|e| Error::io(e, "Can't stat", path))?;
            if found.is_dir() {
                return Ok(());
            }
            let message = format!("'{}' is not a directory", path.display());
            Err(Error::new(ErrorCode::WC_OBSTRUCTED_UPDATE, message))
        }
        Err(e) if e.kind() == io::ErrorKind::NotFound => {
            let parent =
                path.parent().ok_or_else(|| Error::io(e, "Can't create directory", path))?;
            ensure_directory(parent)?;
            fs::create_dir(path).map_err(|e| Error::io(e, "Can't create directory", path))
        }
        Err(e) => Err(Error::io(e, "Can't create directory", path)),
    }
}

/// Sets a file's time of change.
fn set_time(file: &File, time: Timestamp) -> io::Result<()> {
    let micros = Duration::from_micros(time.0.unsigned_abs());
    let at =
        if time.0 < 0 { UNIX_EPOCH.checked_sub(micros) } else { UNIX_EPOCH.checked_add(micros) };
    let at: SystemTime = at.unwrap_or(UNIX_EPOCH);
    file.set_times(fs::FileTimes::new().set_accessed(at).set_modified(at))
}

/// Sets the time of change of the file at a path.
pub(crate) fn set_path_time(path: &Path, time: Timestamp) -> Result<()> {
    let failed = |e| Error::io(e, "Can't set access time of", path);
    // Opened for reading: the owner may do this to a read-only file.
    set_time(&File::open(path).map_err(failed)?, time).map_err(failed)
}

/// The bits that new files lack, read once.
fn umask() -> u32 {
    static UMASK: OnceLock<u32> = OnceLock::new();
    *UMASK.get_or_init(platform::umask)
}

/// Sets the bits of a plain file: executable or not, read-only or writable.
pub(crate) fn set_flags(path: &Path, executable: bool, read_only: bool) -> Result<()> {
    let failed = |e| Error::io(e, "Can't set permissions on", path);
    let found = match fs::symlink_metadata(path) {
        Ok(found) if found.is_file() => found,
        Ok(_) => return Ok(()),
        Err(e) => return Err(failed(e)),
    };
    let mode = found.permissions().mode() & 0o7777;
    let mut wanted = if executable { mode | (mode & 0o444) >> 2 } else { mode & !0o111 };
    wanted = if read_only { wanted & !0o222 } else { wanted | 0o222 & !umask() };
    if wanted == mode {
        return Ok(());
    }
    fs::set_permissions(path, Permissions::from_mode(wanted)).map_err(failed)
}

/// Whether there is a file that a conflict left: a plain one, or a link of the texts of a link.
pub(crate) fn is_leftover(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_file() || found.is_symlink())
}

/// Removes a directory and all in it; that it is not there is as good.
pub(crate) fn remove_tree(path: &Path) -> Result<()> {
    match fs::remove_dir_all(path) {
        Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            Ok(())
        }
        other => other.map_err(|e| Error::io(e, "Can't remove directory", path)),
    }
}

/// Removes a directory if it is empty.
pub(crate) fn remove_empty(path: &Path) -> Result<()> {
    use io::ErrorKind::{DirectoryNotEmpty, NotADirectory, NotFound};
    match fs::remove_dir(path) {
        Err(e) if matches!(e.kind(), NotFound | NotADirectory | DirectoryNotEmpty) => Ok(()),
        other => other.map_err(|e| Error::io(e, "Can't remove directory", path)),
    }
}

/// Whether two files have the same contents.
pub(crate) fn same_contents(mut a: impl Read, mut b: impl Read) -> io::Result<bool> {
    let (mut left, mut right) = (Vec::new(), Vec::new());
    loop {
        left.clear();
        right.clear();
        (&mut a).take(64 << 10).read_to_end(&mut left)?;
        (&mut b).take(64 << 10).read_to_end(&mut right)?;
        if left != right {
            return Ok(false);
        }
        if left.is_empty() {
            return Ok(true);
        }
    }
}
