//! What makes later reading cheap: small entries are put together, representations put into tables, and checkpoints written, when they are due
//! after a commit, in a thread.
//!
//! Segments and tables that are written wait for the next entry of this server, which names them beside what it brings: they cost no entry of their own.
//! Only when the store is closed, or the program ends ([`finish`]), and none came, one is claimed for them.
//!
//! Invariants: no commit waits for it, and nothing fails with it; a failure is passed on ([`trouble`]), and the work is due again some
//! entries later. There is one thread at most for a store. The end of the program waits for it, but not for long; nothing waits when a
//! store is closed, for a server closes one in the middle of a request for another.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak, mpsc};
use std::time::Duration;

use parking_lot::{Mutex, RwLock};
use sapwood_core::SvnError;
use sapwood_objects::{Store, trouble};
use sapwood_repo_log::entry::Item;
use sapwood_repo_log::{RepositoryLog, State, WrittenSegments, WrittenTable};
use sapwood_store::WriteStorage;

use super::{LogRevisions, claims, saved};
use crate::error::{Error, Result};

/// How long an end waits for the thread.
const PATIENCE: Duration = Duration::from_secs(10);

/// Stores of this program that had a thread.
static BUSY: Mutex<Vec<Weak<Upkeep>>> = Mutex::new(Vec::new());

/// By which the end of a thread is known: it is the end of what it would send with.
type Ends = mpsc::Receiver<()>;

/// Waits for the end of a thread, if there is one. One that goes on for longer does no harm.
fn wait_for(ends: Option<Ends>) {
    if let Some(ends) = ends {
        let _ = ends.recv_timeout(PATIENCE);
    }
}

/// What the thread works on, and what it has made.
#[derive(Debug)]
pub(super) struct Upkeep {
    log: Arc<RwLock<RepositoryLog>>,
    store: Arc<dyn Store>,
    storage: Arc<dyn WriteStorage>,
    db: PathBuf,
    /// The end of the thread, when there is one.
    ends: Mutex<Option<Ends>>,
    written: Mutex<UnnamedObjects>,
}

/// What no entry names yet.
#[derive(Debug, Default)]
struct UnnamedObjects {
    segments: Option<WrittenSegments>,
    table: Option<WrittenTable>,
}

impl UnnamedObjects {
    fn is_empty(&self) -> bool {
        self.segments.is_none() && self.table.is_none()
    }

    /// Forgets what another server was quicker with: a sweep removes it one day.
    fn forget_unfit(&mut self, state: &State) {
        self.segments.take_if(|segments| !segments.fits(state));
        self.table.take_if(|table| !table.fits(state));
    }

    fn items(&self) -> Vec<Item<'static>> {
        let segments = self.segments.iter().flat_map(|segments| segments.items().to_vec());
        segments.chain(self.table.as_ref().map(WrittenTable::item)).collect()
    }
}

/// Waits for what is put together in stores of this program, before it ends: at most some seconds for each.
pub fn finish() {
    let busy = std::mem::take(&mut *BUSY.lock());
    busy.iter().filter_map(Weak::upgrade).for_each(|upkeep| upkeep.finish());
}

impl Upkeep {
    pub(super) fn new(
        log: &Arc<RwLock<RepositoryLog>>,
        store: &Arc<dyn Store>,
        storage: &Arc<dyn WriteStorage>,
        db: &Path,
    ) -> Arc<Self> {
        Arc::new(Self {
            log: Arc::clone(log),
            store: Arc::clone(store),
            storage: Arc::clone(storage),
            db: db.to_owned(),
            ends: Mutex::default(),
            written: Mutex::default(),
        })
    }

    fn run(&self) {
        self.written.lock().forget_unfit(self.log.read().state());
        let done = self
            .put_together()
            .and_then(|()| self.write_table())
            .and_then(|()| self.write_checkpoint());
        self.report(done);
    }

