//! A repository's log: read to its end, added to.
//!
//! Invariant: what is added was prepared on the state of the entry before it. Who loses the slot to another folds the
//! other's entry and prepares again; so nothing that was read while preparing can have changed.

use std::sync::Arc;

use sapwood_core::exact::Exact as _;
use sapwood_core::len64;
use sapwood_objects::{Claim, Key, Patience, Record, Store, Token, claim};

use crate::checkpoint::{self, Due};
use crate::checkpoints::NewCheckpoint;
use crate::digest::Digest;
use crate::entry::{self, FoundItem, Head, Item};
use crate::error::{Error, Result};
use crate::places::Place;
use crate::state::{LOG, Location, State};

/// How many entries are read at once.
const PAGE: usize = 64;

/// Makes the next change out of a state; `None` when there is nothing to change.
pub type Prepare<'a> = dyn FnMut(&State) -> Result<Option<Vec<Item<'static>>>> + 'a;

/// A repository's log.
#[derive(Debug)]
pub struct RepositoryLog {
    pub(crate) store: Arc<dyn Store>,
    pub(crate) log: Key,
    pub(crate) state: State,
    pub(crate) next: u64,
    /// The sum of the last entry.
    pub(crate) last: Digest,
    pub(crate) due: Due,
    /// The first entry that was not looked at for segments.
    pub(crate) looked: u64,
    /// The number of entries when a table was due last, and handed out.
    pub(crate) offered: Option<u64>,
}

/// Is called with each item that is folded, and the number of its entry, when the state has it.
pub type ItemReceiver<'a> = dyn FnMut(u64, &Item<'_>) + 'a;

impl RepositoryLog {
    /// Reads the log of a store to its end, from its newest checkpoint on; `None` when it has no entry.
    ///
    /// # Errors
    /// Those of the store; [`Error::Damaged`].
    pub fn open(store: Arc<dyn Store>) -> Result<Option<Self>> {
        Self::open_from(store, None)
    }

    /// The same, from a state on that was saved before ([`Self::checkpoint_bytes`]). One that is damaged, of another
    /// repository, or further than the log, is passed over.
    ///
    /// # Errors
    /// As [`Self::open`]
    pub fn open_from(store: Arc<dyn Store>, saved: Option<&[u8]>) -> Result<Option<Self>> {
        let mut opened = Self::empty(store)?;
        opened.begin(saved)?;
        opened.catch_up()?;
        Ok((opened.next > 0).then_some(opened))
    }

    /// A new repository in a store without one. It is there when its first entry is.
    ///
    /// # Errors
    /// As [`Self::open`]
    pub fn new(store: Arc<dyn Store>) -> Result<Self> {
        let mut new = Self::empty(store)?;
        new.state.repository = Token::new()?;
        Ok(new)
    }

    /// A log of which nothing was read yet.
    pub(crate) fn empty(store: Arc<dyn Store>) -> Result<Self> {
        let (log, state) = (Key::new(LOG)?, State::new(Token::from_bytes([0; 16])));
        let (last, due) = (Digest::default(), Due::default());
        Ok(Self { store, log, state, next: 0, last, due, looked: 0, offered: None })
    }

    /// What the entries so far say.
    #[must_use]
    pub fn state(&self) -> &State {
        &self.state
    }

    /// The number of entries.
    #[must_use]
    pub fn entries(&self) -> u64 {
        self.next
    }

    /// The store.
    #[must_use]
    pub fn store(&self) -> &Arc<dyn Store> {
        &self.store
    }

    /// The store's address.
    #[must_use]
    pub fn address(&self) -> &str {
        sapwood_objects::Blobs::address(&*self.store)
    }

    /// The state as bytes, to be saved on this machine and given to [`Self::open_from`]; `None` when there is no entry.
    #[must_use]
    pub fn checkpoint_bytes(&self) -> Option<Vec<u8>> {
        let slot = self.next.checked_sub(1)?;
        Some(checkpoint::write(slot, self.last, &self.state))
    }

