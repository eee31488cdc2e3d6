//! A transaction on disk, in the reference's form: `transactions/T.txn` and its prototype.
//!
//! One that lives in memory is written out only when another program must see it (a hook that looks at it with
//! `svnlook -t`), or when it has grown large, so that an administrator finds what a killed process leaves. None of this is
//! synced: a transaction that a crash damages is one to be removed.

use std::io::ErrorKind;
use std::path::PathBuf;

use sapwood_core::{NodeKind, PropList};
use sapwood_fs_common::TxnEdit as _;
use sapwood_fsfs_format::base36;
use sapwood_fsfs_format::txn::NextIds;
use sapwood_fsx_format::layout::{Layout, names};
use sapwood_fsx_format::{Id, NodeRev, Representation, changes, directory, proplist, txn_index};
use sapwood_store::Stamp;
use sapwood_txn_rules::ROOT;

use super::Txn;
use super::commit::stored_change;
use super::engine::{Change, TxnNodeRev, TxnNumber};
use crate::error::{Error, Result};
use crate::filesystem::Filesystem;

/// The longest file of a transaction that is read.
pub(super) const FILE_LEN: usize = 1 << 28;

impl Filesystem {
    /// The names of all transactions on disk, in no particular order.
    ///
    /// # Errors
    /// System errors.
    pub fn txn_names(&self) -> Result<Vec<String>> {
        let folder = self.0.file(names::TRANSACTIONS);
        let listed = self.0.storage.list(&folder);
        let listed = listed.map_err(|error| Error::io("Can't open directory", &folder, error))?;
        let name = |name: &std::ffi::OsString| {
            let name = name.to_str()?.strip_suffix(".txn")?;
            base36::parse(name.as_bytes()).map(|_| name.to_owned())
        };
        Ok(listed.iter().filter_map(name).collect())
    }

    /// The properties of a transaction on disk.
    ///
    /// # Errors
    /// E160007 when there is none of that name; corruption and system errors.
    pub fn txn_props(&self, name: &str) -> Result<PropList> {
        let number = number_of(name)?;
        let path = self.txn_file(number, names::TXN_PROPS);
        match self.0.storage.read(&path, FILE_LEN) {
            Ok(bytes) => Ok(proplist::parse(&bytes)?),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                Err(Error::NoSuchTransaction(name.to_owned()))
            }
            Err(error) => Err(Error::io("Can't open file", &path, error)),
        }
    }

    pub(super) fn txn_file(&self, number: TxnNumber, name: &str) -> PathBuf {
        self.0.file(&format!("{}/{name}", Layout::txn_dir(number.0)))
    }
}

/// The number of the transaction of a name.
pub(super) fn number_of(name: &str) -> Result<TxnNumber> {
    let number = base36::parse(name.as_bytes()).map(TxnNumber);
    number.ok_or_else(|| Error::NoSuchTransaction(name.to_owned()))
}

impl Txn {
    /// Writes the transaction to disk for other programs to see, in the same form as the reference
    /// does. Once it is there, it is removed by the commit or when this is dropped.
    ///
    /// # Errors
    /// System errors.
    pub fn publish(&mut self) -> Result<()> {
        match self.is_on_disk {
            false => self.make_folder()?,
            true if self.info.props_changed => self.write_txn_props()?,
            // They may have been changed there.
            true => self.info.props = self.writer.fs.txn_props(&self.name())?,
        }
        self.proto.publish()?;
        for at in self.tree.post_order()? {
            self.write_node_files(at)?;
        }
        let mut text = Vec::new();
        NextIds { node: self.tree.ids.node, copy: self.tree.ids.copy }.write(&mut text);
        text.push(0);
        self.write_file(names::TXN_NEXT_IDS, &text)?;
        let index = &self.proto.index;
        self.write_file(names::TXN_L2P, &txn_index::write_l2p(&index.offsets))?;
        self.write_file(names::TXN_P2L, &txn_index::write_p2l(&index.entries))?;
        self.write_file(names::TXN_ITEM_INDEX, self.tree.ids.item.to_string().as_bytes())?;
        // For a process that goes on with it: which texts there are.
        for (sha1, rep) in &self.shared {
            if rep.id.change_set.revision().is_none() {
                self.write_file(&sha1.to_hex(), rep.to_string().as_bytes())?;
            }
        }
        text.clear();
        for (path, change, deletion) in self.tree.changes.with_deletions() {
            match deletion {
                // For a process that goes on with it: replacing can be undone where it is known what was there.
                Some(deletion) => {
                    changes::write(&stored_change(path, deletion), &mut text);
                    let kind = sapwood_core::ChangeKind::Add;
                    let add = Change { kind, ..change.clone() };
                    changes::write(&stored_change(path, &add), &mut text);
                }
                None => changes::write(&stored_change(path, change), &mut text),
            }
        }
        self.write_file(names::TXN_CHANGES, &text)?;
        self.published = Some(self.changes_stamp()?);
        Ok(())
    }

    /// Takes over what another program has changed since the transaction was published: its properties, and
    /// its tree when that is another one.
    ///
    /// # Errors
    /// As of opening a transaction.
    pub fn refresh(&mut self) -> Result<()> {
        let Some(before) = self.published else { return Ok(()) };
        self.info.props = self.writer.fs.txn_props(&self.name())?;
        if self.changes_stamp()? == before {
            return Ok(());
        }
        // It is taken anew, with the rest.
        self.lock = None;
        let mut changed = self.writer.open_txn(&self.name())?;
        changed.leave = self.leave;
        changed.info.keep_date = self.info.keep_date;
        changed.info.access = self.info.access.take();
        let mut old = std::mem::replace(self, changed);
        old.leave = true;
        Ok(())
    }

