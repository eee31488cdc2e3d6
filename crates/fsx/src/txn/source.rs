//! Committed nodes, as the rules of transactions ask for them: those used last are kept.
//!
//! Revisions do not change, so what is kept stays right. What a commit wrote comes here only when its revision is there.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use sapwood_core::{ErrorCode, FsPath, NodeKind, PropList, Revnum, SvnError};
use sapwood_fsx_format::{ChangeSet, Id, directory, proplist};
use sapwood_txn_rules::{Listing as _, TreeSource};

use super::engine::{Directory, Fsx, TxnNodeRev};
use crate::error::{Error, Result};
use crate::filesystem::Filesystem;
use crate::items::{LIST, ROOT as ROOT_ITEM};
use crate::recent::Recent;

/// Node-revisions that are kept, some hundred bytes each. When there are more, all go.
const NODES: usize = 1 << 14;
/// Directories that are kept.
const DIRECTORIES: usize = 32;

/// A filesystem and what was read of it last.
#[derive(Debug)]
pub(super) struct CommittedNodes {
    pub(super) fs: Filesystem,
    nodes: Mutex<HashMap<Id, Arc<TxnNodeRev>>>,
    /// By the ids of their representations.
    directories: Recent<Id, Directory>,
}

impl CommittedNodes {
    pub(super) fn new(fs: &Filesystem) -> Self {
        Self { fs: fs.clone(), nodes: Mutex::default(), directories: Recent::new(DIRECTORIES) }
    }

    /// Keeps a node-revision of a new revision, and its entries.
    pub(super) fn keep(&self, node: TxnNodeRev, entries: Option<Directory>) {
        if let (Some(entries), Some(rep)) = (entries, node.rev.text) {
            self.directories.put(rep.id, entries);
        }
        self.keep_node(Arc::new(node));
    }

    fn keep_node(&self, node: Arc<TxnNodeRev>) {
        let mut nodes = self.nodes.lock();
        if nodes.len() >= NODES {
            nodes.clear();
        }
        nodes.insert(node.rev.id, node);
    }

    /// Forgets everything: some of it was of revisions that are not to be.
    pub(super) fn clear(&self) {
        self.nodes.lock().clear();
        self.directories.clear();
    }

    pub(super) fn node(&self, id: &Id) -> Result<Arc<TxnNodeRev>> {
        if let Some(known) = self.nodes.lock().get(id) {
            return Ok(Arc::clone(known));
        }
        let node = Arc::new(TxnNodeRev::from(self.fs.0.noderev(*id)?));
        self.keep_node(Arc::clone(&node));
        Ok(node)
    }

    pub(super) fn root(&self, revision: Revnum) -> Result<Arc<TxnNodeRev>> {
        self.node(&Id { change_set: ChangeSet::Revision(revision), number: ROOT_ITEM })
    }

    pub(super) fn directory(&self, node: &TxnNodeRev) -> Result<Arc<Directory>> {
        if node.rev.kind != NodeKind::Dir {
            let message = "Can't get entries of non-directory";
            return Err(SvnError::new(ErrorCode::FS_NOT_DIRECTORY, message).into());
        }
        let Some(rep) = node.rev.text else { return Ok(Arc::default()) };
        self.directories.get_or(rep.id, || {
            let text = self.fs.whole(Some(rep), LIST)?;
            let entries = directory::parse(&text).map_err(|error| {
                Error::Corrupt(format!("Corrupt directory '{}': {error}", rep.id))
            })?;
            Ok(Directory(entries))
        })
    }
}

/// The same as the rules see it.
#[derive(Debug)]
pub(super) struct Source(pub(super) Arc<CommittedNodes>);

impl TreeSource<Fsx> for Source {
    fn node(&self, id: &Id) -> Result<Arc<TxnNodeRev>> {
        self.0.node(id)
    }

    fn node_at(&self, revision: Revnum, path: &FsPath) -> Result<Arc<TxnNodeRev>> {
        self.0.fs.ensure_exists(revision)?;
        let mut node = self.0.root(revision)?;
        for name in path.names() {
            let found = match node.rev.kind {
                NodeKind::Dir => self.0.directory(&node)?.find(name),
                NodeKind::File => None,
            };
            let missing = || Error::NotFound { revision, path: path.to_string() };
            node = self.0.node(&found.ok_or_else(missing)?.1)?;
        }
        Ok(node)
    }

    fn directory(&self, node: &TxnNodeRev) -> Result<Arc<Directory>> {
        self.0.directory(node)
    }

    fn props(&self, node: &TxnNodeRev) -> Result<Arc<PropList>> {
        let Some(rep) = node.rev.props else { return Ok(Arc::default()) };
        let list = self.0.fs.whole(Some(rep), LIST)?;
        Ok(Arc::new(proplist::parse(&list)?))
    }

    fn counts_mergeinfo(&self) -> bool {
        true
    }

    fn uuid(&self) -> &str {
        self.0.fs.uuid()
    }
}
