//! `commit`: the repository's own editor, and the locks that end with it.

use sapwood_core::FsPath;
use sapwood_core::paths::RelPath;
use sapwood_core::paths::RelPathBuf;
use sapwood_core::{Md5, Revnum, SvnResult, ascii};
use sapwood_delta::{Editor, Handle, TextDelta};
use sapwood_fs::UnlockTarget;
use sapwood_repos::authz::Access;
use sapwood_repos::locks::{UnlockRequest, unlock_paths};
use sapwood_repos::{CommitAuthorizer, CommitEditor as RepositoryEditor, CommitSetup};

use super::FileSession;
use crate::session::{
    COMPATIBLE_VERSION, CommitEditor, CommitInfo, CommitRequest, Commits, TXN_CLIENT_VERSION,
    TXN_USER_AGENT,
};

/// Everything may be written.
struct Anything;

impl CommitAuthorizer for Anything {
    fn allows(&self, _: &FsPath, _: Access, _: bool) -> bool {
        true
    }
}

/// The editor of a commit.
struct FileCommit<'s> {
    session: &'s FileSession,
    /// `None` after the end.
    editor: Option<RepositoryEditor<'s>>,
    info: Option<CommitInfo>,
    unlock: Vec<UnlockTarget>,
}

impl<'s> FileCommit<'s> {
    fn editor(&mut self) -> SvnResult<&mut RepositoryEditor<'s>> {
        self.editor.as_mut().ok_or_else(|| crate::Error::Busy.into())
    }
}

impl CommitEditor for FileCommit<'_> {
    fn committed(&self) -> Option<&CommitInfo> {
        self.info.as_ref()
    }
}

impl Editor for FileCommit<'_> {
    fn set_target_revision(&mut self, revision: Revnum) -> SvnResult<()> {
        self.editor()?.set_target_revision(revision)
    }

    fn open_root(&mut self, base: Option<Revnum>) -> SvnResult<Handle> {
        self.editor()?.open_root(base)
    }

    fn delete_entry(
        &mut self,
        path: &RelPath,
        revision: Option<Revnum>,
        parent: Handle,
    ) -> SvnResult<()> {
        self.editor()?.delete_entry(path, revision, parent)
    }

    fn add_directory(
        &mut self,
        path: &RelPath,
        parent: Handle,
        copy_from: Option<(&str, Revnum)>,
    ) -> SvnResult<Handle> {
        self.editor()?.add_directory(path, parent, copy_from)
    }

    fn open_directory(
        &mut self,
        path: &RelPath,
        parent: Handle,
        base: Option<Revnum>,
    ) -> SvnResult<Handle> {
        self.editor()?.open_directory(path, parent, base)
    }

    fn change_dir_prop(&mut self, dir: Handle, name: &str, value: Option<&[u8]>) -> SvnResult<()> {
        self.editor()?.change_dir_prop(dir, name, value)
    }

    fn close_directory(&mut self, dir: Handle) -> SvnResult<()> {
        self.editor()?.close_directory(dir)
    }

    fn absent_directory(&mut self, path: &RelPath, parent: Handle) -> SvnResult<()> {
        self.editor()?.absent_directory(path, parent)
    }

    fn add_file(
        &mut self,
        path: &RelPath,
        parent: Handle,
        copy_from: Option<(&str, Revnum)>,
    ) -> SvnResult<Handle> {
        self.editor()?.add_file(path, parent, copy_from)
    }

    fn open_file(
        &mut self,
        path: &RelPath,
        parent: Handle,
        base: Option<Revnum>,
    ) -> SvnResult<Handle> {
        self.editor()?.open_file(path, parent, base)
    }

    fn apply_textdelta(
        &mut self,
        file: Handle,
        base: Option<Md5>,
        delta: &mut dyn TextDelta,
    ) -> SvnResult<()> {
        self.editor()?.apply_textdelta(file, base, delta)
    }

    fn change_file_prop(
        &mut self,
        file: Handle,
        name: &str,
        value: Option<&[u8]>,
    ) -> SvnResult<()> {
        self.editor()?.change_file_prop(file, name, value)
    }

    fn close_file(&mut self, file: Handle, text: Option<Md5>) -> SvnResult<()> {
        self.editor()?.close_file(file, text)
    }

    fn absent_file(&mut self, path: &RelPath, parent: Handle) -> SvnResult<()> {
        self.editor()?.absent_file(path, parent)
    }

    fn close_edit(&mut self) -> SvnResult<()> {
        let Some(mut editor) = self.editor.take() else { return Err(crate::Error::Busy.into()) };
        editor.close_edit()?;
        let text = |bytes: Option<Vec<u8>>| bytes.map(|b| ascii::readable(&b).into_owned());
        self.info = editor.committed().map(|committed| CommitInfo {
            revision: committed.revision,
            date: text(committed.date),
            author: text(committed.author),
            post_commit_error: committed.post_commit_error,
        });
        let unlock = std::mem::take(&mut self.unlock);
        if self.info.is_some() && !unlock.is_empty() {
            let hooks = self.session.hooks();
            // The commit stands, whatever becomes of the locks.
            let _ = unlock_paths(
                &UnlockRequest {
                    repository: &self.session.repository,
                    hooks: Some(&hooks),
                    user: self.session.user(),
                    break_lock: false,
                },
                unlock,
            );
        }
        Ok(())
    }

    fn abort_edit(&mut self) -> SvnResult<()> {
        match self.editor.take() {
            Some(mut editor) => editor.abort_edit(),
            None => Ok(()),
        }
    }
}

impl Commits for FileSession {
    fn commit<'s>(&'s self, request: &CommitRequest<'_>) -> SvnResult<Box<dyn CommitEditor + 's>> {
        let owned = |(path, token): &(RelPathBuf, String)| (path.to_string(), token.clone());
        let lock_tokens = request.lock_tokens.iter().map(owned).collect();
        let mut unlock = Vec::new();
        if !request.keep_locks {
            unlock.extend(
                request.lock_tokens.iter().map(|(path, token)| UnlockTarget {
                    path: self.at(path),
                    token: token.clone(),
                }),
            );
        }
        let mut revprops = request.revprops.clone();
        revprops.set(TXN_CLIENT_VERSION, COMPATIBLE_VERSION);
        revprops.set(TXN_USER_AGENT, &self.user_agent);
        let editor = RepositoryEditor::new(CommitSetup {
            repository: &self.repository,
            hooks: self.hooks(),
            url: &self.decoded_root_url,
            base_path: self.fs_path.borrow().clone(),
            revprops,
            user: self.user(),
            lock_tokens,
            capabilities: &["mergeinfo"],
            authorizer: &Anything,
        });
        Ok(Box::new(FileCommit { session: self, editor: Some(editor), info: None, unlock }))
    }
}
