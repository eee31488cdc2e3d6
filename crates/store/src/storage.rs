//! The one door to files for readers: everything that engines read goes through [`Storage`].
//!
//! In use it is [`LocalStorage`]; tests count operations or inject faults. It looks like the local
//! file system, down to folders that are held open and the stamps of inodes; a store of objects
//! plugs in one level above, where revisions are put and read.

use sapwood_core::Exact;
use std::ffi::OsString;
use std::fmt;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use crate::handles::with_room;
use crate::platform;

/// What is needed of a file's or folder's metadata to notice that it was replaced or changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Stamp {
    /// Inode number, or whatever changes when a file is replaced.
    pub inode: u64,
    /// Length in bytes.
    pub len: u64,
    /// Time of the last change of contents, in nanoseconds since 1970.
    pub modified: i128,
    /// Time of the last change of the inode, in nanoseconds since 1970.
    pub changed: i128,
}

/// Files shorter than this take one read: packs of revision properties and manifests, most often.
const SMALL: usize = 16 << 10;
/// What every size of a page of memory is a multiple of, in bytes.
pub const PAGE: usize = 4096;

/// How long after a change a time stamp may still stay the same for another change: file systems
/// stamp with the granularity of a kernel tick at best and of two seconds at worst.
const RACY: Duration = Duration::from_secs(2);

impl Stamp {
    fn of(stat: &rustix::fs::Stat) -> Self {
        let time = |sec: i128, nsec: i128| sec.saturating_mul(1_000_000_000).saturating_add(nsec);
        Self {
            inode: stat.st_ino,
            len: u64::try_from(stat.st_size).unwrap_or(0),
            modified: time(stat.st_mtime.into(), stat.st_mtime_nsec.into()),
            changed: time(stat.st_ctime.into(), stat.st_ctime_nsec.into()),
        }
    }

    /// Whether a change after `now` is certain to give another stamp. While it is not, equal
    /// stamps prove nothing.
    #[must_use]
    pub fn is_stable(&self, now: SystemTime) -> bool {
        let Ok(now) = now.duration_since(UNIX_EPOCH) else { return false };
        let Some(limit) = now.checked_sub(RACY).and_then(|d| i128::try_from(d.as_nanos()).ok())
        else {
            return false;
        };
        self.modified < limit && self.changed < limit
    }
}

/// A file that is open for positioned reads.
pub trait StoredFile: Send + Sync + fmt::Debug {
    /// Reads at `offset` into `buf`; may read less than requested; 0 only at the end of the file.
    ///
    /// # Errors
    /// Whatever the system reports.
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize>;

    /// Reads at `offset` what `buf` has room for, and appends it; as [`StoredFile::read_at`]
    /// otherwise.
    ///
    /// # Errors
    /// Whatever the system reports.
    fn append_at(&self, buf: &mut Vec<u8>, offset: u64) -> io::Result<usize> {
        let have = buf.len();
        buf.resize(buf.capacity(), 0);
        let read = self.read_at(buf.get_mut(have..).unwrap_or_default(), offset);
        buf.truncate(have.plus(*read.as_ref().unwrap_or(&0)));
        read
    }

    /// Whether a read that returns less than requested has reached the end of the file.
    fn short_read_is_end(&self) -> bool {
        false
    }

    /// Says that these bytes will be read soon: the system may begin to bring them, and the caller
    /// does not wait. A hint, which may do nothing.
    fn will_need(&self, offset: u64, len: u64) {
        let _ = (offset, len);
    }

    /// Reads at `offset` the bytes that the system has in memory, without waiting for more. `None` when it
    /// has nothing, or cannot say.
    fn read_now(&self, buf: &mut [u8], offset: u64) -> Option<usize> {
        let _ = (buf, offset);
        None
    }

