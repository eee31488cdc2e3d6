//! Making the files of a revision of a transaction; [`super::group`] makes them durable and
//! visible.
//!
//! The prototype gets the node-revisions, directories, properties, changed paths and indexes. It goes to the
//! [`RevisionStore`](crate::revision_store::RevisionStore) with the properties of the revision. No reader looks at
//! either before the store says that the revision is there.

use sapwood_core::Exact;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use sapwood_core::{NodeKind, PropList, Revnum, hashdump};
use sapwood_fsfs_format::current::Current;
use sapwood_fsfs_format::l2p::{ITEM_CHANGES, ITEM_ROOT};
use sapwood_fsfs_format::since;
use sapwood_fsfs_format::{
    DirEntryRef, Directory, DirectoryBuilder, IdPart, ItemType, Location, NodeRev, NodeRevId,
    RepLocation, Representation, Trailer,
};
use sapwood_store::Caches;
use sapwood_txn_rules::ROOT;

use super::deltify::Part;
use super::engine::Entries;
use super::prepared::{PreparedRevision, WrittenNode, line};
use super::{Folder, Txn, Writer};
use crate::cache_kinds::{self, DIRECTORY, NODE_REV, PROPS};
use crate::error::{Error, Result};
use crate::revision_store::{Like, NewRevision};
use crate::root::Root;
use sapwood_fs_common::hashed_text::Hashes;
use sapwood_fs_common::rep_cache::Row;

/// Bytes of caches for a revision that is read back before it becomes visible.
const READ_BACK_CACHE: usize = 16 << 20;
/// Where the text of a node-revision begins to grow.
const NODE_LEN: usize = 640;
/// Nodes of a revision that are kept for the cache.
const WRITTEN_NODES: usize = 1 << 12;
/// Directories with longer texts than this are not put into the cache by their writer.
const CACHED_DIR: usize = 1 << 20;

/// Bytes that an entry of a directory takes beside its name, about.
const ENTRY_LEN: usize = 48;
/// Bytes of names that are new in a directory, about.
const NEW_NAMES: usize = 64;

/// The state that a commit is based on, read under the lock.
struct Plan {
    /// The new revision.
    revision: Revnum,
    /// The next node id and copy id, in formats that count them for all revisions.
    next_ids: (u64, u64),
    /// What readers of the new revision will want, to be cached once it is there: the last [`WRITTEN_NODES`], the highest
    /// directories among them.
    written: VecDeque<WrittenNode>,
    /// What later revisions can share.
    reps: Vec<Row>,
}

impl Plan {
    /// Notes what later revisions can share of a node-revision: what this revision has written.
    fn share(&mut self, node: &NodeRev) {
        let text = node.text.filter(|_| node.kind == NodeKind::File);
        for rep in [text, node.props].into_iter().flatten() {
            if let (Some(sha1), RepLocation::Rev { revision, item }) = (rep.sha1, rep.location)
                && revision == self.revision
            {
                let Representation { size, expanded_size, .. } = rep;
                self.reps.push(Row { sha1, revision, item, size, expanded_size });
            }
        }
    }

    /// Keeps a node-revision for the cache, in place of the first one where there are too many.
    fn keep(&mut self, written: WrittenNode) {
        if self.written.len() >= WRITTEN_NODES {
            self.written.pop_front();
        }
        self.written.push_back(written);
    }
}

impl Txn {
    /// Whether it is on disk where others might write to it.
    pub(super) const fn needs_proto_lock(&self) -> bool {
        matches!(self.folder, Folder::Unread | Folder::Whole(_)) && self.lock.is_none()
    }

    /// Makes the revision after `current`, in memory; a large prototype is in its file.
    pub(super) fn prepare(&mut self, current: Current) -> Result<PreparedRevision> {
        if self.tree.base != current.youngest {
            self.tree.merge_to(current.youngest)?;
        }
        let mut plan = Plan {
            revision: self.tree.base.next(),
            next_ids: current.next_ids.unwrap_or_default(),
            written: VecDeque::new(),
            reps: Vec::new(),
        };
        self.write_revision(&mut plan)?;
        // Several revisions may wait, and the next one is made meanwhile.
        self.tree.forget_nodes();
        self.shared = HashMap::new();
        let next_ids = (self.format() < since::LAYOUT).then(|| {
            let (node, copy) = plan.next_ids;
            (node.saturating_add(self.tree.ids.node), copy.saturating_add(self.tree.ids.copy))
        });
        let (spool, bytes) = self.proto.finish()?;
        let (props, text) = self.revision_props();
        let new = NewRevision {
            revision: plan.revision,
            bytes: Arc::new(bytes),
            spooled: None,
            spool,
            props: text,
            reps: self.writer.fs.fs.revisions.as_log().map_or(Vec::new(), |_| plan.reps.clone()),
        };
        Ok(PreparedRevision {
            revision: plan.revision,
            props,
            reps: plan.reps,
            written: plan.written,
            current: Current { youngest: plan.revision, next_ids },
            new,
            staged: None,
        })
    }

