//! Reading ahead for requests that go through many revisions in order.
//!
//! A request that finds everything in the caches never starts a thread and never wakes one: it
//! only compares the counter of its own reads. When reads show that the request is cold, a few
//! threads a process ([`ReaderPermit`]) read the next revisions into the caches, no further ahead than
//! [`WINDOW`] batches of [`BATCH`] revisions. They end when the request does, or when what they do
//! turns out to be in
//! the caches already.

use sapwood_core::Exact;
use std::sync::Arc;
use std::thread::JoinHandle;

use parking_lot::{Condvar, Mutex};
use sapwood_core::Revnum;
use sapwood_store::ReaderPermit;

use crate::error::Result;
use crate::filesystem::Filesystem;
use crate::log_blocks::{LogNeeds, LogSpan, SpanEncoder};
use crate::revprops_snapshot::RevpropsSnapshot;
use crate::unpacked_files::LooseFiles;

/// So many revisions are read ahead together: the system gets hints for all of them before the first
/// is read, and brings them at once.
const BATCH: u64 = 16;
/// How many batches are read ahead of the request at most.
const WINDOW: u64 = 16;
/// In packs, the system gets hints so many batches ahead, once in so many batches.
const FAR: u64 = 64;
const FAR_STEP: u64 = 4;
/// Data read ahead take at most about this part of the caches: one in so many bytes.
const SHARE: u64 = 16;
/// How many revisions that had to be read make a request cold.
const COLD: u32 = 4;
/// How many revisions in a row without a read make it hot again.
const QUIET: u32 = 1024;
/// How many batches without a read make the readers end.
const QUIET_BATCHES: u32 = 64;
/// A request that has fewer revisions to go is not worth a thread.
const WORTHWHILE: u64 = 32;
/// Stack of a reader, in bytes.
const STACK: usize = 512 << 10;

/// The revisions of a request, in its order.
#[derive(Clone, Copy, Debug)]
struct Range {
    from: Revnum,
    to: Revnum,
    wanted: LogNeeds,
}

impl Range {
    fn count(&self) -> u64 {
        self.from.0.abs_diff(self.to.0).plus(1)
    }

    /// The revisions of a batch.
    fn batch(&self, number: u64) -> impl Iterator<Item = Revnum> + use<> {
        let (range, first) = (*self, number.times(BATCH));
        let end = first.plus(BATCH).min(range.count());
        (first..end).map(move |n| range.nth(n))
    }

    fn nth(&self, n: u64) -> Revnum {
        Revnum(if self.from <= self.to {
            self.from.0.saturating_add(n)
        } else {
            self.from.0.saturating_sub(n)
        })
    }
}

/// Reads ahead for one request, see [`Filesystem::prefetch_revisions`]. Ends when it is dropped.
#[derive(Debug)]
pub struct Prefetch {
    fs: Filesystem,
    range: Range,
    encoder: Option<Arc<SpanEncoder>>,
    /// The request's count of reads at the last check.
    reads: u64,
    /// Revisions lately that had to be read.
    cold: u32,
    /// Revisions since the last one that had to be read.
    quiet: u32,
    team: Option<Team>,
    /// The batch that the request was in when the team was last notified.
    batch: Option<u64>,
    /// For the read-ahead of the request itself.
    reader: Option<Reader>,
}

impl Filesystem {
    /// Announces that revisions `from` to `to` are about to be read, in this order, and what of them.
    /// The request reports its progress to the returned value, and holds it until it ends. A hint: it
    /// may read ahead, and never fails. With `encoder`, whole blocks of packed revisions are left
    /// in the cache as [`EncodedEntries`](crate::EncodedEntries), in place of their parts.
    #[must_use]
    pub fn prefetch_revisions(
        &self,
        from: Revnum,
        to: Revnum,
        wanted: LogNeeds,
        encoder: Option<SpanEncoder>,
    ) -> Prefetch {
        Prefetch::new(self, from, to, wanted, encoder)
    }
}

