//! Making a revision of a transaction.
//!
//! Under the write lock: the transaction is merged with what came in between, its locks are checked, and the revision file is
//! completed in the prototype: directories, properties and node-revisions, children before parents; the changed paths; both
//! indexes. It and the properties of the revision are durable before `next` replaces `current`, and no reader looks at them
//! before that. A crash before leaves files that the next commit replaces.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use sapwood_core::{ChangeKind, Exact, NodeKind, PropList, Revnum};
use sapwood_fs_common::TxnEdit as _;
use sapwood_fs_common::rep_cache::Row;
use sapwood_fsx_format::directory::{self, Entry};
use sapwood_fsx_format::layout::names;
use sapwood_fsx_format::p2l::ItemType;
use sapwood_fsx_format::{
    self as format, ChangeSet, Id, NodeRev, Representation, changes, proplist, revprops,
};
use sapwood_store::write::NewFile;
use sapwood_txn_rules::ROOT;

use super::engine::{Change, Directory, Entries, TxnNodeRev};
use super::text::Part;
use super::{Txn, Writer};
use crate::error::{Error, Result};
use crate::items::CHANGES;

/// Directories with longer texts than this are not kept for the next commit.
const KEPT_DIR: u64 = 1 << 20;

/// A revision that was made.
#[derive(Debug)]
pub struct NewRevision {
    /// Its number.
    pub revision: Revnum,
    /// Its properties.
    pub props: PropList,
}

/// A node that was written, for the next commit.
type WrittenNode = (TxnNodeRev, Option<Directory>);

impl Txn {
    /// Makes a revision of the transaction: its number.
    ///
    /// # Errors
    /// E160024 when a later revision changed the same thing; E160034, E160037 and E160039 when
    /// something is locked; corruption and system errors. There is no new revision then.
    pub fn commit(self) -> Result<Revnum> {
        self.commit_for_props().map(|committed| committed.revision)
    }

    /// The same, with the new revision's properties as well.
    ///
    /// # Errors
    /// Those of [`Self::commit`].
    pub fn commit_for_props(mut self) -> Result<NewRevision> {
        let writer = Arc::clone(&self.writer);
        if self.is_on_disk && self.lock.is_none() {
            self.lock = Some(writer.lock_proto(self.tree.txn())?);
        }
        // What can be done before the lock is: others do not wait for it.
        let youngest = Revnum(writer.fs.0.youngest.load(Ordering::Acquire));
        if youngest > self.tree.base {
            self.tree.merge_to(youngest)?;
        }
        let lock = writer.lock(names::WRITE_LOCK)?;
        let made = self.make_revision()?;
        drop(lock);
        self.leave = false;
        writer.add_rows(&self.rows);
        if writer.config.pack_after_commit {
            writer.pack_after_commit();
        }
        Ok(made)
    }

    /// What goes on under the lock.
    fn make_revision(&mut self) -> Result<NewRevision> {
        let writer = Arc::clone(&self.writer);
        writer.fs.0.refresh_min_unpacked()?;
        let youngest = writer.fs.youngest()?;
        if self.tree.base != youngest {
            self.tree.merge_to(youngest)?;
        }
        self.check_locks()?;
        let revision = youngest.next();
        let written = self.write_revision(revision)?;
        let props = self.info.take_revision_props();
        self.publish_revision(revision, &props)?;
        writer.fs.0.youngest.fetch_max(revision.0, Ordering::AcqRel);
        writer.keep_chains(revision, &self.chains);
        self.keep_texts(revision);
        for (node, entries) in written {
            writer.committed.keep(node, entries);
        }
        Ok(NewRevision { revision, props })
    }

    /// Completes the prototype but for its indexes.
    pub(super) fn write_revision(&mut self, revision: Revnum) -> Result<Vec<WrittenNode>> {
        let mut written = Vec::new();
        for at in self.tree.post_order()? {
            written.push(self.write_node(at, revision)?);
        }
        let changes = std::mem::take(&mut self.tree.changes);
        self.proto.begin();
        self.proto.append_with(|out| {
            for (path, change) in changes.iter() {
                changes::write(&stored_change(path, change), out);
            }
            out.push(b'\n');
        })?;
        self.proto.end(ItemType::Changes, CHANGES)?;
        Ok(written)
    }

