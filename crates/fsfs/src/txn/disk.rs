//! A transaction on disk, in the reference's form: `transactions/N-x.txn` and its prototype.
//!
//! One that lives in memory is written out only when another program must see it: a hook that
//! looks at it with `svnlook -t`; or when it has grown large, so that an administrator finds what a
//! killed process leaves. From then on its properties are what the file says unless they are
//! changed here, because hooks may change them; of its tree, memory goes first as long as no other process changed it. None
//! of this is synced: a transaction that a crash damages is one to be removed.

use std::io::ErrorKind;

use sapwood_core::{ErrorCode, NodeKind, SvnError, hashdump};
use sapwood_fs_common::TxnEdit as _;
use sapwood_fs_common::commit_info::change_txn_props;
use sapwood_fsfs_format::directory::write_increment;
use sapwood_fsfs_format::layout::names;
use sapwood_fsfs_format::txn::NextIds;
use sapwood_fsfs_format::{ChangeKind, NodeRev, RepLocation, Representation, TxnId, index_proto};

use super::engine::Change;
use super::prepared::line;
use super::{Folder, Txn, Writer};
use crate::error::{Error, Result};
use sapwood_store::Stamp;
use sapwood_txn_rules::ROOT;

impl Txn {
    /// Writes the transaction to disk for other programs to see, in the same form as the reference
    /// does. Once it is there, it is removed by the commit or when this is dropped.
    ///
    /// # Errors
    /// System errors.
    pub fn publish(&mut self) -> Result<()> {
        match self.folder {
            Folder::None => {
                self.make_folder()?;
                self.folder = Folder::Unread;
                self.write_lock_file()?;
                self.write_txn_props()?;
            }
            Folder::Empty => {
                self.folder = Folder::Unread;
                self.write_lock_file()?;
                self.write_txn_props()?;
            }
            Folder::Unread | Folder::Whole(_) if self.info.props_changed => {
                self.write_txn_props()?
            }
            // Its properties are on disk, and may have been changed there.
            Folder::Unread | Folder::Whole(_) => self.read_txn_props()?,
        }
        self.proto.publish()?;
        for at in self.tree.post_order()? {
            self.write_node_files(at)?;
        }
        let mut text = Vec::new();
        NextIds { node: self.tree.ids.node, copy: self.tree.ids.copy }.write(&mut text);
        self.write_file(names::TXN_NEXT_IDS, &text)?;
        if let Some((offsets, entries, next_item)) = self.proto.index() {
            let (mut l2p, mut p2l) = (Vec::new(), Vec::new());
            index_proto::write_l2p(offsets, &mut l2p);
            index_proto::write_p2l(entries, &mut p2l);
            self.write_file(names::TXN_L2P, &l2p)?;
            self.write_file(names::TXN_P2L, &p2l)?;
            self.write_file(names::TXN_ITEM_INDEX, next_item.to_string().as_bytes())?;
        }
        // For a process that goes on with it: which texts there are.
        for (sha1, rep) in &self.shared {
            if matches!(rep.location, RepLocation::ProtoRev { .. }) {
                text.clear();
                rep.write(self.format(), &mut text);
                self.write_file(&sha1.to_hex(), &text)?;
            }
        }
        text.clear();
        let format = self.format();
        for (path, change, deletion) in self.tree.changes.with_deletions() {
            match deletion {
                // For a process that goes on with it: replacing can be undone where it is known what was there.
                Some(deletion) => {
                    line(path, deletion).write(format, false, &mut text);
                    let add = Change { kind: ChangeKind::Add, ..change.clone() };
                    line(path, &add).write(format, false, &mut text);
                }
                None => line(path, change).write(format, false, &mut text),
            }
        }
        self.write_file(names::TXN_CHANGES, &text)?;
        self.folder = Folder::Whole(self.changes_stamp()?);
        Ok(())
    }

    /// Gives a transaction whose prototype has grown out of memory a folder, once: when this process
    /// is killed, it is found by `lstxns`, and what it takes is removed by `rmtxns`. Of its tree
    /// nothing is written, which may have thousands of nodes.
    pub(super) fn show_large(&mut self) -> Result<()> {
        if !self.proto.is_on_disk() || !matches!(self.folder, Folder::None | Folder::Empty) {
            return Ok(());
        }
        if matches!(self.folder, Folder::None) {
            self.make_folder()?;
        }
        self.folder = Folder::Unread;
        self.write_lock_file()?;
        self.write_txn_props()?;
        self.proto.publish()?;
        // That it can be opened, to be removed, is enough: a root, the one it was begun with.
        let mut root = NodeRev::clone(&*self.writer.fs.fs.rev_root(self.tree.base)?);
        let id = self.tree.txn_node(ROOT)?.node.id;
        root.predecessor = Some(root.id);
        root.predecessor_count = root.predecessor_count.saturating_add(1);
        root.is_fresh_txn_root = true;
        root.id = id;
        let mut text = Vec::new();
        root.write(self.format(), &mut text);
        self.write_file(&sapwood_fsfs_format::txn::node_file_name(&id), &text)?;
        text.clear();
        NextIds { node: 0, copy: 0 }.write(&mut text);
        self.write_file(names::TXN_NEXT_IDS, &text)?;
        self.write_file(names::TXN_CHANGES, b"")
    }