impl Prefetch {
    fn new(
        fs: &Filesystem,
        from: Revnum,
        to: Revnum,
        wanted: LogNeeds,
        encoder: Option<SpanEncoder>,
    ) -> Self {
        Self {
            fs: fs.clone(),
            range: Range { from, to, wanted },
            encoder: encoder.map(Arc::new),
            reads: fs.fs.work.reads(),
            cold: 0,
            quiet: 0,
            team: None,
            batch: None,
            reader: None,
        }
    }

    /// Says that the request now comes to its `n`-th revision, counted from 0.
    pub fn at(&mut self, n: u64) {
        if let Some(team) = &self.team {
            let batch = n.div_euclid(BATCH);
            if self.batch.replace(batch) == Some(batch) {
                return;
            }
            if team.shared.at(batch) {
                self.help(batch);
                return;
            }
            self.team = None;
            self.cold = 0;
        }
        let reads = self.fs.fs.work.reads();
        if reads == self.reads {
            self.quiet += 1;
            if self.quiet >= QUIET {
                self.cold = 0;
            }
            return;
        }
        self.reads = reads;
        self.quiet = 0;
        self.cold += 1;
        if self.cold >= COLD && self.range.count().saturating_sub(n) >= WORTHWHILE {
            let job = || Reader::new(&self.fs.for_helper(), self.range, self.encoder.clone());
            self.team = Team::start(&self.fs, self.range, n.div_euclid(BATCH), job);
            self.cold = 0;
        }
    }
}

impl Prefetch {
    /// While a reader is about the request's own batch, the request reads ahead too, instead of
    /// reading the same again. A batch that no reader took is read here.
    fn help(&mut self, n: u64) {
        let Some(team) = &self.team else { return };
        while team.shared.is_taken(n) {
            let Some(next) = team.shared.try_take() else {
                team.shared.wait_for(n);
                return;
            };
            let job = || Reader::new(&self.fs, self.range, self.encoder.clone());
            let reader = self.reader.get_or_insert_with(job);
            // What is wrong shows again when the request comes to it.
            let _ = reader.load(next.n);
        }
    }
}

/// Readers of one request.
#[derive(Debug)]
struct Team {
    shared: Arc<Progress>,
    readers: Vec<JoinHandle<()>>,
}

impl Team {
    /// `None` when all readers of the process are busy.
    fn start(
        fs: &Filesystem,
        range: Range,
        at: u64,
        mut job: impl FnMut() -> Reader,
    ) -> Option<Self> {
        let budget = fs.fs.caches.capacity();
        let shared = Arc::new(Progress {
            state: Mutex::new(State { at, next: at.plus(1), ..State::default() }),
            moved: Condvar::new(),
            read: Condvar::new(),
            count: range.count().div_ceil(BATCH),
            most_bytes: budget.checked_div(SHARE).unwrap_or(0),
        });
        let mut readers = Vec::new();
        while let Some(permit) = ReaderPermit::take(&fs.fs.caches) {
            let (job, shared) = (job(), Arc::clone(&shared));
            let run = move || {
                // Whatever is wrong with a revision, the request itself will find and report.
                let _ = read_ahead(job, &shared);
                drop(permit);
            };
            let name = "read-ahead".to_owned();
            let Ok(reader) = std::thread::Builder::new().name(name).stack_size(STACK).spawn(run)
            else {
                break;
            };
            readers.push(reader);
        }
        (!readers.is_empty()).then_some(Self { shared, readers })
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        self.shared.state.lock().over = true;
        self.shared.moved.notify_all();
        // A reader looks after each batch; nothing is read after the request.
        for reader in self.readers.drain(..) {
            let _ = reader.join();
        }
    }
}

/// How far a request and its readers are, counted in batches.
#[derive(Debug)]
struct Progress {
    state: Mutex<State>,
    /// The request has moved on, or is over.
    moved: Condvar,
    /// A batch was read.
    read: Condvar,
    /// How many batches there are.
    count: u64,
    /// How many bytes may be read ahead, about.
    most_bytes: u64,
}

