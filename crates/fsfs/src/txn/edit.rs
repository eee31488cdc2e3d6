//! The operations on a transaction's tree: what [`TxnEdit`] asks of this engine.

use std::io::Read;
use std::sync::Arc;

use sapwood_core::FsPath;
use sapwood_core::{ErrorCode, Md5, PropList, Revnum};
use sapwood_fs_common::TxnEdit;
use sapwood_fs_common::commit_info::CommitInfo;
use sapwood_fs_common::locks::LockFiles;
use sapwood_fsfs_format::{Directory, NodeRev, NodeRevId, Representation};

use super::engine::{Fsfs, Tree};
use super::{KnownText, Txn};
use crate::error::{Error, Result};
use crate::filesystem::Filesystem;
use crate::root::Root;
use sapwood_txn_rules::TreeSource;

impl TreeSource<Fsfs> for Filesystem {
    fn node(&self, id: &NodeRevId) -> Result<Arc<NodeRev>> {
        self.fs.node(id)
    }

    fn node_at(&self, revision: Revnum, path: &FsPath) -> Result<Arc<NodeRev>> {
        if path == "/" {
            return self.fs.rev_root(revision);
        }
        let found = Root::of_revision(self, revision)?.node(path)?;
        self.fs.node(&found.id())
    }

    fn directory(&self, node: &NodeRev) -> Result<Arc<Directory>> {
        self.fs.directory(node)
    }

    fn props(&self, node: &NodeRev) -> Result<Arc<PropList>> {
        self.fs.props(node)
    }

    fn counts_mergeinfo(&self) -> bool {
        self.records_mergeinfo()
    }

    fn uuid(&self) -> &str {
        &self.fs.uuid
    }
}

impl TxnEdit for Txn {
    type Engine = Fsfs;
    type KnownText = KnownText;

    fn tree(&self) -> &Tree {
        &self.tree
    }

    fn tree_mut(&mut self) -> &mut Tree {
        &mut self.tree
    }

    fn info(&self) -> &CommitInfo {
        &self.info
    }

    fn info_mut(&mut self) -> &mut CommitInfo {
        &mut self.info
    }

    fn lock_files(&self) -> LockFiles<'_> {
        self.writer.fs.lock_files()
    }

    fn md5_of(&self, file: &NodeRev) -> Result<Md5> {
        Ok(crate::contents::md5_of(file))
    }

    fn text_at(&mut self, at: usize) -> Result<Box<dyn Read>> {
        self.text_reader(self.tree.txn_node(at)?.node.text)
    }

    fn store_text(
        &mut self,
        at: usize,
        text: &mut dyn Read,
        known: Option<&KnownText>,
    ) -> Result<(Representation, Md5)> {
        let rep = self.write_text(at, text, known)?;
        Ok((rep, rep.md5))
    }
}

impl Txn {
    /// Copies a node of a revision to `path`, where it replaces what is there. With `history` the
    /// copy says where it is from; without, the very node appears at `path` as well.
    ///
    /// # Errors
    /// Where [`Root::node`] fails, and the rules of [`sapwood_txn_rules`]; a root of a transaction is unsupported.
    pub fn copy(
        &mut self,
        from: &Root,
        from_path: &FsPath,
        path: &FsPath,
        history: bool,
    ) -> Result<()> {
        let Some(from_revision) = from.revision() else {
            return Err(Error::new(
                ErrorCode::UNSUPPORTED_FEATURE,
                "Copy from mutable tree not currently supported",
            ));
        };
        let source = self.writer.fs.fs.node(&from.node(from_path)?.id())?;
        self.tree.copy((from_revision, from_path), &source, path, history)
    }
}
