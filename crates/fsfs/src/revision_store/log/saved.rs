//! The state of the log as this machine saw it last: `db/store-state`, a checkpoint (docs/formats/repository-log.md). With it a program
//! that begins reads the entries that came since, and nothing else.
//!
//! Invariant: it only makes a start short. One that is missing, old or damaged costs requests, never an answer.

use std::io::ErrorKind;
use std::path::Path;

use sapwood_core::Exact as _;
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
        let Some(bytes) = self.log.read().checkpoint_bytes() else { return Ok(()) };
        let path = self.db.join(STATE);
        let saved = self.storage.replace(&path, &bytes, None, false);
        saved.map_err(|e| Error::replacing(e, &path))
    }

    /// Puts small entries together that are in no segment yet, if it is time for that, and writes the checkpoint that is due. Both make
    /// later reading cheap, and nothing waits for them.
    pub(super) fn look_after(&self) -> Result<()> {
        let due = self.log.write().take_segments();
        if let Some(segments) = due {
            let items = segments.write()?.into_items();
            let slot = self.log.read().entries();
            if !items.is_empty() {
                // One that another server was quicker than is swept one day.
                self.claim_only(slot, &items)?;
            }
        }
        let due = self.log.write().take_checkpoint();
        match due {
            Some(checkpoint) => {
                checkpoint.write()?;
                self.save()
            }
            None => Ok(()),
        }
    }
}
