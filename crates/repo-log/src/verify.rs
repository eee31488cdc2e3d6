//! The whole chain of a log, and all objects that it names.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sapwood_core::exact::{Exact as _, clamped};
use sapwood_core::len64;
use sapwood_objects::{Key, Store};

use crate::all_reps::AllReps;
use crate::checkpoint::{self, Checkpoint};
use crate::checkpoints;
use crate::digest::{Digest, Hasher};
use crate::entry::Object;
use crate::error::{Error, Result};
use crate::log::RepositoryLog;
use crate::rep_index::RepTable;
use crate::state::{LOG, RevisionData, SEGMENTS};
use crate::table::TableBuilder;

/// Bytes of an object that are read at once.
const PIECE: u64 = 1 << 20;

/// What was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct VerifySummary {
    /// Entries, each with its sum, its place in the chain and what it changes.
    pub entries: u64,
    /// Checkpoints, each with what the entries up to it add up to.
    pub checkpoints: u64,
    /// Objects that they name, with all bytes.
    pub objects: u64,
}

/// Reads a repository's log and all objects that its state names.
///
/// # Errors
/// The first damage: an entry that is not what it was, or is missing before others; an object that is not what it was.
pub fn verify(store: &Arc<dyn Store>) -> Result<VerifySummary> {
    let address = sapwood_objects::Blobs::address(&**store);
    let (log, checkpoints) = chain(store)?;
    if log.entries() == 0 {
        return Err(Error::NotThere(address.into()));
    }
    nothing_behind(&log)?;
    let state = log.state();
    let segments = len64(state.segments.len());
    let mut verified = VerifySummary { entries: log.entries(), checkpoints, objects: segments };
    for (_, table) in state.reps.tables() {
        check_table(store, table, state.revisions)?;
        verified.objects.tally(1);
    }
    let packs = state
        .packs
        .values()
        .flat_map(|pack| [("pack", pack.data, pack.slot), ("props", pack.props, pack.slot)]);
    let bigs = state.data.values().filter_map(|data| match data {
        RevisionData::Big(object, slot) => Some(("big", *object, *slot)),
        RevisionData::Inline(_) => None,
    });
    let mut seen = BTreeSet::new();
    for (part, object, slot) in packs.chain(bigs) {
        if seen.insert(object.token) {
            read_object(&**store, part, &object, slot, &mut |_| Ok(()))?;
            verified.objects = verified.objects.plus(1);
        }
    }
    Ok(verified)
}

/// Whether a table has one form with its rows, and these are of revisions that are there.
fn check_table(store: &Arc<dyn Store>, table: &RepTable, revisions: u64) -> Result<()> {
    let mut rows = AllReps::new(store, std::iter::once(table), Vec::new())?;
    let (mut made, mut hasher) = (TableBuilder::default(), Hasher::new());
    let mut all_there = true;
    while let Some(rep) = rows.next()? {
        all_there &= rep.revision < revisions;
        hasher.update(&made.add(&rep));
    }
    let (form, end) = made.finish();
    hasher.update(&end);
    let is_whole = all_there && form == table.form && hasher.finish() == table.data.digest;
    let key = table.key()?;
    // The end is not read for the rows.
    let place = table.form.end();
    let stored = store.get(&key, place.clone())?.filter(|stored| {
        len64(stored.len()) == place.end.minus(place.start) && end.ends_with(stored)
    });
    if is_whole && stored.is_some() {
        return Ok(());
    }
    let address = sapwood_objects::Blobs::address(&**store);
    Err(Error::WrongData { store: address.into(), key: key.as_str().into(), slot: table.slot })
}

/// Whether the end of a log that was read is its end: with an entry behind it, one before that was lost.
pub(crate) fn nothing_behind(log: &RepositoryLog) -> Result<()> {
    let last = Key::slot(&log.log, log.entries().minus(1))?;
    let store = log.store();
    if let Some(behind) = store.list(LOG, Some(&last), 1)?.first() {
        // It may have come while this was read.
        let newest = RepositoryLog::open(Arc::clone(store))?.map_or(0, |log| log.entries());
        if behind.key.slot_in(&log.log).is_none_or(|slot| slot >= newest) {
            let why = format!("is missing, and '{}' is there", behind.key);
            return Err(Error::Damaged { store: log.address().into(), slot: newest, why });
        }
    }
    Ok(())
}

