//! Objects that nothing needs: writers that were stopped left them, or later entries have put others in their place.
//!
//! Invariants: an object is an orphan only when it is older than an age, by the store's own clock, and no entry names it up to an
//! end of the log that was read after the object was listed; one that an entry named may go only when the entry that has put another in its
//! place is older than that, so that all who read know of it. A log that may have lost entries has neither.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use sapwood_core::exact::Exact as _;
use sapwood_core::len64;
use sapwood_objects::{Key, ListedObject, Store, Token};

use crate::checkpoints;
use crate::entry::{Data, Item};
use crate::error::{Error, Result};
use crate::log::RepositoryLog;
use crate::rep_index::TABLES;
use crate::state::{LOG, RevisionData, SEGMENTS, State};
use crate::verify::{behind, nothing_behind};

/// Where objects are that entries name.
const PARTS: [&str; 5] = ["big", "pack", "props", SEGMENTS, TABLES];
/// Where objects are that were written to learn the store's time.
const CLOCK: &str = "clock";
/// How many names are asked for at once.
const PAGE: usize = 1000;

/// What was found in a store.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Orphans {
    /// How many objects there are that an entry can name.
    pub objects: u64,
    /// How many of these are too young to be looked at.
    pub young: u64,
    /// Those that no entry names.
    pub orphans: Vec<ListedObject>,
    /// Those that an entry named, and that a later one has put another in the place of: data in packs, properties in newer ones,
    /// segments of what is packed, tables whose rows are in others.
    pub superseded: Vec<ListedObject>,
}

/// What entries name.
#[derive(Default)]
struct NamedObjects {
    /// All of it, and by which entry it lost its place.
    keys: BTreeMap<String, Option<u64>>,
    /// What the state names.
    live: BTreeSet<String>,
    /// Whether an entry may have put something in the place of something else.
    changed: bool,
}

impl NamedObjects {
    fn note(&mut self, item: &Item<'_>) {
        self.changed |= matches!(item, Item::Pack { .. } | Item::Table { .. });
        for key in named(item).into_iter().flatten() {
            self.keys.insert(key.clone(), None);
            self.live.insert(key);
        }
    }

    /// Looks for what an entry has put something else in the place of.
    fn follow(&mut self, log: &RepositoryLog) {
        let segments = self.live.range(format!("{SEGMENTS}/")..format!("{SEGMENTS}0")).count();
        let changed = std::mem::take(&mut self.changed);
        if !changed && segments == log.state().segments.len() {
            return;
        }
        let now = live(log.state());
        for gone in self.live.difference(&now) {
            self.keys.insert(gone.clone(), Some(log.entries().minus(1)));
        }
        self.live = now;
    }
}

/// The keys that a state names.
fn live(state: &State) -> BTreeSet<String> {
    let packs = state.packs.values();
    let packs = packs.flat_map(|pack| [("pack", pack.data.token), ("props", pack.props.token)]);
    let bigs = state.data.values().filter_map(|data| match data {
        RevisionData::Big(object, _) => Some(("big", object.token)),
        RevisionData::Inline(_) => None,
    });
    let segments = state.segments.values().map(|segment| (SEGMENTS, segment.data.token));
    let tables = state.reps.tables().map(|(_, table)| (TABLES, table.data.token));
    packs
        .chain(bigs)
        .chain(segments)
        .chain(tables)
        .map(|(part, token)| format!("{part}/{token}"))
        .collect()
}

