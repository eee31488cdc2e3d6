//! Properties of revisions, as they are kept in a store: in the entries of revisions that are not packed, and in one object for
//! each packed shard. A change there makes a new object.
//!
//! Invariant: a change is claimed on the state that the properties were read from.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::sync::Arc;

use parking_lot::Mutex;
use sapwood_core::{Exact as _, PropList, Revnum, exact::clamped, hashdump};
use sapwood_fsfs_format::layout::names;
use sapwood_fsfs_format::revprop_write::write_pack;
use sapwood_objects::{Key, Token};
use sapwood_repo_log::entry::Item;
use sapwood_repo_log::{Digest, PackedShard, Place, container, read_object};
use sapwood_store::write::lock_or_create;

use super::super::props::{
    FILE_LEN, missing, not_in_pack, not_named, parse, read_manifest, read_pack,
};
use super::super::{ChangeProps, Object, PropsWriting, RevisionStore as _};
use super::LogRevisions;
use super::places::min_unpacked;
use super::tail::as_io;
use crate::error::{Error, Result};

/// How many shards' properties are kept in memory.
const KEPT: usize = 4;
/// The most bytes of the properties of a shard that are read.
const MOST: u64 = 256 << 20;

/// The files of a packed shard, by name.
pub(crate) type Files = BTreeMap<String, Vec<u8>>;

/// Those that were read last.
#[derive(Debug, Default)]
pub(super) struct Containers(Mutex<Vec<(Token, Arc<Files>)>>);

impl LogRevisions {
    fn container(&self, shard: u64) -> io::Result<Arc<Files>> {
        let first = shard.times(self.shard_size());
        let pack = self.with_state(|state| state.packs.get(&first).copied());
        let pack = pack.ok_or(ErrorKind::NotFound)?;
        let token = pack.props.token;
        let known = self.containers.0.lock().iter().find(|(known, _)| *known == token).cloned();
        if let Some((_, files)) = known {
            return Ok(files);
        }
        if pack.props.len > MOST {
            return Err(ErrorKind::FileTooLarge.into());
        }
        let bytes = self.read_container(&pack)?;
        let files = container::split(&bytes).ok_or_else(|| {
            as_io(Error::Corrupt(format!("'props/{token}' does not hold properties")))
        })?;
        let owned = files.into_iter().map(|(name, bytes)| (name.to_owned(), bytes.to_vec()));
        let files = Arc::new(owned.collect::<Files>());
        let mut kept = self.containers.0.lock();
        if kept.len() >= KEPT {
            kept.remove(0);
        }
        kept.push((token, Arc::clone(&files)));
        Ok(files)
    }

    /// The properties of a packed shard as they are stored.
    fn read_container(&self, pack: &PackedShard) -> io::Result<Vec<u8>> {
        let PackedShard { props, slot, .. } = pack;
        let key = Key::of_token("props", props.token).map_err(as_io)?;
        let place = Place { key, object_len: props.len, range: 0..props.len };
        if let Some(bytes) = self.kept_here(&place, &props.digest) {
            return Ok(bytes);
        }
        let mut bytes = Vec::with_capacity(clamped(props.len));
        let read = read_object(&*self.store, "props", props, *slot, &mut |piece| {
            bytes.extend_from_slice(piece);
            Ok(())
        });
        read.map_err(as_io)?;
        Ok(bytes)
    }

    /// A file of a packed shard.
    pub(super) fn packed_file(&self, shard: u64, name: &str) -> io::Result<Vec<u8>> {
        let files = self.container(shard)?;
        Ok(files.get(name).ok_or(ErrorKind::NotFound)?.clone())
    }

    /// The names of these files.
    pub(super) fn packed_names(&self, shard: u64) -> io::Result<Vec<OsString>> {
        Ok(self.container(shard)?.keys().map(OsString::from).collect())
    }

