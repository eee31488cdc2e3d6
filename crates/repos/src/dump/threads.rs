//! Revisions rendered by several threads, written in order.

use sapwood_core::Exact;
use std::cell::RefCell;
use std::io::{self, Write};

use sapwood_core::Revnum;
use sapwood_store::ordered::{self, Outlet, ReceiverGone};

use super::editor::DumpWarnings;
use super::props::PropsInTurn;
use super::record::write_error;
use super::{DumpOptions, Notice, check_cancelled, dump_revision};
use crate::error::Result;
use crate::repository::Repository;

/// How many bytes are collected before they are handed over.
const CHUNK: usize = 256 << 10;

enum Message {
    /// Bytes, and what is to be reported once they are written.
    Chunk(Vec<u8>, Vec<Notice>),
    /// The end of a batch.
    Done(Result<DumpWarnings>),
}

/// What a thread has rendered and not handed over.
struct PendingOutput<'a> {
    bytes: Vec<u8>,
    notices: Vec<Notice>,
    to: &'a Outlet<'a, Message>,
}

impl PendingOutput<'_> {
    fn hand_over(&mut self) -> io::Result<()> {
        if self.bytes.is_empty() && self.notices.is_empty() {
            return Ok(());
        }
        let bytes = std::mem::take(&mut self.bytes);
        let notices = std::mem::take(&mut self.notices);
        // The writing thread is gone only when it met an error itself.
        self.to
            .send(Message::Chunk(bytes, notices))
            .map_err(|ReceiverGone| io::Error::from(io::ErrorKind::BrokenPipe))
    }
}

struct Output<'a, 'b>(&'a RefCell<PendingOutput<'b>>);

impl Write for Output<'_, '_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut pending = self.0.borrow_mut();
        if pending.bytes.len().plus(bytes.len()) > CHUNK {
            pending.hand_over()?;
        }
        if pending.bytes.capacity() == 0 {
            pending.bytes.reserve(CHUNK.max(bytes.len()));
        }
        pending.bytes.extend_from_slice(bytes);
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
    (first, last): (Revnum, Revnum),
    to: &Outlet<'_, Message>,
) -> Result<DumpWarnings> {
    let pending = RefCell::new(PendingOutput { bytes: Vec::new(), notices: Vec::new(), to });
    let mut all = DumpWarnings::default();
    let mut props = PropsInTurn::new(repository);
    let mut revision = first;
    let mut result = Ok(());
    while revision <= last {
        let mut out = Output(&pending);
        let mut notify = |notice| pending.borrow_mut().notices.push(notice);
        let found = check_cancelled(options.cancel).map_err(Into::into).and_then(|()| {
            let props = &mut props;
            dump_revision(repository, options, props, start, revision, &mut out, &mut notify)
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
) -> Result<DumpWarnings> {
    let mut all = DumpWarnings::default();
    let work = |batch, to: &Outlet<'_, Message>| {
        let result = render(repository, options, start, batch, to);
        let failed = result.is_err();
        to.send(Message::Done(result))?;
        if failed { Err(ReceiverGone) } else { Ok(()) }
    };
    let batches = ordered::batches(start, end);
    ordered::run(batches, options.threads, &work, &mut |message| -> Result<()> {
        match message {
            Message::Chunk(bytes, notices) => {
                out.write_all(&bytes).map_err(write_error)?;
                // A revision is reported only after its records are written.
                if !notices.is_empty() {
                    out.flush().map_err(write_error)?;
                }
                notices.into_iter().for_each(&mut *notify);
            }
            Message::Done(result) => all.merge(result?),
        }
        Ok(())
    })?;
    Ok(all)
}
