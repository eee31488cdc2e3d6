//! Which bytes of which object of the store an object of the filesystem is.
//!
//! Invariant: what an object is changes only with entries of the log, and so does its version: the number of entries up to the last
//! one that touched it.

use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::sync::Arc;

use sapwood_block_cache::BlockCache;
use sapwood_core::{Cut as _, Exact as _, Revnum, exact::clamped, len64};
use sapwood_objects::{Key, Store};
use sapwood_repo_log::{Digest, Location, Place, RevisionData, State, read_location};
use sapwood_store::StoredFile;

use super::super::Object;
use super::LogRevisions;
use super::tail::as_io;
use crate::revprop_shards::Shard;

/// The part of the store that entries are in.
const LOG: &str = "log";

/// Bytes of an object of the store, which never change.
#[derive(Debug)]
struct StoredBytes {
    store: Arc<dyn Store>,
    cache: Option<Arc<BlockCache>>,
    /// Where they are.
    place: Place,
    /// Where else they are, if they are a copy.
    original: Option<Place>,
}

impl StoredBytes {
    fn read_part(&self, place: &Place, part: Range<u64>) -> io::Result<Vec<u8>> {
        let Range { start, end } = part;
        let part = place.range.start.plus(start)..place.range.start.plus(end);
        if let Some(cache) = &self.cache {
            let read = cache.read_on(&self.store, &place.key, place.object_len, part);
            return read.map_err(as_io);
        }
        self.store.get(&place.key, part).map_err(as_io)?.ok_or_else(|| {
            let address = sapwood_objects::Blobs::address(&*self.store);
            as_io(sapwood_objects::Error::missing(address, &place.key))
        })
    }
}

impl StoredFile for StoredBytes {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let len = self.len()?;
        let from = offset.min(len);
        let end = from.plus(len64(buf.len())).min(len);
        if from == end {
            return Ok(0);
        }
        let bytes = match (self.read_part(&self.place, from..end), &self.original) {
            (Err(_), Some(original)) => self.read_part(original, from..end)?,
            (read, _) => read?,
        };
        io::Read::read(&mut bytes.as_slice(), buf)
    }

    fn will_need(&self, offset: u64, len: u64) {
        let Place { key, object_len, range } = &self.place;
        if let Some(cache) = &self.cache {
            let first = range.start.plus(offset).min(range.end);
            let end = first.plus(len).min(range.end);
            cache.will_need(&self.store, key, *object_len, first..end);
        }
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.place.range.end.minus(self.place.range.start))
    }

    fn short_read_is_end(&self) -> bool {
        true
    }
}

/// Bytes in memory.
#[derive(Debug)]
pub(super) struct HeldBytes(pub(super) Arc<Vec<u8>>);

impl StoredFile for HeldBytes {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        io::Read::read(&mut self.0.tail(clamped(offset)), buf)
    }

    fn len(&self) -> io::Result<u64> {
        Ok(len64(self.0.len()))
    }

    fn short_read_is_end(&self) -> bool {
        true
    }
}

/// Where bytes of an entry are in the entry itself.
fn entry_place(location: &Location) -> sapwood_objects::Result<Place> {
    let key = Key::slot(&Key::new(LOG)?, location.slot)?;
    let at = len64(location.at);
    Ok(Place { key, object_len: u64::MAX, range: at..at.plus(len64(location.len)) })
}

/// The first revision that is in no pack.
pub(super) fn min_unpacked(state: &State) -> u64 {
    state.packs.iter().fold(
        0,
        |end, (first, pack)| {
            if *first == end { end.plus(pack.count) } else { end }
        },
    )
}

impl LogRevisions {
    pub(super) fn shard_size(&self) -> u64 {
        self.layout.format.shard_size.unwrap_or(1).max(1)
    }

    /// Opens an object. `NotFound` has a meaning: it may be in a pack by now.
    pub(super) fn open_object(&self, object: Object<'_>) -> io::Result<Arc<dyn StoredFile>> {
        let held =
            |bytes| -> io::Result<Arc<dyn StoredFile>> { Ok(Arc::new(HeldBytes(Arc::new(bytes)))) };
        let line = |number: u64| format!("{number}\n").into_bytes();
        match object {
            Object::Revision(revision) => self.open_revision(revision),
            Object::Pack(shard) => {
                let first = shard.times(self.shard_size());
                let data = self.with_state(|state| state.packs.get(&first).map(|pack| pack.data));
                let data = data.ok_or(ErrorKind::NotFound)?;
                self.open_bytes(Key::of_token("pack", data.token), 0..data.len)
            }
            Object::Props(revision) => {
                let at = self.with_state(|state| state.props.get(&revision.0).copied());
                match at {
                    Some(at) => held(self.read_at_location(&at)?),
                    None => Err(ErrorKind::NotFound.into()),
                }
            }
            Object::PropsManifest(shard) => {
                held(self.packed_file(shard, sapwood_fsfs_format::layout::names::MANIFEST)?)
            }
            Object::PropsPack(shard, name) => held(self.packed_file(shard, name)?),
            Object::Youngest => held(line(self.with_state(|state| state.revisions.minus(1)))),
            Object::MinUnpacked => held(line(self.with_state(min_unpacked))),
            Object::PackManifest(_) | Object::PropsOf(_) | Object::AllProps => {
                Err(ErrorKind::NotFound.into())
            }
        }
    }

