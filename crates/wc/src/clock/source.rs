//! The clock of a file system, read from a file that is written in the working copy's directory for temporary
//! files. Its time is what the file system would give any other file at that moment, even if its clock is coarse or
//! that of another machine.
//!
//! Invariant: a probe leaves nothing behind; after a kill in the middle, cleanup removes it with the other temporary
//! files.

use std::fmt::Debug;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// The clock of a file system.
pub(super) trait Source: Debug + Send + Sync {
    /// The time that a file would get now, in nanoseconds since 1970; `None` when that cannot be found out.
    fn now(&self) -> Option<i64>;

    /// Time that goes by whatever the file system's clock says, in nanoseconds.
    fn elapsed(&self) -> i64;

    /// Waits.
    fn pause(&self, time: Duration);
}

/// The clock of the file system that a directory is on.
#[derive(Debug)]
pub(super) struct ProbeFile {
    /// The directory.
    pub(super) folder: PathBuf,
}

impl Source for ProbeFile {
    fn now(&self) -> Option<i64> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = self.folder.join(format!("svn-{}-{number}.clock", std::process::id()));
        let time = write_and_look(&path);
        let _gone = fs::remove_file(&path);
        time.ok()
    }

    fn elapsed(&self) -> i64 {
        nanoseconds_of(ClockId::MonotonicCoarse)
    }

    fn pause(&self, time: Duration) {
        std::thread::sleep(time);
    }
}

/// Writes a file as users' programs do, and returns its time. The file is closed before its time is read:
/// network file systems send the data on close, and the server sets the time.
fn write_and_look(path: &Path) -> io::Result<i64> {
    let mut file = File::create_new(path)?;
    // On a full disk the time of its creation is used.
    let _full = file.write_all(b"\n");
    drop(file);
    let found = fs::symlink_metadata(path)?;
    Ok(nanoseconds(found.mtime(), found.mtime_nsec()))
}

/// The system's own clock, in nanoseconds since 1970.
pub(super) fn system_nanoseconds() -> i64 {
    nanoseconds_of(ClockId::RealtimeCoarse)
}

const fn nanoseconds(seconds: i64, rest: i64) -> i64 {
    seconds.saturating_mul(1_000_000_000).saturating_add(rest)
}

fn nanoseconds_of(clock: ClockId) -> i64 {
    let now = clock_gettime(clock);
    nanoseconds(now.tv_sec, now.tv_nsec)
}