/// Looks for objects that no entry names, or whose place others have, for so long.
///
/// # Errors
/// Those of the store; [`Error::NotThere`]; [`Error::Damaged`], also when there is something behind the end of the log.
pub fn find_orphans(store: &Arc<dyn Store>, age: Duration) -> Result<Orphans> {
    let mut found = Orphans::default();
    let now = now(&**store)?;
    let mut old: BTreeMap<String, ListedObject> = BTreeMap::new();
    for part in PARTS.into_iter().chain([CLOCK]) {
        each(&**store, part, &mut |listed| {
            found.objects = found.objects.plus(1);
            if is_old(now, listed.modified, age) {
                old.insert(listed.key.to_string(), listed);
            } else {
                found.young = found.young.plus(1);
            }
        })?;
    }
    let known = checkpoints::listed(&**store, 0)?;
    let mut log = RepositoryLog::empty(Arc::clone(store))?;
    let named = RefCell::new(NamedObjects::default());
    log.follow(&mut |_, item| named.borrow_mut().note(item), &mut |log| {
        named.borrow_mut().follow(log);
        Ok(())
    })?;
    if log.entries() == 0 {
        return Err(Error::NotThere(log.address().into()));
    }
    if let Some(slot) = known.into_iter().find(|slot| *slot >= log.entries()) {
        return Err(behind(&log, slot)?);
    }
    nothing_behind(&log)?;
    let named = named.into_inner();
    for (key, listed) in old {
        match named.keys.get(&key) {
            None => found.orphans.push(listed),
            Some(Some(slot)) if written(&log, *slot)?.is_some_and(|at| is_old(now, at, age)) => {
                found.superseded.push(listed);
            }
            Some(_) => {}
        }
    }
    Ok(found)
}

/// Whether something was written so long ago. What seems to be from the future is young.
fn is_old(now: SystemTime, written: SystemTime, age: Duration) -> bool {
    now.duration_since(written).is_ok_and(|passed| passed >= age)
}

/// When an entry was written, by the store's clock.
fn written(log: &RepositoryLog, slot: u64) -> Result<Option<SystemTime>> {
    let before = slot.checked_sub(1).map(|slot| Key::slot(&log.log, slot)).transpose()?;
    let next = log.store().list(LOG, before.as_ref(), 1)?.pop();
    Ok(next.filter(|next| next.key.slot_in(&log.log) == Some(slot)).map(|next| next.modified))
}

impl Orphans {
    /// Removes what was found, and calls `removed` after each.
    ///
    /// # Errors
    /// Those of the store and of `removed`. What was removed before is gone.
    pub fn remove<E: From<Error>>(
        &self,
        store: &dyn Store,
        removed: &mut dyn FnMut(&ListedObject) -> Result<(), E>,
    ) -> Result<(), E> {
        for listed in self.all() {
            store.delete(&listed.key).map_err(Error::from)?;
            removed(listed)?;
        }
        Ok(())
    }

    /// All that may go.
    pub fn all(&self) -> impl Iterator<Item = &ListedObject> {
        self.orphans.iter().chain(&self.superseded)
    }

    /// How many bytes they have.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let mut sum = 0_u64;
        self.all().for_each(|listed| sum.tally(listed.len));
        sum
    }

    /// How many may go.
    #[must_use]
    pub fn count(&self) -> u64 {
        len64(self.all().count())
    }
}

/// The keys of the objects that an item names.
fn named(item: &Item<'_>) -> [Option<String>; 2] {
    let key = |part: &str, token: Token| Some(format!("{part}/{token}"));
    match item {
        Item::Revision { data: Data::Big(object), .. } => [key("big", object.token), None],
        Item::Pack { data, props, .. } => [key("pack", data.token), key("props", props.token)],
        Item::Segment { data, .. } => [key(SEGMENTS, data.token), None],
        Item::Table { data, .. } => [key(TABLES, data.token), None],
        _ => [None, None],
    }
}

/// All objects of a part.
fn each(store: &dyn Store, part: &str, take: &mut dyn FnMut(ListedObject)) -> Result<()> {
    let mut after: Option<Key> = None;
    loop {
        let page = store.list(part, after.as_ref(), PAGE)?;
        let is_last = page.len() < PAGE;
        after = page.last().map(|listed| listed.key.clone());
        page.into_iter().for_each(&mut *take);
        if is_last {
            return Ok(());
        }
    }
}

/// The store's own time: that of an object that was just written.
fn now(store: &dyn Store) -> Result<SystemTime> {
    let key = Key::of_token(CLOCK, Token::new()?)?;
    store.put(&key, b"")?;
    let mut found = None;
    each(store, CLOCK, &mut |listed| {
        if listed.key == key {
            found = Some(listed.modified);
        }
    })?;
    store.delete(&key)?;
    Ok(found.ok_or_else(|| {
        sapwood_objects::Error::missing(sapwood_objects::Blobs::address(store), &key)
    })?)
}
