//! The operations on a transaction's tree: what [`TxnEdit`] asks of this engine. Texts are stored by [`super::text`].

use std::io::Read;

use sapwood_core::{FsPath, Md5, Revnum, Sha1};
use sapwood_fs_common::TxnEdit;
use sapwood_fs_common::commit_info::CommitInfo;
use sapwood_fs_common::locks::LockFiles;
use sapwood_fsx_format::Representation;
use sapwood_txn_rules::TreeSource as _;

use super::Txn;
use super::engine::{Fsx, Tree, TxnNodeRev};
use super::source::Source;
use crate::error::Result;

impl TxnEdit for Txn {
    type Engine = Fsx;
    type KnownText = (Md5, Sha1);

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

    fn md5_of(&self, file: &TxnNodeRev) -> Result<Md5> {
        Ok(file.rev.text.map_or_else(|| Md5::of(b""), |rep| rep.md5))
    }

    fn text_at(&mut self, at: usize) -> Result<Box<dyn Read>> {
        self.text_reader(self.tree.txn_node(at)?.node.rev.text)
    }

    fn store_text(
        &mut self,
        at: usize,
        text: &mut dyn Read,
        known: Option<&(Md5, Sha1)>,
    ) -> Result<(Representation, Md5)> {
        let rep = self.write_text(at, text, known.copied())?;
        Ok((rep, rep.md5))
    }
}

impl Txn {
    /// Copies the node at a path of a revision to `path`, where it replaces what is there. With `history` the
    /// copy says where it is from; without, the very node appears at `path` as well.
    ///
    /// # Errors
    /// Where the path leads nowhere, and the rules of [`sapwood_txn_rules`].
    pub fn copy(
        &mut self,
        (from, from_path): (Revnum, &FsPath),
        path: &FsPath,
        history: bool,
    ) -> Result<()> {
        let source = Source(std::sync::Arc::clone(&self.writer.committed));
        let source = source.node_at(from, from_path)?;
        self.tree.copy((from, from_path), &source, path, history)
    }
}
