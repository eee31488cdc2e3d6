//! What was read of files, and is read again when they change: certificates are renewed while a server runs.
//!
//! Invariant: when files cannot be read, perhaps because a renewal is half written, what was read before stays in use.

use std::path::Path;
use std::time::SystemTime;

/// When files were changed last; nothing for one that is not there.
type Stamp = Vec<Option<SystemTime>>;

/// What was read of files.
#[derive(Debug)]
pub struct RenewedFiles<T> {
    stamp: Stamp,
    read: T,
}

impl<T> RenewedFiles<T> {
    /// Reads `files` for the first time.
    ///
    /// # Errors
    /// Those of `read`.
    pub fn new<E>(files: &[&Path], read: impl FnOnce() -> Result<T, E>) -> Result<Self, E> {
        // What changes while they are read is read again.
        let stamp = stamp(files);
        Ok(Self { stamp, read: read()? })
    }

    /// What the next connection uses: they are read again where one of them changed, once for each change. A renewal writes
    /// several, and the last one causes another try.
    pub fn now<E>(&mut self, files: &[&Path], read: impl FnOnce() -> Result<T, E>) -> &T {
        let stamp = stamp(files);
        if self.stamp != stamp {
            self.stamp = stamp;
            if let Ok(read) = read() {
                self.read = read;
            }
        }
        &self.read
    }

    /// What was read last.
    pub const fn last(&self) -> &T {
        &self.read
    }
}

fn stamp(files: &[&Path]) -> Stamp {
    let changed = |path: &&Path| std::fs::metadata(path).and_then(|data| data.modified()).ok();
    files.iter().map(changed).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_change_is_read_once_and_what_cannot_be_read_stays_unused() {
        let folder = tempfile::tempdir().unwrap();
        let (one, other) = (folder.path().join("one"), folder.path().join("other"));
        let files = [&*one, &*other];
        let mut at = SystemTime::now();
        let mut write = |path: &Path, text: &str| {
            std::fs::write(path, text).unwrap();
            at += Duration::from_secs(1);
            std::fs::File::options().write(true).open(path).unwrap().set_modified(at).unwrap();
        };
        let reads = std::cell::Cell::new(0);
        let read = || {
            reads.set(reads.get() + 1);
            std::fs::read_to_string(&one)?.parse().map_err(std::io::Error::other)
        };
        assert!(RenewedFiles::<u8>::new(&files, read).is_err());
        write(&one, "1");
        let mut renewed: RenewedFiles<u8> = RenewedFiles::new(&files, read).unwrap();
        assert_eq!((*renewed.now(&files, read), reads.get()), (1, 2));
        write(&one, "half written");
        assert_eq!(
            (*renewed.now(&files, read), *renewed.now(&files, read), reads.get()),
            (1, 1, 3)
        );
        write(&one, "2");
        assert_eq!((*renewed.now(&files, read), *renewed.last(), reads.get()), (2, 2, 4));
        write(&other, "");
        std::fs::remove_file(&one).unwrap();
        assert_eq!((*renewed.now(&files, read), reads.get()), (2, 5));
    }
}
