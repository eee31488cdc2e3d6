//! A folder becomes a repository in a store, or brings what is new to the one that it became before.
//!
//! What is added at a time follows from the store's state alone, so an import that was stopped goes on when it is asked
//! for again. Order: files without locks, packs, revisions, representations; at last what changed of properties and files, and locks. Objects
//! go before the entries that name them.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use sapwood_core::exact::{Exact as _, clamped};
use sapwood_core::{CancelToken, len64};
use sapwood_objects::{Store, prove};
use sapwood_repo_log::entry::{Data, Item, Object};
use sapwood_repo_log::{Digest, Hasher, NewObject, RepositoryLog, RevisionData, State};

use crate::error::{Error, Result};
use crate::reps;
use crate::source::{MAX_FILE, PlainFile, Source};

/// The most bytes of an entry, but for one item more.
const ENTRY: u64 = 4 << 20;
/// The most items of an entry.
const ITEMS: usize = 64;
/// Revisions with longer data have an object of their own.
const INLINE: u64 = 4 << 20;
/// Bytes that are read at once of what is long.
const PIECE: usize = 1 << 20;
/// What the paths of locks begin with.
const LOCKS: &str = "db/locks/";
/// How often a store is asked again that does not answer a claim.
const ASKS: u32 = 5;

/// Brings the repository of a folder into a store: all of it, or what is new. The repository there in the end.
///
/// # Errors
/// [`Error::Format`] for a folder that a store cannot take, [`Error::Another`] when the store has another repository; those of
/// the store and the system.
pub fn import(folder: &Path, store: Arc<dyn Store>, cancel: &CancelToken) -> Result<RepositoryLog> {
    let source = Source::open(folder)?;
    let log = match RepositoryLog::open(Arc::clone(&store))? {
        Some(log) => log,
        None => {
            prove(&*store)?;
            RepositoryLog::new(store)?
        }
    };
    let mut import = Import { source, log, cancel };
    import.check_same()?;
    import.files(false)?;
    let state = import.log.state();
    let knows_reps = state.reps.tabled() > 0 || state.reps.rows().len() > 0;
    let known = if knows_reps { state.revisions } else { 0 };
    // A shard that is packed meanwhile is taken as a pack in the next round.
    while !import.revisions()? {}
    import.reps(known)?;
    import.changed_props()?;
    import.files(true)?;
    Ok(import.log)
}

struct Import<'a> {
    source: Source,
    log: RepositoryLog,
    cancel: &'a CancelToken,
}

/// Whether what a writer prepared is still what the store needs.
type StillFits<'a> = &'a dyn Fn(&State) -> bool;

