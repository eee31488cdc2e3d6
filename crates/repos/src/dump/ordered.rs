//! Revisions rendered by several threads, written in order.
//!
//! Batches of revisions are handed out in order; each batch has a bounded channel of its own, which
//! the writing thread empties before it turns to the next. A thread that is too far ahead blocks
//! on its channel, so memory stays below [`LOOKAHEAD`] batches times [`CHUNKS`] chunks.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

use parking_lot::Mutex;
use sapwood_core::Revnum;

use super::editor::Found;
use super::record::write_error;
use super::{DumpOptions, Notice, check_cancelled, dump_revision};
use crate::error::Result;
use crate::repository::Repository;

/// The most revisions in a batch.
const BATCH: u64 = 16;
/// How many bytes are collected before they are handed over.
const CHUNK: usize = 256 << 10;
/// How many chunks of a batch may wait.
const CHUNKS: usize = 4;
/// How many batches a thread are handed out ahead.
const LOOKAHEAD: usize = 3;

enum Message {
    /// Bytes, and what is to be told once they are written.
    Chunk(Vec<u8>, Vec<Notice>),
    /// The end of the batch.
    Done(Result<Found>),
}

struct Job {
    first: Revnum,
    last: Revnum,
    to: SyncSender<Message>,
}

/// What a thread has rendered and not handed over.
struct Pending<'a> {
    bytes: Vec<u8>,
    notices: Vec<Notice>,
    to: &'a SyncSender<Message>,
}

impl Pending<'_> {
    fn hand_over(&mut self) -> io::Result<()> {
        if self.bytes.is_empty() && self.notices.is_empty() {
            return Ok(());
        }
        let bytes = std::mem::take(&mut self.bytes);
        let notices = std::mem::take(&mut self.notices);
        // The writing thread is gone only when it met an error itself.
        self.to
            .send(Message::Chunk(bytes, notices))
            .map_err(|_| io::Error::from(io::ErrorKind::BrokenPipe))
    }
}

struct Output<'a, 'b>(&'a RefCell<Pending<'b>>);

impl Write for Output<'_, '_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut pending = self.0.borrow_mut();
        pending.bytes.extend_from_slice(bytes);
        if pending.bytes.len() >= CHUNK {
            pending.hand_over()?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn render(
    repository: &Repository,
    options: &DumpOptions<'_>,
    start: Revnum,
    job: &Job,
) -> Result<Found> {
    let pending = RefCell::new(Pending { bytes: Vec::new(), notices: Vec::new(), to: &job.to });
    let mut all = Found::default();
    let mut revision = job.first;
    let mut result = Ok(());
    while revision <= job.last {
        let mut out = Output(&pending);
        let mut notify = |notice| pending.borrow_mut().notices.push(notice);
        let found = check_cancelled(options.cancel).map_err(Into::into).and_then(|()| {
            dump_revision(repository, options, start, revision, &mut out, &mut notify)
        });
        match found {
            Ok(found) => all.merge(found),
            Err(error) => {
                result = Err(error);
                break;
            }
        }
        if options.notices {
            notify(Notice::Revision(revision));
        }
        revision = revision.next();
    }
    // What came before an error is written too, as it would be without threads.
    pending.borrow_mut().hand_over().map_err(write_error)?;
    result.map(|()| all)
}

/// Dumps `start` to `end` with [`DumpOptions::threads`] threads.
pub(super) fn run(
    repository: &Repository,
    options: &DumpOptions<'_>,
    start: Revnum,
    end: Revnum,
    out: &mut dyn Write,
    notify: &mut dyn FnMut(Notice),
) -> Result<Found> {
    let ahead = options.threads.saturating_mul(LOOKAHEAD);
    let (jobs, queue) = sync_channel::<Job>(ahead);
    let queue = &Mutex::new(queue);
    std::thread::scope(|scope| {
        // Dropped when this thread is done, which ends the others.
        let jobs = jobs;
        for _ in 0..options.threads {
            scope.spawn(move || {
                loop {
                    let job = queue.lock().recv();
                    let Ok(job) = job else { return };
                    let result = render(repository, options, start, &job);
                    let failed = result.is_err();
                    if job.to.send(Message::Done(result)).is_err() || failed {
                        return;
                    }
                }
            });
        }
        let mut next = Some(start);
        let mut batches: VecDeque<Receiver<Message>> = VecDeque::new();
        let mut all = Found::default();
        loop {
            while let Some(first) = next.filter(|r| *r <= end && batches.len() < ahead) {
                let last = Revnum(first.0.saturating_add(BATCH - 1)).min(end);
                let (to, from) = sync_channel(CHUNKS);
                if jobs.send(Job { first, last, to }).is_err() {
                    next = None;
                    break;
                }
                batches.push_back(from);
                next = Some(last.next());
            }
            let Some(batch) = batches.pop_front() else { return Ok(all) };
            while let Ok(message) = batch.recv() {
                match message {
                    Message::Chunk(bytes, notices) => {
                        out.write_all(&bytes).map_err(write_error)?;
                        notices.into_iter().for_each(&mut *notify);
                    }
                    Message::Done(result) => {
                        all.merge(result?);
                        break;
                    }
                }
            }
        }
    })
}
