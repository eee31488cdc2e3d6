//! Commits as edits: an editor that drives a [`TxnEditor`] from calls with handles and paths
//! relative to the client's URL.

use sapwood_core::Exact;
use sapwood_core::paths::FsPathBuf;
use sapwood_core::paths::RelPath;
use std::collections::HashMap;

use sapwood_core::{
    ErrorCode, Md5, NodeKind, PropList, Revnum, SvnError, SvnResult, path as paths, uri,
};
use sapwood_delta::{EditStep, Handle, StepEditor, TextDelta};

use crate::authz::Access;
use crate::hooks::Hooks;
use crate::repository::Repository;
pub use crate::txn_editor::{CommitAuthorizer, CommitResult};
use crate::txn_editor::{TxnEditor, TxnRequest};

/// What a commit is made with: the location, the user, the user's rights, and the request (`CommitRequest` of `core`)
/// as values of the editor's own, since it outlives the request.
pub struct CommitSetup<'a> {
    /// The repository.
    pub repository: &'a Repository,
    /// Its hooks.
    pub hooks: Hooks,
    /// The repository's URL, decoded: sources of copies must be below it.
    pub url: &'a str,
    /// The fspath that the edit's paths are relative to.
    pub base_path: FsPathBuf,
    /// The properties of the new revision, without the author.
    pub revprops: PropList,
    /// The user that commits; becomes the author.
    pub user: Option<&'a str>,
    /// The lock tokens that the user presents, each with its path as it was sent.
    pub lock_tokens: Vec<(String, String)>,
    /// The capabilities of the client, for `start-commit`.
    pub capabilities: &'a [&'a str],
    /// The rights of the user.
    pub authorizer: &'a dyn CommitAuthorizer,
}

/// A directory or file that is being edited.
#[derive(Clone, Debug)]
struct Open {
    path: FsPathBuf,
    base: Option<Revnum>,
    was_copied: bool,
    checked_write: bool,
}

/// The editor of one commit.
pub struct CommitEditor<'a> {
    setup: CommitSetup<'a>,
    editor: Option<TxnEditor>,
    open: HashMap<u64, Open>,
    next_handle: u64,
    committed: Option<CommitResult>,
}

impl<'a> CommitEditor<'a> {
    /// An editor that has not begun.
    #[must_use]
    pub fn new(setup: CommitSetup<'a>) -> Self {
        Self { setup, editor: None, open: HashMap::new(), next_handle: 0, committed: None }
    }

    /// The result, once the edit was closed.
    #[must_use]
    pub fn committed(self) -> Option<CommitResult> {
        self.committed
    }

    fn insert(&mut self, open: Open) -> Handle {
        let handle = self.next_handle;
        self.next_handle = handle.plus(1);
        self.open.insert(handle, open);
        Handle(handle)
    }

    fn find(&self, handle: Handle) -> SvnResult<&Open> {
        self.open.get(&handle.0).ok_or_else(no_edit)
    }

    fn editor(&mut self) -> SvnResult<&mut TxnEditor> {
        self.editor.as_mut().ok_or_else(no_edit)
    }

    fn full_path(&self, relpath: &str) -> FsPathBuf {
        FsPathBuf::canonicalized(paths::join(&self.setup.base_path, relpath))
    }

    /// Checks, once, that the node of `handle` may be written. Returns its path.
    fn writable(&mut self, handle: Handle, kind: NodeKind) -> SvnResult<FsPathBuf> {
        let open = self.find(handle)?.clone();
        if !open.checked_write {
            let authorizer = self.setup.authorizer;
            self.editor()?.check_writable(&open.path, kind, open.base, authorizer)?;
            if let Some(open) = self.open.get_mut(&handle.0) {
                open.checked_write = true;
            }
        }
        Ok(open.path)
    }

    fn add(
        &mut self,
        path: &str,
        parent: Handle,
        copy_from: Option<(&str, Revnum)>,
        kind: NodeKind,
    ) -> SvnResult<Handle> {
        sapwood_core::path::check_controls(path)?;
        let path = self.full_path(path);
        let was_copied = self.find(parent)?.was_copied;
        let authorizer = self.setup.authorizer;
        match copy_from {
            Some((url, revision)) => {
                let source = self.source_path(url)?;
                let source = (source.as_path(), revision);
                self.editor()?.copy(&path, source, kind, was_copied, authorizer)?;
            }
            None => self.editor()?.add(&path, kind, authorizer)?,
        }
        let was_copied = kind == NodeKind::Dir && copy_from.is_some();
        Ok(self.insert(Open { path, base: None, was_copied, checked_write: true }))
    }

    /// The fspath of a copy's source.
    fn source_path(&self, url: &str) -> SvnResult<FsPathBuf> {
        let url = uri::decode_utf8(url).unwrap_or_else(|| url.to_owned());
        match url.strip_prefix(self.setup.url) {
            Some(path) if path.is_empty() || path.starts_with('/') => {
                Ok(FsPathBuf::canonicalize(path))
            }
            _ => Err(SvnError::new(
                ErrorCode::FS_GENERAL,
                format!("Source url '{url}' is from different repository"),
            )),
        }
    }

