//! Taking over a transaction that is on disk, from whichever program made it: to change it further
//! and to commit it.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use sapwood_core::{NodeKind, path as paths};
use sapwood_fs_common::commit_info::CommitInfo;
use sapwood_fsfs_format::layout::names;
use sapwood_fsfs_format::txn::NextIds;
use sapwood_fsfs_format::{
    ChangeKind, Changes, Location, NodeRev, RepLocation, Representation, TxnId, index_proto,
};

use super::engine::{Change, ChangeList, Entries, Tree, TxnNode};
use super::proto::{ProtoIndex, ProtoRev};
use super::{Folder, Txn, Writer};
use crate::error::{Error, Result};
use crate::filesystem::Fs;

/// The longest file of a transaction that is read, in bytes; also of its prototype's indexes.
const FILE_LEN: usize = 1 << 28;

impl Writer {
    /// Opens a transaction that is on disk. No other writer can write to its prototype until it is
    /// dropped. What is changed here is in memory, and on disk after [`Txn::publish`]; dropping it
    /// leaves the transaction as it was, and only [`Txn::abort`] and the commit remove it.
    ///
    /// # Errors
    /// E160007 when there is none of that name; E160044 when another process writes to it; corruption and
    /// system errors.
    pub fn open_txn(self: &Arc<Self>, name: &str) -> Result<Txn> {
        let fs = &self.fs.fs;
        let root = self.fs.txn_root(name)?;
        let id = TxnId::parse(name.as_bytes()).map_err(|e| Error::Svn(e.into()))?;
        let props = self.fs.txn_props(name)?;
        let lock = self.lock_proto(&id)?;
        let read = |name: &str| {
            let path = fs.file(&format!("{}/{name}", fs.layout.txn_dir(&id)));
            match self.storage.read(&path, FILE_LEN) {
                Ok(bytes) => Ok((path, bytes)),
                Err(e) => Err(Error::io(e, "Can't open file", &path)),
            }
        };
        let (path, bytes) = read(names::TXN_NEXT_IDS)?;
        let next = NextIds::parse(&bytes).map_err(|error| Error::File { path, error })?;
        let (path, bytes) = read(names::TXN_CHANGES)?;
        let changes = read_changes(fs, &bytes).map_err(|error| match error {
            Error::Svn(e) => Error::Svn(e.context(format!("in '{}'", path.display()))),
            other => other,
        })?;
        let stamp = self.storage.stamp(&path).map_err(|e| Error::io(e, "Can't stat", &path))?;

        let index = if fs.layout.is_logical() { Some(self.read_index(&id)?) } else { None };
        let proto = self.resume_proto(&id, index)?;
        let mut tree = Tree::empty(Box::new(self.fs.clone()), id, root.base_revision());
        (tree.changes, tree.ids.node, tree.ids.copy) = (changes, next.node, next.copy);
        let mut txn = Txn {
            writer: Arc::clone(self),
            tree,
            folder: Folder::Whole(stamp),
            leave: true,
            lock: Some(lock),
            info: CommitInfo { props, ..CommitInfo::default() },
            proto,
            shared: HashMap::new(),
            open_text: None,
            open_base: None,
            fresh: super::Fresh::default(),
            saved: None,
        };
        txn.read_tree(NodeRev::clone(&root.dir))?;
        Ok(txn)
    }

    fn read_index(&self, id: &TxnId) -> Result<ProtoIndex> {
        let fs = &self.fs.fs;
        // What was never written to has none of these files.
        let read = |name: &str| {
            let path = fs.file(&format!("{}/{name}", fs.layout.txn_dir(id)));
            match self.storage.read(&path, FILE_LEN) {
                Ok(bytes) => Ok((path, bytes)),
                Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok((path, Vec::new())),
                Err(e) => Err(Error::io(e, "Can't open file", &path)),
            }
        };
        let mut index = ProtoIndex::default();
        let (path, bytes) = read(names::TXN_L2P)?;
        index.offsets =
            index_proto::read_l2p(&bytes).map_err(|error| Error::File { path, error })?;
        let (path, bytes) = read(names::TXN_P2L)?;
        index.entries =
            index_proto::read_p2l(&bytes).map_err(|error| Error::File { path, error })?;
        let (path, bytes) = read(names::TXN_ITEM_INDEX)?;
        if !bytes.is_empty() {
            let number = std::str::from_utf8(&bytes).ok().and_then(|text| text.parse().ok());
            index.next_item = number.ok_or_else(|| {
                Error::Corrupt(format!("Unexpected itemidx file '{}'", path.display()))
            })?;
        }
        Ok(index)
    }