    /// Takes over what other programs (a hook) changed in the transaction since
    /// [`Self::publish`]: its properties, and its tree.
    ///
    /// # Errors
    /// E160007 when it is gone; corruption and system errors.
    pub fn refresh(&mut self) -> Result<()> {
        let Folder::Whole(before) = self.folder else { return Ok(()) };
        self.read_txn_props()?;
        if self.changes_stamp()? == before {
            return Ok(());
        }
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
        let path = self.file(names::TXN_CHANGES);
        self.writer.storage.stamp(&path).map_err(|e| Error::io(e, "Can't stat", &path))
    }

    fn make_folder(&self) -> Result<()> {
        let fs = &self.writer.fs.fs;
        let path = fs.file(&fs.layout.txn_dir(&self.tree.txn()));
        let made = self.writer.storage.create_dir(&path, false);
        made.map_err(|e| Error::io(e, "Can't create directory", &path))
    }

    fn write_lock_file(&self) -> Result<()> {
        let fs = &self.writer.fs.fs;
        let path = fs.file(&fs.layout.proto_rev_lock(&self.tree.txn()));
        let made = self.writer.storage.create_over(&path);
        made.map(drop).map_err(|e| Error::io(e, "Can't create file", &path))
    }

    fn read_txn_props(&mut self) -> Result<()> {
        self.info.props = self.writer.fs.txn_props(&self.name())?;
        Ok(())
    }

    fn write_txn_props(&mut self) -> Result<()> {
        let mut text = Vec::new();
        hashdump::write(&mut text, self.info.props_for_disk(), Some(hashdump::END));
        self.write_file(names::TXN_PROPS, &text)?;
        self.info.props_changed = false;
        Ok(())
    }

    /// A node-revision's own file, and those of its entries and properties.
    fn write_node_files(&self, at: usize) -> Result<()> {
        let txn_node = self.tree.txn_node(at)?;
        let mut node = txn_node.node.clone();
        node.is_fresh_txn_root = at == ROOT && self.tree.changes.is_empty();
        let name = sapwood_fsfs_format::txn::node_file_name(&node.id);
        let mut text = Vec::new();
        let entries = txn_node.entries.as_ref().filter(|e| !e.changed.is_empty());
        if let (NodeKind::Dir, Some(entries)) = (node.kind, entries) {
            node.text = Some(Representation::in_txn_file());
            for (name, kind, id) in entries.iter() {
                write_increment(name, Some((kind, id)), &mut text);
            }
            hashdump::write_terminator(&mut text, hashdump::END);
            self.write_file(&format!("{name}.children"), &text)?;
            text.clear();
        }
        if let Some(props) = &txn_node.props {
            node.props = Some(Representation::in_txn_file());
            hashdump::write(&mut text, props, Some(hashdump::END));
            self.write_file(&format!("{name}.props"), &text)?;
            text.clear();
        }
        node.write(self.format(), &mut text);
        self.write_file(&name, &text)
    }

    pub(super) fn file(&self, name: &str) -> std::path::PathBuf {
        let fs = &self.writer.fs.fs;
        fs.file(&format!("{}/{name}", fs.layout.txn_dir(&self.tree.txn())))
    }

    fn write_file(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let path = self.file(name);
        let write = || {
            let mut file = self.writer.storage.create_over(&path)?;
            if bytes.is_empty() { Ok(()) } else { file.append(bytes) }
        };
        write().map_err(|e| Error::io(e, "Can't write to file", &path))
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
        if self.leave {
            return Ok(());
        }
        match std::mem::replace(&mut self.folder, Folder::None) {
            Folder::None => Ok(()),
            Folder::Empty => {
                let fs = &self.writer.fs.fs;
                let path = fs.file(&fs.layout.txn_dir(&self.tree.txn()));
                let removed = self.writer.storage.remove_dir(&path);
                removed.map_err(|e| Error::io(e, "Can't remove directory", &path))
            }
            Folder::Unread | Folder::Whole(_) => self.writer.remove_txn(&self.tree.txn()),
        }
    }
}

