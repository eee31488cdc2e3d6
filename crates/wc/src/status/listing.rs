//! Directories on disk: one open, a few reads, and one look a file, relative to the open directory.

use std::ffi::CStr;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RawDir, StatxFlags, openat, statx};
use rustix::io::Errno;

use super::value::DiskKind;

/// What a look at a path gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Look {
    /// What is there.
    pub(crate) kind: DiskKind,
    /// Bytes.
    pub(crate) size: u64,
    /// When it was changed, in microseconds since 1970.
    pub(crate) mtime: i64,
    /// Who may do what.
    pub(crate) mode: u16,
}

/// What tells that names came into a directory, or went, or that it is another one. Times are
/// nanoseconds since 1970.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) inode: u64,
    /// When anything about it was changed.
    pub(super) changed: i64,
    /// When its names were.
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

impl OpenDir {
    /// Opens a directory; `None` when there is none.
    ///
    /// # Errors
    /// Those of the system but "not there" and "not a directory".
    pub(crate) fn open(path: &Path) -> Result<Option<Self>, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        match openat(CWD, path, flags, Mode::empty()) {
            Ok(fd) => Ok(Some(Self(fd))),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// A directory below this one, only to look from there; nothing when it is none.
    pub(super) fn place(&self, name: &CStr) -> Option<Self> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
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
        buffer.clear();
        buffer.reserve(32 << 10);
        let mut raw = RawDir::new(self.0.as_fd(), buffer.spare_capacity_mut());
        while let Some(entry) = raw.next() {
            let entry = entry?;
            let name = entry.file_name();
            if name == c"." || name == c".." {
                continue;
            }
            let kind = match entry.file_type() {
                FileType::Unknown => None,
                known => Some(disk_kind(known)),
            };
            each(name, kind);
        }
        Ok(())
    }

    /// What tells that this directory changes.
    pub(super) fn own_stamp(&self) -> Option<Stamp> {
        stamp_from(self.0.as_fd(), c"")
    }

    /// The same of a directory below; nothing when it is none.
    pub(super) fn stamp(&self, name: &CStr) -> Option<Stamp> {
        stamp_from(self.0.as_fd(), name)
    }

    /// Looks at a name, without following links.
    ///
    /// # Errors
    /// Those of the system but "not there".
    pub(crate) fn look(&self, name: &CStr) -> Result<Option<Look>, Errno> {
        look_from(self.0.as_fd(), name)
    }
}

fn stamp_from(dir: rustix::fd::BorrowedFd<'_>, name: &CStr) -> Option<Stamp> {
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::STATX_DONT_SYNC | AtFlags::EMPTY_PATH;
    let mask = StatxFlags::TYPE | StatxFlags::INO | StatxFlags::MTIME | StatxFlags::CTIME;
    let found = statx(dir, name, flags, mask).ok()?;
    let nanoseconds = |seconds: i64, rest: u32| {
        seconds.saturating_mul(1_000_000_000).saturating_add(i64::from(rest))
    };
    let is_dir = FileType::from_raw_mode(found.stx_mode.into()) == FileType::Directory;
    is_dir.then(|| Stamp {
        inode: found.stx_ino,
        changed: nanoseconds(found.stx_ctime.tv_sec, found.stx_ctime.tv_nsec),
        written: nanoseconds(found.stx_mtime.tv_sec, found.stx_mtime.tv_nsec),
    })
}

fn look_from<P: rustix::path::Arg>(
    dir: rustix::fd::BorrowedFd<'_>,
    name: P,
) -> Result<Option<Look>, Errno> {
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::STATX_DONT_SYNC;
    let mask = StatxFlags::TYPE | StatxFlags::MODE | StatxFlags::SIZE | StatxFlags::MTIME;
    match statx(dir, name, flags, mask) {
        Ok(found) => {
            let kind = FileType::from_raw_mode(found.stx_mode.into());
            let seconds = found.stx_mtime.tv_sec.saturating_mul(1_000_000);
            let mtime = seconds.saturating_add(i64::from(found.stx_mtime.tv_nsec / 1000));
            let mode = found.stx_mode;
            Ok(Some(Look { kind: disk_kind(kind), size: found.stx_size, mtime, mode }))
        }
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Looks at a path, without following a link at its end.
///
/// # Errors
/// Those of the system but "not there".
pub(super) fn look(path: &Path) -> Result<Option<Look>, Errno> {
    look_from(CWD, path)
}