    /// The checkpoint that is due, if one is: for a writer to ask after [`Self::append`] and [`Self::catch_up`], and to write
    /// when it has answered its client. It is handed out once.
    pub fn take_checkpoint(&mut self) -> Option<NewCheckpoint> {
        let bytes = self.due.is_due().then(|| self.checkpoint_bytes())??;
        let next = Due { len: len64(bytes.len()), ..Due::default() };
        let since = std::mem::replace(&mut self.due, next);
        let (store, slot) = (Arc::clone(&self.store), self.next.minus(1));
        Some(NewCheckpoint { store, slot, bytes, since })
    }

    /// Folds what is new.
    ///
    /// # Errors
    /// As [`Self::open`]
    pub fn catch_up(&mut self) -> Result<()> {
        self.catch_up_with(&mut |_, _| {})
    }

    /// Folds what is new, and hands out each item.
    ///
    /// # Errors
    /// As [`Self::open`]
    pub(crate) fn catch_up_with(&mut self, seen: &mut ItemReceiver<'_>) -> Result<()> {
        self.follow(seen, &mut |_| Ok(()))
    }

    /// Folds what is new, and calls `after` behind each entry.
    pub(crate) fn follow(
        &mut self,
        seen: &mut ItemReceiver<'_>,
        after: &mut dyn FnMut(&Self) -> Result<()>,
    ) -> Result<()> {
        loop {
            let (page, is_last) = page(&*self.store, self.next)?;
            for stored in &page {
                self.fold(stored, seen)?;
                after(self)?;
            }
            if is_last {
                return Ok(());
            }
        }
    }

    /// Folds entries that were read from `first` on, but for those that were folded before, and hands out each item.
    ///
    /// # Errors
    /// [`Error::Damaged`]
    pub fn fold_page(
        &mut self,
        first: u64,
        page: &[Vec<u8>],
        seen: &mut ItemReceiver<'_>,
    ) -> Result<()> {
        for (slot, stored) in (first..).zip(page) {
            if slot == self.next {
                self.fold(stored, seen)?;
            }
        }
        Ok(())
    }