    /// Gives the bytes of a prepared revision to the store.
    pub(super) fn stage(
        &mut self,
        prepared: &mut PreparedRevision,
        like: Like,
        flush: bool,
    ) -> Result<()> {
        let new = &mut prepared.new;
        new.spooled = self.proto.take_file();
        let staged = self.writer.fs.fs.revisions.stage(new, like, flush);
        if staged.is_err() {
            self.proto.give_back(new.spooled.take());
        }
        prepared.staged = Some(staged?);
        Ok(())
    }

    /// Puts the written items into the caches, for the writer of the next revision.
    pub(super) fn share_written(&mut self, prepared: &mut PreparedRevision) {
        self.fill_caches(std::mem::take(&mut prepared.written));
        self.share_fresh(prepared.revision);
    }

    /// Completes the prototype.
    fn write_revision(&mut self, plan: &mut Plan) -> Result<()> {
        let mut root_item = 0;
        for at in self.tree.post_order()? {
            root_item = self.write_node(at, plan)?;
        }
        let changes_at = self.proto.begin();
        let (format, changes) = (self.format(), std::mem::take(&mut self.tree.changes));
        self.proto.append_with(|out| {
            for (path, change) in changes.iter() {
                line(path, change).write(format, false, out);
            }
            out.push(b'\n');
        })?;
        self.proto.end_as(ItemType::Changes, ITEM_CHANGES)?;
        if self.writer.fs.fs.layout.is_logical() {
            let config = &self.writer.config;
            self.proto.write_indexes(plan.revision, config.l2p_page_size, config.p2l_page_size);
            Ok(())
        } else {
            let trailer = Trailer { root: root_item, changes: changes_at };
            self.proto.append_with(|out| trailer.write(out))
        }
    }

    /// Writes one node-revision and what belongs to it: its item.
    fn write_node(&mut self, at: usize, plan: &mut Plan) -> Result<u64> {
        let mut node = self.tree.txn_node(at)?.node.clone();
        let directory = match node.kind {
            NodeKind::Dir => self.write_directory(at, &mut node)?,
            NodeKind::File => None,
        };
        let props = self.tree.txn_node_mut(at)?.props.take();
        if let Some(props) = &props {
            let rep = self.write_props(&node, props)?;
            node.props = Some(rep);
        }
        for rep in [&mut node.text, &mut node.props].into_iter().flatten() {
            if let RepLocation::ProtoRev { item } = rep.location {
                rep.location = RepLocation::Rev { revision: plan.revision, item };
            }
        }
        if self.writer.config.rep_sharing {
            plan.share(&node);
        }
        // Equal properties are not looked for by this; older formats need it all the same, because
        // they cannot have the uniquifier without it.
        if let Some(props) = &mut node.props
            && self.format() >= since::SVNDIFF2
        {
            props.sha1 = None;
        }

        self.proto.begin();
        let is_root = at == ROOT && self.writer.fs.fs.layout.is_logical();
        let item = if is_root { ITEM_ROOT } else { self.proto.next_number() };
        node.id = NodeRevId {
            node: self.final_part(node.id.node, plan.next_ids.0, plan.revision),
            copy: self.final_part(node.id.copy, plan.next_ids.1, plan.revision),
            location: Location::Rev { revision: plan.revision, item },
        };
        node.copy_root = node
            .copy_root
            .map(|(revision, path)| (Some(revision.unwrap_or(plan.revision)), path))
            .filter(|(revision, path)| {
                *revision != Some(plan.revision) || *path != node.created_path
            });
        node.is_fresh_txn_root = false;
        if at == ROOT {
            self.tree.check_root_count(node.predecessor_count)?;
        }
        let mut text = Vec::with_capacity(NODE_LEN);
        node.write(self.format(), &mut text);
        // What cannot be read back must not become a revision.
        let (node, _) = NodeRev::parse(&text).map_err(|e| Error::Svn(e.into()))?;
        self.proto.append(&text)?;
        if is_root {
            self.proto.end_as(ItemType::NodeRev, item)?;
        } else {
            self.proto.end(ItemType::NodeRev)?;
        }
        self.tree.txn_node_mut(at)?.final_id = Some(node.id);
        plan.keep(WrittenNode { node, directory, props });
        Ok(item)
    }

    /// A number of this transaction, as the revision has it.
    fn final_part(&self, part: IdPart, next: u64, revision: Revnum) -> IdPart {
        if !part.is_txn() {
            part
        } else if self.format() >= since::LAYOUT {
            IdPart::new(revision, part.number())
        } else {
            IdPart::new(Revnum::ZERO, part.number().saturating_add(next))
        }
    }