impl Writer {
    /// Removes a transaction of any process; also one that is damaged, which the reference
    /// refuses.
    ///
    /// # Errors
    /// E160007 when there is none of that name; system errors.
    pub fn purge_txn(&self, name: &str) -> Result<()> {
        let id = TxnId::parse(name.as_bytes()).map_err(|e| Error::Svn(e.into()))?;
        let dir = self.fs.fs.file(&self.fs.fs.layout.txn_dir(&id));
        let failed = |e: Error| {
            let sentence = format!("Transaction '{name}' cleanup failed");
            Error::Svn(SvnError::from(e).context(sentence))
        };
        match self.storage.stamp(&dir) {
            Ok(_) => self.remove_txn(&id).map_err(failed),
            Err(e) if e.kind() != ErrorKind::NotFound => {
                Err(Error::io(e, "Can't check path", &dir))
            }
            // A process that was killed may have left its prototype.
            Err(_) if self.remove_proto(&id).map_err(failed)? => Ok(()),
            Err(_) => Err(Error::NoSuchTransaction(name.to_owned())),
        }
    }

    /// Changes properties of a transaction, one after the other; `None` deletes one.
    ///
    /// # Errors
    /// E160007 when there is no such transaction; corruption and system errors.
    pub fn change_txn_props(&self, name: &str, changes: &[(&str, Option<&[u8]>)]) -> Result<()> {
        let mut props = self.fs.txn_props(name)?;
        change_txn_props(&mut props, changes);
        let id = TxnId::parse(name.as_bytes()).map_err(|e| Error::Svn(e.into()))?;
        let fs = &self.fs.fs;
        let path = fs.file(&format!("{}/{}", fs.layout.txn_dir(&id), names::TXN_PROPS));
        let mut text = Vec::new();
        hashdump::write(&mut text, &props, Some(hashdump::END));
        let done = self.storage.replace(&path, &text, None, false);
        done.map_err(|e| Error::replacing(e, &path))
    }

    /// Removes a transaction's folder and what belongs to it elsewhere.
    pub(super) fn remove_txn(&self, id: &TxnId) -> Result<()> {
        let fs = &self.fs.fs;
        let dir = fs.file(&fs.layout.txn_dir(id));
        let fail = |verb| move |path: &std::path::Path, e| Error::io(e, verb, path);
        let names = self.storage.list(&dir).map_err(|e| fail("Can't open directory")(&dir, e))?;
        for name in names {
            let path = dir.join(name);
            match self.storage.remove_file(&path) {
                // Another process removes it too.
                Err(e) if e.kind() == ErrorKind::NotFound => {}
                removed => removed.map_err(|e| fail("Can't remove file")(&path, e))?,
            }
        }
        self.storage.remove_dir(&dir).map_err(|e| fail("Can't remove directory")(&dir, e))?;
        self.remove_proto(id).map(drop)
    }

    /// Removes a prototype revision and its lock file: whether one of them was there.
    fn remove_proto(&self, id: &TxnId) -> Result<bool> {
        let fs = &self.fs.fs;
        let mut was_there = false;
        for name in [fs.layout.proto_rev_file(id), fs.layout.proto_rev_lock(id)] {
            let path = fs.file(&name);
            match self.storage.remove_file(&path) {
                // The commit moved it to its place, or it was in the folder.
                Err(e) if e.kind() == ErrorKind::NotFound => {}
                removed => {
                    removed.map_err(|e| Error::io(e, "Can't remove file", &path))?;
                    was_there = true;
                }
            }
        }
        Ok(was_there)
    }

    /// Does not wait: the writer of a prototype keeps all others out.
    pub(super) fn lock_proto(&self, id: &TxnId) -> Result<Box<dyn sapwood_store::write::HeldLock>> {
        let fs = &self.fs.fs;
        let path = fs.file(&fs.layout.proto_rev_lock(id));
        let fail = |e| Error::io(e, "Can't get exclusive lock on file", &path);
        let locked = match self.storage.try_lock(&path) {
            Err(e) if e.kind() == ErrorKind::NotFound => {
                self.storage.create_with(&path, b"").map_err(fail)?;
                self.storage.try_lock(&path)
            }
            locked => locked,
        };
        locked.map_err(fail)?.ok_or_else(|| {
            Error::new(
                ErrorCode::FS_REP_BEING_WRITTEN,
                format!(
                    "Cannot write to the prototype revision file of transaction '{id}' because a \
                     previous representation is currently being written by another process"
                ),
            )
        })
    }
}