impl Import<'_> {
    fn another(&self, why: &str) -> Error {
        Error::Another {
            store: self.log.address().to_owned(),
            path: self.source.root().to_owned(),
            why: why.to_owned(),
        }
    }

    /// Whether the store's repository is an earlier state of the folder's.
    fn check_same(&self) -> Result<()> {
        let state = self.log.state();
        let Some(known) = state.files.get("db/uuid") else { return Ok(()) };
        let known = self.log.read(&known.bytes)?;
        let files = self.source.files()?;
        let own = files.get("db/uuid").map(|file| file.bytes.as_slice()).unwrap_or(b"");
        // The second line is that of the folder, and another one in each copy.
        let first = |bytes: &[u8]| bytes.split(|b| *b == b'\n').next().map(<[u8]>::to_vec);
        if first(&known) != first(own) {
            return Err(self.another("their UUIDs differ"));
        }
        if state.revisions > self.source.youngest()?.plus(1) {
            return Err(self.another("it has revisions that the folder has not"));
        }
        // The youngest revision that both have in a file of its own.
        let Some((revision, data)) = state.data.last_key_value() else { return Ok(()) };
        let Some((mut file, len)) = self.source.revision(*revision)? else { return Ok(()) };
        let known = match data {
            RevisionData::Inline(location) => location.digest,
            RevisionData::Big(object, _) => object.digest,
        };
        let mut hasher = Hasher::new();
        pieces(&mut file, len, self.source.root(), &mut |piece| {
            hasher.update(piece);
            Ok(())
        })?;
        if hasher.finish() != known {
            return Err(self.another(&format!("revision {revision} differs")));
        }
        Ok(())
    }

    /// Adds an entry, unless the store's repository has changed under it.
    fn append(&mut self, items: Vec<Item<'static>>, fits: StillFits<'_>) -> Result<()> {
        self.cancel.check().map_err(Error::Stopped)?;
        let mut patience = |asked: u32, _: &sapwood_objects::Error| asked < ASKS;
        let mut prepare = |state: &State| Ok(fits(state).then(|| items.clone()));
        if self.log.append(&mut prepare, &mut patience)? {
            return match self.log.take_checkpoint() {
                Some(checkpoint) => Ok(checkpoint.write().map(drop)?),
                None => Ok(()),
            };
        }
        Err(self.another("it was changed by another program during the import"))
    }

    /// Files that differ: at first without locks, which are on paths of revisions to come.
    fn files(&mut self, with_locks: bool) -> Result<()> {
        let files = self.source.files()?;
        let state = self.log.state();
        let mut items = Vec::new();
        for (path, PlainFile { executable, bytes }) in files.iter() {
            let same = state.files.get(path).is_some_and(|known| {
                known.executable == *executable && known.bytes.digest == Digest::of(bytes)
            });
            if !same && (with_locks || !path.starts_with(LOCKS)) {
                items.push(Item::File {
                    path: Cow::Owned(path.clone()),
                    executable: *executable,
                    bytes: Cow::Owned(bytes.clone()),
                });
            }
        }
        if with_locks {
            let gone = state.files.keys().filter(|path| !files.contains_key(*path));
            items.extend(gone.map(|path| Item::Gone { path: Cow::Owned(path.clone()) }));
        }
        let revisions = state.revisions;
        for group in groups(items) {
            self.append(group, &|state| state.revisions == revisions)?;
        }
        Ok(())
    }

    /// Packs and revisions that the store does not have. Whether these are all: not when a revision was packed meanwhile.
    fn revisions(&mut self) -> Result<bool> {
        let youngest = self.source.youngest()?;
        let min_unpacked = self.source.min_unpacked()?;
        let mut first = 0;
        while first < min_unpacked {
            self.pack(first)?;
            first = first.plus(self.source.shard_size);
        }
        let mut items: Vec<Item<'static>> = Vec::new();
        let mut weight = 0_u64;
        let begin = self.log.state().revisions;
        for revision in begin..youngest.plus(1) {
            let Some(item) = self.revision(revision)? else {
                self.flush(&mut items)?;
                return Ok(false);
            };
            weight = weight.plus(item.weight());
            items.push(item);
            if weight >= ENTRY || items.len() >= ITEMS {
                self.flush(&mut items)?;
                weight = 0;
            }
        }
        self.flush(&mut items)?;
        Ok(true)
    }

    fn flush(&mut self, items: &mut Vec<Item<'static>>) -> Result<()> {
        let items = std::mem::take(items);
        let Some(Item::Revision { revision, .. }) = items.first() else { return Ok(()) };
        let revision = *revision;
        self.append(items, &|state| state.revisions == revision)
    }

    /// Representations of revisions from one on, and tables that are put together.
    fn reps(&mut self, from: u64) -> Result<()> {
        let mut patience = |asked: u32, _: &sapwood_objects::Error| asked < ASKS;
        let mut new = reps::table(&self.log, self.source.db(), from, self.cancel)?;
        while let Some(table) = new {
            if !self.log.announce_table(&table, &mut patience)? {
                return Err(self.another("it was changed by another program during the import"));
            }
            new = match self.log.take_table() {
                Some(table) => table.write()?,
                None => None,
            };
        }
        Ok(())
    }

    /// A packed shard, if the store has none or other properties.
    fn pack(&mut self, first: u64) -> Result<()> {
        let shard = first / self.source.shard_size;
        let count = self.source.shard_size;
        let props = self.source.packed_props(shard)?;
        let known = self.log.state().packs.get(&first).copied();
        let data = match known {
            Some(known) if known.props.digest == Digest::of(&props) => return Ok(()),
            Some(known) => known.data,
            None => {
                let (file, len) = self.source.pack(shard)?.ok_or_else(|| Error::Unfit {
                    path: self.source.root().to_owned(),
                    why: format!("has no pack of shard {shard}"),
                })?;
                self.upload("pack", file, len)?
            }
        };
        let props = self.upload("props", props.as_slice(), len64(props.len()))?;
        let mut items = vec![Item::Pack { first, count, data, props }];
        // Properties of revision 0 are never packed.
        if first == 0
            && let Some(bytes) = self.source.props(0)?
        {
            let before =
                self.log.state().props.get(&0).map_or(Digest::of(b""), |known| known.digest);
            items.push(Item::Props { revision: 0, before, bytes: Cow::Owned(bytes) });
        }
        let known = known.map(|known| known.props);
        self.append(items, &|state| state.packs.get(&first).map(|pack| pack.props) == known)
    }

    /// A revision that is not packed; `None` when it is by now.
    fn revision(&self, revision: u64) -> Result<Option<Item<'static>>> {
        let Some((file, len)) = self.source.revision(revision)? else { return Ok(None) };
        let Some(props) = self.source.props(revision)? else { return Ok(None) };
        let data = if len > INLINE {
            Data::Big(self.upload("big", file, len)?)
        } else {
            let mut bytes = Vec::with_capacity(clamped(len));
            let read = file.take(len).read_to_end(&mut bytes);
            read.map_err(crate::error::failed("read", self.source.root()))?;
            Data::Inline(Cow::Owned(bytes))
        };
        Ok(Some(Item::Revision { revision, data, props: Cow::Owned(props) }))
    }

    /// Properties of unpacked revisions that differ.
    fn changed_props(&mut self) -> Result<()> {
        let known: BTreeMap<u64, Digest> =
            self.log.state().props.iter().map(|(n, known)| (*n, known.digest)).collect();
        let mut items = Vec::new();
        for (revision, before) in known {
            // Those that are packed by now come with the pack, in the next import.
            let Some(bytes) = self.source.props(revision)? else { continue };
            if Digest::of(&bytes) != before {
                items.push(Item::Props { revision, before, bytes: Cow::Owned(bytes) });
            }
        }
        let revisions = self.log.state().revisions;
        for group in groups(items) {
            self.append(group, &|state| state.revisions == revisions)?;
        }
        Ok(())
    }

    /// Writes an object that an entry will name.
    fn upload(&self, part: &str, mut from: impl Read, len: u64) -> Result<Object> {
        let mut object = NewObject::begin(&**self.log.store(), part)?;
        pieces(&mut from, len, self.source.root(), &mut |piece| {
            self.cancel.check().map_err(Error::Stopped)?;
            Ok(object.append(piece)?)
        })?;
        Ok(object.finish()?)
    }
}

/// Reads so many bytes, and gives them on piece by piece.
fn pieces(
    from: &mut impl Read,
    len: u64,
    path: &Path,
    take: &mut dyn FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let mut buffer = vec![0; PIECE.min(clamped(len))];
    let mut left = len;
    while left > 0 {
        let wanted = buffer.len().min(clamped(left));
        let (piece, _) = buffer.split_at_mut(wanted);
        from.read_exact(piece).map_err(crate::error::failed("read", path))?;
        take(piece)?;
        left = left.minus(len64(wanted));
    }
    Ok(())
}

/// Items in groups that an entry can have.
fn groups(items: Vec<Item<'static>>) -> Vec<Vec<Item<'static>>> {
    let mut groups: Vec<Vec<Item<'static>>> = Vec::new();
    let mut weight = ENTRY;
    for item in items {
        weight = weight.plus(item.weight());
        match groups.last_mut() {
            Some(group) if weight < ENTRY.plus(MAX_FILE) && group.len() < ITEMS => group.push(item),
            _ => {
                weight = item.weight();
                groups.push(vec![item]);
            }
        }
    }
    groups
}