    /// Writes the entries of a changed directory.
    fn write_directory(&mut self, at: usize, node: &mut NodeRev) -> Result<Option<Directory>> {
        let Some(entries) = self.tree.txn_node_mut(at)?.entries.take() else { return Ok(None) };
        // A new directory that stayed empty has no text.
        if entries.changed.is_empty() {
            return Ok(None);
        }
        let (directory, text) = self.directory_text(&entries, node.text.as_ref())?;
        let uniquifier = self.take_uniquifier();
        let is_cached = text.len() <= CACHED_DIR;
        let rep = if self.writer.config.deltify_directories {
            let base = self.delta_base(node, Part::Text)?;
            let rep = self.write_delta(base, &mut text.as_slice(), Hashes::Md5)?;
            self.keep_text(text);
            rep
        } else {
            self.write_plain(&text, false)?
        };
        let rep = self.end_rep(Representation { uniquifier, ..rep }, ItemType::DirRep)?;
        node.text = Some(rep);
        Ok(Some(directory).filter(|_| is_cached))
    }

    /// The entries of a changed directory, and how they are stored. `before` was its text.
    fn directory_text(
        &self,
        entries: &Entries,
        before: Option<&Representation>,
    ) -> Result<(Directory, Vec<u8>)> {
        let mut changed = Vec::with_capacity(entries.changed.len());
        for (name, now) in &entries.changed {
            let name: &str = name;
            let now = match now {
                Some((kind, id)) => Some((*kind, self.final_id(name, *id)?)),
                None => None,
            };
            changed.push((name, now));
        }
        let fail = |e: sapwood_fsfs_format::Error| Error::Svn(e.into());
        // What is at hand of the text before saves writing most of it anew.
        if let Some(before) = before.and_then(|rep| self.writer.fs.fs.text_at_hand(rep))
            && let Some(done) =
                entries.base.change(&before.bytes, changed.into_iter()).map_err(fail)?
        {
            return Ok(done);
        }
        let base = &entries.base;
        let names = base.names_len().plus(NEW_NAMES);
        let mut parsed = DirectoryBuilder::new(base.len().plus(1), names);
        let room = names.plus(base.len().times(ENTRY_LEN));
        let (mut text, mut value) = (Vec::with_capacity(room), Vec::new());
        for (name, kind, id) in entries.iter() {
            let entry = DirEntryRef { name, kind, id: self.final_id(name, id)? };
            parsed.write(&entry, &mut text, &mut value).map_err(fail)?;
        }
        hashdump::write_terminator(&mut text, hashdump::END);
        Ok((parsed.finish(), text))
    }

    /// The id that the entry `name` has in the new revision.
    fn final_id(&self, name: &str, id: NodeRevId) -> Result<NodeRevId> {
        if matches!(id.location, Location::Rev { .. }) {
            return Ok(id);
        }
        let child = self.tree.place_of(&id);
        child
            .and_then(|child| self.tree.nodes.get(child)?.final_id)
            .ok_or_else(|| Error::Corrupt(format!("Entry '{name}' was not written")))
    }

    /// Writes a node's changed properties.
    fn write_props(&mut self, node: &NodeRev, props: &PropList) -> Result<Representation> {
        let mut text = Vec::new();
        hashdump::write(&mut text, props, Some(hashdump::END));
        let item_type = match node.kind {
            NodeKind::File => ItemType::FileProps,
            NodeKind::Dir => ItemType::DirProps,
        };
        let uniquifier = self.take_uniquifier();
        let rep = if self.writer.config.deltify_properties {
            let base = self.delta_base(node, Part::Props)?;
            self.write_delta(base, &mut text.as_slice(), Hashes::Both)?
        } else {
            self.write_plain(&text, true)?
        };
        self.share_or_end(Representation { uniquifier, ..rep }, item_type)
    }

    /// The revision's properties, and how they are written.
    fn revision_props(&mut self) -> (PropList, Vec<u8>) {
        let props = self.info.take_revision_props();
        let mut text = Vec::new();
        hashdump::write(&mut text, &props, Some(hashdump::END));
        (props, text)
    }

    /// Puts what was written into the caches: the next commit begins with it.
    fn fill_caches(&self, written: VecDeque<WrittenNode>) {
        let fs = &self.writer.fs.fs;
        for WrittenNode { node, directory, props } in written {
            let place = |rep: Option<Representation>| match rep?.location {
                RepLocation::Rev { revision, item } => Some((revision, item)),
                _ => None,
            };
            if let (Some(directory), Some((revision, item))) = (directory, place(node.text)) {
                fs.caches.put(cache_kinds::item(&DIRECTORY, fs.id, revision, item), directory);
            }
            if let (Some(props), Some((revision, item))) = (props, place(node.props)) {
                fs.caches.put(cache_kinds::item(&PROPS, fs.id, revision, item), props);
            }
            self.writer.note_ancestors(&node);
            if let Location::Rev { revision, item } = node.id.location {
                fs.caches.put(cache_kinds::item(&NODE_REV, fs.id, revision, item), node);
            }
        }
    }
}

impl Writer {
    /// Checks the tree of a revision that is written but not there yet, as it is on disk.
    pub(super) fn read_back(&self, revision: Revnum) -> Result<()> {
        let caches = Caches::new(READ_BACK_CACHE);
        let fs = self.fs.opened_anew(&caches)?;
        // For this one it is there.
        fs.fs.youngest.store(revision.0, Ordering::Release);
        Root::of_revision(&fs, revision)?.verify()
    }
}
