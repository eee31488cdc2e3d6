//! A store is tried before it is trusted.
//!
//! Some stores take the condition of a write and ignore it: Garage 2.5 lets all of eight racing writers create the same
//! object and says nothing, and an entry that is overwritten is a commit that is lost after it was acknowledged.
//!
//! Invariant: nothing of a log is touched; what the trial wrote is removed again, as far as the store lets it.

use std::sync::Barrier;
use std::thread;

use crate::claim::Record;
use crate::error::{Error, Result};
use crate::key::Key;
use crate::store::{Attempt, Log};
use crate::token::Token;

/// How many writers race.
const WRITERS: usize = 8;
/// For how many objects.
const ROUNDS: u32 = 3;

/// Tries whether a store lets exactly one of several writers create an object, and keeps what that one wrote.
///
/// # Errors
/// [`Error::Cheats`], [`Error::Forgets`]; what the store says when it answers none of the writers.
pub fn prove(store: &dyn Log) -> Result<()> {
    let log = Key::new("proof")?;
    for _ in 0..ROUNDS {
        let slot = Token::new()?.number();
        let outcome = race(store, &log, slot);
        // What stays harms nothing: its number is used once.
        let _ = store.discard(&log, slot);
        outcome?;
    }
    Ok(())
}

/// A race for one object.
fn race(store: &dyn Log, log: &Key, slot: u64) -> Result<()> {
    let records = (0..WRITERS).map(|_| Record::new(b"proof")).collect::<Result<Vec<_>>>()?;
    let attempts = all_at_once(store, log, slot, &records);
    let mut winners = Vec::new();
    let mut unknown = Vec::new();
    for (attempt, record) in attempts.into_iter().zip(&records) {
        match attempt {
            Ok(Attempt::Created) => winners.push(record),
            Ok(Attempt::Taken) => {}
            Ok(Attempt::Unknown(error)) | Err(error) => unknown.push(error),
        }
    }
    let key = Key::slot(log, slot)?;
    let there = store.read_from(log, slot, 1)?.pop();
    let is_there = |record: &Record| there.as_deref() == Some(record.as_bytes());
    let forgets = || Error::Forgets { store: store.address().into(), key: key.as_str().into() };
    match (winners.as_slice(), unknown.pop()) {
        ([], Some(error)) => Err(error),
        // A request that was sent twice finds its own object: then it must be one of these.
        ([], None) if records.iter().any(is_there) => Ok(()),
        ([winner], _) if is_there(winner) => again(store, log, slot, winner),
        ([] | [_], _) => Err(forgets()),
        (several, _) => Err(cheats(store, &key, several.len(), WRITERS)),
    }
}

/// After the race one more writer comes, and must find the object taken and unchanged.
fn again(store: &dyn Log, log: &Key, slot: u64, winner: &Record) -> Result<()> {
    let key = Key::slot(log, slot)?;
    match store.attempt(log, slot, Record::new(b"late")?.as_bytes())? {
        Attempt::Created => Err(cheats(store, &key, 2, 2)),
        Attempt::Unknown(error) => Err(error),
        Attempt::Taken => match store.read_from(log, slot, 1)?.pop() {
            Some(there) if there == winner.as_bytes() => Ok(()),
            _ => Err(Error::Forgets { store: store.address().into(), key: key.as_str().into() }),
        },
    }
}

fn cheats(store: &dyn Log, key: &Key, winners: usize, writers: usize) -> Error {
    Error::Cheats { store: store.address().into(), key: key.as_str().into(), winners, writers }
}

/// The attempts of all writers, which begin together.
fn all_at_once(store: &dyn Log, log: &Key, slot: u64, records: &[Record]) -> Vec<Result<Attempt>> {
    let start = Barrier::new(records.len());
    thread::scope(|scope| {
        let attempt = |record| {
            let start = &start;
            scope.spawn(move || {
                start.wait();
                store.attempt(log, slot, Record::as_bytes(record))
            })
        };
        let writers: Vec<_> = records.iter().map(attempt).collect();
        let panicked = || Error::failed("create", store.address(), log, "the writer has ended");
        writers.into_iter().map(|w| w.join().unwrap_or_else(|_| Err(panicked()))).collect()
    })
}
