//! The queue and those who get messages from it: a thread sends them ([`crate::sending`]).
//!
//! Invariant: one server works on a queue.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use parking_lot::Mutex;
use sapwood_core::Revnum;
use tokio::sync::watch;

use crate::commit::Source;
use crate::error::{Error, Result};
use crate::sending;
use crate::shared::{Change, NotifierState, Report};
use crate::target::Target;
use crate::waiting::QueueReader;

/// The file that says that a server works on the queue.
const LOCK: &str = "lock";

/// Sends messages after commits.
pub struct Notifier {
    shared: Arc<NotifierState>,
    thread: Option<std::thread::JoinHandle<()>>,
    /// Held as long as this server works on the queue.
    _lock: File,
}

impl std::fmt::Debug for Notifier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Notifier").field("folder", &self.shared.folder).finish_non_exhaustive()
    }
}

impl Notifier {
    /// Begins to send what is in the queue of a folder, which is made if there is none. `report` gets what is worth a line
    /// in a log.
    ///
    /// # Errors
    /// [`Error::InUse`], and those of the disk.
    pub fn start(
        folder: &Path,
        targets: Vec<Target>,
        source: Arc<dyn Source>,
        report: Arc<Report>,
    ) -> Result<Self> {
        let failed = |what| move |source| Error::Io { what, path: folder.to_owned(), source };
        std::fs::create_dir_all(folder).map_err(failed("make"))?;
        let lock = File::options().create(true).append(true).open(folder.join(LOCK));
        let lock = lock.map_err(failed("lock"))?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(std::fs::TryLockError::WouldBlock) => return Err(Error::InUse(folder.to_owned())),
            Err(std::fs::TryLockError::Error(e)) => return Err(failed("lock")(e)),
        }
        let shared = Arc::new(NotifierState {
            folder: folder.to_owned(),
            source,
            report: Mutex::new(report),
            state: Mutex::default(),
            changed: watch::Sender::new(Change::default()),
        });
        shared.set_targets(targets);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(failed("begin to work on"))?;
        let within = Arc::clone(&shared);
        let thread = std::thread::Builder::new()
            .name("notify".to_owned())
            .spawn(move || {
                runtime.block_on(sending::serve(within));
                runtime.shutdown_background();
            })
            .map_err(failed("begin to work on"))?;
        Ok(Self { shared, thread: Some(thread), _lock: lock })
    }

    /// Sends to other targets from now on, and reports elsewhere.
    pub fn set_targets(&self, targets: Vec<Target>, report: Arc<Report>) {
        *self.shared.report.lock() = report;
        self.shared.set_targets(targets);
    }

    /// The folder of the queue.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.shared.folder
    }

    /// What looks into the queue.
    #[must_use]
    pub fn reader(&self) -> QueueReader {
        QueueReader(Arc::clone(&self.shared))
    }

    /// A commit was made: its message goes out soon. The caller does not wait for it. What fails is reported.
    pub fn committed(&self, repository: &Path, name: &str, revision: Revnum) {
        self.shared.committed(repository, name, revision);
    }
}

impl Drop for Notifier {
    fn drop(&mut self) {
        self.shared.changed.send_modify(|change| change.ends = true);
        if let Some(thread) = self.thread.take() {
            // A fault of the thread was its end.
            let _ = thread.join();
        }
    }
}
