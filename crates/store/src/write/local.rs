//! The local file system as a place to write in.

use std::fs;
use std::io::{self, Seek as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use super::local_lock::LocalLock;
use super::{HeldLock, NewFile, WriteStorage};
use crate::handles::with_room;
use crate::platform;
use crate::storage::LocalStorage;

impl NewFile for fs::File {
    fn append(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.write_all(bytes)
    }

    fn truncate(&mut self, len: u64) -> io::Result<()> {
        self.set_len(len)?;
        self.seek(io::SeekFrom::Start(len)).map(drop)
    }

    fn sync(&mut self) -> io::Result<()> {
        // Length and contents: the times of change may be lost.
        self.sync_data()
    }

    fn set_mode(&mut self, mode: u32) -> io::Result<()> {
        self.set_permissions(fs::Permissions::from_mode(mode))
    }

    fn sync_file_system(&mut self) -> io::Result<bool> {
        platform::sync_file_system(self)
    }
}

impl WriteStorage for LocalStorage {
    fn create(&self, path: &Path) -> io::Result<Box<dyn NewFile>> {
        let open = || fs::File::options().write(true).create_new(true).open(path);
        let file = with_room(open)?;
        Ok(Box::new(file))
    }

    fn create_over(&self, path: &Path) -> io::Result<Box<dyn NewFile>> {
        Ok(Box::new(open_over(path)?))
    }

    fn reopen(&self, path: &Path) -> io::Result<Box<dyn NewFile>> {
        let mut file = with_room(|| fs::File::options().write(true).open(path))?;
        file.seek(io::SeekFrom::End(0))?;
        Ok(Box::new(file))
    }

    fn copy(&self, from: &Path, to: &Path, sync: bool) -> io::Result<()> {
        let mut source = with_room(|| fs::File::open(from))?;
        let mut file = open_over(to)?;
        // Between two files the system copies, or shares what it can (`copy_file_range`).
        io::copy(&mut source, &mut file)?;
        if sync {
            file.sync_data()?;
        }
        let mode = source.metadata()?.permissions().mode() | 0o400;
        file.set_permissions(fs::Permissions::from_mode(mode))
    }

    fn rename(&self, from: &Path, to: &Path, sync: bool) -> io::Result<()> {
        fs::rename(from, to)?;
        match to.parent() {
            Some(folder) if sync => self.sync_dir(folder),
            _ => Ok(()),
        }
    }

    fn remove_file(&self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        match fs::remove_dir(path) {
            // Shards may be kept elsewhere and linked. The link goes; what it leads to is empty.
            Err(e) if e.kind() == io::ErrorKind::NotADirectory && is_link_to_dir(path) => {
                fs::remove_file(path)
            }
            done => done,
        }
    }

    fn create_dir(&self, path: &Path, inherit_group: bool) -> io::Result<()> {
        fs::create_dir(path)?;
        if inherit_group {
            let mode = fs::metadata(path)?.permissions().mode();
            // Not all file systems know the bit; the folder is good without it.
            let _ = fs::set_permissions(path, fs::Permissions::from_mode(mode | 0o2000));
        }
        Ok(())
    }

    fn symlink(&self, target: &Path, path: &Path) -> io::Result<()> {
        std::os::unix::fs::symlink(target, path)
    }

    fn mode(&self, path: &Path) -> io::Result<u32> {
        Ok(fs::metadata(path)?.permissions().mode())
    }

    fn copy_permissions(&self, from: &Path, to: &Path) -> io::Result<()> {
        // The process that makes a file has to read it, whatever became of the one that it replaces.
        let mode = fs::metadata(from)?.permissions().mode() | 0o400;
        fs::set_permissions(to, fs::Permissions::from_mode(mode))
    }

    fn set_read_only(&self, path: &Path) -> io::Result<()> {
        let mode = fs::metadata(path)?.permissions().mode();
        fs::set_permissions(path, fs::Permissions::from_mode(mode & !0o222))
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        with_room(|| fs::File::open(path))?.sync_all()
    }

    fn sync_all(&self, path: &Path) -> io::Result<()> {
        platform::sync_all(&with_room(|| fs::File::open(path))?)
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn HeldLock>> {
        Ok(Box::new(with_room(|| LocalLock::take(path))?))
    }

    fn try_lock(&self, path: &Path) -> io::Result<Option<Box<dyn HeldLock>>> {
        Ok(match with_room(|| LocalLock::try_take(path))? {
            Some(lock) => Some(Box::new(lock)),
            None => None,
        })
    }
}

/// Makes a file, over the one that is there.
fn open_over(path: &Path) -> io::Result<fs::File> {
    // A file that is there may be read-only; it is of no use to anyone.
    match with_room(|| fs::File::create(path)) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
            fs::remove_file(path)?;
            with_room(|| fs::File::create(path))
        }
        opened => opened,
    }
}

fn is_link_to_dir(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_symlink()) && path.is_dir()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::Storage as _;

    #[test]
    fn replacing_is_whole_and_leaves_nothing_beside() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("current");
        LocalStorage.create_with(&path, b"0\n").unwrap();
        LocalStorage.set_read_only(&path).unwrap();
        LocalStorage.replace(&path, b"1\n", Some(&path), true).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"1\n");
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o222, 0);
        assert_eq!(LocalStorage.list(dir.path()).unwrap(), ["current"]);
        let missing = dir.path().join("missing");
        assert!(LocalStorage.replace(&path, b"2\n", Some(&missing), false).is_err());
        assert_eq!(LocalStorage.list(dir.path()).unwrap(), ["current"]);
        let error = LocalStorage.create_with(&path, b"").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
    }
}