    /// Shows whether another process changed the tree: each change is noted in this file.
    fn changes_stamp(&self) -> Result<Stamp> {
        let path = self.writer.fs.txn_file(self.tree.txn(), names::TXN_CHANGES);
        self.writer.storage.stamp(&path).map_err(|error| Error::io("Can't stat", &path, error))
    }

    /// Gives a transaction whose prototype has grown out of memory a folder, once, so that it is found by `lstxns` when this
    /// process is killed. Of its tree there is only the root that it was begun with.
    pub(super) fn show_large(&mut self) -> Result<()> {
        if !self.proto.is_on_disk() || self.is_on_disk {
            return Ok(());
        }
        self.make_folder()?;
        let mut root = TxnNodeRev::clone(&*self.writer.committed.root(self.tree.base)?);
        root.rev.predecessor = Some(root.rev.id);
        root.rev.predecessor_count = root.rev.predecessor_count.saturating_add(1);
        root.rev.id = self.tree.txn_node(ROOT)?.node.rev.id;
        self.write_noderev(&root.rev, &root)?;
        let mut text = Vec::new();
        NextIds { node: 0, copy: 0 }.write(&mut text);
        text.push(0);
        self.write_file(names::TXN_NEXT_IDS, &text)?;
        self.write_file(names::TXN_CHANGES, b"")
    }

    fn make_folder(&mut self) -> Result<()> {
        let fs = &self.writer.fs.0;
        let path = fs.file(&Layout::txn_dir(self.tree.txn().0));
        let made = self.writer.storage.create_dir(&path, false);
        made.map_err(|error| Error::io("Can't create directory", &path, error))?;
        self.is_on_disk = true;
        let path = fs.file(&Layout::proto_rev_lock(self.tree.txn().0));
        let made = self.writer.storage.create_over(&path).map(drop);
        made.map_err(|error| Error::io("Can't create file", &path, error))?;
        self.write_txn_props()
    }

    fn write_txn_props(&mut self) -> Result<()> {
        let mut text = Vec::new();
        proplist::write(self.info.props_for_disk(), &mut text);
        self.write_file(names::TXN_PROPS, &text)?;
        self.info.props_changed = false;
        Ok(())
    }

    /// A node-revision's own file, and those of its entries and properties.
    fn write_node_files(&self, at: usize) -> Result<()> {
        let txn_node = self.tree.txn_node(at)?;
        let mut rev = txn_node.node.rev.clone();
        let name = node_file(rev.id);
        let mut text = Vec::new();
        let entries = txn_node.entries.as_ref().filter(|entries| !entries.changed.is_empty());
        if let (NodeKind::Dir, Some(entries)) = (rev.kind, entries) {
            rev.text = Some(mutable(rev.id));
            text.push(0);
            for (name, kind, id) in entries.iter() {
                directory::write_entry(name, Some((kind, id)), &mut text)?;
            }
            self.write_file(&format!("{name}.children"), &text)?;
            text.clear();
        }
        if let Some(props) = &txn_node.props {
            rev.props = Some(mutable(rev.id));
            proplist::write(props, &mut text);
            self.write_file(&format!("{name}.props"), &text)?;
        }
        self.write_noderev(&rev, &txn_node.node)
    }

    /// A node-revision as it is now, whose copy root the tree's node has.
    fn write_noderev(&self, rev: &NodeRev, node: &TxnNodeRev) -> Result<()> {
        let mut rev = rev.clone();
        let (revision, path) = &node.copy_root;
        let is_own = revision.is_none() && **path == *rev.created_path;
        rev.copy_root = revision.map(|revision| (revision, path.clone()));
        let in_txn = (revision.is_none() && !is_own).then_some(&**path);
        let mut text = Vec::new();
        rev.write_in_txn(in_txn, &mut text);
        self.write_file(&node_file(rev.id), &text)
    }

    fn write_file(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let path = self.writer.fs.txn_file(self.tree.txn(), name);
        let write = || {
            let mut file = self.writer.storage.create_over(&path)?;
            if bytes.is_empty() { Ok(()) } else { file.append(bytes) }
        };
        write().map_err(|error| Error::io("Can't write to file", &path, error))
    }

    /// Leaves the transaction on disk, to be opened again by its name, which is returned.
    ///
    /// # Errors
    /// System errors.
    pub fn suspend(mut self) -> Result<String> {
        self.publish()?;
        self.leave = true;
        Ok(self.name())
    }

    /// Gives the transaction up: what is on disk of it is removed.
    ///
    /// # Errors
    /// System errors.
    pub fn abort(mut self) -> Result<()> {
        self.leave = false;
        self.clean_up()
    }

    /// Removes what the transaction has on disk, unless that is to stay.
    pub(super) fn clean_up(&mut self) -> Result<()> {
        self.proto.discard();
        self.lock = None;
        if self.leave || !std::mem::take(&mut self.is_on_disk) {
            return Ok(());
        }
        self.writer.remove_txn(self.tree.txn())
    }
}

/// The name of a node-revision's file: `node.5-3`.
pub(super) fn node_file(id: Id) -> String {
    format!("node.{id}")
}

/// What stands for a text or property list that is in a file of the transaction.
fn mutable(id: Id) -> Representation {
    let id = Id { number: 0, ..id };
    let md5 = sapwood_core::Md5([0; 16]);
    Representation { id, size: 0, expanded_size: 0, md5, sha1: None }
}
