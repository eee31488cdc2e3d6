//! Transactions on disk as programs see them that only look: their trees and changed paths. Nothing of this is kept, because it may
//! change at any time.

use std::io::ErrorKind;
use std::sync::Arc;

use sapwood_core::{PropList, Revnum};
use sapwood_fsx_format::directory::{self, Entry};
use sapwood_fsx_format::layout::{Layout, names};
use sapwood_fsx_format::{Change, Id, NodeRev, proplist, txn_index};

use super::commit::stored_change;
use super::disk::{FILE_LEN, node_file, number_of};
use super::engine::TxnNumber;
use super::open::read_changes;
use crate::contents::Link;
use crate::error::{Error, Result};
use crate::filesystem::Filesystem;
use crate::items::{HEADER, ROOT};
use crate::tree::Root;

impl Filesystem {
    /// The tree of a transaction on disk.
    ///
    /// # Errors
    /// E160007 when there is none of that name; corruption and system errors.
    pub fn txn_root(&self, name: &str) -> Result<Root> {
        let number = number_of(name)?;
        let path = self.0.file(&Layout::txn_dir(number.0));
        self.0.storage.stamp(&path).map_err(|error| match error.kind() {
            ErrorKind::NotFound => Error::NoSuchTransaction(name.to_owned()),
            _ => Error::io("Can't check path", &path, error),
        })?;
        let dir = self.node_rev(number.id(ROOT))?;
        let base: Option<Revnum> = dir.predecessor.and_then(|id| id.change_set.revision());
        let base = base.ok_or_else(|| {
            Error::Corrupt(format!("The root of transaction '{name}' has no predecessor"))
        })?;
        Ok(Root::of_txn(self, name, base, dir))
    }

    /// What a transaction on disk has changed, one entry a path.
    ///
    /// # Errors
    /// As [`Filesystem::txn_root`].
    pub fn txn_changes(&self, name: &str) -> Result<Vec<Change>> {
        let list = read_changes(&self.txn_bytes(number_of(name)?, names::TXN_CHANGES)?)?;
        Ok(list.iter().map(|(path, change)| stored_change(path, change)).collect())
    }

    fn txn_bytes(&self, number: TxnNumber, name: &str) -> Result<Vec<u8>> {
        let path = self.txn_file(number, name);
        let read = self.0.storage.read(&path, FILE_LEN);
        read.map_err(|error| Error::io("Can't open file", &path, error))
    }

    /// A node-revision of transaction `txn`.
    pub(crate) fn txn_node_rev(&self, txn: u64, id: Id) -> Result<NodeRev> {
        let bytes = self.txn_bytes(TxnNumber(txn), &node_file(id))?;
        Ok(NodeRev::parse_in_txn(&bytes)?.0)
    }

    /// The entries of a directory that transaction `txn` changed.
    pub(crate) fn txn_entries(&self, txn: u64, rev: &NodeRev) -> Result<Vec<Entry>> {
        let name = format!("{}.children", node_file(rev.id));
        Ok(directory::parse_changed(&self.txn_bytes(TxnNumber(txn), &name)?)?)
    }

    /// The properties of a node that transaction `txn` changed.
    pub(crate) fn txn_node_props(&self, txn: u64, rev: &NodeRev) -> Result<PropList> {
        let name = format!("{}.props", node_file(rev.id));
        Ok(proplist::parse(&self.txn_bytes(TxnNumber(txn), &name)?)?)
    }

    /// The first step of the chain of a text in the prototype of transaction `txn`.
    pub(crate) fn txn_link(&self, txn: u64, id: Id, size: u64) -> Result<Link> {
        let number = TxnNumber(txn);
        let offsets = txn_index::parse_l2p(&self.txn_bytes(number, names::TXN_L2P)?)?;
        let at = usize::try_from(id.number).ok().and_then(|at| offsets.get(at).copied().flatten());
        let at = at.map(|location| location.offset).ok_or_else(|| {
            Error::Corrupt(format!("Item index {} is not in the transaction", id.number))
        })?;
        let path = self.0.file(&Layout::proto_rev(txn));
        let failed = |error| Error::io("Can't open file", &path, error);
        let file: Arc<dyn sapwood_store::StoredFile> =
            self.0.storage.open(&path).map_err(failed)?;
        let len = file.len().map_err(failed)?;
        let head = crate::revfile::read_at(&*file, &path, at, HEADER.min(len.saturating_sub(at)))?;
        self.txn_delta((file, path), (at, size), &head)
    }
}
