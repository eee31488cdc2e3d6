//! The operations on a transaction's tree, which are the same in every engine: the rules are those of
//! [`sapwood_txn_rules`], and how a text is stored says the engine.
//!
//! Invariant: a text whose MD5 is not the expected one never becomes that of a file.

use std::io::Read;

use crate::LockAccess;
use crate::commit_info::CommitInfo;
use crate::locks::LockFiles;
use sapwood_core::{ErrorCode, FsPath, Md5, NodeKind, PropList, Revnum, SvnError};
use sapwood_delta::{ApplyReader, TextDelta};
use sapwood_txn_rules::{Engine, Error, NodeRevision as _, Result, Touch, Tree, not_file};

/// A transaction of an engine.
#[allow(
    clippy::missing_errors_doc,
    reason = "all: as the engine's `Error` says, and E-codes of the rules"
)]
pub trait TxnEdit {
    /// The engine.
    type Engine: Engine;
    /// What a caller may know of a text before it is stored.
    type KnownText;

    /// The tree.
    fn tree(&self) -> &Tree<Self::Engine>;

    /// The same, to change it.
    fn tree_mut(&mut self) -> &mut Tree<Self::Engine>;

    /// How it is to be committed.
    fn info(&self) -> &CommitInfo;

    /// The same, to change it.
    fn info_mut(&mut self) -> &mut CommitInfo;

    /// The locks of its filesystem.
    fn lock_files(&self) -> LockFiles<'_>;

    /// The MD5 of a file's text.
    fn md5_of(&self, file: &<Self::Engine as Engine>::Node) -> Result<Md5, Self::Engine>;

    /// Reads the text of the file at a place of the tree.
    fn text_at(&mut self, at: usize) -> Result<Box<dyn Read>, Self::Engine>;

    /// Stores a text for the file at a place of the tree, which it does not have yet: where, and its MD5. What is `known`
    /// must be right.
    fn store_text(
        &mut self,
        at: usize,
        text: &mut dyn Read,
        known: Option<&Self::KnownText>,
    ) -> Result<(<Self::Engine as Engine>::Rep, Md5), Self::Engine>;

    /// Its name, unique in its filesystem.
    fn name(&self) -> String {
        self.tree().txn().to_string()
    }

    /// The revision that it is based on.
    fn base_revision(&self) -> Revnum {
        self.tree().base
    }

    /// The properties that the new revision will have.
    fn props(&self) -> &PropList {
        &self.info().props
    }

    /// The same, to change them.
    fn props_mut(&mut self) -> &mut PropList {
        let info = self.info_mut();
        info.props_changed = true;
        &mut info.props
    }

    /// Sets whether the commit keeps `svn:date` as it is in the properties; otherwise it is set to the time of the commit.
    fn keep_date(&mut self, keep: bool) {
        self.info_mut().keep_date = keep;
    }

    /// Names the user that commits, and the lock tokens that are shown. Without this a transaction that changes
    /// a locked path cannot be committed.
    fn set_access(&mut self, user: String, tokens: Vec<String>) {
        self.info_mut().access = Some(LockAccess::new(user, tokens));
    }

    /// Checks the locks on everything that the transaction changes.
    fn check_locks(&self) -> Result<(), Self::Engine> {
        let changes = self.tree().changes.iter().map(|(path, change)| (path, change.kind));
        let access = self.info().access.as_ref();
        Ok(self.lock_files().check_changes(access, changes).map_err(Error::Svn)?)
    }

    /// Checks the locks on a path, and with `below` on everything below it: a caller that checks before
    /// each change hears early of what the commit would refuse.
    fn check_locks_at(&self, path: &FsPath, below: bool) -> Result<(), Self::Engine> {
        let access = self.info().access.as_ref();
        Ok(self.lock_files().check(access, path, below).map_err(Error::Svn)?)
    }

    /// What `path` leads to.
    fn kind(&self, path: &FsPath) -> Result<Option<NodeKind>, Self::Engine> {
        self.tree().kind(path)
    }

    /// The properties of `path`.
    fn node_props(&self, path: &FsPath) -> Result<PropList, Self::Engine> {
        self.tree().node_props(path)
    }

