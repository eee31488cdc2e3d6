//! A store whose process dies, or whose answers are lost, at a chosen operation.
//!
//! Operations are counted over all handles that share the counter's store: each call of [`Blobs`] and [`Log`] is one, and each
//! piece and the end of an upload. Invariant: after [`Fault::StopBefore`] and [`Fault::StopAfter`] nothing reaches the store
//! any more, as from a process that is dead.

use std::ops::Range;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::error::{Error, Result};
use crate::key::Key;
use crate::store::{Attempt, Blobs, ListedObject, Log, Store, Upload};

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The process dies before the operation.
    StopBefore,
    /// The process dies after it.
    StopAfter,
    /// The operation is done, and its answer is lost.
    AnswerLost,
    /// The operation is not done, and no answer comes.
    RequestLost,
    /// No answer comes, and the operation is done later, behind so many others.
    Delayed(u64),
    /// The operation is done, and the same again later, behind so many others: a network that sends twice.
    Twice(u64),
}

/// A write that is still on its way.
#[derive(Debug)]
struct Late {
    at: u64,
    write: Write,
}

#[derive(Clone, Debug)]
enum Write {
    Put(Key, Vec<u8>),
    Create(Key, u64, Vec<u8>),
    Delete(Key),
}

#[derive(Debug, Default)]
struct State {
    operations: u64,
    stopped: bool,
    late: Vec<Late>,
}

/// A store in which one operation goes wrong.
#[derive(Debug)]
pub struct Faulty {
    inner: Arc<dyn Store>,
    at: u64,
    fault: Fault,
    state: Arc<Mutex<State>>,
}

/// What is to become of an operation.
enum Verdict {
    Do,
    DoAndLose,
    Lose,
}

impl Faulty {
    /// A store whose operation `at`, counted from 0, goes wrong.
    #[must_use]
    pub fn new(inner: Arc<dyn Store>, at: u64, fault: Fault) -> Self {
        Self { inner, at, fault, state: Arc::default() }
    }

    /// One in which nothing goes wrong.
    #[must_use]
    pub fn counting(inner: Arc<dyn Store>) -> Self {
        Self::new(inner, u64::MAX, Fault::StopBefore)
    }

    /// How many operations were asked for.
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.state.lock().operations
    }

    /// Lets what is still on its way arrive.
    pub fn let_all_arrive(&self) {
        let late = std::mem::take(&mut self.state.lock().late);
        late.into_iter().for_each(|late| self.arrive(late.write));
    }

    fn lost(&self, key: &Key) -> Error {
        let reason = std::io::Error::from(std::io::ErrorKind::TimedOut);
        Error::failed("reach", Blobs::address(&*self.inner), key, reason)
    }

    fn arrive(&self, write: Write) {
        let done = match write {
            Write::Put(key, bytes) => self.inner.put(&key, &bytes),
            Write::Create(log, slot, bytes) => self.inner.attempt(&log, slot, &bytes).map(drop),
            Write::Delete(key) => self.inner.delete(&key),
        };
        done.expect("the store below does not fail");
    }

    /// Counts an operation and says what becomes of it. `write` is what it does, if it may be done later.
    fn count(&self, key: &Key, write: Option<Write>) -> Result<Verdict> {
        let mut state = self.state.lock();
        if state.stopped {
            return Err(self.lost(key));
        }
        let at = state.operations;
        state.operations += 1;
        let (arrived, late) = std::mem::take(&mut state.late).into_iter().partition(|l| l.at <= at);
        state.late = late;
        let arrived: Vec<Late> = arrived;
        arrived.into_iter().for_each(|late| self.arrive(late.write));
        if at != self.at {
            return Ok(Verdict::Do);
        }
        match self.fault {
            Fault::StopBefore => {
                state.stopped = true;
                Err(self.lost(key))
            }
            Fault::StopAfter => {
                state.stopped = true;
                Ok(Verdict::DoAndLose)
            }
            Fault::AnswerLost => Ok(Verdict::DoAndLose),
            Fault::RequestLost => Ok(Verdict::Lose),
            Fault::Delayed(behind) => {
                state.late.extend(write.map(|write| Late { at: at + behind, write }));
                Ok(Verdict::Lose)
            }
            Fault::Twice(behind) => {
                state.late.extend(write.map(|write| Late { at: at + behind, write }));
                Ok(Verdict::Do)
            }
        }
    }

    fn run<T>(
        &self,
        key: &Key,
        write: Option<Write>,
        operation: impl FnOnce() -> Result<T>,
    ) -> Result<T> {
        match self.count(key, write)? {
            Verdict::Do => operation(),
            Verdict::DoAndLose => operation().and_then(|_| Err(self.lost(key))),
            Verdict::Lose => Err(self.lost(key)),
        }
    }
}

impl Blobs for Faulty {
    fn address(&self) -> &str {
        Blobs::address(&*self.inner)
    }

    fn get(&self, key: &Key, range: Range<u64>) -> Result<Option<Vec<u8>>> {
        self.run(key, None, || self.inner.get(key, range))
    }

    fn put(&self, key: &Key, bytes: &[u8]) -> Result<()> {
        let write = Write::Put(key.clone(), bytes.to_vec());
        self.run(key, Some(write), || self.inner.put(key, bytes))
    }

    fn upload(&self, key: &Key) -> Result<Box<dyn Upload>> {
        let inner = self.run(key, None, || self.inner.upload(key))?;
        let store = Self {
            inner: Arc::clone(&self.inner),
            at: self.at,
            fault: self.fault,
            state: Arc::clone(&self.state),
        };
        Ok(Box::new(FaultyUpload { inner, store, key: key.clone() }))
    }

    fn list(&self, part: &str, after: Option<&Key>, most: usize) -> Result<Vec<ListedObject>> {
        let key = Key::new(part)?;
        self.run(&key, None, || self.inner.list(part, after, most))
    }

    fn delete(&self, key: &Key) -> Result<()> {
        self.run(key, Some(Write::Delete(key.clone())), || self.inner.delete(key))
    }
}

impl Log for Faulty {
    fn address(&self) -> &str {
        Blobs::address(&*self.inner)
    }

    fn read_from(&self, log: &Key, first: u64, most: usize) -> Result<Vec<Vec<u8>>> {
        self.run(log, None, || self.inner.read_from(log, first, most))
    }

    fn attempt(&self, log: &Key, slot: u64, bytes: &[u8]) -> Result<Attempt> {
        let write = Write::Create(log.clone(), slot, bytes.to_vec());
        match self.count(log, Some(write)) {
            Ok(Verdict::Do) => self.inner.attempt(log, slot, bytes),
            Ok(Verdict::DoAndLose) => {
                self.inner.attempt(log, slot, bytes)?;
                Ok(Attempt::Unknown(self.lost(log)))
            }
            Ok(Verdict::Lose) => Ok(Attempt::Unknown(self.lost(log))),
            Err(error) => Ok(Attempt::Unknown(error)),
        }
    }

    fn discard(&self, log: &Key, slot: u64) -> Result<()> {
        self.run(log, None, || self.inner.discard(log, slot))
    }
}

#[derive(Debug)]
struct FaultyUpload {
    inner: Box<dyn Upload>,
    store: Faulty,
    key: Key,
}

impl Upload for FaultyUpload {
    fn append(&mut self, bytes: &[u8]) -> Result<()> {
        let inner = &mut self.inner;
        self.store.run(&self.key, None, || inner.append(bytes))
    }

    fn finish(self: Box<Self>) -> Result<()> {
        let Self { inner, store, key } = *self;
        store.run(&key, None, || inner.finish())
    }
}
