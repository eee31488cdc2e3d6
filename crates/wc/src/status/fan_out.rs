//! Many things, looked at by several threads. Which thread takes which is left to chance; what they find
//! comes in no order.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use super::table::Table;
use sapwood_core::paths::{RelPath, RelPathBuf};

/// Fewer things than this are looked at faster than threads start.
const FEW: usize = 64;
/// No more threads than these.
const MOST: usize = 16;
/// How many a thread takes at a time.
const PIECE: usize = 32;

/// How many threads are to look at so many directories. Of what is not in memory each look waits for the disk,
/// which does several things at a time: more threads than processors help there, and cost little elsewhere.
pub(super) fn threads_for(directories: usize) -> usize {
    let processors = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    (directories >> 7).clamp(processors, MOST.max(processors)).min(MOST)
}

/// Calls `look` with each thing, with a buffer and a list for what it finds. Returns the lists of all
/// threads together.
pub(crate) fn over<T: Sync, R: Send>(
    all: &[T],
    look: impl Fn(&T, &mut Vec<u8>, &mut Vec<R>) + Sync,
) -> Vec<R> {
    let next = AtomicUsize::new(0);
    let together = Mutex::new(Vec::new());
    let work = || {
        let (mut buffer, mut found) = (Vec::new(), Vec::new());
        loop {
            let at = next.fetch_add(PIECE, Ordering::Relaxed);
            let Some(rest) = all.get(at..).filter(|rest| !rest.is_empty()) else { break };
            for one in rest.iter().take(PIECE) {
                look(one, &mut buffer, &mut found);
            }
        }
        together.lock().unwrap_or_else(PoisonError::into_inner).append(&mut found);
    };
    let threads = match all.len() {
        0..FEW => 1,
        len => threads_for(len),
    };
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(work);
        }
        work();
    });
    together.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// As [`over`], of the directories that have children in a table.
pub(crate) fn over_directories<R: Send>(
    table: &Table,
    look: impl Fn(&RelPath, &mut Vec<u8>, &mut Vec<R>) + Sync,
) -> Vec<R> {
    let dirs: Vec<&RelPath> = table.dirs.keys().map(RelPathBuf::as_path).collect();
    over(&dirs, |dir, buffer, found| look(dir, buffer, found))
}