    fn put_together(&self) -> Result<()> {
        let waits = self.written.lock().segments.is_some();
        let due = if waits { None } else { self.log.write().take_segments() };
        if let Some(segments) = due {
            let written = segments.write()?;
            if written.count() > 0 {
                self.written.lock().segments = Some(written);
            }
        }
        Ok(())
    }

    fn write_table(&self) -> Result<()> {
        let waits = self.written.lock().table.is_some();
        let due = if waits { None } else { self.log.write().take_table() };
        if let Some(table) = due {
            let written = table.write()?;
            self.written.lock().table = written;
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

    /// Passes on what went wrong.
    fn report(&self, done: Result<()>) {
        if let Err(error) = done {
            let text =
                format!("Can't put together what is in the store of '{}'", self.db.display());
            trouble::report(&SvnError::from(error).context(text));
        }
    }

    /// The items that name what the thread has written, for the next entry.
    fn written(&self) -> Vec<Item<'static>> {
        let mut written = self.written.lock();
        written.forget_unfit(self.log.read().state());
        written.items()
    }

    /// Waits until the thread has ended, and names what it has written, when no entry came that does.
    fn finish(&self) {
        wait_for(self.ends.lock().take());
        self.name_written();
    }

    /// The same in a thread of its own, if there is anything to do: [`finish`] waits for it.
    fn finish_behind(self: &Arc<Self>) {
        let mut ends = self.ends.lock();
        let before = ends.take();
        if before.is_none() && self.written.lock().is_empty() {
            return;
        }
        let upkeep = Arc::clone(self);
        *ends = self.thread(move || {
            wait_for(before);
            upkeep.name_written();
        });
        drop(ends);
        self.note_busy();
    }

    /// Claims an entry that names what the thread has written, if it has.
    fn name_written(&self) {
        let items = self.written();
        if items.is_empty() {
            return;
        }
        let slot = self.log.read().entries();
        match claims::claim(&self.log, &*self.store, (slot, &items), Duration::ZERO) {
            // Another server has added something: what was written is swept one day.
            Err(Error::Overtaken) => {}
            done => self.report(done),
        }
    }

    /// Begins the thread, if it is not at work.
    fn begin(self: &Arc<Self>) {
        let mut ends = self.ends.lock();
        if ends.as_ref().is_some_and(|ends| ends.try_recv() == Err(mpsc::TryRecvError::Empty)) {
            return;
        }
        let is_first = ends.is_none();
        let upkeep = Arc::clone(self);
        *ends = self.thread(move || upkeep.run());
        drop(ends);
        if is_first {
            self.note_busy();
        }
    }

    /// Begins a thread, if the system has one.
    fn thread(&self, work: impl FnOnce() + Send + 'static) -> Option<Ends> {
        let (sender, receiver) = mpsc::channel();
        let run = move || {
            work();
            drop(sender);
        };
        match std::thread::Builder::new().name("upkeep".to_owned()).spawn(run) {
            Ok(_) => Some(receiver),
            Err(e) => {
                self.report(Err(Error::io(e, "Can't begin a thread for", &self.db)));
                None
            }
        }
    }

    /// Notes that [`finish`] waits for this one; those of closed stores are forgotten from time to time.
    fn note_busy(self: &Arc<Self>) {
        let mut busy = BUSY.lock();
        if busy.len().is_power_of_two() {
            busy.retain(|upkeep| upkeep.strong_count() > 0);
        }
        busy.push(Arc::downgrade(self));
    }
}

impl LogRevisions {
    /// The items that name what the thread has written, for the next entry.
    pub(super) fn written_items(&self) -> Vec<Item<'static>> {
        self.upkeep.written()
    }

    /// Lets the thread work, if there is something to do and it is not at work.
    pub(super) fn look_after(&self) {
        if self.log.read().has_work() {
            self.upkeep.begin();
        }
    }
}

impl Drop for LogRevisions {
    fn drop(&mut self) {
        self.upkeep.finish_behind();
    }
}
