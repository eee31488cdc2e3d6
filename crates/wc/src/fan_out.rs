//! Calls a function with each of many items, on several threads. The items are spread over the threads
//! at random, and the results come in no order.
//!
//! It begins with one thread for each processor. When the data is not in memory, a call waits for the disk, which
//! can serve several requests at a time: a call that takes long starts one more thread ([`Crew`]), up to
//! [`MOST`]. A thread costs as much as the `stat` of fifty files.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::Scope;
use std::time::{Duration, Instant};

/// Fewer items than this are processed faster than threads start.
const FEW: usize = 64;
/// The limit of threads.
const MOST: usize = 16;
/// How many items that take little a thread takes at a time.
const PIECE: usize = 32;
/// A call that took longer waited for the disk, or was for a directory of some hundred files.
const LONG: Duration = Duration::from_micros(300);

/// The number of processors, read once: the answer comes from files.
fn processors() -> usize {
    static PROCESSORS: OnceLock<usize> = OnceLock::new();
    let ask = || std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    *PROCESSORS.get_or_init(ask)
}

/// Locks what the threads share. A thread that panicked left it consistent.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The number of running threads, and whether more may start.
#[derive(Debug)]
pub(crate) struct Crew {
    /// How many there are at first.
    pub(crate) first: usize,
    threads: AtomicUsize,
    most: usize,
}

impl Crew {
    /// Only the calling thread.
    pub(crate) const fn alone() -> Self {
        Self::of(1)
    }

    /// So many threads, and no more.
    const fn of(threads: usize) -> Self {
        Self { first: threads, threads: AtomicUsize::new(threads), most: threads }
    }

    /// For so many directories.
    pub(crate) fn for_directories(directories: usize) -> Self {
        let first = processors().min(MOST);
        let most = (directories >> 7).clamp(first, MOST);
        Self { first, threads: AtomicUsize::new(first), most }
    }

    /// Whether one more thread should start after a call that began then. If so, it is counted.
    pub(crate) fn grows(&self, began: Instant) -> bool {
        let has_room = |threads| (threads < self.most).then_some(threads + 1);
        began.elapsed() > LONG
            && self.threads.fetch_update(Ordering::Relaxed, Ordering::Relaxed, has_room).is_ok()
    }
}

/// What the threads share.
struct Job<'t, T, R, L> {
    all: &'t [T],
    look: L,
    next: AtomicUsize,
    /// How many items a thread takes at a time.
    piece: usize,
    together: Mutex<Vec<R>>,
    crew: Crew,
}

impl<T: Sync, R: Send, L: Fn(&T, &mut Vec<u8>, &mut Vec<R>) + Sync> Job<'_, T, R, L> {
    fn work<'s>(&'s self, scope: Option<&'s Scope<'s, '_>>) {
        let (mut buffer, mut found) = (Vec::new(), Vec::new());
        loop {
            let at = self.next.fetch_add(self.piece, Ordering::Relaxed);
            let Some(rest) = self.all.get(at..).filter(|rest| !rest.is_empty()) else { break };
            for one in rest.iter().take(self.piece) {
                let began = Instant::now();
                (self.look)(one, &mut buffer, &mut found);
                if let Some(scope) = scope.filter(|_| self.crew.grows(began)) {
                    scope.spawn(move || self.work(Some(scope)));
                }
            }
        }
        lock(&self.together).append(&mut found);
    }
}

/// Calls `look` with each thing, with a buffer and a list for what it finds. Returns the lists of all
/// threads together.
pub(crate) fn over<T: Sync, R: Send>(
    all: &[T],
    look: impl Fn(&T, &mut Vec<u8>, &mut Vec<R>) + Sync,
) -> Vec<R> {
    let crew = match all.len() {
        0..FEW => Crew::alone(),
        len => Crew::for_directories(len),
    };
    run(all, PIECE, crew, look)
}

/// As [`over`], for things that take long each: a thread takes one at a time, however few there are.
pub(crate) fn over_long<T: Sync, R: Send>(
    all: &[T],
    look: impl Fn(&T, &mut Vec<u8>, &mut Vec<R>) + Sync,
) -> Vec<R> {
    run(all, 1, Crew::of(processors().min(all.len()).max(1)), look)
}

fn run<T: Sync, R: Send>(
    all: &[T],
    piece: usize,
    crew: Crew,
    look: impl Fn(&T, &mut Vec<u8>, &mut Vec<R>) + Sync,
) -> Vec<R> {
    let (next, together) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let job = Job { all, look, next, piece, together, crew };
    if job.crew.most == 1 {
        job.work(None);
    } else {
        std::thread::scope(|scope| {
            for _ in 1..job.crew.first {
                scope.spawn(|| job.work(Some(scope)));
            }
            job.work(Some(scope));
        });
    }
    job.together.into_inner().unwrap_or_else(PoisonError::into_inner)
}
