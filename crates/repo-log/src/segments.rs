//! Segments: the bytes of small entries that are beside each other, together in one object. Who reads many revisions that are not
//! packed asks for a few segments in place of as many entries.
//!
//! Invariant: a segment only repeats what entries say. One that is missing or damaged costs requests, never an answer.

use std::sync::Arc;

use sapwood_core::exact::Exact as _;
use sapwood_core::len64;
use sapwood_objects::{Key, Patience, Store, Token};

use crate::digest::Digest;
use crate::entry::{Item, Object};
use crate::error::{Error, Result};
use crate::log::RepositoryLog;
use crate::state::{LOG, SEGMENTS, State};

/// Entries after which it is time to look for some to put together, and the most of a segment.
const ENTRIES: u64 = 64;
/// Entries that are not worth one.
const FEW: usize = 4;
/// Entries from this length on stay alone.
const LONG: u64 = 128 << 10;
/// The most bytes of a segment.
const BYTES: u64 = 4 << 20;
/// How many names are asked for at once.
const PAGE: usize = 1000;

/// Entries that are in no segment, and that any thread can put into some: nothing waits for it.
#[derive(Debug)]
pub struct NewSegments {
    store: Arc<dyn Store>,
    log: Key,
    /// The first entry that is looked at.
    from: u64,
    /// The first behind those.
    end: u64,
}

/// Segments that are written, and that no entry names yet.
#[derive(Debug)]
pub struct WrittenSegments {
    items: Vec<Item<'static>>,
}

/// Lengths of entries that are beside each other.
#[derive(Debug, Default)]
struct Run {
    first: u64,
    lens: Vec<u64>,
    bytes: u64,
}

impl Run {
    fn add(&mut self, slot: u64, len: u64) {
        if self.lens.is_empty() {
            self.first = slot;
        }
        self.lens.push(len);
        self.bytes = self.bytes.plus(len);
    }

    /// Whether an entry comes next, and has room.
    fn takes(&self, slot: u64, len: u64) -> bool {
        let count = len64(self.lens.len());
        let next = count == 0 || slot == self.first.plus(count);
        next && count < ENTRIES && self.bytes.plus(len) <= BYTES
    }
}

impl NewSegments {
    /// Reads the small ones of the entries, and writes what they make.
    ///
    /// # Errors
    /// Those of the store; [`Error::Damaged`] when an entry is not there any more.
    pub fn write(&self) -> Result<WrittenSegments> {
        let mut items = Vec::new();
        for run in self.runs()? {
            items.push(self.segment(&run)?);
        }
        Ok(WrittenSegments { items })
    }

    /// Small entries beside each other, as a list of names says: none of them was read for it.
    fn runs(&self) -> Result<Vec<Run>> {
        let mut runs = Vec::new();
        let mut run = Run::default();
        let mut after =
            self.from.checked_sub(1).map(|slot| Key::slot(&self.log, slot)).transpose()?;
        loop {
            let page = self.store.list(LOG, after.as_ref(), PAGE)?;
            for listed in &page {
                let Some(slot) = listed.key.slot_in(&self.log) else { continue };
                let is_over = slot >= self.end;
                if is_over || listed.len >= LONG || !run.takes(slot, listed.len) {
                    runs.push(std::mem::take(&mut run));
                }
                if is_over {
                    break;
                }
                if listed.len < LONG {
                    run.add(slot, listed.len);
                }
            }
            after = page.last().map(|listed| listed.key.clone());
            let more = after.as_ref().and_then(|key| key.slot_in(&self.log));
            if page.len() < PAGE || more.is_none_or(|slot| slot >= self.end) {
                break;
            }
        }
        runs.push(run);
        runs.retain(|run| run.lens.len() >= FEW);
        Ok(runs)
    }

    fn segment(&self, run: &Run) -> Result<Item<'static>> {
        let entries = self.store.read_from(&self.log, run.first, run.lens.len())?;
        let lens: Vec<u64> = entries.iter().map(|entry| len64(entry.len())).collect();
        if lens != run.lens {
            let store = sapwood_objects::Blobs::address(&*self.store).into();
            let slot = run.first.plus(len64(lens.len()));
            let why = "is missing, or has another length than it had".to_owned();
            return Err(Error::Damaged { store, slot, why });
        }
        let bytes = entries.concat();
        let token = Token::new()?;
        self.store.put(&Key::of_token(SEGMENTS, token)?, &bytes)?;
        let data = Object { token, len: len64(bytes.len()), digest: Digest::of(&bytes) };
        Ok(Item::Segment { first: run.first, lens, data })
    }
}

impl WrittenSegments {
    /// How many there are: none where all entries are long.
    #[must_use]
    pub fn count(&self) -> usize {
        self.items.len()
    }

    /// The items that announce them: for the entry that comes next, behind its own.
    #[must_use]
    pub fn items(&self) -> &[Item<'static>] {
        &self.items
    }

    /// Whether the entries of the first are still in none.
    #[must_use]
    pub fn fits(&self, state: &State) -> bool {
        matches!(self.items.first(), Some(Item::Segment { first, .. }) if *first >= state.segmented)
    }
}

impl RepositoryLog {
    /// Whether [`Self::take_segments`], [`Self::take_table`] or [`Self::take_checkpoint`] has something.
    #[must_use]
    pub fn has_work(&self) -> bool {
        self.has_segments() || self.has_table() || self.due.is_due()
    }

    fn has_segments(&self) -> bool {
        self.next >= self.state.segmented.max(self.looked).plus(ENTRIES)
    }

    /// Entries that should be put into segments, if there are enough: for a writer to ask after [`Self::append`], to write when it
    /// has answered its client, and to announce. They are handed out once.
    pub fn take_segments(&mut self) -> Option<NewSegments> {
        if !self.has_segments() {
            return None;
        }
        let from = self.state.segmented.max(self.looked);
        self.looked = self.next;
        Some(NewSegments {
            store: Arc::clone(&self.store),
            log: self.log.clone(),
            from,
            end: self.next,
        })
    }

    /// Adds an entry that names segments, unless another writer was first: then they are removed. Whether it was added.
    ///
    /// # Errors
    /// As [`Self::append`]
    pub fn announce(
        &mut self,
        segments: &WrittenSegments,
        patience: &mut Patience<'_>,
    ) -> Result<bool> {
        if segments.items.is_empty() {
            return Ok(false);
        }
        let mut prepare = |state: &State| Ok(segments.fits(state).then(|| segments.items.clone()));
        if self.append(&mut prepare, patience)? {
            return Ok(true);
        }
        for item in &segments.items {
            if let Item::Segment { data, .. } = item {
                self.store.delete(&Key::of_token(SEGMENTS, data.token)?)?;
            }
        }
        Ok(false)
    }
}
