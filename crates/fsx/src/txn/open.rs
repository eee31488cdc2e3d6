//! Taking over a transaction that is on disk, from whichever program made it: to change it further
//! and to commit it.

use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::sync::Arc;

use sapwood_core::{ChangeKind, ErrorCode, FsPath, NodeKind};
use sapwood_fsfs_format::txn::NextIds;
use sapwood_fsx_format::layout::{Layout, names};
use sapwood_fsx_format::{
    self as format, Id, NodeRev, Representation, changes, directory, proplist, txn_index,
};
use sapwood_txn_rules::Listing as _;

use super::disk::{FILE_LEN, node_file, number_of};
use super::engine::{Change, ChangeList, Directory, Entries, Tree, TxnNodeRev, TxnNumber};
use super::index::RevisionIndex;
use super::proto::ProtoRev;
use super::source::Source;
use super::{Txn, Writer};
use crate::error::{Error, Result};
use crate::items::{FIRST_ITEM, ROOT as ROOT_ITEM};

impl Writer {
    /// Opens a transaction that is on disk. No other writer can write to its prototype until it is
    /// dropped. What is changed here is in memory, and on disk after [`Txn::publish`]; dropping it
    /// leaves the transaction as it was, and only [`Txn::abort`] and the commit remove it.
    ///
    /// # Errors
    /// E160007 when there is none of that name; E160044 when another process writes to it; corruption and
    /// system errors.
    pub fn open_txn(self: &Arc<Self>, name: &str) -> Result<Txn> {
        let number = number_of(name)?;
        let props = self.fs.txn_props(name)?;
        let lock = self.lock_proto(number)?;
        let root = self.read_noderev(number, number.id(ROOT_ITEM))?;
        let base = root.rev.predecessor.and_then(|id| id.change_set.revision());
        let base = base.ok_or_else(|| {
            Error::Corrupt(format!("The root of transaction '{name}' has no predecessor"))
        })?;
        let next = NextIds::parse(&self.read_txn_file(number, names::TXN_NEXT_IDS)?);
        let next = next.map_err(|error| Error::Svn(error.into()))?;
        let changes = read_changes(&self.read_txn_file(number, names::TXN_CHANGES)?)?;
        let (index, next_item) = self.read_index(number)?;
        let proto = self.resume_proto(number, index)?;
        let mut tree = Tree::empty(Box::new(Source(Arc::clone(&self.committed))), number, base);
        (tree.changes, tree.ids.node, tree.ids.copy) = (changes, next.node, next.copy);
        tree.ids.item = next_item;
        let mut txn = self.txn(tree, proto);
        (txn.info.props, txn.lock, txn.is_on_disk, txn.leave) = (props, Some(lock), true, true);
        txn.read_tree(root)?;
        Ok(txn)
    }

    fn read_txn_file(&self, number: TxnNumber, name: &str) -> Result<Vec<u8>> {
        let path = self.fs.txn_file(number, name);
        let read = self.storage.read(&path, FILE_LEN);
        read.map_err(|error| Error::io("Can't open file", &path, error))
    }

    /// The same; nothing when there is no such file, which what was never written to does not have.
    fn read_optional(&self, number: TxnNumber, name: &str) -> Result<Vec<u8>> {
        match self.read_txn_file(number, name) {
            Err(Error::Io { error, .. }) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
            read => read,
        }
    }

    fn read_noderev(&self, number: TxnNumber, id: Id) -> Result<TxnNodeRev> {
        let bytes = self.read_txn_file(number, &node_file(id))?;
        let (rev, root_in_txn) = NodeRev::parse_in_txn(&bytes)?;
        let mut node = TxnNodeRev::from(rev);
        if let Some(path) = root_in_txn {
            node.copy_root = (None, path);
        }
        Ok(node)
    }

    /// The indexes of a prototype, and the next item number.
    fn read_index(&self, number: TxnNumber) -> Result<(RevisionIndex, u64)> {
        let offsets = txn_index::parse_l2p(&self.read_optional(number, names::TXN_L2P)?)?;
        let entries = txn_index::parse_p2l(&self.read_optional(number, names::TXN_P2L)?)?;
        let bytes = self.read_optional(number, names::TXN_ITEM_INDEX)?;
        let next = match bytes.is_empty() {
            true => Some(FIRST_ITEM),
            false => sapwood_core::revnum::parse_u64(bytes.trim_ascii_end()),
        };
        let next = next.ok_or_else(|| Error::Corrupt("Unexpected itemidx file".into()))?;
        Ok((RevisionIndex { offsets, entries }, next))
    }

