//! What makes later reading cheap: small entries are put together, and checkpoints written, when they are due after a commit, in a thread.
//!
//! Segments that are written wait for the next entry of this server, which names them beside what it brings: they cost no entry of their own.
//! Only when the store is closed and none came, one is claimed for them.
//!
//! Invariants: no commit waits for it, and nothing fails with it; a failure is passed on ([`trouble`]), and the work is due again some
//! entries later. There is one thread at most, and it has ended when the store is closed.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::{Mutex, RwLock};
use sapwood_core::SvnError;
use sapwood_objects::trouble;
use sapwood_repo_log::entry::Item;
use sapwood_repo_log::{RepositoryLog, WrittenSegments};
use sapwood_store::WriteStorage;

use super::{LogRevisions, saved};
use crate::error::{Error, Result};

/// Segments that no entry names yet.
type Written = Arc<Mutex<Option<WrittenSegments>>>;

/// The thread, and what it has made.
#[derive(Debug, Default)]
pub(super) struct Upkeep {
    thread: Mutex<Option<JoinHandle<()>>>,
    written: Written,
}

impl Upkeep {
    /// Waits until the thread has ended.
    pub(super) fn finish(&self) {
        if let Some(thread) = self.thread.lock().take() {
            // A fault of the thread was its end.
            let _ = thread.join();
        }
    }
}

/// What the thread works on.
struct Work {
    log: Arc<RwLock<RepositoryLog>>,
    written: Written,
    storage: Arc<dyn WriteStorage>,
    db: PathBuf,
}

impl Work {
    fn run(&self) {
        let done = self.put_together().and_then(|()| self.write_checkpoint());
        report(done, &self.db);
    }

    fn put_together(&self) -> Result<()> {
        let waits =
            self.written.lock().as_ref().is_some_and(|some| some.fits(self.log.read().state()));
        let due = if waits { None } else { self.log.write().take_segments() };
        if let Some(segments) = due {
            let written = segments.write()?;
            if written.count() > 0 {
                *self.written.lock() = Some(written);
            }
        }
        Ok(())
    }

    fn write_checkpoint(&self) -> Result<()> {
        let due = self.log.write().take_checkpoint();
        match due {
            Some(checkpoint) => {
                checkpoint.write()?;
                saved::save(&self.log, &*self.storage, &self.db)
            }
            None => Ok(()),
        }
    }
}

/// Passes on what went wrong.
fn report(done: Result<()>, db: &Path) {
    if let Err(error) = done {
        let text = format!("Can't put together what is in the store of '{}'", db.display());
        trouble::report(&SvnError::from(error).context(text));
    }
}

impl LogRevisions {
    /// The items that name what the thread has written, for the next entry. Segments of entries that another server was quicker with
    /// are forgotten: a sweep removes them one day.
    pub(super) fn written_segments(&self) -> Vec<Item<'static>> {
        let mut written = self.upkeep.written.lock();
        let log = self.log.read();
        if written.as_ref().is_some_and(|segments| !segments.fits(log.state())) {
            *written = None;
        }
        written.as_ref().map_or(Vec::new(), |segments| segments.items().to_vec())
    }

    /// Lets the thread work, if there is something to do and it is not at work.
    pub(super) fn look_after(&self) {
        if !self.log.read().has_work() {
            return;
        }
        let mut thread = self.upkeep.thread.lock();
        if thread.as_ref().is_some_and(|thread| !thread.is_finished()) {
            return;
        }
        let work = Work {
            log: Arc::clone(&self.log),
            written: Arc::clone(&self.upkeep.written),
            storage: Arc::clone(&self.storage),
            db: self.db.clone(),
        };
        match std::thread::Builder::new().name("upkeep".to_owned()).spawn(move || work.run()) {
            Ok(begun) => *thread = Some(begun),
            Err(e) => report(Err(Error::io(e, "Can't begin a thread for", &self.db)), &self.db),
        }
    }

    /// Adds an entry for what the thread has written, when none else came.
    fn name_written(&self) -> Result<()> {
        let segments = self.written_segments();
        if segments.is_empty() {
            return Ok(());
        }
        let slot = self.log.read().entries();
        match self.claim_only(slot, &segments, Duration::ZERO) {
            // Another server has added something: the segments are swept one day.
            Err(Error::Overtaken) => Ok(()),
            done => done,
        }
    }
}

impl Drop for LogRevisions {
    fn drop(&mut self) {
        self.upkeep.finish();
        report(self.name_written(), &self.db);
    }
}