    fn change_prop(
        &mut self,
        handle: Handle,
        kind: NodeKind,
        name: &str,
        value: Option<&[u8]>,
    ) -> SvnResult<()> {
        let path = self.writable(handle, kind)?;
        self.editor()?.change_prop(&path, name, value)
    }

    fn open_root(&mut self, base: Option<Revnum>) -> SvnResult<Handle> {
        if self.editor.is_some() {
            return Err(no_edit());
        }
        let setup = &mut self.setup;
        self.editor = Some(TxnEditor::begin(TxnRequest {
            repository: setup.repository,
            hooks: setup.hooks.clone(),
            revprops: std::mem::take(&mut setup.revprops),
            user: setup.user,
            lock_tokens: std::mem::take(&mut setup.lock_tokens),
            capabilities: setup.capabilities,
            base,
        })?);
        let path = self.full_path("");
        Ok(self.insert(Open { path, base, was_copied: false, checked_write: false }))
    }

    fn delete(
        &mut self,
        path: &RelPath,
        revision: Option<Revnum>,
        parent: Handle,
    ) -> SvnResult<()> {
        let path = self.full_path(path);
        self.find(parent)?;
        let authorizer = self.setup.authorizer;
        self.editor()?.delete(&path, revision, authorizer)
    }

    fn open_directory(
        &mut self,
        path: &RelPath,
        parent: Handle,
        base: Option<Revnum>,
    ) -> SvnResult<Handle> {
        let full = self.full_path(path);
        let was_copied = self.find(parent)?.was_copied;
        if self.editor()?.kind(&full)?.is_none() {
            return Err(SvnError::new(
                ErrorCode::FS_NOT_DIRECTORY,
                format!("Path '{path}' not present"),
            ));
        }
        Ok(self.insert(Open { path: full, base, was_copied, checked_write: false }))
    }

    fn open_file(
        &mut self,
        path: &RelPath,
        parent: Handle,
        base: Option<Revnum>,
    ) -> SvnResult<Handle> {
        self.find(parent)?;
        let path = self.full_path(path);
        TxnEditor::check_access(self.setup.authorizer, &path, Access::READ, false)?;
        let editor = self.editor()?;
        match base {
            Some(base) => editor.check_base(&path, NodeKind::File, base)?,
            // It must exist nevertheless.
            None => drop(editor.node_revision(&path)?),
        }
        Ok(self.insert(Open { path, base, was_copied: false, checked_write: false }))
    }

    fn apply_textdelta(
        &mut self,
        file: Handle,
        base: Option<Md5>,
        delta: &mut dyn TextDelta,
    ) -> SvnResult<()> {
        let path = self.writable(file, NodeKind::File)?;
        self.editor()?.apply_delta(&path, base, delta, None)
    }

    fn close_file(&mut self, file: Handle, text: Option<Md5>) -> SvnResult<()> {
        let Some(open) = self.open.remove(&file.0) else { return Err(no_edit()) };
        let Some(expected) = text else { return Ok(()) };
        let actual = self.editor()?.file_md5(&open.path)?;
        if expected == actual {
            return Ok(());
        }
        Err(SvnError::new(
            ErrorCode::CHECKSUM_MISMATCH,
            format!(
                "Checksum mismatch for resulting fulltext\n({}):\n   expected:  {expected}\n     \
                 actual:  {actual}\n",
                open.path
            ),
        ))
    }

    /// Makes the transaction a revision.
    fn commit(&mut self) -> SvnResult<()> {
        let Some(editor) = self.editor.take() else {
            return Err(SvnError::new(
                ErrorCode::REPOS_BAD_ARGS,
                "No valid transaction supplied to close_edit",
            ));
        };
        self.committed = Some(editor.commit()?);
        Ok(())
    }
}

impl StepEditor for CommitEditor<'_> {
    fn step(&mut self, step: EditStep<'_>) -> SvnResult<Handle> {
        match step {
            EditStep::OpenRoot(base) => return self.open_root(base),
            EditStep::Add { kind, path, parent, copy_from } => {
                return self.add(path, parent, copy_from, kind);
            }
            EditStep::Open { kind: NodeKind::Dir, path, parent, base } => {
                return self.open_directory(path, parent, base);
            }
            EditStep::Open { kind: NodeKind::File, path, parent, base } => {
                return self.open_file(path, parent, base);
            }
            EditStep::Delete { path, revision, parent } => self.delete(path, revision, parent)?,
            EditStep::Prop { kind, node, name, value } => {
                self.change_prop(node, kind, name, value)?;
            }
            EditStep::Text { file, base, delta } => self.apply_textdelta(file, base, delta)?,
            EditStep::CloseDirectory(dir) => drop(self.open.remove(&dir.0)),
            EditStep::CloseFile { file, text } => self.close_file(file, text)?,
            EditStep::CloseEdit => self.commit()?,
            EditStep::AbortEdit => self.editor = None,
            EditStep::TargetRevision(_) | EditStep::Absent { .. } => {}
        }
        Ok(Handle::NONE)
    }
}

/// The error for editor calls in an invalid order.
fn no_edit() -> SvnError {
    SvnError::new(ErrorCode::REPOS_BAD_ARGS, "Editor commands out of order")
}
