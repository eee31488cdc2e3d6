//! What a commit brings, gathered until it is claimed: the revisions of one entry of the log.
//!
//! Long data go to objects of their own before; what becomes of them when the entry is lost is found by a sweep of the store.
//!
//! Invariant: an entry is claimed for the slot after the state that the commit began with, and for no other.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use parking_lot::{Mutex, RwLock};
use sapwood_core::{Cut as _, Exact as _, Revnum, len64};
use sapwood_objects::{Claim, Store, addresses};
use sapwood_repo_log::entry::{Data, Item, Object, Rep};
use sapwood_repo_log::{NewObject, RepositoryLog};

use super::super::{Announcement, NewRevision, StagedRevision};
use super::{LogRevisions, reps};
use crate::error::{Error, Result};

/// The most bytes of data in an entry: what would make it longer has an object of its own.
const INLINE: u64 = 4 << 20;
/// Bytes that are sent at once of what is long.
const PIECE: usize = 1 << 20;
/// For how long a store is asked again that does not answer a claim.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);
/// The first pause between, in milliseconds, half as long as the second, and the longest.
const FIRST_PAUSE: u64 = 50;
const LONGEST_PAUSE: Duration = Duration::from_secs(2);

/// What is gathered.
#[derive(Debug, Default)]
pub(super) struct ClaimBatch {
    /// The slot that it is for.
    slot: Option<u64>,
    revisions: BTreeMap<Revnum, GatheredRevision>,
    /// Bytes of data that are to be in the entry.
    inline: u64,
}

/// One revision.
#[derive(Debug)]
struct GatheredRevision {
    data: GatheredData,
    props: Vec<u8>,
    reps: Vec<Rep>,
}

#[derive(Debug)]
enum GatheredData {
    Held(Arc<Vec<u8>>),
    Sent(Object),
}

impl ClaimBatch {
    /// Begins anew, for this slot.
    pub(super) fn begin(&mut self, slot: u64) {
        *self = Self { slot: Some(slot), ..Self::default() };
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    pub(super) fn forget(&mut self, revision: Revnum) {
        self.revisions.remove(&revision);
    }

    /// The data of a revision that is not there yet.
    pub(super) fn data_of(&self, revision: Revnum) -> Option<Arc<Vec<u8>>> {
        match &self.revisions.get(&revision)?.data {
            GatheredData::Held(bytes) => Some(Arc::clone(bytes)),
            GatheredData::Sent(_) => None,
        }
    }

    /// The items of the entry.
    fn items(&self) -> Vec<Item<'_>> {
        let items = self.revisions.iter().map(|(revision, gathered)| Item::Revision {
            revision: revision.0,
            data: match &gathered.data {
                GatheredData::Held(bytes) => Data::Inline(Cow::Borrowed(bytes.as_slice())),
                GatheredData::Sent(object) => Data::Big(*object),
            },
            props: Cow::Borrowed(&gathered.props),
        });
        let reps: Vec<Rep> =
            self.revisions.values().flat_map(|gathered| gathered.reps.iter().copied()).collect();
        let reps = (!reps.is_empty()).then_some(Item::Reps(reps));
        items.chain(reps).collect()
    }
}

/// Where stores were tried by this process: what a bucket or database promises, it promises to all repositories in it.
static PROVED: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

impl LogRevisions {
    /// Takes the bytes of a revision.
    pub(super) fn gather(&self, new: &mut NewRevision) -> Result<StagedRevision> {
        let len = len64(new.bytes.len());
        let inline = self.pending.lock().inline.plus(len);
        let data = if len > 0 && inline <= INLINE {
            self.pending.lock().inline = inline;
            GatheredData::Held(Arc::clone(&new.bytes))
        } else {
            GatheredData::Sent(self.send(new)?)
        };
        let reps = new.reps.iter().map(reps::rep).collect();
        let gathered = GatheredRevision { data, props: new.props.clone(), reps };
        self.pending.lock().revisions.insert(new.revision, gathered);
        Ok(StagedRevision {
            revision: new.revision,
            data: None,
            props: None,
            was_spooled: new.bytes.is_empty(),
            spool: new.spool.clone(),
        })
    }

    /// Writes the data of a revision to an object of their own.
    fn send(&self, new: &NewRevision) -> Result<Object> {
        match new.bytes.is_empty() {
            true => self.send_file("big", &new.spool),
            false => self.send_bytes("big", &new.bytes),
        }
    }

    /// Writes a file to an object that an entry will name.
    pub(crate) fn send_file(&self, part: &str, path: &Path) -> Result<Object> {
        let fail = |e| Error::io(e, "Can't read file", path);
        let file = self.storage.open(path).map_err(fail)?;
        let mut object = NewObject::begin(&*self.store, part)?;
        let (mut at, mut piece) = (0, vec![0; PIECE]);
        loop {
            let read = file.read_at(&mut piece, at).map_err(fail)?;
            if read == 0 {
                return Ok(object.finish()?);
            }
            object.append(piece.head(read))?;
            at = at.plus(len64(read));
        }
    }