#[derive(Debug, Default)]
struct State {
    /// The batch that the request is in.
    at: u64,
    /// The first batch that no reader has taken yet.
    next: u64,
    /// Batches that are being read: one a reader at most, and one by the request.
    taken: Vec<u64>,
    /// Readers that wait for the request to move on.
    waiting: usize,
    /// Batches that were read so far, and their bytes: for the mean size of one.
    batches: u64,
    bytes: u64,
    /// Batches since one that had to be read.
    quiet: u32,
    over: bool,
}

impl State {
    /// How many batches ahead of the request the readers may be.
    fn window(&self, most_bytes: u64) -> u64 {
        let mean = self.bytes.checked_div(self.batches).unwrap_or(0).max(1);
        most_bytes.checked_div(mean).unwrap_or(0).clamp(2, WINDOW)
    }
}

impl Progress {
    /// The request is at its `n`-th batch. False when the readers have ended.
    fn at(&self, n: u64) -> bool {
        let mut state = self.state.lock();
        state.at = n;
        if state.over {
            return false;
        }
        // Woken not for each batch, but when half of what was read ahead is used up.
        let half = state.window(self.most_bytes).div_euclid(2);
        let wake = state.waiting > 0 && state.next.saturating_sub(n) <= half;
        drop(state);
        if wake {
            self.moved.notify_all();
        }
        true
    }

    /// Whether batch `n` is being read ahead now.
    fn is_taken(&self, n: u64) -> bool {
        self.state.lock().taken.contains(&n)
    }

    /// Waits until batch `n` is not being read any more.
    fn wait_for(&self, n: u64) {
        let mut state = self.state.lock();
        while state.taken.contains(&n) {
            self.read.wait(&mut state);
        }
    }

    /// The next batch to read, if there is one in the window.
    fn try_take(&self) -> Option<BatchGuard<'_>> {
        self.next_of(&mut self.state.lock())
    }

    fn next_of(&self, state: &mut State) -> Option<BatchGuard<'_>> {
        state.next = state.next.max(state.at.plus(1));
        let near = state.next.saturating_sub(state.at) <= state.window(self.most_bytes);
        if state.over || state.next >= self.count || !near {
            return None;
        }
        let n = state.next;
        state.next = n.plus(1);
        state.taken.push(n);
        Some(BatchGuard { progress: self, n })
    }

    /// The next batch to read, as soon as it is in the window; `None` at the end.
    fn take(&self) -> Option<BatchGuard<'_>> {
        let mut state = self.state.lock();
        loop {
            if let Some(taken) = self.next_of(&mut state) {
                return Some(taken);
            }
            if state.over || state.next >= self.count {
                return None;
            }
            state.waiting += 1;
            self.moved.wait(&mut state);
            state.waiting = state.waiting.minus(1);
        }
    }

    /// Records that a batch of so many bytes is in the caches.
    fn done(&self, bytes: usize, was_read: bool) {
        let mut state = self.state.lock();
        state.batches.tally(1);
        state.bytes.tally(sapwood_core::exact::len64(bytes));
        state.quiet = if was_read { 0 } else { state.quiet.plus(1) };
        if state.quiet >= QUIET_BATCHES {
            state.over = true;
            drop(state);
            self.moved.notify_all();
        }
    }
}

/// A batch that is being read, until this is dropped.
struct BatchGuard<'a> {
    progress: &'a Progress,
    n: u64,
}

impl Drop for BatchGuard<'_> {
    fn drop(&mut self) {
        let mut state = self.progress.state.lock();
        state.taken.retain(|n| *n != self.n);
        let wanted = state.at == self.n;
        drop(state);
        if wanted {
            self.progress.read.notify_all();
        }
    }
}

fn read_ahead(mut reader: Reader, shared: &Progress) -> Result<()> {
    while let Some(taken) = shared.take() {
        let before = reader.fs.fs.work.reads();
        let bytes = reader.load(taken.n)?;
        drop(taken);
        shared.done(bytes, reader.fs.fs.work.reads() != before);
    }
    Ok(())
}

