//! Objects that no entry names: writers that were stopped left them.
//!
//! Invariant: an object is an orphan only when it is older than an age, by the store's own clock, and no entry names it up to an
//! end of the log that was read after the object was listed. A log that may have lost entries has none.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use sapwood_core::exact::Exact as _;
use sapwood_core::len64;
use sapwood_objects::{Key, Listed, Store, Token};

use crate::checkpoints;
use crate::entry::{Data, Item};
use crate::error::{Error, Result};
use crate::log::RepositoryLog;
use crate::state::SEGMENTS;
use crate::verify::{behind, nothing_behind};

/// Where objects are that entries name.
const PARTS: [&str; 4] = ["big", "pack", "props", SEGMENTS];
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
    pub orphans: Vec<Listed>,
}

/// Looks for objects that no entry names, and that were not changed for so long.
///
/// # Errors
/// Those of the store; [`Error::NotThere`]; [`Error::Damaged`], also when there is something behind the end of the log.
pub fn find_orphans(store: &Arc<dyn Store>, age: Duration) -> Result<Orphans> {
    let mut found = Orphans::default();
    let now = now(&**store)?;
    let mut old: BTreeMap<String, Listed> = BTreeMap::new();
    for part in PARTS.into_iter().chain([CLOCK]) {
        each(&**store, part, &mut |listed| {
            found.objects = found.objects.plus(1);
            // One that seems to be from the future is young.
            if now.duration_since(listed.modified).is_ok_and(|passed| passed >= age) {
                old.insert(listed.key.to_string(), listed);
            } else {
                found.young = found.young.plus(1);
            }
        })?;
    }
    let known = checkpoints::listed(&**store, 0)?;
    let mut log = RepositoryLog::empty(Arc::clone(store))?;
    log.follow(
        &mut |_, item| named(item).iter().flatten().for_each(|key| drop(old.remove(key))),
        &mut |_| Ok(()),
    )?;
    if log.entries() == 0 {
        return Err(Error::NotThere(log.address().into()));
    }
    if let Some(slot) = known.into_iter().find(|slot| *slot >= log.entries()) {
        return Err(behind(&log, slot)?);
    }
    nothing_behind(&log)?;
    found.orphans = old.into_values().collect();
    Ok(found)
}

impl Orphans {
    /// Removes what was found, and calls `removed` after each.
    ///
    /// # Errors
    /// Those of the store and of `removed`. What was removed before is gone.
    pub fn remove<E: From<Error>>(
        &self,
        store: &dyn Store,
        removed: &mut dyn FnMut(&Listed) -> Result<(), E>,
    ) -> Result<(), E> {
        for listed in &self.orphans {
            store.delete(&listed.key).map_err(Error::from)?;
            removed(listed)?;
        }
        Ok(())
    }

    /// How many bytes the orphans have.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let mut sum = 0_u64;
        self.orphans.iter().for_each(|listed| sum.tally(listed.len));
        sum
    }

    /// How many orphans there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        len64(self.orphans.len())
    }
}

/// The keys of the objects that an item names.
fn named(item: &Item<'_>) -> [Option<String>; 2] {
    let key = |part: &str, token: Token| Some(format!("{part}/{token}"));
    match item {
        Item::Revision { data: Data::Big(object), .. } => [key("big", object.token), None],
        Item::Pack { data, props, .. } => [key("pack", data.token), key("props", props.token)],
        Item::Segment { data, .. } => [key(SEGMENTS, data.token), None],
        _ => [None, None],
    }
}

/// All objects of a part.
fn each(store: &dyn Store, part: &str, take: &mut dyn FnMut(Listed)) -> Result<()> {
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