    /// The same of bytes in memory.
    pub(super) fn send_bytes(&self, part: &str, bytes: &[u8]) -> Result<Object> {
        let mut object = NewObject::begin(&*self.store, part)?;
        bytes.chunks(PIECE).try_for_each(|piece| object.append(piece))?;
        Ok(object.finish()?)
    }

    /// Looks whether all is there that is to be claimed.
    pub(super) fn announce(&self, revisions: &[&mut StagedRevision]) -> Result<Announcement> {
        let pending = self.pending.lock();
        let wanted = revisions.iter().map(|staged| staged.revision());
        if !wanted.eq(pending.revisions.keys().copied()) {
            return Err(Error::internal("other revisions are gathered than are to be there"));
        }
        Ok(Announcement { token: String::new() })
    }

    /// Claims the entry of what is gathered.
    pub(super) fn claim_announced(&self) -> Result<()> {
        let mut pending = self.pending.lock();
        let slot = pending.slot.ok_or_else(|| Error::internal("no commit was begun"))?;
        self.claim(slot, &pending.items())?;
        pending.clear();
        Ok(())
    }

    /// Adds an entry of what `prepare` makes of the newest state, which is asked again when another server was quicker. The items; none when
    /// there was nothing to add.
    ///
    /// # Errors
    /// Those of `prepare` and [`Self::claim`], but for [`Error::Overtaken`].
    pub(super) fn append(
        &self,
        prepare: &mut dyn FnMut() -> Result<Vec<Item<'static>>>,
    ) -> Result<Vec<Item<'static>>> {
        loop {
            let _flight = self.flight();
            self.catch_up()?;
            let slot = self.log.read().entries();
            let items = prepare()?;
            if items.is_empty() {
                return Ok(items);
            }
            match self.claim(slot, &items) {
                Err(Error::Overtaken) => {}
                done => return done.map(|()| items),
            }
        }
    }

    /// Claims a slot for an entry of these items, and applies it.
    ///
    /// # Errors
    /// [`Error::Overtaken`] when another server has it; an error that says so when the store does not say who has it.
    pub(super) fn claim(&self, slot: u64, items: &[Item<'_>]) -> Result<()> {
        let written = self.written_items();
        match written.is_empty() {
            true => self.claim_only(slot, items, self.patience)?,
            false => self.claim_only(slot, &[items, &written].concat(), self.patience)?,
        }
        self.look_after();
        Ok(())
    }

    /// The same, and nothing else. The store is asked again for so long when it does not answer.
    fn claim_only(&self, slot: u64, items: &[Item<'_>], patience: Duration) -> Result<()> {
        self.prove()?;
        self.claimed.store(slot.plus(1), Ordering::Release);
        let claimed = claim(&self.log, &*self.store, (slot, items), patience);
        self.claimed.store(0, Ordering::Release);
        self.alone.store(claimed.is_ok(), Ordering::Release);
        claimed
    }

    /// Tries the store before the first claim of this process in its bucket or database: one that lets two writers create an object is refused. A folder is
    /// known to be none.
    fn prove(&self) -> Result<()> {
        let place = addresses::place(self.address());
        if place.starts_with("file://") || PROVED.lock().contains(place) {
            return Ok(());
        }
        sapwood_objects::prove(&*self.store)?;
        PROVED.lock().insert(place.to_owned());
        Ok(())
    }
}

/// Claims a slot of a log for an entry of these items, and applies it. The store, which was tried before, is asked again for so long when it
/// does not answer.
///
/// # Errors
/// [`Error::Overtaken`] when another server has it; an error that says so when the store does not say who has it.
pub(super) fn claim(
    log: &RwLock<RepositoryLog>,
    store: &dyn Store,
    (slot, items): (u64, &[Item<'_>]),
    patience: Duration,
) -> Result<()> {
    let (claimed, record) = {
        let log = log.read();
        if log.entries() != slot {
            return Err(Error::Overtaken);
        }
        log.next_entry(items)?
    };
    let begun = Instant::now();
    let mut goes_on = |attempts: u32, _: &sapwood_objects::Error| {
        let doubled = Duration::from_millis(FIRST_PAUSE.times(1 << attempts.min(10)));
        let is_patient = begun.elapsed() < patience;
        if is_patient {
            std::thread::sleep(doubled.min(LONGEST_PAUSE));
        }
        is_patient
    };
    match claimed.claim(store, &record, &mut goes_on)? {
        Claim::Won => {
            let entry = record.as_bytes().to_vec();
            let entry = std::slice::from_ref(&entry);
            Ok(log.write().fold_page(slot, entry, &mut |_, _| {})?)
        }
        Claim::Lost(_) => Err(Error::Overtaken),
    }
}
