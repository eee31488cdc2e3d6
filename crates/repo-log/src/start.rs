//! Where a log is begun to be read: at a state that was saved, at its newest checkpoint, or at its first entry.
//!
//! Invariant: a state is taken only when the entry that it is of is there, and is the one that its maker read.

use sapwood_core::exact::Exact as _;
use sapwood_core::len64;
use sapwood_objects::{Key, Record, Store, Token};

use crate::checkpoint::{self, Checkpoint, Due};
use crate::checkpoints;
use crate::digest::Digest;
use crate::entry;
use crate::error::{Error, Result};
use crate::log::RepositoryLog;
use crate::state::LOG;

/// Whether a checkpoint is one of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fit {
    /// It is.
    Fits,
    /// The entry is another than the checkpoint's.
    Differs,
    /// There is no such entry.
    Behind,
}

/// Which repository a store has, by its first entry; `None` when it has none.
///
/// # Errors
/// Those of the store; [`Error::Damaged`].
pub fn repository_at(store: &dyn Store) -> Result<Option<Token>> {
    let Some(stored) = store.read_from(&Key::new(LOG)?, 0, 1)?.pop() else { return Ok(None) };
    let found = repository_of(&stored);
    found.map(Some).ok_or_else(|| Error::Damaged {
        store: sapwood_objects::Blobs::address(store).into(),
        slot: 0,
        why: "is none".to_owned(),
    })
}

/// The repository that an entry is of, if it is one.
fn repository_of(stored: &[u8]) -> Option<Token> {
    let body = Record::parse(stored).and_then(|(_, body)| entry::parse(body, 0).ok());
    body.map(|(head, _)| head.repository)
}

impl RepositoryLog {
    /// Begins with the state that was saved, or the newest checkpoint.
    pub(crate) fn begin(&mut self, saved: Option<&[u8]>) -> Result<()> {
        let hint = checkpoints::hint(&*self.store)?;
        if let Some(bytes) = saved
            && self.begin_saved(bytes, hint)?
        {
            return Ok(());
        }
        let from = hint.unwrap_or(0);
        for slot in checkpoints::listed(&*self.store, from)?.into_iter().rev() {
            if self.begin_at(slot)? {
                return Ok(());
            }
        }
        // There is no such one as the hint says, or none that is whole.
        let older = if from > 0 { checkpoints::listed(&*self.store, 0)? } else { Vec::new() };
        for slot in older.into_iter().rev().filter(|slot| *slot < from) {
            if self.begin_at(slot)? {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Begins with a state that was saved, if it is one of this log, and not far behind its newest checkpoint.
    fn begin_saved(&mut self, bytes: &[u8], hint: Option<u64>) -> Result<bool> {
        let Ok(saved) = checkpoint::parse(bytes) else { return Ok(false) };
        let since = hint.map_or(saved.slot.plus(1), |hint| saved.slot.minus(hint.min(saved.slot)));
        let due = Due { entries: since, bytes: 0, len: len64(bytes.len()) };
        if hint.unwrap_or(0) > saved.slot.plus(due.entries_between())
            || self.fit(&saved)? != Fit::Fits
        {
            return Ok(false);
        }
        self.adopt(saved, due);
        Ok(true)
    }

    /// Begins with the checkpoint of an entry, if it is whole and one of this log.
    fn begin_at(&mut self, slot: u64) -> Result<bool> {
        let Some(bytes) = checkpoints::read(&*self.store, slot)? else { return Ok(false) };
        let Ok(found) = checkpoint::parse(&bytes) else { return Ok(false) };
        if found.slot != slot {
            return Ok(false);
        }
        match self.fit(&found)? {
            Fit::Fits => {
                self.adopt(found, Due { len: len64(bytes.len()), ..Due::default() });
                Ok(true)
            }
            Fit::Differs => Ok(false),
            Fit::Behind => {
                let why = "is missing, and a checkpoint of it is there".to_owned();
                Err(Error::Damaged { store: self.address().into(), slot, why })
            }
        }
    }

    /// Whether a checkpoint is one of this log.
    fn fit(&self, checkpoint: &Checkpoint) -> Result<Fit> {
        let expected = Some(checkpoint.state.repository);
        if let Some(stored) = self.store.read_from(&self.log, checkpoint.slot, 1)?.pop() {
            let fits = Digest::of(&stored) == checkpoint.last && repository_of(&stored) == expected;
            return Ok(if fits { Fit::Fits } else { Fit::Differs });
        }
        // It may be left from a repository that was here before.
        let first = self.store.read_from(&self.log, 0, 1)?.pop();
        let another = first.is_some_and(|first| repository_of(&first) != expected);
        Ok(if another { Fit::Differs } else { Fit::Behind })
    }

    fn adopt(&mut self, checkpoint: Checkpoint, due: Due) {
        let Checkpoint { slot, last, state } = checkpoint;
        (self.next, self.last, self.state, self.due) = (slot.plus(1), last, state, due);
    }
}
