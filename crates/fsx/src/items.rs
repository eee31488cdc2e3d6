//! Node-revisions, changed paths and short texts: items by themselves, or in containers of a pack.

use std::sync::Arc;

use sapwood_core::Revnum;
use sapwood_fsx_format::changes_container::ChangesContainer;
use sapwood_fsx_format::noderevs_container::NodeRevsContainer;
use sapwood_fsx_format::p2l::ItemType;
use sapwood_fsx_format::reps_container::RepsContainer;
use sapwood_fsx_format::{Change, ChangeSet, Error as FormatError, Id, NodeRev, changes};

use crate::cached::ContainerKey;
use crate::error::{Error, Result};
use crate::filesystem::{Filesystem, Fs};
use crate::revfile::{FileKey, Item, RevFile};

/// The item number of the changed paths of a revision.
pub(crate) const CHANGES: u64 = 1;
/// The item number of the root directory of a revision.
pub(crate) const ROOT: u64 = 2;
/// The first item number that is free.
pub(crate) const FIRST_ITEM: u64 = 3;

/// The longest first line of a representation.
pub(crate) const HEADER: u64 = 128;
/// The longest text that is kept when it was read or written, for deltas to it.
pub(crate) const KEPT_TEXT: usize = 256 << 10;
/// The longest chain of deltas.
pub(crate) const CHAIN: usize = 4096;

/// The longest directory or property list that is read.
pub(crate) const LIST: u64 = 1 << 30;

/// The transaction that an id is of.
pub(crate) const fn txn_of(id: Id) -> Option<u64> {
    match id.change_set {
        ChangeSet::Txn(number) => Some(number),
        ChangeSet::None | ChangeSet::Revision(_) => None,
    }
}

/// The key of a container.
const fn container(key: FileKey, item: &Item) -> ContainerKey {
    match key {
        FileKey::Pack(shard) => (shard, item.offset),
        // Containers are in packs only; one elsewhere has a key that no pack has.
        FileKey::Revision(revision) => (u64::MAX, revision.0),
    }
}

impl Filesystem {
    /// The changed paths of a revision, in the order of paths.
    ///
    /// # Errors
    /// E160006 for a revision that does not exist; corruption, and errors of the system.
    pub fn changes(&self, revision: Revnum) -> Result<Arc<Vec<Change>>> {
        self.ensure_exists(revision)?;
        self.0.cached.changes(revision, || self.0.while_packed(|| self.0.changes(revision)))
    }
}

impl Fs {
    fn changes(&self, revision: Revnum) -> Result<Vec<Change>> {
        let (key, file) = self.revision_file(revision)?;
        let item = file.find(revision, CHANGES)?;
        let wrong = |error| file.wrong(item.offset, error);
        if item.kind != ItemType::ChangesContainer {
            let bytes = file.bytes(&item, ItemType::Changes)?;
            return Ok(changes::parse(&bytes).map_err(wrong)?.0);
        }
        let container = self.cached.changes_container(container(key, &item), || {
            let bytes = file.bytes(&item, ItemType::ChangesContainer)?;
            ChangesContainer::read(&bytes).map_err(wrong)
        })?;
        container.get(item.sub_item).map_err(wrong)
    }

    /// The node-revision `id`.
    pub(crate) fn noderev(&self, id: Id) -> Result<NodeRev> {
        let Some(revision) = id.change_set.revision() else {
            return Err(Error::Corrupt(format!("Node-revision '{id}' is not in a revision")));
        };
        let found = self.while_packed(|| self.noderev_in(revision, id))?;
        if found.id == id {
            Ok(found)
        } else {
            Err(Error::Corrupt(format!("Node-revision '{}' in the place of '{id}'", found.id)))
        }
    }

    fn noderev_in(&self, revision: Revnum, id: Id) -> Result<NodeRev> {
        let (key, file) = self.revision_file(revision)?;
        let item = file.find(revision, id.number)?;
        let wrong = |error| file.wrong(item.offset, error);
        if item.kind != ItemType::NodeRevsContainer {
            return file.node_rev(&item);
        }
        let container = self.cached.node_revs_container(container(key, &item), || {
            let bytes = file.bytes(&item, ItemType::NodeRevsContainer)?;
            NodeRevsContainer::read(&bytes).map_err(wrong)
        })?;
        container.get(item.sub_item).map_err(wrong)
    }

    /// A text out of a container; `None` when the item is a representation by itself.
    pub(crate) fn contained_text(
        &self,
        key: FileKey,
        file: &Arc<RevFile>,
        item: &Item,
        limit: u64,
    ) -> Result<Option<Vec<u8>>> {
        if item.kind != ItemType::RepsContainer {
            return Ok(None);
        }
        let wrong = |error: FormatError| file.wrong(item.offset, error);
        let container = self.cached.reps_container(container(key, item), || {
            let bytes = file.bytes(item, ItemType::RepsContainer)?;
            RepsContainer::read(&bytes).map_err(wrong)
        })?;
        Ok(Some(container.get(item.sub_item, limit).map_err(wrong)?))
    }
}