    /// Reads all of a small file; one that is longer than `limit` is an error of the kind
    /// `FileTooLarge`.
    ///
    /// # Errors
    /// Whatever the system reports.
    fn whole(&self, limit: usize) -> io::Result<Vec<u8>> {
        let too_large = || io::Error::from(io::ErrorKind::FileTooLarge);
        let mut data = Vec::with_capacity(SMALL);
        loop {
            if data.len() == data.capacity() {
                let len = usize::try_from(self.len()?).map_err(|_| too_large())?;
                // One byte more than there should be, so that the read that meets the end is
                // short. The file may have become shorter.
                let more = len.saturating_sub(data.len()).plus(1);
                if len > limit {
                    return Err(too_large());
                }
                data.reserve_exact(more);
            }
            let at = u64::try_from(data.len()).map_err(|_| too_large())?;
            match self.append_at(&mut data, at) {
                Ok(0) => break,
                Ok(_) if data.len() > limit => return Err(too_large()),
                Ok(_) => {
                    // A read that fails half-way gives the whole pages before.
                    let ragged = data.len().checked_rem(PAGE) != Some(0);
                    if ragged && data.len() < data.capacity() && self.short_read_is_end() {
                        break;
                    }
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(data)
    }

    /// The file's length now, in bytes.
    ///
    /// # Errors
    /// Whatever the system reports.
    fn len(&self) -> io::Result<u64>;

    /// The present stamp of the opened file; an error of the kind `NotFound` when it is gone, and
    /// `Unsupported` where only [`Storage::stamp`] can find out.
    ///
    /// # Errors
    /// Whatever the system reports.
    fn stamp(&self) -> io::Result<Stamp> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Whether the file is empty.
    ///
    /// # Errors
    /// Whatever the system reports.
    fn is_empty(&self) -> io::Result<bool> {
        Ok(self.len()? == 0)
    }
}

/// A folder from which many files are opened one after the other: looking up all the folders above
/// it each time would be a good part of the cost. Not to be kept longer than a request, for another
/// folder may take its place.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    handle: Option<OwnedFd>,
}

impl Folder {
    /// The folder at `path`, which was not read yet.
    #[must_use]
    pub const fn new(path: PathBuf) -> Self {
        Self { path, handle: None }
    }
}

/// A place that holds files. Errors keep their `ErrorKind`: `NotFound` has a meaning of its own.
pub trait Storage: Send + Sync + fmt::Debug {
    /// Opens a file for positioned reads.
    ///
    /// # Errors
    /// Whatever the system reports.
    fn open(&self, path: &Path) -> io::Result<Arc<dyn StoredFile>>;

    /// Opens a file of a folder for positioned reads.
    ///
    /// # Errors
    /// Whatever the system reports.
    fn open_in(&self, folder: &mut Folder, name: &str) -> io::Result<Arc<dyn StoredFile>> {
        self.open(&folder.path.join(name))
    }

    /// Reads a whole small file; one that is longer than `limit` is an error of the kind
    /// `FileTooLarge`.
    ///
    /// # Errors
    /// Whatever the system reports.
    fn read(&self, path: &Path, limit: usize) -> io::Result<Vec<u8>>;

    /// The names in a folder, in no particular order.
    ///
    /// # Errors
    /// Whatever the system reports.
    fn list(&self, path: &Path) -> io::Result<Vec<OsString>>;

    /// The present stamp of a file or folder.
    ///
    /// # Errors
    /// Whatever the system reports.
    fn stamp(&self, path: &Path) -> io::Result<Stamp>;

    /// Opens a folder, for its stamp alone.
    ///
    /// # Errors
    /// Whatever the system reports; of the kind `Unsupported` where there is no such thing.
    fn open_folder(&self, path: &Path) -> io::Result<Arc<dyn StoredFile>> {
        let _ = path;
        Err(io::ErrorKind::Unsupported.into())
    }
}

/// The local file system.
#[derive(Clone, Copy, Debug, Default)]
pub struct LocalStorage;

impl StoredFile for fs::File {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        std::os::unix::fs::FileExt::read_at(self, buf, offset)
    }

    fn append_at(&self, buf: &mut Vec<u8>, offset: u64) -> io::Result<usize> {
        Ok(rustix::io::pread(self, rustix::buffer::spare_capacity(buf), offset)?)
    }

    fn will_need(&self, offset: u64, len: u64) {
        platform::will_need(self, offset, len);
    }

    fn read_now(&self, buf: &mut [u8], offset: u64) -> Option<usize> {
        platform::read_now(self, buf, offset)
    }

    // True of regular files, which revision files are.
    fn short_read_is_end(&self) -> bool {
        true
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.metadata()?.len())
    }