    /// The MD5 of a file's text as it is now.
    fn file_md5(&self, path: &FsPath) -> Result<Md5, Self::Engine> {
        let tree = self.tree();
        let dag = tree.look_up(path)?.ok_or_else(|| tree.not_found(path))?;
        let node = tree.noderev(&dag)?;
        match node.kind() {
            NodeKind::File => self.md5_of(node),
            _ => Err(not_file("get").into()),
        }
    }

    /// The revision of the node at `path`: `None` when the transaction made or changed it.
    fn node_revision(&self, path: &FsPath) -> Result<Option<Revnum>, Self::Engine> {
        self.tree().node_revision(path)
    }

    /// Makes an empty directory.
    fn make_dir(&mut self, path: &FsPath) -> Result<(), Self::Engine> {
        self.tree_mut().make_dir(path)
    }

    /// Makes an empty file.
    fn make_file(&mut self, path: &FsPath) -> Result<(), Self::Engine> {
        self.tree_mut().make_file(path)
    }

    /// Removes `path` and everything below.
    fn delete(&mut self, path: &FsPath) -> Result<(), Self::Engine> {
        self.tree_mut().delete(path)
    }

    /// Sets or (with `None`) deletes a property of a node.
    fn change_prop(
        &mut self,
        path: &FsPath,
        name: &str,
        value: Option<&[u8]>,
    ) -> Result<(), Self::Engine> {
        self.tree_mut().change_prop(path, name, value)
    }

    /// Records a change of a node that changes nothing.
    fn touch(&mut self, path: &FsPath, touch: Touch) -> Result<(), Self::Engine> {
        self.tree_mut().touch(path, touch)
    }

    /// Gives a file new contents: all that `text` has. `expected` is the MD5 that it must have.
    fn set_text(
        &mut self,
        path: &FsPath,
        text: &mut dyn Read,
        expected: Option<Md5>,
    ) -> Result<(), Self::Engine> {
        self.set_known_text(path, text, None, expected)
    }

    /// The same with a text of which something is known: that must be right.
    fn set_known_text(
        &mut self,
        path: &FsPath,
        text: &mut dyn Read,
        known: Option<&Self::KnownText>,
        expected: Option<Md5>,
    ) -> Result<(), Self::Engine> {
        let at = self.tree_mut().open_file(path, "set")?;
        self.set_checked(path, at, text, known, expected)
    }

    /// Gives a file new contents: what `delta` makes of the present ones, whose MD5 must be
    /// `base`. `expected` is the MD5 of the result.
    fn apply_delta(
        &mut self,
        path: &FsPath,
        base: Option<Md5>,
        delta: &mut dyn TextDelta,
        expected: Option<Md5>,
    ) -> Result<(), Self::Engine> {
        let at = self.tree_mut().open_file(path, "get")?;
        if base.is_some() {
            let actual = self.md5_of(&self.tree().txn_node(at)?.node)?;
            check_md5(base, actual, || format!("Base checksum mismatch on '{path}'"))?;
        }
        let source = self.text_at(at)?;
        self.set_checked(path, at, &mut ApplyReader::new(delta, source), None, expected)
    }

    /// Stores a text, and makes it that of the file at `path` if it has the MD5 that is expected.
    fn set_checked(
        &mut self,
        path: &FsPath,
        at: usize,
        text: &mut dyn Read,
        known: Option<&Self::KnownText>,
        expected: Option<Md5>,
    ) -> Result<(), Self::Engine> {
        let (rep, md5) = self.store_text(at, text, known)?;
        check_md5(expected, md5, || format!("Checksum mismatch for '{path}'"))?;
        self.tree_mut().set_rep(path, at, rep)
    }
}

/// The reference's sentence for wrong checksums.
fn check_md5(
    expected: Option<Md5>,
    actual: Md5,
    what: impl FnOnce() -> String,
) -> std::result::Result<(), Error> {
    let Some(expected) = expected.filter(|expected| *expected != actual) else { return Ok(()) };
    let message = format!("{}:\n   expected:  {expected}\n     actual:  {actual}\n", what());
    Err(Error::Svn(SvnError::new(ErrorCode::CHECKSUM_MISMATCH, message)))
}
