//! The one way to add an entry to a log.
//!
//! Whatever a store answers, it may have been asked twice: its library, a proxy or the network repeats a request whose
//! answer was lost, and the repetition meets the entry that the first one made. So "it is there already" never says
//! who made it; the token in the entry does.
//!
//! Invariant: [`Claim::Won`] is returned only when the entry that is there, or was just created, is ours and durable;
//! [`Claim::Lost`] only when another's is there. In all other cases the answer is an error, and only
//! [`Error::InDoubt`] leaves open whether the entry is there.

use crate::error::{Error, Reason, Result};
use crate::key::Key;
use crate::store::{Attempt, Log};
use crate::token::Token;

/// What a writer wants to add to a log: its bytes behind a token of its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record(Vec<u8>);

impl Record {
    /// A record with a new token.
    ///
    /// # Errors
    /// [`Error::Random`]
    pub fn new(body: &[u8]) -> Result<Self> {
        Ok(Self::with(Token::new()?, body))
    }

    /// A record with a token that no other has.
    #[must_use]
    pub fn with(token: Token, body: &[u8]) -> Self {
        Self([token.as_bytes(), body].concat())
    }

    /// What is stored: the token, then the body.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Token and body of what was stored; `None` if it is too short for that.
    #[must_use]
    pub fn parse(stored: &[u8]) -> Option<(Token, &[u8])> {
        let (token, body) = stored.split_first_chunk::<{ Token::LEN }>()?;
        Some((Token::from_bytes(*token), body))
    }
}

/// What became of a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// The entry is ours.
    Won,
    /// Another writer's entry is there: these are its bytes.
    Lost(Vec<u8>),
}

/// Whether to ask a store again that did not answer: called with the number of attempts so far and the last answer.
/// It may wait, and is asked only while nothing is decided.
pub type Patience<'a> = dyn FnMut(u32, &Error) -> bool + 'a;

/// Claims a slot of a log for a record.
///
/// # Errors
/// [`Error::InDoubt`] when the store does not answer and `patience` ends; [`Error::Failed`] when nothing was written.
pub fn claim(
    store: &dyn Log,
    log: &Key,
    slot: u64,
    record: &Record,
    patience: &mut Patience<'_>,
) -> Result<Claim> {
    // Once an attempt was not answered, no later answer but the slot's content can take back the doubt.
    let mut doubted = false;
    let mut attempts = 0_u32;
    loop {
        attempts += 1;
        let error = match store.attempt(log, slot, record.as_bytes()) {
            Ok(Attempt::Created) => return Ok(Claim::Won),
            Ok(Attempt::Taken) => match whose(store, log, slot, record) {
                Ok(claim) => return Ok(claim),
                Err(error) => {
                    doubted = true;
                    error
                }
            },
            Ok(Attempt::Unknown(error)) => {
                doubted = true;
                error
            }
            Err(error) if !doubted => return Err(error),
            Err(error) => error,
        };
        if !patience(attempts, &error) {
            return Err(in_doubt(store, &Key::slot(log, slot)?, error));
        }
    }
}

/// Who has a slot that is taken.
fn whose(store: &dyn Log, log: &Key, slot: u64, record: &Record) -> Result<Claim> {
    let Some(there) = store.read_from(log, slot, 1)?.pop() else {
        return Err(Error::missing(store.address(), &Key::slot(log, slot)?));
    };
    Ok(if there == record.as_bytes() { Claim::Won } else { Claim::Lost(there) })
}

fn in_doubt(store: &dyn Log, key: &Key, error: Error) -> Error {
    let reason = match error {
        Error::Failed { reason, .. } | Error::InDoubt { reason, .. } => reason,
        other => Reason::from(other.to_string()),
    };
    Error::InDoubt { store: store.address().into(), key: key.as_str().into(), reason }
}
