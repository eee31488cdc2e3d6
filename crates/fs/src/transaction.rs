//! Changing a tree, and making a revision of it.

use std::io::Read;
use std::sync::Arc;

use sapwood_core::{FsPath, Md5, NodeKind, PropList, Revnum};
use sapwood_delta::TextDelta;
use sapwood_fs_common::TxnEdit;
use sapwood_fsfs::txn::{KnownText, NewRevision};
use sapwood_txn_rules::Touch;

use crate::backend;
use crate::error::Result;
use crate::filesystem::other_engine;
use crate::of::{both, each, of};
use crate::root::Root;
use crate::writer::Writer;

/// A transaction.
#[derive(Debug)]
pub struct Txn {
    pub(crate) writer: Arc<Writer>,
    pub(crate) of: of!(Txn),
}

#[allow(clippy::missing_errors_doc, reason = "each fails as its engine does: `Error` says how")]
impl Writer {
    /// Begins a transaction on a revision.
    pub fn begin(self: &Arc<Self>, base: Revnum) -> Result<Txn> {
        Ok(Txn::of(
            self,
            each!(self.engine(), writer, wrap => wrap(backend::Writer::begin(writer, base)?)),
        ))
    }

    /// Opens a transaction on disk; E160007 when there is none of that name.
    pub fn open_txn(self: &Arc<Self>, name: &str) -> Result<Txn> {
        Ok(Txn::of(
            self,
            each!(self.engine(), writer, wrap => wrap(backend::Writer::open_txn(writer, name)?)),
        ))
    }
}

