//! What Linux does for directories and rights of new files beyond POSIX, and the portable way beside it.
//!
//! Invariant: the portable way is right everywhere, and only slower; on Linux the tests build it too.

/// What Linux offers.
#[cfg(target_os = "linux")]
mod linux {
    use std::ffi::CStr;
    use std::os::fd::BorrowedFd;

    use rustix::fs::{FileType, OFlags, RawDir};
    use rustix::io::Errno;

    /// Bytes of a directory that are read at once.
    const AT_ONCE: usize = 32 << 10;

    /// How a directory is opened that only names are looked up in.
    pub(crate) const FOLDER: OFlags = OFlags::PATH.union(OFlags::DIRECTORY);

    /// Calls `each` with the names of an open directory, in its order. The buffer may be used again.
    pub(crate) fn read_names(
        directory: BorrowedFd<'_>,
        buffer: &mut Vec<u8>,
        mut each: impl FnMut(&CStr, FileType),
    ) -> Result<(), Errno> {
        buffer.clear();
        buffer.reserve(AT_ONCE);
        let mut raw = RawDir::new(directory, buffer.spare_capacity_mut());
        while let Some(entry) = raw.next() {
            let entry = entry?;
            each(entry.file_name(), entry.file_type());
        }
        Ok(())
    }

    /// A number that `/proc/self/status` has of this process (proc(5)); `None` where it has none of the name.
    #[must_use]
    pub fn status_number(name: &str, radix: u32) -> Option<u64> {
        let status = std::fs::read_to_string("/proc/self/status").ok()?;
        let mut lines = status.lines();
        let text = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        u64::from_str_radix(text.trim(), radix).ok()
    }

    /// The bits that new files lack.
    pub(crate) fn umask() -> u32 {
        let bits = status_number("Umask", 8).and_then(|bits| u32::try_from(bits).ok());
        bits.unwrap_or(0o022)
    }
}

/// What every system has.
#[cfg(any(test, not(target_os = "linux")))]
mod portable {
    use std::ffi::CStr;
    use std::os::fd::BorrowedFd;

    use rustix::fs::{Dir, FileType, Mode, OFlags};
    use rustix::io::Errno;

    pub(crate) const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY);

    pub(crate) fn read_names(
        directory: BorrowedFd<'_>,
        _: &mut Vec<u8>,
        mut each: impl FnMut(&CStr, FileType),
    ) -> Result<(), Errno> {
        let mut names = Dir::read_from(directory)?;
        while let Some(entry) = names.read() {
            let entry = entry?;
            each(entry.file_name(), entry.file_type());
        }
        Ok(())
    }

    /// It can only be read by setting another: what other threads make meanwhile lacks more, not less.
    #[allow(clippy::useless_conversion, reason = "elsewhere the bits are fewer")]
    pub(crate) fn umask() -> u32 {
        let own = rustix::process::umask(Mode::RWXG | Mode::RWXO);
        rustix::process::umask(own);
        own.bits().into()
    }
}

#[cfg(target_os = "linux")]
pub use linux::status_number;
#[cfg(target_os = "linux")]
pub(crate) use linux::{FOLDER, read_names, umask};
#[cfg(not(target_os = "linux"))]
pub(crate) use portable::{FOLDER, read_names, umask};

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use std::fs::{self, File};
    use std::os::fd::AsFd as _;

    use rustix::fs::{Mode, openat};

    use super::*;

    #[test]
    fn the_portable_way_serves_the_same_purpose() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a", "b", "c"] {
            fs::write(folder.path().join(name), "text").unwrap();
        }
        fs::create_dir(folder.path().join("d")).unwrap();
        let names = |portably: bool| {
            let directory = File::open(folder.path()).unwrap();
            let mut found = Vec::new();
            let mut each = |name: &std::ffi::CStr, kind| found.push((name.to_owned(), kind));
            let (directory, buffer) = (directory.as_fd(), &mut Vec::new());
            match portably {
                true => portable::read_names(directory, buffer, &mut each).unwrap(),
                false => read_names(directory, buffer, &mut each).unwrap(),
            }
            found.sort_by(|(one, _), (other, _)| one.cmp(other));
            found
        };
        assert_eq!(names(true), names(false));
        assert_eq!(names(true).len(), 6);
        for flags in [FOLDER, portable::FOLDER] {
            let opened = rustix::fs::open(folder.path(), flags, Mode::empty()).unwrap();
            assert!(openat(&opened, "a", rustix::fs::OFlags::RDONLY, Mode::empty()).is_ok());
        }
        assert_eq!(portable::umask(), umask());
        assert_eq!(portable::umask(), umask(), "it is as before");
    }
}