    /// Opens the prototype to be written on.
    fn resume_proto(&self, id: &TxnId, index: Option<ProtoIndex>) -> Result<ProtoRev> {
        let fs = &self.fs.fs;
        let path = fs.file(&fs.layout.proto_rev_file(id));
        let open = || {
            let len = self.storage.open(&path)?.len()?;
            // What follows the last item is left from a writer that was interrupted.
            let end = index.as_ref().map(|i| i.entries.last().map_or(0, |last| last.end()));
            let mut file = self.storage.reopen(&path)?;
            let keep = end.unwrap_or(len);
            file.truncate(keep.min(len))?;
            Ok((file, keep, len))
        };
        let (file, keep, len) = open().map_err(|e| Error::io(e, "Can't open file", &path))?;
        if keep > len {
            return Err(Error::new(
                sapwood_core::ErrorCode::FS_INDEX_INCONSISTENT,
                format!(
                    "p2l proto index offset {keep} beyond protorev file size {len} for TXN {id}"
                ),
            ));
        }
        Ok(ProtoRev::resume(Arc::clone(&self.storage), path, file, keep, index))
    }
}

/// The changed paths of a transaction's file.
fn read_changes(fs: &Fs, bytes: &[u8]) -> Result<ChangeList> {
    let mut list = ChangeList::default();
    for raw in Changes::new(bytes) {
        let raw = raw.map_err(|e| Error::Svn(e.into()))?;
        if raw.kind == ChangeKind::Reset {
            list.reset(raw.path);
            continue;
        }
        let Some(id) = raw.id else {
            return Err(Error::Corrupt("Missing required node revision ID".into()));
        };
        // Old formats do not say, and what was removed again is not asked about.
        let look_up = || fs.node(&id).map_or(NodeKind::File, |node| node.kind);
        let node_kind = raw.node_kind.unwrap_or_else(look_up);
        let change = Change {
            text_mod: raw.text_mod,
            prop_mod: raw.prop_mod,
            mergeinfo_mod: raw.mergeinfo_mod == Some(true),
            copy_from: raw.copy_from.map(|(revision, path)| (revision, path.into())),
            ..Change::new(id, raw.kind, node_kind)
        };
        list.add(raw.path, change)?;
    }
    Ok(list)
}

impl Txn {
    /// Reads the nodes of the transaction that can be reached from its root.
    fn read_tree(&mut self, root: NodeRev) -> Result<()> {
        let writer = Arc::clone(&self.writer);
        let fs = &writer.fs.fs;
        let mut todo = vec![root];
        while let Some(mut node) = todo.pop() {
            node.is_fresh_txn_root = false;
            let before = match &node.predecessor {
                Some(id) => Some(fs.node(id)?),
                None => None,
            };
            let is_mine = |rep: Option<Representation>| {
                rep.is_some_and(|rep| rep.location == RepLocation::TxnFile)
            };
            let mut entries = None;
            if node.kind == NodeKind::Dir && is_mine(node.text) {
                let now = fs.directory(&node)?;
                node.text = before.as_ref().and_then(|node| node.text);
                let base = fs.directory(&NodeRev { kind: NodeKind::Dir, ..node.clone() })?;
                let mut changed = BTreeMap::new();
                for entry in base.iter().filter(|entry| now.find(entry.name).is_none()) {
                    changed.insert(entry.name.into(), None);
                }
                for entry in now.iter() {
                    if base.find(entry.name).is_none_or(|old| old.id != entry.id) {
                        changed.insert(entry.name.into(), Some((entry.kind, entry.id)));
                    }
                    if matches!(entry.id.location, Location::Txn(txn) if txn == self.tree.txn()) {
                        todo.push(NodeRev::clone(&*fs.node(&entry.id)?));
                    }
                }
                entries = Some(Entries { base, changed });
            }
            let mut props = None;
            if is_mine(node.props) {
                props = Some(sapwood_core::PropList::clone(&*fs.props(&node)?));
                node.props = before.as_ref().and_then(|node| node.props);
            }
            if let Some(rep) = node.text
                && let (RepLocation::ProtoRev { .. }, Some(sha1)) = (rep.location, rep.sha1)
                && writer.config.rep_sharing
            {
                self.shared.insert(sha1, rep);
            }
            if self.tree.place_of(&node.id).is_some() {
                let place = paths::join("/", &node.created_path);
                return Err(Error::Corrupt(format!("'{place}' has two places in its transaction")));
            }
            let at = self.tree.add_node(node);
            if let Some(added) = self.tree.nodes.get_mut(at) {
                *added = TxnNode { entries, props, ..TxnNode::new(added.node.clone()) };
            }
        }
        Ok(())
    }
}
