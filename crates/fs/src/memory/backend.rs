//! An opened filesystem as an engine.

use std::path::Path;
use std::sync::Arc;

use sapwood_core::paths::SharedFsPath;
use sapwood_core::{Depth, FsPath, Lock, PropList, Revnum};
use sapwood_fs_common::history::{Nodes, Origin};
use sapwood_store::{Caches, LocalStorage, WriteStorage};

use super::rules::{Id, NodeRev};
use super::state::Entries;
use super::tree::{Contents, Delta, Node, Root};
use super::txn::{NoBulk, Txn, Writer};
use super::{Filesystem, rules};
use crate::backend::{Admin, Backend, Revprops};
use crate::engine::Engine;
use crate::error::{Error, Result};
use crate::{ChangedPaths, FormatInfo};
use sapwood_fsfs::txn::WriteOptions;

impl Nodes for Filesystem {
    type Id = Id;
    type NodeRev = Arc<NodeRev>;
    type Error = Error;

    fn revision(id: &Id) -> Option<Revnum> {
        id.revision()
    }

    fn origin(node: &Arc<NodeRev>) -> Origin<'_, Id> {
        let copied_from = node.copy_from.as_ref();
        Origin {
            id: node.id,
            predecessor: node.predecessor,
            created_path: FsPath::trusted(&node.created_path),
            copy_root: (node.copy_root.0, FsPath::trusted(&node.copy_root.1)),
            copied_from: copied_from.map(|(revision, path)| (*revision, FsPath::trusted(path))),
        }
    }

    fn is_same_node(one: &Arc<NodeRev>, other: &Arc<NodeRev>) -> bool {
        one.node == other.node
    }

    fn node(&self, id: &Id) -> Result<Arc<NodeRev>> {
        self.node_rev(*id)
    }

    fn chain(&self, revision: Revnum, path: &FsPath) -> Result<Vec<Arc<NodeRev>>> {
        self.root(revision)?.chain(path)
    }

    fn find(&self, revision: Revnum, path: &FsPath) -> Result<Option<Arc<NodeRev>>> {
        self.root(revision)?.find_rev(path)
    }
}

impl Backend for Filesystem {
    type Itself = Self;
    type Root = Root;
    type Node = Node;
    type Directory = Arc<Entries>;
    type Children = Arc<Entries>;
    type Contents = Contents;
    type Delta = Delta;
    type Revprops = RevpropsView;
    type DateAuthor = Arc<PropList>;
    type Writer = Writer;
    type Txn = Txn;
    type Bulk = NoBulk;
    type Frozen = ();

    const ENGINE: Engine = Engine::Memory;

    fn caches(&self) -> (&Arc<Caches>, u32) {
        (&self.caches, self.number)
    }

    fn storage(&self) -> &dyn WriteStorage {
        &LocalStorage
    }

    fn path(&self) -> &Path {
        Path::new("/in/memory")
    }

    fn format(&self) -> FormatInfo {
        FormatInfo { number: 1, shard_size: None, logical_addressing: true }
    }

    fn oldest_minor_version(&self) -> u32 {
        0
    }

    fn uuid(&self) -> Result<String> {
        Ok(self.state.lock().uuid.clone())
    }

    fn youngest(&self) -> Result<Revnum> {
        Ok(self.state.lock().youngest())
    }

    fn min_unpacked_rev(&self) -> Result<Revnum> {
        Ok(Revnum::ZERO)
    }

    fn changed_paths(&self, revision: Revnum) -> Result<Arc<ChangedPaths>> {
        Ok(Arc::clone(&self.state.lock().revision(revision)?.changes))
    }

    fn revision_root(&self, revision: Revnum) -> Result<Root> {
        self.root(revision)
    }

    fn txn_root(&self, name: &str) -> Result<Root> {
        let (number, base) = self.published(name, |txn| (txn.number(), txn.base()))?;
        let dir = self.node_rev(Id::root(rules::Maker::Txn(number)))?;
        Ok(Root { fs: self.clone(), revision: base, txn: Some(name.into()), dir })
    }

    fn node_at(&self, path: &SharedFsPath, id: &Id) -> Result<Node> {
        Ok(Node { fs: self.clone(), path: path.clone(), rev: self.node_rev(*id)? })
    }

    fn revprops(&self) -> RevpropsView {
        RevpropsView(self.clone())
    }

    fn lock(&self, _: &FsPath) -> Result<Option<Lock>> {
        Ok(None)
    }

    fn locks(&self, _: &FsPath, _: Depth) -> Result<Vec<Lock>> {
        Ok(Vec::new())
    }

    fn may_have_locks(&self) -> Result<bool> {
        Ok(false)
    }

    fn transactions(&self) -> Result<Vec<String>> {
        Ok(self.state.lock().txns.keys().map(u64::to_string).collect())
    }

    fn txn_props(&self, name: &str) -> Result<PropList> {
        self.published(name, |txn| txn.props.clone())
    }

    fn writer(&self, _: WriteOptions) -> Result<Writer> {
        Ok(Writer(self.clone()))
    }
}

impl Admin for Filesystem {}

/// The properties of revisions.
#[derive(Debug)]
pub(crate) struct RevpropsView(Filesystem);

impl Revprops for RevpropsView {
    type Fs = Filesystem;

    fn get(&mut self, revision: Revnum) -> Result<Arc<PropList>> {
        Ok(Arc::clone(&self.0.state.lock().revision(revision)?.props))
    }

    fn date_author(&mut self, revision: Revnum) -> Result<Arc<PropList>> {
        self.get(revision)
    }

    fn version(&mut self, _: Revnum) -> Result<Option<u64>> {
        Ok(Some(self.0.state.lock().props_version))
    }
}
