//! Changing a tree, and making a revision of it.

use std::io::Read;
use std::sync::Arc;

use sapwood_core::{FsPath, Md5, NodeKind, PropList, Revnum, SvnError};
use sapwood_delta::TextDelta;
use sapwood_fsfs::txn as fsfs;
pub use sapwood_fsfs::txn::{DeltaAhead, KnownText, NewRevision, WriteConfig, WriteOptions, flags};
use sapwood_fsx::txn as fsx;

pub use crate::bulk::Bulk;
use crate::error::{Error, Result};
use crate::of::{Of, each};
use crate::root::Root;
pub use crate::writer::{ChangeProps, Writer};

/// A transaction.
#[derive(Debug)]
pub struct Txn {
    pub(crate) writer: Arc<Writer>,
    pub(crate) of: Of<fsfs::Txn, fsx::Txn>,
}

#[allow(clippy::missing_errors_doc)]
impl Txn {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> String {
        each!(&self.of, txn => txn.name())
    }

    /// The writer that it belongs to.
    #[must_use]
    pub const fn writer(&self) -> &Arc<Writer> {
        &self.writer
    }

    /// The revision that it is based on.
    #[must_use]
    pub const fn base_revision(&self) -> Revnum {
        each!(&self.of, txn => txn.base_revision())
    }

    /// The properties that its revision will have.
    #[must_use]
    pub const fn props(&self) -> &PropList {
        each!(&self.of, txn => txn.props())
    }

    /// The same, to be changed.
    pub const fn props_mut(&mut self) -> &mut PropList {
        each!(&mut self.of, txn => txn.props_mut())
    }

    /// Sets whether the commit leaves `svn:date` as it is.
    pub const fn keep_date(&mut self, keep: bool) {
        each!(&mut self.of, txn => txn.keep_date(keep));
    }

    /// Sets who commits, and the lock tokens that are given.
    pub fn set_access(&mut self, user: impl Into<String>, tokens: Vec<String>) {
        each!(&mut self.of, txn => txn.set_access(user, tokens));
    }

    /// Checks the locks at a path, and with `below` under it.
    pub fn check_locks_at(&self, path: &FsPath, below: bool) -> Result<()> {
        each!(&self.of, txn => Ok(txn.check_locks_at(path, below)?))
    }

    /// What a path leads to.
    pub fn kind(&self, path: &FsPath) -> Result<Option<NodeKind>> {
        each!(&self.of, txn => Ok(txn.kind(path)?))
    }

    /// The properties of a node.
    pub fn node_props(&self, path: &FsPath) -> Result<PropList> {
        each!(&self.of, txn => Ok(txn.node_props(path)?))
    }

    /// The MD5 of a file's text.
    pub fn file_md5(&self, path: &FsPath) -> Result<Md5> {
        each!(&self.of, txn => Ok(txn.file_md5(path)?))
    }

    /// The revision that made the node at a path; `None` when this transaction did.
    pub fn node_revision(&self, path: &FsPath) -> Result<Option<Revnum>> {
        each!(&self.of, txn => Ok(txn.node_revision(path)?))
    }

    /// Makes a directory.
    pub fn make_dir(&mut self, path: &FsPath) -> Result<()> {
        each!(&mut self.of, txn => Ok(txn.make_dir(path)?))
    }

    /// Makes an empty file.
    pub fn make_file(&mut self, path: &FsPath) -> Result<()> {
        each!(&mut self.of, txn => Ok(txn.make_file(path)?))
    }

    /// Deletes a node with all below it.
    pub fn delete(&mut self, path: &FsPath) -> Result<()> {
        each!(&mut self.of, txn => Ok(txn.delete(path)?))
    }

    /// Copies a node of a revision, with `history` as such.
    pub fn copy(
        &mut self,
        from: &Root,
        from_path: &FsPath,
        path: &FsPath,
        history: bool,
    ) -> Result<()> {
        match (&mut self.of, &from.of) {
            (Of::Fsfs(txn), Of::Fsfs(from)) => txn.copy(from, from_path, path, history)?,
            (Of::Fsx(txn), Of::Fsx(from)) => {
                let revision = from
                    .revision()
                    .ok_or_else(|| Error::Svn(SvnError::internal("a copy from a transaction")))?;
                txn.copy((revision, from_path), path, history)?;
            }
            _ => return Err(crate::filesystem::other_engine()),
        }
        Ok(())
    }

    /// Changes a property of a node; `None` removes it.
    pub fn change_prop(&mut self, path: &FsPath, name: &str, value: Option<&[u8]>) -> Result<()> {
        each!(&mut self.of, txn => Ok(txn.change_prop(path, name, value)?))
    }

    /// Makes a node count as changed.
    pub fn touch(&mut self, path: &FsPath, prop_mod: bool) -> Result<()> {
        each!(&mut self.of, txn => Ok(txn.touch(path, prop_mod)?))
    }

    /// Sets a file's text, which must have the MD5 `expected`.
    pub fn set_text(
        &mut self,
        path: &FsPath,
        text: &mut dyn Read,
        expected: Option<Md5>,
    ) -> Result<()> {
        each!(&mut self.of, txn => Ok(txn.set_text(path, text, expected)?))
    }

    /// The same of a text of which something is known.
    pub fn set_known_text(
        &mut self,
        path: &FsPath,
        text: &mut dyn Read,
        known: Option<&KnownText>,
        expected: Option<Md5>,
    ) -> Result<()> {
        match &mut self.of {
            Of::Fsfs(txn) => txn.set_known_text(path, text, known, expected)?,
            Of::Fsx(txn) => {
                let known = known.map(|known| (known.md5, known.sha1));
                txn.set_known_text(path, text, known, expected)?;
            }
        }
        Ok(())
    }

    /// Changes a file's text, which must have the MD5 `base`, by a delta to one that must have the MD5 `expected`.
    pub fn apply_delta(
        &mut self,
        path: &FsPath,
        base: Option<Md5>,
        delta: &mut dyn TextDelta,
        expected: Option<Md5>,
    ) -> Result<()> {
        each!(&mut self.of, txn => Ok(txn.apply_delta(path, base, delta, expected)?))
    }

    /// Writes it to disk, where other programs see it.
    pub fn publish(&mut self) -> Result<()> {
        each!(&mut self.of, txn => Ok(txn.publish()?))
    }

    /// Reads again what other programs may have changed on disk.
    pub fn refresh(&mut self) -> Result<()> {
        each!(&mut self.of, txn => Ok(txn.refresh()?))
    }

    /// Leaves it on disk: its name.
    pub fn suspend(self) -> Result<String> {
        each!(self.of, txn => Ok(txn.suspend()?))
    }

    /// Removes it.
    pub fn abort(self) -> Result<()> {
        each!(self.of, txn => Ok(txn.abort()?))
    }

    /// Makes a revision of it.
    pub fn commit(self) -> Result<Revnum> {
        each!(self.of, txn => Ok(txn.commit()?))
    }

    /// The same, and the properties of the new revision.
    pub fn commit_for_props(self) -> Result<NewRevision> {
        match self.of {
            Of::Fsfs(txn) => Ok(txn.commit_for_props()?),
            Of::Fsx(txn) => {
                let fsx::NewRevision { revision, props } = txn.commit_for_props()?;
                Ok(NewRevision { revision, props })
            }
        }
    }
}
