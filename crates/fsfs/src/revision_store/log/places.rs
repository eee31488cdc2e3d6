//! Which bytes of which object of the store an object of the filesystem is.
//!
//! Invariant: what an object is changes only with entries of the log, and so does its version: the number of entries up to the last
//! one that touched it.

use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::sync::Arc;

use sapwood_core::{Exact as _, Revnum, exact::clamped, len64};
use sapwood_objects::{Key, Store};
use sapwood_repo_log::{Location, RevisionData, State, read_location};
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
    key: Key,
    /// Where they are in the object.
    range: Range<u64>,
}

impl StoredFile for StoredBytes {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let from = self.range.start.saturating_add(offset).min(self.range.end);
        let end = from.saturating_add(len64(buf.len())).min(self.range.end);
        if from == end {
            return Ok(0);
        }
        let bytes = self.store.get(&self.key, from..end).map_err(as_io)?;
        let bytes = bytes.ok_or_else(|| {
            let address = sapwood_objects::Blobs::address(&*self.store);
            as_io(sapwood_objects::Error::missing(address, &self.key))
        })?;
        io::Read::read(&mut bytes.as_slice(), buf)
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.range.end.minus(self.range.start))
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
        let rest = self.0.get(clamped(offset)..).unwrap_or_default();
        io::Read::read(&mut &*rest, buf)
    }

    fn len(&self) -> io::Result<u64> {
        Ok(len64(self.0.len()))
    }

    fn short_read_is_end(&self) -> bool {
        true
    }
}

/// The first revision that is in no pack.
pub(super) fn min_unpacked(state: &State) -> u64 {
    state.packs.iter().fold(
        0,
        |end, (first, pack)| {
            if *first == end { end.saturating_add(pack.count) } else { end }
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
                let first = shard.saturating_mul(self.shard_size());
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
            Object::Youngest => {
                held(line(self.with_state(|state| state.revisions.saturating_sub(1))))
            }
            Object::MinUnpacked => held(line(self.with_state(min_unpacked))),
            Object::PackManifest(_) | Object::PropsOf(_) | Object::AllProps => {
                Err(ErrorKind::NotFound.into())
            }
        }
    }

    fn open_revision(&self, revision: Revnum) -> io::Result<Arc<dyn StoredFile>> {
        match self.with_state(|state| state.data.get(&revision.0).copied()) {
            Some(RevisionData::Inline(Location { slot, at, len, .. })) => {
                let at = len64(at);
                let log = Key::new(LOG).map_err(as_io)?;
                self.open_bytes(Key::slot(&log, slot), at..at.plus(len64(len)))
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

    fn open_bytes(
        &self,
        key: sapwood_objects::Result<Key>,
        range: Range<u64>,
    ) -> io::Result<Arc<dyn StoredFile>> {
        let (store, key) = (Arc::clone(&self.store), key.map_err(as_io)?);
        Ok(Arc::new(StoredBytes { store, key, range }))
    }

    pub(super) fn read_at_location(&self, at: &Location) -> io::Result<Vec<u8>> {
        read_location(&*self.store, at).map_err(as_io)
    }

    /// The number of entries up to the last one that touched an object; `None` when there is no such object.
    pub(super) fn version_of(&self, object: Object<'_>) -> Option<u64> {
        let size = self.shard_size();
        self.with_state(|state| match object {
            Object::Revision(revision) => state.data.contains_key(&revision.0).then_some(0),
            Object::Props(revision) => state.props.get(&revision.0).map(|at| at.slot.plus(1)),
            Object::PropsOf(Shard { packed: false, number }) => {
                let first = number.saturating_mul(size);
                let props = state.props.range(first..first.saturating_add(size));
                props.map(|(_, at)| at.slot.plus(1)).max()
            }
            Object::Pack(shard)
            | Object::PackManifest(shard)
            | Object::PropsManifest(shard)
            | Object::PropsPack(shard, _)
            | Object::PropsOf(Shard { packed: true, number: shard }) => {
                let pack = state.packs.get(&shard.saturating_mul(size))?;
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
                let first = number.saturating_mul(size);
                let names: Vec<OsString> = self.with_state(|state| {
                    let props = state.props.range(first..first.saturating_add(size));
                    props.map(|(revision, _)| revision.to_string().into()).collect()
                });
                if names.is_empty() { Err(ErrorKind::NotFound.into()) } else { Ok(names) }
            }
            _ => Err(ErrorKind::NotADirectory.into()),
        }
    }
}
