//! Directories on disk: one open, a few reads, and one `stat` of each file, relative to the open
//! directory.

use std::ffi::CStr;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat, fstat, openat, statat};
use rustix::io::Errno;
use sapwood_core::exact::{Exact, signed};

use super::value::DiskKind;
use crate::platform;

/// The result of a `stat`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Look {
    /// The kind of node.
    pub(crate) kind: DiskKind,
    /// The size in bytes.
    pub(crate) size: u64,
    /// The time of the last change, in microseconds since 1970.
    pub(crate) mtime: i64,
    /// The permission bits.
    pub(crate) mode: u32,
    /// Whether it is a file with several hard links.
    pub(crate) is_linked: bool,
}

/// A stamp that changes when names are added to a directory or removed, or when it is replaced by
/// another one. Times are nanoseconds since 1970.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) inode: u64,
    /// The time of the last change of its inode.
    pub(super) changed: i64,
    /// The time of the last change of its names.
    pub(super) written: i64,
}

const fn disk_kind(kind: FileType) -> DiskKind {
    match kind {
        FileType::RegularFile => DiskKind::File,
        FileType::Directory => DiskKind::Dir,
        _ => DiskKind::Special,
    }
}

/// An open directory.
#[derive(Debug)]
pub(crate) struct OpenDir(OwnedFd);

impl Look {
    /// An open directory without any other information.
    pub(super) const DIR: Self =
        Self { kind: DiskKind::Dir, size: 0, mtime: 0, mode: 0, is_linked: false };
}

impl OpenDir {
    /// Opens a directory; `None` when there is none.
    ///
    /// # Errors
    /// Those of the system, except "not there" and "not a directory".
    pub(crate) fn open(path: &Path) -> Result<Option<Self>, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        match openat(CWD, path, flags, Mode::empty()) {
            Ok(fd) => Ok(Some(Self(fd))),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// A directory below this one, as a base for relative paths; `None` when it is not a directory.
    pub(super) fn place(&self, name: &CStr) -> Option<Self> {
        let flags = platform::FOLDER | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        openat(&self.0, name, flags, Mode::empty()).ok().map(Self)
    }

    /// Calls `each` with every name but `.` and `..`, in the order of the directory.
    ///
    /// # Errors
    /// Those of the system.
    pub(crate) fn read(
        &self,
        buffer: &mut Vec<u8>,
        mut each: impl FnMut(&CStr, Option<DiskKind>),
    ) -> Result<(), Errno> {
        platform::read_names(self.0.as_fd(), buffer, |name, kind| {
            let kind = match kind {
                FileType::Unknown => None,
                known => Some(disk_kind(known)),
            };
            if name != c"." && name != c".." {
                each(name, kind);
            }
        })
    }

    /// Whether all of some sorted names are in it.
    pub(crate) fn has_all<N: AsRef<str>>(&self, names: &[N], buffer: &mut Vec<u8>) -> bool {
        let mut seen = 0_usize;
        let read = self.read(buffer, |name, _| {
            let found = names.binary_search_by(|own| own.as_ref().as_bytes().cmp(name.to_bytes()));
            seen = seen.plus(usize::from(found.is_ok()));
        });
        read.is_ok() && seen == names.len()
    }

    /// The stamp that changes with this directory.
    pub(super) fn own_stamp(&self) -> Option<Stamp> {
        stamp_of(&fstat(&self.0).ok()?)
    }

    /// The same of a directory below, or of this one if the name is empty; `None` when it is not a
    /// directory.
    pub(super) fn stamp(&self, name: &CStr) -> Option<Stamp> {
        if name.is_empty() {
            return self.own_stamp();
        }
        stamp_of(&statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW).ok()?)
    }

    /// Calls `stat` for a name, without following links.
    ///
    /// # Errors
    /// Those of the system, except "not there".
    pub(crate) fn look(&self, name: &CStr) -> Result<Option<Look>, Errno> {
        look_from(self.0.as_fd(), name)
    }
}

/// Nanoseconds, always less than a second.
fn part_of_second(nanoseconds: u64) -> i64 {
    signed(nanoseconds)
}

/// `None` when it is not a directory.
fn stamp_of(found: &Stat) -> Option<Stamp> {
    let nanoseconds = |seconds: i64, rest| {
        seconds.saturating_mul(1_000_000_000).saturating_add(part_of_second(rest))
    };
    let is_dir = FileType::from_raw_mode(found.st_mode) == FileType::Directory;
    is_dir.then(|| Stamp {
        inode: found.st_ino,
        changed: nanoseconds(found.st_ctime, found.st_ctime_nsec),
        written: nanoseconds(found.st_mtime, found.st_mtime_nsec),
    })
}

// `statx` with a mask would be no faster: the system fills in everything, and copies more.
fn look_from<P: rustix::path::Arg>(
    dir: rustix::fd::BorrowedFd<'_>,
    name: P,
) -> Result<Option<Look>, Errno> {
    match statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(found) => {
            let kind = disk_kind(FileType::from_raw_mode(found.st_mode));
            let size = u64::try_from(found.st_size).map_err(|_| Errno::OVERFLOW)?;
            let seconds = found.st_mtime.saturating_mul(1_000_000);
            let mtime = seconds.saturating_add(part_of_second(found.st_mtime_nsec) / 1000);
            let is_linked = kind == DiskKind::File && found.st_nlink > 1;
            Ok(Some(Look { kind, size, mtime, mode: found.st_mode, is_linked }))
        }
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Calls `stat` for a path, without following a link at its end.
///
/// # Errors
/// Those of the system, except "not there".
pub(super) fn look(path: &Path) -> Result<Option<Look>, Errno> {
    look_from(CWD, path)
}