    /// What the next entry is with these items: its slot, and what is to be claimed for it with [`claim`].
    ///
    /// # Errors
    /// [`Error::Unfit`] when it does not follow from the state; the system has no random bytes.
    pub fn next_entry(&self, items: &[Item<'_>]) -> Result<(Slot, Record)> {
        let head = Head { slot: self.next, repository: self.state.repository, before: self.last };
        let record = Record::new(&entry::write(&head, items))?;
        // What does not fit must not get there.
        self.fits(record.as_bytes()).map_err(|why| self.unfit(why))?;
        Ok((Slot { log: self.log.clone(), number: self.next }, record))
    }

    /// Adds what `prepare` makes of the newest state. Whether there was something to add.
    ///
    /// # Errors
    /// Those of the store, of which `sapwood_objects::Error::InDoubt` says that the entry may be there; those of `prepare`.
    pub fn append(
        &mut self,
        prepare: &mut Prepare<'_>,
        patience: &mut Patience<'_>,
    ) -> Result<bool> {
        self.append_with(prepare, patience, &mut |_, _| {})
    }

    /// The same, and hands out each item that is folded: those of other writers that came first, and its own.
    ///
    /// # Errors
    /// As [`Self::append`]
    pub fn append_with(
        &mut self,
        prepare: &mut Prepare<'_>,
        patience: &mut Patience<'_>,
        seen: &mut ItemReceiver<'_>,
    ) -> Result<bool> {
        loop {
            let Some(items) = prepare(&self.state)? else { return Ok(false) };
            let (slot, record) = self.next_entry(&items)?;
            match slot.claim(&*self.store, &record, patience)? {
                Claim::Won => {
                    self.fold(record.as_bytes(), seen)?;
                    return Ok(true);
                }
                Claim::Lost(other) => {
                    self.fold(&other, seen)?;
                    self.catch_up_with(seen)?;
                }
            }
        }
    }

    fn unfit(&self, why: String) -> Error {
        Error::Unfit { store: self.address().into(), why }
    }

    /// Applies an entry as it is stored.
    fn fold(&mut self, stored: &[u8], seen: &mut ItemReceiver<'_>) -> Result<()> {
        let folded = self.try_fold(stored);
        let (slot, store) = (self.next, self.address().into());
        let items = folded.map_err(|why| Error::Damaged { store, slot, why })?;
        self.next = self.next.plus(1);
        self.last = Digest::of(stored);
        self.due.count(stored);
        items.iter().for_each(|found| seen(slot, &found.item));
        Ok(())
    }

    /// Whether an entry would be one that can be applied.
    fn fits(&self, stored: &[u8]) -> Result<(), String> {
        let (_, body) = Record::parse(stored).ok_or("is too short")?;
        self.state.fits(self.next, &entry::parse(body, Token::LEN)?.1)
    }

    fn try_fold<'a>(&mut self, stored: &'a [u8]) -> Result<Vec<FoundItem<'a>>, String> {
        let (_, body) = Record::parse(stored).ok_or("is too short")?;
        let (head, items) = entry::parse(body, Token::LEN)?;
        if head.slot != self.next {
            return Err(format!("says that it is entry {}", head.slot));
        }
        if head.before != self.last {
            return Err("does not follow the entry before it".to_owned());
        }
        if self.next == 0 {
            self.state.repository = head.repository;
        } else if head.repository != self.state.repository {
            return Err("is of another repository".to_owned());
        }
        self.state.apply(self.next, &items)?;
        Ok(items)
    }

    /// Bytes that stand in an entry: from a segment, or from the entry itself.
    ///
    /// # Errors
    /// Those of the store; [`Error::WrongData`].
    pub fn read(&self, location: &Location) -> Result<Vec<u8>> {
        read_location(&*self.store, &self.state.place(location)?, location)
    }
}

/// A place in a log that an entry is to be claimed for.
#[derive(Clone, Debug)]
pub struct Slot {
    log: Key,
    number: u64,
}

impl Slot {
    /// Claims it, as [`claim`] says.
    ///
    /// # Errors
    /// Those of [`claim`].
    pub fn claim(
        &self,
        store: &dyn Store,
        record: &Record,
        patience: &mut Patience<'_>,
    ) -> Result<Claim> {
        Ok(claim(store, &self.log, self.number, record, patience)?)
    }

    /// Its number.
    #[must_use]
    pub const fn number(&self) -> u64 {
        self.number
    }
}

/// Entries of a log from `first` on, and whether it ended with them.
///
/// # Errors
/// Those of the store.
pub fn page(store: &dyn Store, first: u64) -> Result<(Vec<Vec<u8>>, bool)> {
    let page = store.read_from(&Key::new(LOG)?, first, PAGE)?;
    let is_last = page.len() < PAGE;
    Ok((page, is_last))
}

/// Bytes that stand in an entry, from where they are read best, or from the entry itself.
///
/// # Errors
/// Those of the store; [`Error::WrongData`].
pub fn read_location(store: &dyn Store, place: &Place, location: &Location) -> Result<Vec<u8>> {
    let is_right = |bytes: &Vec<u8>| Digest::of(bytes) == location.digest;
    if let Some(bytes) = store.get(&place.key, place.range.clone())?.filter(is_right) {
        return Ok(bytes);
    }
    let key = Key::slot(&Key::new(LOG)?, location.slot)?;
    let at = len64(location.at);
    let bytes = store.get(&key, at..at.plus(len64(location.len)))?;
    bytes.filter(is_right).ok_or_else(|| Error::WrongData {
        store: sapwood_objects::Blobs::address(store).into(),
        key: key.as_str().into(),
        slot: location.slot,
    })
}
