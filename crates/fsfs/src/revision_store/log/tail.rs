//! Asking the store for what is new, once for all threads that want to know at the same time.
//!
//! Invariant: who asks gets the answer to a question that was sent after it asked; so what was acknowledged before, by any server, is in
//! it.

use std::io;

use parking_lot::{Condvar, Mutex};
use sapwood_core::{ErrorCode, Exact as _, SvnError};

use crate::error::{Error, Result};

/// The questions so far.
#[derive(Debug, Default)]
pub(super) struct Tail {
    questions: Mutex<Questions>,
    answered: Condvar,
}

#[derive(Debug, Default)]
struct Questions {
    /// How many were sent, one after the other.
    sent: u64,
    /// How many of them were answered: all, or all but one.
    answered: u64,
    /// What went wrong with the last one that was answered.
    failure: Option<SvnError>,
}

/// Ends a question, also when the thread that sent it ends.
struct Answer<'a> {
    tail: &'a Tail,
    failure: Option<SvnError>,
}

impl Drop for Answer<'_> {
    fn drop(&mut self) {
        let mut questions = self.tail.questions.lock();
        questions.answered = questions.sent;
        questions.failure = self.failure.take();
        self.tail.answered.notify_all();
    }
}

impl Tail {
    /// Sends a question by `send`, or waits for the answer to another thread's that is sent from now on.
    pub(super) fn ask(&self, send: impl FnOnce() -> Result<()>) -> Result<()> {
        let mut questions = self.questions.lock();
        let wanted = questions.sent.plus(1);
        while questions.answered < questions.sent {
            self.answered.wait(&mut questions);
            if questions.answered >= wanted {
                return questions.failure.clone().map_or(Ok(()), |error| Err(Error::Svn(error)));
            }
        }
        questions.sent = questions.sent.plus(1);
        drop(questions);
        let error = SvnError::new(ErrorCode::FS_GENERAL, "A question to a store was given up");
        let mut answer = Answer { tail: self, failure: Some(error) };
        let done = send().map_err(SvnError::from);
        answer.failure = done.as_ref().err().cloned();
        done.map_err(Error::Svn)
    }
}

/// An error as one of reading a file.
pub(super) fn as_io(error: impl Into<SvnError>) -> io::Error {
    io::Error::other(error.into())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};
    use std::sync::mpsc;
    use std::thread;

    use super::*;

    #[test]
    fn those_who_ask_while_a_question_is_open_share_the_next() {
        let (tail, sent) = (Tail::default(), AtomicU64::new(0));
        let (tail, sent) = (&tail, &sent);
        thread::scope(|scope| {
            let (open, opened) = mpsc::channel();
            let (end, ended) = mpsc::channel::<()>();
            scope.spawn(move || {
                tail.ask(|| {
                    sent.fetch_add(1, Ordering::SeqCst);
                    open.send(()).unwrap();
                    ended.recv().unwrap();
                    Ok(())
                })
            });
            opened.recv().unwrap();
            let asking: Vec<_> = (0..8)
                .map(|_| {
                    scope.spawn(move || {
                        tail.ask(|| {
                            sent.fetch_add(1, Ordering::SeqCst);
                            Ok(())
                        })
                    })
                })
                .collect();
            end.send(()).unwrap();
            asking.into_iter().for_each(|asked| asked.join().unwrap().unwrap());
        });
        // Those that came after the first was answered sent their own.
        let sent = sent.load(Ordering::SeqCst);
        assert!((2..=9).contains(&sent), "{sent}");
    }

    #[test]
    fn a_failure_is_everybodys_and_the_next_question_is_another() {
        let tail = Tail::default();
        let failed = tail.ask(|| Err(Error::Corrupt("no".to_owned())));
        assert!(failed.unwrap_err().to_string().ends_with("no"));
        tail.ask(|| Ok(())).unwrap();
    }
}
