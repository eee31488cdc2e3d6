//! The state of the log as this machine saw it last: `db/store-state`, a checkpoint (docs/formats/repository-log.md). With it a program
//! that begins reads the entries that came since, and nothing else.
//!
//! Invariant: it only makes a start short. One that is missing, old or damaged costs requests, never an answer.

use std::io::ErrorKind;
use std::path::Path;

use parking_lot::RwLock;
use sapwood_core::Exact as _;
use sapwood_repo_log::RepositoryLog;
use sapwood_store::WriteStorage;

use super::LogRevisions;
use crate::error::{Error, Result};

/// The file.
const STATE: &str = "store-state";
/// The most bytes of it that are read.
const MOST: usize = 1 << 30;
/// How many entries after the saved state a program that begins saves it anew.
const FAR: u64 = 64;

/// What was saved.
pub(super) fn read(storage: &dyn WriteStorage, db: &Path) -> Result<Option<Vec<u8>>> {
    let path = db.join(STATE);
    match storage.read(&path, MOST) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
        Err(e) => Err(Error::io(e, "Can't open file", &path)),
    }
}

/// The entry that a saved state is of: its second line says that. One that does not is passed over anyway.
fn slot_of(saved: &[u8]) -> Option<u64> {
    let line = saved.split(|b| *b == b'\n').nth(1)?;
    str::from_utf8(line).ok()?.strip_prefix("slot ")?.parse().ok()
}

impl LogRevisions {
    /// Whether the state has changed by much since this one.
    pub(super) fn is_far_from(&self, saved: Option<&[u8]>) -> bool {
        let slot = saved.and_then(slot_of);
        self.log.read().entries() >= slot.map_or(0, |slot| slot.plus(1)).plus(FAR)
    }

    /// Saves the state.
    pub(super) fn save(&self) -> Result<()> {
        save(&self.log, &*self.storage, &self.db)
    }
}

/// Saves the state of a log in the folder `db`.
pub(super) fn save(
    log: &RwLock<RepositoryLog>,
    storage: &dyn WriteStorage,
    db: &Path,
) -> Result<()> {
    let Some(bytes) = log.read().checkpoint_bytes() else { return Ok(()) };
    let path = db.join(STATE);
    let saved = storage.replace(&path, &bytes, None, false);
    saved.map_err(|e| Error::replacing(e, &path))
}
