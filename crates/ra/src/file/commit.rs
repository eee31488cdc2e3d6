//! `commit`: the repository's own editor, and the locks that end with it.

use sapwood_core::FsPath;
use sapwood_core::paths::RelPathBuf;
use sapwood_core::{SvnResult, ascii};
use sapwood_delta::{EditStep, Editor as _, Handle, StepEditor};
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

    fn close(&mut self) -> SvnResult<()> {
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
}

impl CommitEditor for FileCommit<'_> {
    fn committed(&self) -> Option<&CommitInfo> {
        self.info.as_ref()
    }
}

impl StepEditor for FileCommit<'_> {
    fn step(&mut self, step: EditStep<'_>) -> SvnResult<Handle> {
        match step {
            EditStep::CloseEdit => self.close().map(|()| Handle::NONE),
            EditStep::AbortEdit => {
                let ended = self.editor.take().map_or(Ok(()), |mut editor| editor.abort_edit());
                ended.map(|()| Handle::NONE)
            }
            step => step.apply(self.editor()?),
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
