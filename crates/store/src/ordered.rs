//! Jobs done by several threads, their results taken in the order of the jobs.
//!
//! Jobs are assigned in order; each has a bounded channel of its own, which the taking thread
//! empties before it turns to the next. A thread that is too far ahead blocks on its channel, so
//! what waits stays below [`LOOKAHEAD`] jobs a thread times [`MESSAGES`] messages, which the
//! worker keeps small.

use sapwood_core::Exact;
use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use parking_lot::Mutex;
use sapwood_core::{Revnum, len64};

/// The most revisions in a batch of [`batches`].
const BATCH: u64 = 16;
/// A batch is at most this part of the whole.
const SHARE: u64 = 64;
/// How many messages of a job may wait.
const MESSAGES: usize = 4;
/// How many jobs for each thread are assigned ahead.
const LOOKAHEAD: usize = 3;

/// Where a thread puts its results.
#[derive(Debug)]
pub struct Outlet<'a, M> {
    to: &'a SyncSender<M>,
}

/// Results are not taken any more: the work is to end.
#[derive(Clone, Copy, Debug)]
pub struct ReceiverGone;

impl<M> Outlet<'_, M> {
    /// Sends one message; waits while the channel is full.
    ///
    /// # Errors
    /// When messages are not taken any more.
    pub fn send(&self, message: M) -> Result<(), ReceiverGone> {
        self.to.send(message).map_err(|_| ReceiverGone)
    }
}

/// What a thread does with one job: it sends messages until it is done, or the receiver is gone.
pub type Work<'a, J, M> = dyn Fn(J, &Outlet<'_, M>) -> Result<(), ReceiverGone> + Sync + 'a;

/// Cuts a range of revisions into batches of a few, each with its first and last revision. A
/// short range is cut into single ones, for one of them may be most of the work.
pub fn batches(start: Revnum, end: Revnum) -> impl Iterator<Item = (Revnum, Revnum)> {
    batches_of(BATCH, start, end)
}

/// The same with batches of which a thread that sends one message a revision need not wait within one: while the first job
/// is taken, the others are done.
pub fn short_batches(start: Revnum, end: Revnum) -> impl Iterator<Item = (Revnum, Revnum)> {
    batches_of(len64(MESSAGES), start, end)
}

fn batches_of(most: u64, start: Revnum, end: Revnum) -> impl Iterator<Item = (Revnum, Revnum)> {
    let mut next = Some(start);
    let size = (end.0.saturating_sub(start.0) / SHARE).clamp(1, most);
    std::iter::from_fn(move || {
        let first = next.filter(|first| *first <= end)?;
        let last = Revnum(first.0.saturating_add(size.saturating_sub(1))).min(end);
        next = last.0.checked_add(1).map(Revnum);
        Some((first, last))
    })
}

/// Runs `work` on each job, in `threads` threads, and gives the messages of the jobs to `take` on
/// this thread, job after job. The first error of `take` ends everything; threads learn of it when
/// they next send something. A worker that returns [`ReceiverGone`] works no more.
///
/// # Errors
/// What `take` returns.
pub fn run<J: Send, M: Send, E>(
    jobs: impl Iterator<Item = J>,
    threads: usize,
    work: &Work<'_, J, M>,
    take: &mut dyn FnMut(M) -> Result<(), E>,
) -> Result<(), E> {
    let ahead = threads.max(1).times(LOOKAHEAD);
    let (to_threads, queue) = sync_channel::<(J, SyncSender<M>)>(ahead);
    let queue = &Mutex::new(queue);
    let mut jobs = jobs.fuse();
    std::thread::scope(|scope| {
        // Dropped when this thread is done, which ends the others.
        let to_threads = to_threads;
        for _ in 0..threads.max(1) {
            scope.spawn(move || {
                loop {
                    let job = queue.lock().recv();
                    let Ok((job, to)) = job else { return };
                    if work(job, &Outlet { to: &to }).is_err() {
                        return;
                    }
                }
            });
        }
        let mut waiting: VecDeque<Receiver<M>> = VecDeque::new();
        loop {
            while waiting.len() < ahead
                && let Some(job) = jobs.next()
            {
                let (to, from) = sync_channel(MESSAGES);
                if to_threads.send((job, to)).is_err() {
                    break;
                }
                waiting.push_back(from);
            }
            let Some(messages) = waiting.pop_front() else { return Ok(()) };
            // Ends when the thread has dropped its end.
            while let Ok(message) = messages.recv() {
                take(message)?;
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(
        (first, last): (Revnum, Revnum),
        outlet: &Outlet<'_, u64>,
    ) -> Result<(), ReceiverGone> {
        (first.0..=last.0).try_for_each(|n| outlet.send(n))
    }

    #[test]
    fn results_come_in_order() {
        for threads in 1..4 {
            let mut seen = Vec::new();
            let take = &mut |n| {
                seen.push(n);
                Ok::<_, ()>(())
            };
            run(batches(Revnum(3), Revnum(1000)), threads, &numbers, take).unwrap();
            assert_eq!(seen, (3..=1000).collect::<Vec<_>>());
        }
    }

    /// Nothing is taken of the second job before the first one is done, and that waits until all of the second were sent.
    #[test]
    fn short_batches_are_done_ahead() {
        let (first_of_second, end_of_second) = (len64(MESSAGES), 2 * len64(MESSAGES));
        let (sent, all) = std::sync::mpsc::channel::<()>();
        let all = Mutex::new(all);
        let work = |(first, last): (Revnum, Revnum), outlet: &Outlet<'_, u64>| {
            if first == Revnum(0) {
                let all = all.lock();
                (0..MESSAGES).for_each(|_| all.recv().unwrap());
            }
            for number in first.0..=last.0 {
                outlet.send(number)?;
                if (first_of_second..end_of_second).contains(&number) {
                    sent.send(()).unwrap();
                }
            }
            Ok(())
        };
        let mut seen = Vec::new();
        let take = &mut |n| {
            seen.push(n);
            Ok::<_, ()>(())
        };
        run(short_batches(Revnum(0), Revnum(999)), 2, &work, take).unwrap();
        assert_eq!(seen, (0..1000).collect::<Vec<_>>());
    }

    #[test]
    fn an_error_ends_it() {
        let mut seen = 0;
        let take = &mut |n| {
            seen = n;
            if n == 100 { Err("enough") } else { Ok(()) }
        };
        let all = batches(Revnum(0), Revnum(u64::MAX));
        assert_eq!(run(all, 2, &numbers, take), Err("enough"));
        assert_eq!(seen, 100);
    }
}
