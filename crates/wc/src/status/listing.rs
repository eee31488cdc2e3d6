//! Directories on disk: one open, a few reads, and one look a file, relative to the open directory.

use std::ffi::CStr;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, RawDir, StatxFlags, openat, statx};
use rustix::io::Errno;

use super::value::DiskKind;

/// What a look at a path gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Look {
    /// What is there.
    pub(super) kind: DiskKind,
    /// Bytes.
    pub(super) size: u64,
    /// When it was changed, in microseconds since 1970.
    pub(super) mtime: i64,
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
pub(super) struct OpenDir(OwnedFd);

impl OpenDir {
    /// Opens a directory; `None` when there is none.
    ///
    /// # Errors
    /// Those of the system but "not there" and "not a directory".
    pub(super) fn open(path: &Path) -> Result<Option<Self>, Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        match openat(CWD, path, flags, Mode::empty()) {
            Ok(fd) => Ok(Some(Self(fd))),
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Calls `each` with every name but `.` and `..`, in the order of the directory.
    ///
    /// # Errors
    /// Those of the system.
    pub(super) fn read(
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

    /// Looks at a name, without following links.
    ///
    /// # Errors
    /// Those of the system but "not there".
    pub(super) fn look(&self, name: &CStr) -> Result<Option<Look>, Errno> {
        look_from(self.0.as_fd(), name)
    }
}

fn look_from<P: rustix::path::Arg>(
    dir: rustix::fd::BorrowedFd<'_>,
    name: P,
) -> Result<Option<Look>, Errno> {
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::STATX_DONT_SYNC;
    let mask = StatxFlags::TYPE | StatxFlags::SIZE | StatxFlags::MTIME;
    match statx(dir, name, flags, mask) {
        Ok(found) => {
            let kind = FileType::from_raw_mode(found.stx_mode.into());
            let seconds = found.stx_mtime.tv_sec.saturating_mul(1_000_000);
            let mtime = seconds.saturating_add(i64::from(found.stx_mtime.tv_nsec / 1000));
            Ok(Some(Look { kind: disk_kind(kind), size: found.stx_size, mtime }))
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
