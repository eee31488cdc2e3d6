//! What Linux does for files beyond POSIX, and the portable way beside it.
//!
//! Invariant: the portable way is right everywhere, and only slower; on Linux the tests build it too.

/// What Linux offers.
#[cfg(target_os = "linux")]
mod linux {
    use std::fs::File;
    use std::io;

    use rustix::fs::{Advice, FsWord, OFlags};

    /// Local file systems that write everything to the disk on request (`syncfs`): ext4 and its
    /// forebears, XFS, Btrfs, F2FS, tmpfs. Others, such as FUSE, may not pass the request on.
    const SYNCED_AS_A_WHOLE: [FsWord; 5] =
        [0xEF53, 0x5846_5342, 0x9123_683E, 0xF2F5_2010, 0x0102_1994];

    /// How a directory is opened that only names are looked up in.
    pub(crate) const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

    /// The system may read a part of a file already.
    pub(crate) fn will_need(file: &File, offset: u64, len: u64) {
        let len = std::num::NonZeroU64::new(len);
        // Advice only.
        let _ = rustix::fs::fadvise(file, offset, len, Advice::WillNeed);
    }

    /// Reads what is in memory already, if anything is.
    pub(crate) fn read_now(file: &File, buf: &mut [u8], offset: u64) -> Option<usize> {
        let room = &mut [io::IoSliceMut::new(buf)];
        let read = rustix::io::preadv2(file, room, offset, rustix::io::ReadWriteFlags::NOWAIT);
        read.ok().filter(|read| *read > 0)
    }

    /// Writes all of a file system to the disk; `false` where the system may not do so.
    pub(crate) fn sync_file_system(file: &File) -> io::Result<bool> {
        // Linux reports what went wrong since the file was opened (since 5.8; before, only some of
        // it), so this file must be older than what it answers for.
        if !rustix::fs::fstatfs(file).is_ok_and(|fs| SYNCED_AS_A_WHOLE.contains(&fs.f_type)) {
            return Ok(false);
        }
        rustix::fs::syncfs(file)?;
        Ok(true)
    }

    /// Writes all of the file system that a directory is on.
    pub(crate) fn sync_all(folder: &File) -> io::Result<()> {
        Ok(rustix::fs::syncfs(folder)?)
    }
}

/// What every system has.
#[cfg(any(test, not(target_os = "linux")))]
mod portable {
    use std::fs::File;
    use std::io;

    use rustix::fs::OFlags;

    pub(crate) const FOLDER: OFlags =
        OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

    pub(crate) fn will_need(_: &File, _: u64, _: u64) {}

    /// What is in memory is not known: the caller reads with a thread that may wait.
    pub(crate) fn read_now(_: &File, _: &mut [u8], _: u64) -> Option<usize> {
        None
    }

    /// Files are written one by one.
    pub(crate) fn sync_file_system(_: &File) -> io::Result<bool> {
        Ok(false)
    }

    /// All file systems of the machine, whose errors are not reported: the directory's own are.
    pub(crate) fn sync_all(folder: &File) -> io::Result<()> {
        rustix::fs::sync();
        folder.sync_all()
    }
}

#[cfg(target_os = "linux")]
pub(crate) use linux::{FOLDER, read_now, sync_all, sync_file_system, will_need};
#[cfg(not(target_os = "linux"))]
pub(crate) use portable::{FOLDER, read_now, sync_all, sync_file_system, will_need};

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use std::fs::{self, File};

    use rustix::fs::{Mode, openat};

    use super::*;

    #[test]
    fn the_portable_way_serves_the_same_purpose() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("f"), "text").unwrap();
        for flags in [FOLDER, portable::FOLDER] {
            let opened = rustix::fs::open(folder.path(), flags, Mode::empty()).unwrap();
            assert!(openat(&opened, "f", rustix::fs::OFlags::RDONLY, Mode::empty()).is_ok());
        }
        let file = File::open(folder.path().join("f")).unwrap();
        portable::will_need(&file, 0, 4);
        assert_eq!(portable::read_now(&file, &mut [0; 4], 0), None);
        assert!(!portable::sync_file_system(&file).unwrap());
        let directory = File::open(folder.path()).unwrap();
        portable::sync_all(&directory).unwrap();
        sync_all(&directory).unwrap();
    }
}