    // Hot requests do this more often than anything else: `fstat` takes a third less than the
    // `statx` of `File::metadata`.
    fn stamp(&self) -> io::Result<Stamp> {
        let stat = rustix::fs::fstat(self)?;
        if stat.st_nlink == 0 {
            return Err(io::ErrorKind::NotFound.into());
        }
        Ok(Stamp::of(&stat))
    }
}

impl Storage for LocalStorage {
    fn open(&self, path: &Path) -> io::Result<Arc<dyn StoredFile>> {
        Ok(Arc::new(with_room(|| fs::File::open(path))?))
    }

    fn open_in(&self, folder: &mut Folder, name: &str) -> io::Result<Arc<dyn StoredFile>> {
        use rustix::fs::{Mode, OFlags};
        let Folder { path, handle } = folder;
        let handle = match handle {
            Some(handle) => handle,
            None => {
                let open = || Ok(rustix::fs::open(&*path, platform::FOLDER, Mode::empty())?);
                handle.insert(with_room(open)?)
            }
        };
        let flags = OFlags::RDONLY | OFlags::CLOEXEC;
        let file = with_room(|| Ok(rustix::fs::openat(&*handle, name, flags, Mode::empty())?))?;
        Ok(Arc::new(fs::File::from(file)))
    }

    fn read(&self, path: &Path, limit: usize) -> io::Result<Vec<u8>> {
        with_room(|| fs::File::open(path))?.whole(limit)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<OsString>> {
        with_room(|| fs::read_dir(path))?.map(|entry| Ok(entry?.file_name())).collect()
    }

    fn stamp(&self, path: &Path) -> io::Result<Stamp> {
        Ok(Stamp::of(&rustix::fs::stat(path)?))
    }

    fn open_folder(&self, path: &Path) -> io::Result<Arc<dyn StoredFile>> {
        Ok(Arc::new(with_room(|| fs::File::open(path))?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_a_folder() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("one"), "first").unwrap();
        let mut folder = Folder::new(dir.path().to_owned());
        let mut buf = [0; 16];
        let file = LocalStorage.open_in(&mut folder, "one").unwrap();
        assert_eq!(file.read_at(&mut buf, 0).unwrap(), 5);
        // What was just written is in memory, if the file system supports the question.
        assert!(matches!(file.read_now(&mut buf, 0), None | Some(5)));
        assert_eq!(file.stamp().unwrap(), LocalStorage.stamp(&dir.path().join("one")).unwrap());
        assert_eq!(&buf[..5], b"first");
        assert_eq!(file.read_now(&mut buf, 5), None);
        let missing = LocalStorage.open_in(&mut folder, "two").unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
        let mut nowhere = Folder::new(dir.path().join("three"));
        let missing = LocalStorage.open_in(&mut nowhere, "one").unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn whole_files_of_every_length() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        for len in [0, 1, PAGE, PAGE + 1, SMALL - 1, SMALL, SMALL + 1, 3 * SMALL, 100_000] {
            let data: Vec<u8> = (0..=255).cycle().take(len).collect();
            fs::write(&path, &data).unwrap();
            assert_eq!(LocalStorage.read(&path, len).unwrap(), data);
            assert_eq!(LocalStorage.read(&path, usize::MAX).unwrap(), data);
            if let Some(less) = len.checked_sub(1) {
                let e = LocalStorage.read(&path, less).unwrap_err();
                assert_eq!(e.kind(), io::ErrorKind::FileTooLarge);
            }
        }
    }
}