    /// Writes one node-revision and what belongs to it.
    fn write_node(&mut self, at: usize, revision: Revnum) -> Result<WrittenNode> {
        let TxnNodeRev { mut rev, copy_root } = self.tree.txn_node(at)?.node.clone();
        let entries = match rev.kind {
            NodeKind::Dir => self.write_directory(at, &mut rev)?,
            NodeKind::File => None,
        };
        if let Some(props) = self.tree.txn_node_mut(at)?.props.take() {
            let mut list = Vec::new();
            proplist::write(&props, &mut list);
            let kind = match rev.kind {
                NodeKind::File => ItemType::FileProps,
                NodeKind::Dir => ItemType::DirProps,
            };
            rev.props = Some(self.write_rep(&rev, Part::Props, &mut list.as_slice(), kind)?);
        }
        let change_set = ChangeSet::Revision(revision);
        let finish = |id: &mut Id| {
            if id.change_set.revision().is_none() {
                id.change_set = change_set;
            }
        };
        for rep in [&mut rev.text, &mut rev.props].into_iter().flatten() {
            finish(&mut rep.id);
        }
        if self.writer.config.rep_sharing {
            let text = rev.text.filter(|_| rev.kind == NodeKind::File);
            for rep in [text, rev.props].into_iter().flatten() {
                let is_new = rep.id.change_set == change_set;
                if let Some(sha1) = rep.sha1.filter(|_| is_new) {
                    let Representation { id, size, expanded_size, .. } = rep;
                    self.rows.push(Row { sha1, revision, item: id.number, size, expanded_size });
                }
            }
        }
        // The checksum of properties is not written.
        if let Some(props) = &mut rev.props {
            props.sha1 = None;
        }
        [&mut rev.id, &mut rev.node, &mut rev.copy].into_iter().for_each(finish);
        let root = (copy_root.0.unwrap_or(revision), copy_root.1);
        let is_own = root.0 == revision && *root.1 == *rev.created_path;
        rev.copy_root = (!is_own).then_some(root);
        if at == ROOT {
            self.tree.check_root_count(rev.predecessor_count)?;
        }
        self.proto.begin();
        let mut text = Vec::new();
        rev.write(&mut text);
        // What cannot be read back must not become a revision.
        let (rev, _) = NodeRev::parse(&text)?;
        self.proto.append(&text)?;
        self.proto.end(ItemType::NodeRev, rev.id.number)?;
        self.tree.txn_node_mut(at)?.final_id = Some(rev.id);
        Ok((rev.into(), entries))
    }

    /// Writes the entries of a changed directory; returns them unless they are many.
    fn write_directory(&mut self, at: usize, rev: &mut NodeRev) -> Result<Option<Directory>> {
        let Some(entries) = self.tree.txn_node_mut(at)?.entries.take() else { return Ok(None) };
        // A new directory that stayed empty has no text.
        if entries.changed.is_empty() {
            return Ok(None);
        }
        let list = self.final_entries(&entries)?;
        let mut text = Vec::new();
        directory::write(&list, &mut text)?;
        let rep = self.write_rep(rev, Part::Text, &mut text.as_slice(), ItemType::DirRep)?;
        rev.text = Some(rep);
        Ok((rep.expanded_size <= KEPT_DIR).then_some(Directory(list)))
    }

    fn final_entries(&self, entries: &Entries) -> Result<Vec<Entry>> {
        let final_id = |name: &str, id: Id| {
            if id.change_set.revision().is_some() {
                return Ok(id);
            }
            let child = self.tree.place_of(&id).and_then(|at| self.tree.nodes.get(at)?.final_id);
            child.ok_or_else(|| Error::Corrupt(format!("Entry '{name}' was not written")))
        };
        let entry = |(name, kind, id): (&str, NodeKind, Id)| {
            Ok(Entry { name: name.into(), kind, id: final_id(name, id)? })
        };
        entries.iter().map(entry).collect()
    }

    /// Makes the revision durable, and then visible.
    fn publish_revision(&mut self, revision: Revnum, props: &PropList) -> Result<()> {
        let writer = Arc::clone(&self.writer);
        let (fs, storage, layout) = (&writer.fs.0, &writer.storage, writer.fs.0.layout);
        writer.make_shard(revision, writer.flush)?;
        let mode = writer.mode_of(Revnum(revision.0.minus(1)))?;
        let (spool, file) = self.proto.finish(revision, &writer.config)?;
        let failed = |path| move |error| Error::io("Can't write to file", path, error);
        if writer.flush {
            file.sync().map_err(failed(spool))?;
        }
        file.set_mode(mode).map_err(failed(spool))?;
        let path = fs.file(&layout.revprops(revision, false));
        // The file of the earlier revision may be packed and gone by now: this one has its permissions.
        writer.write_new(&path, &revprops::write_file(props), spool)?;
        let next = fs.file(names::NEXT);
        let current = fs.file(names::CURRENT);
        writer.write_new(&next, format!("{revision}\n").as_bytes(), &current)?;
        let path = fs.file(&layout.revision(revision));
        storage.rename(spool, &path, writer.flush).map_err(failed(&path))?;
        storage.rename(&next, &current, writer.flush).map_err(failed(&current))
    }
}