    /// Says that a shard is packed: its data are in an object, its properties in files that `props` makes of the newest state. Nothing
    /// happens when another server has packed it meanwhile.
    pub(crate) fn announce_pack(
        &self,
        shard: u64,
        data: sapwood_repo_log::entry::Object,
        props: &dyn Fn() -> Result<Files>,
    ) -> Result<()> {
        let count = self.shard_size();
        let first = shard.times(count);
        self.append(&mut || {
            if self.with_state(|state| state.packs.contains_key(&first)) {
                return Ok(Vec::new());
            }
            let sent = self.send_bytes("props", &container::join(&props()?))?;
            let mut items = vec![Item::Pack { first, count, data, props: sent }];
            // Properties of revision 0 are never packed.
            if let Some(at) = self.with_state(|state| state.props.get(&0).copied())
                && first == 0
            {
                let fail = |e| Error::io(e, "Can't read", &self.place(Object::Props(Revnum::ZERO)));
                let bytes = Cow::Owned(self.read_at_location(&at).map_err(fail)?);
                items.push(Item::Props { revision: 0, before: at.digest, bytes });
            }
            Ok(items)
        })?;
        Ok(())
    }

    /// The verb `put_revprops_if_unchanged`.
    pub(in super::super) fn change_revprops(
        &self,
        revision: Revnum,
        change: &mut ChangeProps<'_>,
        how: &PropsWriting,
    ) -> Result<()> {
        let path = self.db.join(names::WRITE_LOCK);
        // Not needed between servers; on this one it keeps a commit from being overtaken.
        let _lock = lock_or_create(&*self.storage, &path).map_err(|e| Error::locking(e, &path))?;
        self.append(&mut || Ok(self.changed(revision, change, how)?.into_iter().collect()))?;
        Ok(())
    }

    /// What says that a revision has other properties: one item; `None` when they stay.
    fn changed(
        &self,
        revision: Revnum,
        change: &mut ChangeProps<'_>,
        how: &PropsWriting,
    ) -> Result<Option<Item<'static>>> {
        let unpacked = Revnum(self.with_state(min_unpacked));
        if self.layout.is_revprop_packed(revision, unpacked) {
            let shard = self.layout.shard(revision).unwrap_or(0);
            return self.changed_pack((shard, revision), change, how);
        }
        let object = Object::Props(revision);
        let bytes = self.read(object, FILE_LEN).map_err(|e| match e.kind() {
            ErrorKind::NotFound => missing(&self.layout, revision, self.place(object)),
            _ => Error::io(e, "Can't open file", &self.place(object)),
        })?;
        Ok(new_text(&parse(&bytes, revision)?, change)?.map(|text| {
            let before = Digest::of(&bytes);
            Item::Props { revision: revision.0, before, bytes: Cow::Owned(text) }
        }))
    }

    /// The same for a packed one: its shard with another object of properties.
    fn changed_pack(
        &self,
        (shard, revision): (u64, Revnum),
        change: &mut ChangeProps<'_>,
        how: &PropsWriting,
    ) -> Result<Option<Item<'static>>> {
        let manifest = read_manifest(self, &self.layout, shard)?;
        let (name, range) = manifest.find(revision).ok_or_else(|| not_named(revision))?;
        let pack = read_pack(self, (shard, name), revision)?;
        let dump = pack.get(revision).ok_or_else(|| not_in_pack(revision))?;
        let Some(text) = new_text(&parse(dump, revision)?, change)? else { return Ok(None) };
        let dumps = range.clone().map(|at| match at == revision.0 {
            true => Some(text.as_slice()),
            false => pack.get(Revnum(at)),
        });
        let dumps: Option<Vec<&[u8]>> = dumps.collect();
        let dumps = dumps.ok_or_else(|| not_in_pack(revision))?;
        let mut bytes = Vec::new();
        write_pack(Revnum(range.start), dumps.into_iter(), how.packing.compress, &mut bytes);
        let fail = |e| Error::io(e, "Can't read", &self.place(Object::PropsManifest(shard)));
        let mut files = (*self.container(shard).map_err(fail)?).clone();
        files.insert(name.to_owned(), bytes);
        let first = shard.times(self.shard_size());
        let known = self.with_state(|state| state.packs.get(&first).copied());
        let known = known.ok_or_else(|| not_named(revision))?;
        let props = self.send_bytes("props", &container::join(&files))?;
        Ok(Some(Item::Pack { first, count: known.count, data: known.data, props }))
    }
}

/// The new properties as they are stored; `None` when they stay.
fn new_text(present: &PropList, change: &mut ChangeProps<'_>) -> Result<Option<Vec<u8>>> {
    Ok(change(present)?.filter(|props| props != present).map(|props| {
        let mut text = Vec::new();
        hashdump::write(&mut text, &props, Some(hashdump::END));
        text
    }))
}
