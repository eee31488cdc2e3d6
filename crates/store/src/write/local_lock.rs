//! Lock files: against the threads of this process and against other processes.
//!
//! Which system call a Subversion program locks with depends on how its APR was built: Debian's
//! is `flock`, others' is `fcntl`, and neither kind sees the other. So both are taken, always in
//! this order. POSIX record locks (`fcntl`) belong to the process, and closing any handle of the
//! file drops them: so within the process there is never more than one handle of a lock file.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use rustix::fs::FlockOperation;

use super::HeldLock;

/// Repeats a system call that a signal interrupts.
fn wait_for(mut call: impl FnMut() -> rustix::io::Result<()>) -> io::Result<()> {
    loop {
        match call() {
            Err(rustix::io::Errno::INTR) => {}
            done => return done.map_err(io::Error::from),
        }
    }
}

/// Whether both kinds of locks are one there, so that the second would wait for the first.
fn on_nfs(file: &fs::File) -> bool {
    rustix::fs::fstatfs(file).is_ok_and(|fs| fs.f_type == rustix::fs::NFS_SUPER_MAGIC)
}

/// Which file it is, however it was reached: device and inode.
type FileId = (u64, u64);

/// Lock files that some thread of this process holds, or is taking.
static HELD: Mutex<Vec<FileId>> = Mutex::new(Vec::new());
static RELEASED: Condvar = Condvar::new();

/// One that is held, until it is dropped.
#[derive(Debug)]
pub(super) struct LocalLock {
    id: FileId,
    /// Closing it drops the lock.
    file: Option<fs::File>,
}

impl HeldLock for LocalLock {}

impl LocalLock {
    /// Waits for the other threads of this process; with `wait` false gives up instead.
    fn among_threads(path: &Path, wait: bool) -> io::Result<Option<Self>> {
        let data = fs::metadata(path)?;
        let id = (data.dev(), data.ino());
        let mut held = HELD.lock();
        while held.contains(&id) {
            if !wait {
                return Ok(None);
            }
            // The time-out only guards against a lost wake-up.
            RELEASED.wait_for(&mut held, Duration::from_secs(1));
        }
        held.push(id);
        Ok(Some(Self { id, file: None }))
    }

    /// Waits for it.
    pub(super) fn take(path: &Path) -> io::Result<Self> {
        let Some(mut lock) = Self::among_threads(path, true)? else {
            return Err(io::ErrorKind::WouldBlock.into());
        };
        let file = fs::File::options().read(true).write(true).open(path)?;
        wait_for(|| rustix::fs::flock(&file, FlockOperation::LockExclusive))?;
        if !on_nfs(&file) {
            wait_for(|| rustix::fs::fcntl_lock(&file, FlockOperation::LockExclusive))?;
        }
        lock.file = Some(file);
        Ok(lock)
    }

    /// Takes it unless it is held.
    pub(super) fn try_take(path: &Path) -> io::Result<Option<Self>> {
        let Some(mut lock) = Self::among_threads(path, false)? else { return Ok(None) };
        let file = fs::File::options().read(true).write(true).open(path)?;
        let exclusive = FlockOperation::NonBlockingLockExclusive;
        let mut locked = wait_for(|| rustix::fs::flock(&file, exclusive));
        if locked.is_ok() && !on_nfs(&file) {
            locked = wait_for(|| rustix::fs::fcntl_lock(&file, exclusive));
        }
        match locked {
            Ok(()) => {
                lock.file = Some(file);
                Ok(Some(lock))
            }
            // A record lock of another process is one of both.
            Err(e)
                if matches!(
                    e.kind(),
                    io::ErrorKind::WouldBlock | io::ErrorKind::PermissionDenied
                ) =>
            {
                Ok(None)
            }
            Err(e) => Err(e),
        }
    }
}

impl Drop for LocalLock {
    fn drop(&mut self) {
        // First the lock against other processes, then the one between threads: the next thread
        // must not open its handle before this one is closed.
        self.file = None;
        HELD.lock().retain(|id| *id != self.id);
        RELEASED.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;
    use crate::storage::LocalStorage;
    use crate::write::WriteStorage as _;

    #[test]
    fn one_thread_at_a_time_holds_a_lock() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("write-lock");
        LocalStorage.create_with(&path, b"").unwrap();
        let inside = Arc::new(AtomicU32::new(0));
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let (path, inside) = (path.clone(), Arc::clone(&inside));
                std::thread::spawn(move || {
                    for _ in 0..50 {
                        let _lock = LocalStorage.lock(&path).unwrap();
                        assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0);
                        std::thread::yield_now();
                        inside.fetch_sub(1, Ordering::SeqCst);
                    }
                })
            })
            .collect();
        for thread in threads {
            thread.join().unwrap();
        }
        let data = fs::metadata(&path).unwrap();
        assert!(!HELD.lock().contains(&(data.dev(), data.ino())));
    }

    #[test]
    fn other_processes_are_kept_out() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("write-lock");
        LocalStorage.create_with(&path, b"").unwrap();
        let try_lock = || {
            let script = "import fcntl,sys\nf=open(sys.argv[1],'r+')\n\
                          try: fcntl.lockf(f,fcntl.LOCK_EX|fcntl.LOCK_NB)\n\
                          except OSError: sys.exit(3)\n";
            let run =
                std::process::Command::new("python3").args(["-c", script]).arg(&path).status();
            run.unwrap().code()
        };
        let lock = LocalStorage.lock(&path).unwrap();
        assert_eq!(try_lock(), Some(3));
        assert!(LocalStorage.try_lock(&path).unwrap().is_none());
        drop(lock);
        assert_eq!(try_lock(), Some(0));
        let lock = LocalStorage.try_lock(&path).unwrap();
        assert!(lock.is_some());
        assert_eq!(try_lock(), Some(3));
    }
}