#[allow(clippy::missing_errors_doc, reason = "each fails as its engine does: `Error` says how")]
impl Txn {
    pub(crate) fn of(writer: &Arc<Writer>, of: of!(Txn)) -> Self {
        Self { writer: Arc::clone(writer), of }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> String {
        each!(&self.of, txn => TxnEdit::name(txn))
    }

    /// The writer that it belongs to.
    #[must_use]
    pub const fn writer(&self) -> &Arc<Writer> {
        &self.writer
    }

    /// The revision that it is based on.
    #[must_use]
    pub fn base_revision(&self) -> Revnum {
        each!(&self.of, txn => TxnEdit::base_revision(txn))
    }

    /// The properties that its revision will have.
    #[must_use]
    pub fn props(&self) -> &PropList {
        each!(&self.of, txn => TxnEdit::props(txn))
    }

    /// The same, to be changed.
    pub fn props_mut(&mut self) -> &mut PropList {
        each!(&mut self.of, txn => TxnEdit::props_mut(txn))
    }

    /// Sets whether the commit leaves `svn:date` as it is.
    pub fn keep_date(&mut self, keep: bool) {
        each!(&mut self.of, txn => TxnEdit::keep_date(txn, keep));
    }

    /// Sets who commits, and the lock tokens that are given.
    pub fn set_access(&mut self, user: impl Into<String>, tokens: Vec<String>) {
        let user = user.into();
        each!(&mut self.of, txn => TxnEdit::set_access(txn, user, tokens));
    }

    /// Checks the locks at a path, and with `below` under it.
    pub fn check_locks_at(&self, path: &FsPath, below: bool) -> Result<()> {
        each!(&self.of, txn => Ok(TxnEdit::check_locks_at(txn, path, below)?))
    }

    /// What a path leads to.
    pub fn kind(&self, path: &FsPath) -> Result<Option<NodeKind>> {
        each!(&self.of, txn => Ok(TxnEdit::kind(txn, path)?))
    }

    /// The properties of a node.
    pub fn node_props(&self, path: &FsPath) -> Result<PropList> {
        each!(&self.of, txn => Ok(TxnEdit::node_props(txn, path)?))
    }

    /// The MD5 of a file's text.
    pub fn file_md5(&self, path: &FsPath) -> Result<Md5> {
        each!(&self.of, txn => Ok(TxnEdit::file_md5(txn, path)?))
    }

    /// The revision that made the node at a path; `None` when this transaction did.
    pub fn node_revision(&self, path: &FsPath) -> Result<Option<Revnum>> {
        each!(&self.of, txn => Ok(TxnEdit::node_revision(txn, path)?))
    }

    /// Makes a directory.
    pub fn make_dir(&mut self, path: &FsPath) -> Result<()> {
        each!(&mut self.of, txn => Ok(TxnEdit::make_dir(txn, path)?))
    }

    /// Makes an empty file.
    pub fn make_file(&mut self, path: &FsPath) -> Result<()> {
        each!(&mut self.of, txn => Ok(TxnEdit::make_file(txn, path)?))
    }

    /// Deletes a node with all below it.
    pub fn delete(&mut self, path: &FsPath) -> Result<()> {
        each!(&mut self.of, txn => Ok(TxnEdit::delete(txn, path)?))
    }

    /// Copies a node of a revision, with `history` as such.
    pub fn copy(
        &mut self,
        from: &Root,
        from_path: &FsPath,
        path: &FsPath,
        history: bool,
    ) -> Result<()> {
        both!(&mut self.of, &from.of, (txn, from) => {
            backend::Txn::copy(txn, (from, from_path), path, history)
        }, else Err(other_engine()))
    }

    /// Changes a property of a node; `None` removes it.
    pub fn change_prop(&mut self, path: &FsPath, name: &str, value: Option<&[u8]>) -> Result<()> {
        each!(&mut self.of, txn => Ok(TxnEdit::change_prop(txn, path, name, value)?))
    }

    /// Makes a node count as changed.
    pub fn touch(&mut self, path: &FsPath, touch: Touch) -> Result<()> {
        each!(&mut self.of, txn => Ok(TxnEdit::touch(txn, path, touch)?))
    }

    /// Sets a file's text, which must have the MD5 `expected`.
    pub fn set_text(
        &mut self,
        path: &FsPath,
        text: &mut dyn Read,
        expected: Option<Md5>,
    ) -> Result<()> {
        self.set_known_text(path, text, None, expected)
    }

    /// The same of a text of which something is known.
    pub fn set_known_text(
        &mut self,
        path: &FsPath,
        text: &mut dyn Read,
        known: Option<&KnownText>,
        expected: Option<Md5>,
    ) -> Result<()> {
        each!(&mut self.of, txn => backend::Txn::set_text_of(txn, path, text, known, expected))
    }

    /// Changes a file's text, which must have the MD5 `base`, by a delta to one that must have the MD5 `expected`.
    pub fn apply_delta(
        &mut self,
        path: &FsPath,
        base: Option<Md5>,
        delta: &mut dyn TextDelta,
        expected: Option<Md5>,
    ) -> Result<()> {
        each!(&mut self.of, txn => Ok(TxnEdit::apply_delta(txn, path, base, delta, expected)?))
    }

    /// Writes it to disk, where other programs see it.
    pub fn publish(&mut self) -> Result<()> {
        each!(&mut self.of, txn => backend::Txn::publish(txn))
    }

    /// Reads again what other programs may have changed on disk.
    pub fn refresh(&mut self) -> Result<()> {
        each!(&mut self.of, txn => backend::Txn::refresh(txn))
    }

    /// Leaves it on disk: its name.
    pub fn suspend(self) -> Result<String> {
        each!(self.of, txn => backend::Txn::suspend(txn))
    }

    /// Removes it.
    pub fn abort(self) -> Result<()> {
        each!(self.of, txn => backend::Txn::abort(txn))
    }

    /// Makes a revision of it.
    pub fn commit(self) -> Result<Revnum> {
        Ok(self.commit_for_props()?.revision)
    }

    /// The same, and the properties of the new revision.
    pub fn commit_for_props(self) -> Result<NewRevision> {
        each!(self.of, txn => backend::Txn::commit_for_props(txn))
    }
}