    fn open_revision(&self, revision: Revnum) -> io::Result<Arc<dyn StoredFile>> {
        match self.with_state(|state| state.data.get(&revision.0).copied()) {
            Some(RevisionData::Inline(location)) => {
                let place = self.with_state(|state| state.place(&location)).map_err(as_io)?;
                let original = entry_place(&location).map_err(as_io)?;
                let original = (original.key != place.key).then_some(original);
                Ok(self.stored(place, original))
            }
            Some(RevisionData::Big(object, _)) => {
                self.open_bytes(Key::of_token("big", object.token), 0..object.len)
            }
            // One that this process has prepared, and reads back before it is there for others.
            None => match self.pending.lock().data_of(revision) {
                Some(bytes) => Ok(Arc::new(HeldBytes(bytes))),
                None => Err(ErrorKind::NotFound.into()),
            },
        }
    }

    /// A whole object.
    fn open_bytes(
        &self,
        key: sapwood_objects::Result<Key>,
        range: Range<u64>,
    ) -> io::Result<Arc<dyn StoredFile>> {
        let place = Place { key: key.map_err(as_io)?, object_len: range.end, range };
        Ok(self.stored(place, None))
    }

    fn stored(&self, place: Place, original: Option<Place>) -> Arc<dyn StoredFile> {
        let (store, cache) = (Arc::clone(&self.store), self.cache.clone());
        Arc::new(StoredBytes { store, cache, place, original })
    }

    /// Bytes of an entry that have this sum.
    pub(super) fn read_at_location(&self, at: &Location) -> io::Result<Vec<u8>> {
        let place = self.with_state(|state| state.place(at)).map_err(as_io)?;
        match self.kept_here(&place, &at.digest) {
            Some(bytes) => Ok(bytes),
            None => read_location(&*self.store, &place, at).map_err(as_io),
        }
    }

    /// What is at a place and has this sum, by way of the blocks that are kept on this machine; `None` where none are kept, and when
    /// it is not so: then those who ask look in the store itself.
    pub(super) fn kept_here(&self, place: &Place, digest: &Digest) -> Option<Vec<u8>> {
        let Place { key, object_len, range } = place;
        let read = self.cache.as_ref()?.read(&*self.store, key, *object_len, range.clone());
        read.ok().filter(|bytes| Digest::of(bytes) == *digest)
    }

    /// The number of entries up to the last one that touched an object; `None` when there is no such object.
    pub(super) fn version_of(&self, object: Object<'_>) -> Option<u64> {
        let size = self.shard_size();
        self.with_state(|state| match object {
            Object::Revision(revision) => state.data.contains_key(&revision.0).then_some(0),
            Object::Props(revision) => state.props.get(&revision.0).map(|at| at.slot.plus(1)),
            Object::PropsOf(Shard { packed: false, number }) => {
                let first = number.times(size);
                let props = state.props.range(first..first.plus(size));
                props.map(|(_, at)| at.slot.plus(1)).max()
            }
            Object::Pack(shard)
            | Object::PackManifest(shard)
            | Object::PropsManifest(shard)
            | Object::PropsPack(shard, _)
            | Object::PropsOf(Shard { packed: true, number: shard }) => {
                let pack = state.packs.get(&shard.times(size))?;
                Some(pack.slot.plus(1))
            }
            Object::AllProps => Some(0),
            Object::Youngest => Some(state.revisions),
            Object::MinUnpacked => Some(min_unpacked(state)),
        })
    }

    /// The names of what is in an object.
    pub(super) fn names_in(&self, object: Object<'_>) -> io::Result<Vec<OsString>> {
        let size = self.shard_size();
        match object {
            Object::PropsOf(Shard { packed: true, number }) => self.packed_names(number),
            Object::PropsOf(Shard { packed: false, number }) => {
                let first = number.times(size);
                let names: Vec<OsString> = self.with_state(|state| {
                    let props = state.props.range(first..first.plus(size));
                    props.map(|(revision, _)| revision.to_string().into()).collect()
                });
                if names.is_empty() { Err(ErrorKind::NotFound.into()) } else { Ok(names) }
            }
            _ => Err(ErrorKind::NotADirectory.into()),
        }
    }
}
