//! What to do when the process, or the system, has no file handles left.
//!
//! Open files and folders are kept because others may want them again, which is no reason to fail:
//! before an opening fails for want of a handle, everything that any cache of this process keeps
//! is closed, and the opening is tried again, a few times with a little patience, for requests
//! that go on give handles back as well. How much is kept at most depends on the process's limit.
//!
//! Handles belong to the process, not to one cache: therefore the table of those that keep some is one
//! for the process. It holds them weakly.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;

/// Something that keeps files open because they may be wanted again.
pub trait KeepsHandles: Send + Sync {
    /// Closes cached handles. Returns whether there were any.
    fn close_all(&self) -> bool;
}

static KEEPERS: Mutex<Vec<Weak<dyn KeepsHandles>>> = Mutex::new(Vec::new());

/// How often an opening is tried again when there was nothing left to close, and the pause before
/// each time.
const PATIENCE: u32 = 25;
const PAUSE: Duration = Duration::from_millis(20);

/// Registers `keeper` to close its handles when handles run out.
pub fn register(keeper: &Arc<dyn KeepsHandles>) {
    let mut all = KEEPERS.lock();
    all.retain(|known| known.strong_count() > 0);
    all.push(Arc::downgrade(keeper));
}

/// How many of something may be kept open: `most`, but no more than one in `part` of the handles
/// that the process may have.
#[must_use]
pub fn limit(most: usize, part: u64) -> usize {
    let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
    let share = limit.and_then(|limit| limit.checked_div(part)).unwrap_or(u64::MAX);
    sapwood_core::exact::clamped(share).clamp(1, most)
}

/// Whether an error says that there are no handles left: of the process (EMFILE), or of the system
/// (ENFILE).
#[must_use]
pub(crate) fn are_out(error: &io::Error) -> bool {
    let errno = rustix::io::Errno::from_io_error(error);
    matches!(errno, Some(rustix::io::Errno::MFILE | rustix::io::Errno::NFILE))
}

/// Closes cached handles. Returns whether there were any.
pub fn give_up() -> bool {
    let all: Vec<Arc<dyn KeepsHandles>> = KEEPERS.lock().iter().filter_map(Weak::upgrade).collect();
    all.iter().fold(false, |any, keeper| keeper.close_all() | any)
}

/// Opens something, and when there are no handles left makes room and tries again.
///
/// # Errors
/// Those of `open`.
pub fn with_room<T>(mut open: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    let mut tries = 0;
    loop {
        match open() {
            Err(error) if are_out(&error) && tries < PATIENCE => {
                if !give_up() {
                    tries += 1;
                    std::thread::sleep(PAUSE);
                }
            }
            other => return other,
        }
    }
}

/// What SQLite opens at one time: the database, its journal, and the folder to make that durable.
const SQLITE: usize = 3;

/// Sees to it that SQLite, which fails at once when there are no handles left, finds enough for a
/// database in `folder`.
pub fn make_room_for_sqlite(folder: &Path) {
    // Any other reason why it cannot be opened is reported by SQLite.
    let _ = with_room(|| (0..SQLITE).map(|_| File::open(folder)).collect::<io::Result<Vec<_>>>());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::storage::Storage;
    use crate::{Caches, FileKey, LocalStorage};

    #[test]
    fn what_is_kept_is_closed_when_there_are_no_handles() {
        let caches = Caches::new(1 << 20);
        let key = FileKey { fs: 1, packed: false, number: 1 };
        let file = || caches.files().get(key, || LocalStorage.open("/dev/null".as_ref()));
        drop(file().unwrap());
        let opens = caches.stats().opens;
        drop(file().unwrap());
        assert_eq!(caches.stats().opens, opens);
        let mut left = 1;
        let opened = with_room(|| {
            left -= 1;
            if left == 0 { Err(rustix::io::Errno::MFILE.into()) } else { Ok(7) }
        });
        assert_eq!(opened.unwrap(), 7);
        drop(file().unwrap());
        assert_eq!(caches.stats().opens, opens + 1, "the file was kept");
        let error = with_room(|| Err::<(), _>(io::Error::from(io::ErrorKind::NotFound)));
        assert_eq!(error.unwrap_err().kind(), io::ErrorKind::NotFound);
        assert!(are_out(&rustix::io::Errno::NFILE.into()));
    }

    #[test]
    fn limits_follow_that_of_the_process() {
        assert_eq!(limit(3, 1), 3);
        assert_eq!(limit(1000, u64::MAX), 1);
    }
}