/// Reads batches of a request's revisions.
#[derive(Debug)]
struct Reader {
    fs: Filesystem,
    range: Range,
    encoder: Option<Arc<SpanEncoder>>,
    revprops: RevpropsSnapshot,
    loose: LooseFiles,
    /// What of the present batch is read by way of blocks and packs.
    left: Vec<(Revnum, LogNeeds)>,
    /// The block that was checked last.
    span: Option<LogSpan>,
}

impl Reader {
    fn new(fs: &Filesystem, range: Range, encoder: Option<Arc<SpanEncoder>>) -> Self {
        Self {
            fs: fs.clone(),
            range,
            encoder,
            revprops: fs.revprops_snapshot(),
            loose: LooseFiles::default(),
            left: Vec::new(),
            span: None,
        }
    }

    /// Makes the log entries of the block that a revision of a pack is in, when the request comes to
    /// this revision first of them: their bytes. `None` when the request sends the revision by
    /// itself. A block belongs to the batch in which it begins.
    fn entries(&mut self, revision: Revnum) -> Result<Option<usize>> {
        let Some(encoder) = &self.encoder else { return Ok(None) };
        if !self.fs.fs.rev_file(revision).key.packed {
            return Ok(None);
        }
        if self.span.is_none_or(|span| revision < span.oldest || revision > span.youngest) {
            self.span = self.revprops.log_span(revision)?;
        }
        let Range { from, to, wanted } = self.range;
        let youngest_first = from >= to;
        let (young, old) = if youngest_first { (from, to) } else { (to, from) };
        let Some(span) = self.span.filter(|s| s.youngest <= young && s.oldest >= old) else {
            return Ok(None);
        };
        let first = if youngest_first { span.youngest } else { span.oldest };
        if revision != first {
            return Ok(Some(0));
        }
        self.revprops.make_entries(&span, youngest_first, wanted, encoder)
    }

    /// Reads the wanted parts of a batch into the caches; returns their bytes there.
    fn load(&mut self, n: u64) -> Result<usize> {
        let range = self.range;
        self.look_far(n);
        let mut bytes = 0usize;
        self.left.clear();
        let first = range.nth(n.times(BATCH));
        let last = range.batch(n).last().unwrap_or(first);
        for revision in range.batch(n) {
            if let Some(made) = self.entries(revision)? {
                bytes = bytes.plus(made);
                continue;
            }
            let Self { fs, revprops, loose, left, .. } = self;
            let LogNeeds { mut changes, revprops: mut props } = range.wanted;
            changes &= revision > Revnum::ZERO;
            if changes && let Some(len) = loose.changes(&fs.fs, revision) {
                bytes = bytes.plus(len);
                changes = false;
            }
            if props && let Some(len) = loose.revprops(&fs.fs, revprops.unread(revision), revision)
            {
                bytes = bytes.plus(len);
                props = false;
            }
            let wanted = LogNeeds { changes, revprops: props };
            if changes || props {
                // A pack has the lists of neighbouring revisions side by side: between the first
                // and the last there is nothing to look up.
                let ends = revision == first || revision == last;
                if ends || !fs.fs.rev_file(revision).key.packed {
                    fs.will_need_revision(revision, wanted, revprops);
                }
                left.push((revision, wanted));
            }
        }
        let Self { fs, revprops, loose, left, .. } = self;
        bytes = bytes.plus(loose.finish(&fs.fs));
        for (revision, wanted) in left.drain(..) {
            if wanted.changes {
                bytes = bytes.plus(fs.changed_paths(revision)?.byte_len());
            }
            if wanted.revprops
                && let Some(props) = revprops.get_stable(revision)?
            {
                bytes = bytes.plus(props.byte_len());
            }
        }
        Ok(bytes)
    }

    /// The lists of a batch are a small part of a pack's block, which is requested early.
    fn look_far(&mut self, n: u64) {
        let Self { fs, range, revprops, .. } = self;
        if n.is_multiple_of(FAR_STEP)
            && let Some(far) = range.batch(n.plus(FAR)).next()
            && fs.fs.rev_file(far).key.packed
        {
            fs.will_need_revision(far, range.wanted, revprops);
        }
    }
}
