//! The operations on a transaction's tree. The rules are those of [`sapwood_txn_rules`]; texts are stored by [`super::text`].

use std::io::Read;

use sapwood_core::{ErrorCode, FsPath, Md5, NodeKind, PropList, Revnum, Sha1, SvnError};
use sapwood_delta::{ApplyReader, TextDelta};
use sapwood_txn_rules::{Touch, TreeSource as _, not_file};

use super::Txn;
use super::source::Source;
use crate::error::{Error, Result};

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
        let node = &self.tree.noderev(&dag)?.rev;
        if node.kind != NodeKind::File {
            return Err(not_file("get").into());
        }
        Ok(node.text.map_or_else(|| Md5::of(b""), |rep| rep.md5))
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

    /// Copies the node at a path of a revision to `path`, where it replaces what is there. With `history` the
    /// copy says where it is from; without, the very node appears at `path` as well.
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

    /// The same of a text whose MD5 and SHA-1 may be `known`.
    pub fn set_known_text(
        &mut self,
        path: &FsPath,
        text: &mut dyn Read,
        known: Option<(Md5, Sha1)>,
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
        let text = self.tree.txn_node(at)?.node.rev.text;
        if let Some(base) = base {
            let actual = text.map_or_else(|| Md5::of(b""), |rep| rep.md5);
            check_md5(base, actual, || format!("Base checksum mismatch on '{path}'"))?;
        }
        let source = self.text_reader(text)?;
        self.store_text(path, at, &mut ApplyReader::new(delta, source), None, expected)
    }

    fn store_text(
        &mut self,
        path: &FsPath,
        at: usize,
        text: &mut dyn Read,
        known: Option<(Md5, Sha1)>,
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
    let message = format!("{}:\n   expected:  {expected}\n     actual:  {actual}\n", what());
    Err(Error::Svn(SvnError::new(ErrorCode::CHECKSUM_MISMATCH, message)))
}