    /// Opens the prototype to be written on.
    fn resume_proto(&self, number: TxnNumber, index: RevisionIndex) -> Result<ProtoRev> {
        let path = self.fs.0.file(&Layout::proto_rev(number.0));
        // What follows the last item is left from a writer that was interrupted.
        let end = index.entries.last().map_or(0, |last| last.offset.saturating_add(last.size));
        let open = || {
            let len = self.storage.open(&path)?.len()?;
            let mut file = self.storage.reopen(&path)?;
            file.truncate(end.min(len))?;
            Ok((file, len))
        };
        let (file, len) = open().map_err(|error| Error::io("Can't open file", &path, error))?;
        if end > len {
            let message = format!(
                "p2l proto index offset {end} beyond protorev file size {len} for TXN {number}"
            );
            return Err(Error::new(ErrorCode::FS_INDEX_INCONSISTENT, message));
        }
        Ok(ProtoRev::resume(Arc::clone(&self.storage), path, (file, end), index))
    }
}

/// The changed paths of a transaction's file.
pub(super) fn read_changes(bytes: &[u8]) -> Result<ChangeList> {
    let mut list = ChangeList::default();
    for stored in changes::parse_txn(bytes)? {
        // Paths of a change list were found canonical when it was read.
        let path = |path: &str| FsPath::trusted(path).to_owned();
        let change = Change {
            id: None,
            kind: match stored.kind {
                format::ChangeKind::Modify => ChangeKind::Modify,
                format::ChangeKind::Add => ChangeKind::Add,
                format::ChangeKind::Delete => ChangeKind::Delete,
                format::ChangeKind::Replace => ChangeKind::Replace,
            },
            node_kind: stored.node_kind,
            text_mod: stored.text,
            prop_mod: stored.props,
            mergeinfo_mod: stored.mergeinfo,
            copy_from: stored.copy_from.map(|(revision, from)| (revision, path(&from))),
        };
        list.add(&path(&stored.path), change)?;
    }
    Ok(list)
}

impl Txn {
    /// Reads the nodes of the transaction that can be reached from its root.
    fn read_tree(&mut self, root: TxnNodeRev) -> Result<()> {
        let writer = Arc::clone(&self.writer);
        let number = self.tree.txn();
        let mut todo = vec![root];
        while let Some(mut node) = todo.pop() {
            let before = node.rev.predecessor.map(|id| writer.committed.node(&id)).transpose()?;
            let is_mine = |rep: Option<Representation>| {
                rep.is_some_and(|rep| rep.id.change_set.revision().is_none())
            };
            let name = node_file(node.rev.id);
            let mut entries = None;
            if node.rev.kind == NodeKind::Dir && is_mine(node.rev.text) {
                let file = writer.read_txn_file(number, &format!("{name}.children"))?;
                node.rev.text = before.as_ref().and_then(|before| before.rev.text);
                let base = writer.committed.directory(&node)?;
                let found = changed_entries(base, Directory(directory::parse_changed(&file)?));
                for (_, id) in found.changed.values().flatten() {
                    if id.change_set == node.rev.id.change_set {
                        todo.push(writer.read_noderev(number, *id)?);
                    }
                }
                entries = Some(found);
            }
            let mut props = None;
            if is_mine(node.rev.props) {
                let file = writer.read_txn_file(number, &format!("{name}.props"))?;
                props = Some(proplist::parse(&file)?);
                node.rev.props = before.as_ref().and_then(|before| before.rev.props);
            }
            if let Some(rep) = node.rev.text.filter(|rep| is_mine(Some(*rep)))
                && let Some(sha1) = rep.sha1.filter(|_| writer.config.rep_sharing)
            {
                self.shared.insert(sha1, rep);
            }
            if self.tree.place_of(&node.rev.id).is_some() {
                let path = &node.rev.created_path;
                return Err(Error::Corrupt(format!("'{path}' has two places in its transaction")));
            }
            let at = self.tree.add_node(node);
            let added = self.tree.txn_node_mut(at)?;
            (added.entries, added.props) = (entries, props);
        }
        Ok(())
    }
}

/// What became of the entries of a directory, of which `now` is left.
fn changed_entries(base: Arc<Directory>, now: Directory) -> Entries {
    let mut changed = BTreeMap::new();
    for entry in base.0.iter().filter(|entry| now.find(&entry.name).is_none()) {
        changed.insert(entry.name.clone(), None);
    }
    for entry in now.0 {
        if base.find(&entry.name).is_none_or(|(_, old)| old != entry.id) {
            changed.insert(entry.name, Some((entry.kind, entry.id)));
        }
    }
    Entries { base, changed }
}
