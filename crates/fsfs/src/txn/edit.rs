//! The operations on a transaction's tree. The rules are those of [`sapwood_txn_rules`]; texts are stored here.

use std::io::Read;
use std::sync::Arc;

use sapwood_core::FsPath;
use sapwood_core::{ErrorCode, Md5, NodeKind, PropList, Revnum, SvnError};
use sapwood_delta::{ApplyReader, TextDelta};
use sapwood_fsfs_format::{Directory, NodeRev, NodeRevId};

use super::engine::Fsfs;
use super::{KnownText, Txn};
use crate::error::{Error, Result};
use crate::filesystem::Filesystem;
use crate::root::Root;
use sapwood_txn_rules::{Touch, TreeSource, not_file};

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

#[allow(clippy::missing_errors_doc, reason = "all: `Error` says what its variants mean")]
impl Txn {
    /// What `path` leads to.
    pub fn kind(&self, path: &FsPath) -> Result<Option<NodeKind>> {
        self.tree.kind(path)
    }

    /// The properties of `path`.
    pub fn node_props(&self, path: &FsPath) -> Result<PropList> {
        self.tree.node_props(path)
    }

    /// The MD5 of a file's text as it is now.
    pub fn file_md5(&self, path: &FsPath) -> Result<Md5> {
        let dag = self.tree.look_up(path)?.ok_or_else(|| self.tree.not_found(path))?;
        let node = self.tree.noderev(&dag)?;
        if node.kind != NodeKind::File {
            return Err(not_file("get").into());
        }
        Ok(crate::contents::md5_of(node))
    }

    /// The revision of the node at `path`: `None` when the transaction made or changed it.
    pub fn node_revision(&self, path: &FsPath) -> Result<Option<Revnum>> {
        self.tree.node_revision(path)
    }

    /// Makes an empty directory.
    pub fn make_dir(&mut self, path: &FsPath) -> Result<()> {
        self.tree.make_dir(path)
    }

    /// Makes an empty file.
    pub fn make_file(&mut self, path: &FsPath) -> Result<()> {
        self.tree.make_file(path)
    }

    /// Removes `path` and everything below.
    pub fn delete(&mut self, path: &FsPath) -> Result<()> {
        self.tree.delete(path)
    }

    /// Copies a node of a revision to `path`, where it replaces what is there. With `history` the
    /// copy says where it is from; without, the very node appears at `path` as well.
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

    /// Sets or (with `None`) deletes a property of a node.
    pub fn change_prop(&mut self, path: &FsPath, name: &str, value: Option<&[u8]>) -> Result<()> {
        self.tree.change_prop(path, name, value)
    }

    /// Records a change of a node that changes nothing.
    pub fn touch(&mut self, path: &FsPath, touch: Touch) -> Result<()> {
        self.tree.touch(path, touch)
    }

    /// Gives a file new contents: all that `text` has. `expected` is the MD5 that it must have.
    pub fn set_text(
        &mut self,
        path: &FsPath,
        text: &mut dyn Read,
        expected: Option<Md5>,
    ) -> Result<()> {
        self.set_known_text(path, text, None, expected)
    }

    /// The same with a text of which something is known: that must be right.
    pub fn set_known_text(
        &mut self,
        path: &FsPath,
        text: &mut dyn Read,
        known: Option<&KnownText>,
        expected: Option<Md5>,
    ) -> Result<()> {
        let at = self.tree.open_file(path, "set")?;
        self.store_text(path, at, text, known, expected)
    }

    /// Gives a file new contents: what `delta` makes of the present ones, whose MD5 must be
    /// `base`. `expected` is the MD5 of the result.
    pub fn apply_delta(
        &mut self,
        path: &FsPath,
        base: Option<Md5>,
        delta: &mut dyn TextDelta,
        expected: Option<Md5>,
    ) -> Result<()> {
        let at = self.tree.open_file(path, "get")?;
        let node = &self.tree.txn_node(at)?.node;
        if let Some(base) = base {
            check_md5(base, crate::contents::md5_of(node), || {
                format!("Base checksum mismatch on '{path}'")
            })?;
        }
        let source = self.text_reader(node.text)?;
        self.store_text(path, at, &mut ApplyReader::new(delta, source), None, expected)
    }

    fn store_text(
        &mut self,
        path: &FsPath,
        at: usize,
        text: &mut dyn Read,
        known: Option<&KnownText>,
        expected: Option<Md5>,
    ) -> Result<()> {
        let rep = self.write_text(at, text, known)?;
        if let Some(expected) = expected {
            check_md5(expected, rep.md5, || format!("Checksum mismatch for '{path}'"))?;
        }
        self.tree.set_rep(path, at, rep)
    }
}

/// The reference's sentence for wrong checksums.
fn check_md5(expected: Md5, actual: Md5, what: impl FnOnce() -> String) -> Result<()> {
    if expected == actual {
        return Ok(());
    }
    Err(Error::Svn(SvnError::new(
        ErrorCode::CHECKSUM_MISMATCH,
        format!("{}:\n   expected:  {expected}\n     actual:  {actual}\n", what()),
    )))
}