impl Writer {
    /// Makes the folder of the shard that begins with a revision, with `sync` durably.
    pub(super) fn make_shard(&self, revision: Revnum, sync: bool) -> Result<()> {
        let (fs, size) = (&self.fs.0, self.fs.0.layout.0.shard_size);
        if revision.0.checked_rem(size) != Some(0) {
            return Ok(());
        }
        let path = fs.file(&fs.layout.shard_dir(self.shard_of(revision)));
        let revs = fs.file(names::REVS);
        let made = self
            .storage
            .create_dir(&path, false)
            .and_then(|()| self.storage.copy_permissions(&revs, &path));
        match made {
            // From a commit that was interrupted.
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            made => made.map_err(|error| Error::io("Can't create directory", &path, error))?,
        }
        let synced = if sync { self.storage.sync_dir(&revs) } else { Ok(()) };
        synced.map_err(|error| Error::io("Can't flush file to disk", &revs, error))
    }

    /// Writes a file that no reader looks at yet, over what may be there, with the permissions of another.
    pub(crate) fn write_new(
        &self,
        path: &std::path::Path,
        contents: &[u8],
        like: &std::path::Path,
    ) -> Result<()> {
        let write = || {
            let mut file: Box<dyn NewFile> = self.storage.create_over(path)?;
            file.append(contents)?;
            if self.flush {
                file.sync()?;
            }
            self.storage.copy_permissions(like, path)
        };
        write().map_err(|error| Error::io("Can't write to file", path, error))
    }

    /// The permissions of a revision's file, or of the pack that it is in, which it may come into at any moment.
    pub(crate) fn mode_of(&self, revision: Revnum) -> Result<u32> {
        self.fs.0.while_packed(|| {
            let path = self.permissions_of(revision);
            self.storage.mode(&path).map_err(|error| Error::io("Can't stat", &path, error))
        })
    }

    /// A file whose permissions new files of revisions get: that of an earlier revision.
    fn permissions_of(&self, revision: Revnum) -> std::path::PathBuf {
        let fs = &self.fs.0;
        fs.file(&match fs.is_packed(revision) {
            true => fs.layout.pack(self.shard_of(revision)),
            false => fs.layout.revision(revision),
        })
    }
}

/// A change as it is stored.
pub(super) fn stored_change(path: &sapwood_core::FsPath, change: &Change) -> format::Change {
    let copy_from = change.copy_from.as_ref();
    format::Change {
        path: path.as_str().into(),
        kind: match change.kind {
            ChangeKind::Modify | ChangeKind::Reset => format::ChangeKind::Modify,
            ChangeKind::Add => format::ChangeKind::Add,
            ChangeKind::Delete => format::ChangeKind::Delete,
            ChangeKind::Replace => format::ChangeKind::Replace,
        },
        node_kind: change.node_kind,
        text: change.text_mod,
        props: change.prop_mod,
        mergeinfo: change.mergeinfo_mod,
        copy_from: copy_from.map(|(revision, path)| (*revision, path.as_str().into())),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failure is a failed test")]

    use std::sync::Arc;

    use sapwood_core::{CancelToken, Revnum};
    use sapwood_store::LocalStorage;

    use crate::Filesystem;
    use crate::create::{CreateOptions, create};
    use crate::txn::{WriteOptions, Writer};

    /// A commit looks which shards are packed when it begins; the shard before its revision may be packed after that.
    #[test]
    fn permissions_are_those_of_a_revision_that_is_packed_meanwhile() {
        let folder = tempfile::tempdir().unwrap();
        let db = folder.path().join("db");
        let options = CreateOptions { shard_size: 2, flush_to_disk: false };
        create(&LocalStorage, &db, &options).unwrap();
        let open = || Filesystem::open_in(&db, Arc::new(LocalStorage)).unwrap();
        let writer = Writer::new(&open(), WriteOptions::default()).unwrap();
        for base in 0..3 {
            writer.begin(Revnum(base)).unwrap().commit().unwrap();
        }
        let before = writer.mode_of(Revnum(1)).unwrap();
        open().pack(false, &CancelToken::new(), &mut |_| Ok(())).unwrap();
        assert!(!db.join("revs/0").exists());
        assert_eq!(writer.mode_of(Revnum(1)).unwrap() & 0o222, before & 0o222);
    }
}