/// Follows the chain from its first entry to its end, past all checkpoints, which must say what the entries do. How many
/// checkpoints there are.
fn chain(store: &Arc<dyn Store>) -> Result<(RepositoryLog, u64)> {
    // Those that come while this is read are not of interest.
    let slots: BTreeSet<u64> = checkpoints::listed(&**store, 0)?.into_iter().collect();
    let mut log = RepositoryLog::empty(Arc::clone(store))?;
    let mut wrong = None;
    let mut sums = Sums::default();
    log.follow(&mut |_, _| {}, &mut |log| {
        let slot = log.entries().minus(1);
        sums.add(log, slot);
        if wrong.is_none() && slots.contains(&slot) {
            wrong = checked(log, slot)?;
        }
        Ok(())
    })?;
    for slot in slots.range(log.entries()..) {
        wrong = Some(behind(&log, *slot)?);
    }
    sums.check(&log)?;
    // What is wrong with entries is worse, and was found before.
    match wrong {
        Some(error) => Err(error),
        None => Ok((log, len64(slots.len()))),
    }
}

/// Sums of entries that may be in segments.
#[derive(Default)]
struct Sums(BTreeMap<u64, Digest>);

impl Sums {
    /// Adds that of the newest entry, and drops those that no segment needs.
    fn add(&mut self, log: &RepositoryLog, slot: u64) {
        self.0.insert(slot, log.last);
        let state = log.state();
        let is_round = slot.is_multiple_of(1024);
        if is_round {
            let needed = |slot: u64| {
                let segment = state.segments.range(..=slot).next_back();
                slot >= state.segmented
                    || segment.is_some_and(|(at, s)| slot < at.plus(len64(s.lens.len())))
            };
            self.0.retain(|slot, _| needed(*slot));
        }
    }

    /// Compares all segments with the entries.
    fn check(&self, log: &RepositoryLog) -> Result<()> {
        for (first, segment) in &log.state().segments {
            let mut bytes = Vec::new();
            read_object(&**log.store(), SEGMENTS, &segment.data, segment.slot, &mut |piece| {
                bytes.extend_from_slice(piece);
                Ok(())
            })?;
            let mut rest = bytes.as_slice();
            for (slot, len) in (*first..).zip(&segment.lens) {
                let cut = rest.split_at_checked(clamped(*len));
                let (entry, behind) = cut.unwrap_or((&[], &[]));
                if self.0.get(&slot) != Some(&Digest::of(entry)) {
                    let key = Key::of_token(SEGMENTS, segment.data.token)?;
                    let (store, key) = (log.address().into(), key.as_str().into());
                    return Err(Error::WrongData { store, key, slot: segment.slot });
                }
                rest = behind;
            }
        }
        Ok(())
    }
}

/// What is wrong where a checkpoint's entry is not there.
pub(crate) fn behind(log: &RepositoryLog, slot: u64) -> Result<Error> {
    let (store, key) = (log.address().into(), checkpoints::key(slot)?);
    let found = checkpoints::read(&**log.store(), slot)?.map(|bytes| checkpoint::parse(&bytes));
    let own = |found: &Checkpoint| found.state.repository == log.state().repository;
    if found.is_some_and(|found| found.is_ok_and(|found| own(&found))) {
        let why = format!("is missing, and '{key}' is there");
        return Ok(Error::Damaged { store, slot: log.entries(), why });
    }
    let why = "is not of this repository".to_owned();
    Ok(Error::Checkpoint { store, key: key.as_str().into(), why })
}

/// What is wrong with the checkpoint of the newest entry.
fn checked(log: &RepositoryLog, slot: u64) -> Result<Option<Error>> {
    let why = match checkpoints::read(&**log.store(), slot)?.map(|bytes| checkpoint::parse(&bytes))
    {
        // It was removed meanwhile.
        None => return Ok(None),
        Some(Err(why)) => why,
        Some(Ok(found))
            if (found.slot, found.last, &found.state) == (slot, log.last, log.state()) =>
        {
            return Ok(None);
        }
        Some(Ok(_)) => "does not agree with the entries up to it".to_owned(),
    };
    let key = checkpoints::key(slot)?.as_str().into();
    Ok(Some(Error::Checkpoint { store: log.address().into(), key, why }))
}

/// Reads an object piece by piece. Its sum is checked at the end.
///
/// # Errors
/// Those of the store and of `take`; [`Error::WrongData`].
pub fn read_object(
    store: &dyn Store,
    part: &str,
    object: &Object,
    slot: u64,
    take: &mut dyn FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let key = Key::of_token(part, object.token)?;
    let address = sapwood_objects::Blobs::address(store);
    let wrong = || Error::WrongData { store: address.into(), key: key.as_str().into(), slot };
    let mut hasher = Hasher::new();
    let mut at = 0;
    while at < object.len {
        let piece = store.get(&key, at..object.len.min(at.plus(PIECE)))?;
        let piece = piece.filter(|piece| !piece.is_empty()).ok_or_else(wrong)?;
        hasher.update(&piece);
        take(&piece)?;
        at = at.plus(len64(piece.len()));
    }
    if hasher.finish() != object.digest {
        return Err(wrong());
    }
    Ok(())
}
