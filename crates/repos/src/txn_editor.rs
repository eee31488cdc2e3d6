//! A commit, path by path: the checks of rights, locks and base revisions, for all protocols.
//!
//! The rules are the reference's. Out of date means: a client that changes or deletes a file, or
//! changes a directory's properties, must have the version in the transaction's base; if two
//! commits changed different nodes below one directory, that is no conflict. Locks are checked with
//! each change, so that a large commit is not sent in vain, and once more by the commit.
//!
//! The editor owns its transaction, its user and the presented lock tokens, and borrows
//! nothing: a server may keep it by name from one request to the next. Only the user's rights
//! are an argument of each change. The transaction lives in memory, and on disk when a hook is to
//! see it. It vanishes with the editor, unless it was committed.

use std::sync::Arc;

use sapwood_core::FsPath;
use sapwood_core::props::names as prop_names;
use sapwood_core::{ErrorCode, Md5, NodeKind, PropList, Revnum, SvnError, SvnResult};
use sapwood_delta::TextDelta;
use sapwood_fs::txn::{Txn, WriteOptions, Writer, flags};
use sapwood_fs::{Relation, Roots};

use crate::authz::Access;
use crate::hooks::Hooks;
use crate::prop_rules;
use crate::repository::Repository;

/// Properties of a transaction that do not become properties of the revision.
const TXN_PREFIX: &str = "svn:txn-";
/// How many names of transactions a process takes at once: two syncs for so many commits.
const NUMBERS_AT_ONCE: u64 = 64;

/// Decides what a committer may do.
pub trait CommitAuthorizer {
    /// Whether the committer has the rights `required` at the fspath `path`, and with `recursive` at
    /// everything below.
    fn allows(&self, path: &FsPath, required: Access, recursive: bool) -> bool;
}

/// The parameters of a new transaction.
#[derive(Debug)]
pub struct TxnRequest<'a> {
    /// The repository.
    pub repository: &'a Repository,
    /// Its hooks.
    pub hooks: Hooks,
    /// The properties of the new revision, without the author.
    pub revprops: PropList,
    /// The user that commits; becomes the author.
    pub user: Option<&'a str>,
    /// The lock tokens that the user presents, each with its path as it was sent.
    pub lock_tokens: Vec<(String, String)>,
    /// The capabilities of the client, for `start-commit`.
    pub capabilities: &'a [&'a str],
    /// A revision that must exist.
    pub base: Option<Revnum>,
}

/// A commit that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitResult {
    /// The new revision.
    pub revision: Revnum,
    /// Its date, as stored.
    pub date: Option<Vec<u8>>,
    /// Its author.
    pub author: Option<Vec<u8>>,
    /// The error after the revision was published, such as that of a hook.
    pub post_commit_error: Option<String>,
}

/// A commit in progress. Paths are canonical fspaths.
#[derive(Debug)]
pub struct TxnEditor {
    repository: Repository,
    hooks: Hooks,
    user: Option<String>,
    lock_tokens: Vec<(String, String)>,
    txn: Txn,
    /// Trees that are copied from.
    sources: Roots,
    /// Whether there were any locks when it began.
    may_have_locks: bool,
}

#[allow(
    clippy::missing_errors_doc,
    reason = "special errors are described; else corruption and system errors"
)]
impl TxnEditor {
    /// Begins a transaction on top of the youngest revision.
    ///
    /// # Errors
    /// E160006 when there is no revision `base` yet, E165001 when `start-commit` refuses, errors of
    /// invalid properties.
    pub fn begin(request: TxnRequest<'_>) -> SvnResult<Self> {
        let TxnRequest { repository, hooks, revprops, user, lock_tokens, capabilities, base } =
            request;
        let fs = repository.fs();
        let youngest = fs.youngest()?;
        if let Some(base) = base.filter(|base| *base > youngest) {
            return Err(SvnError::new(
                ErrorCode::FS_NO_SUCH_REVISION,
                format!("No such revision {base} (HEAD is {youngest})"),
            ));
        }
        let may_have_locks = fs.may_have_locks()?;
        let options = WriteOptions { numbers_at_once: NUMBERS_AT_ONCE, ..Default::default() };
        let mut txn = Writer::new(fs, options)?.begin(youngest)?;
        let mut props = revprops;
        // The author is the authenticated user, whatever the client sends.
        match user {
            Some(user) => drop(props.set(prop_names::AUTHOR, user)),
            None => drop(props.remove(prop_names::AUTHOR)),
        }
        for (name, value) in props.iter() {
            prop_rules::check(name, value)?;
        }
        props.set(flags::CHECK_LOCKS, "true");
        *txn.props_mut() = props;
        let mut editor = Self {
            repository: repository.clone(),
            hooks,
            user: user.map(str::to_owned),
            lock_tokens,
            txn,
            sources: Roots::new(fs),
            may_have_locks,
        };
        editor.add_tokens();
        editor.hooks.start_commit(user, capabilities, &mut editor.txn)?;
        Ok(editor)
    }

    /// The transaction's name.
    #[must_use]
    pub fn name(&self) -> String {
        self.txn.name()
    }

    /// The user that commits.
    #[must_use]
    pub fn user(&self) -> Option<&str> {
        self.user.as_deref()
    }

    /// The revision that it is on top of.
    #[must_use]
    pub fn base_revision(&self) -> Revnum {
        self.txn.base_revision()
    }

    fn add_tokens(&mut self) {
        if let Some(user) = &self.user {
            let tokens = self.lock_tokens.iter().map(|(_, token)| token.clone());
            self.txn.set_access(user.clone(), tokens.collect());
        }
    }

    /// Adds lock tokens that the committer presents, each with its path.
    pub fn show_tokens(&mut self, tokens: impl IntoIterator<Item = (String, String)>) {
        let before = self.lock_tokens.len();
        for shown in tokens {
            if !self.lock_tokens.contains(&shown) {
                self.lock_tokens.push(shown);
            }
        }
        if self.lock_tokens.len() > before {
            self.add_tokens();
        }
    }

    /// The presented lock tokens.
    #[must_use]
    pub fn lock_tokens(&self) -> &[(String, String)] {
        &self.lock_tokens
    }

    /// The properties of the new revision.
    #[must_use]
    pub fn props(&self) -> &PropList {
        self.txn.props()
    }

    /// Sets or deletes a property of the new revision.
    ///
    /// # Errors
    /// For the author, which is the authenticated user, and for an invalid value.
    pub fn set_prop(&mut self, name: &str, value: Option<&[u8]>) -> SvnResult<()> {
        if name == prop_names::AUTHOR {
            return Err(SvnError::new(
                ErrorCode::RA_DAV_REQUEST_FAILED,
                "Attempted to modify 'svn:author' property on a transaction",
            ));
        }
        match value {
            Some(value) => {
                prop_rules::check(name, value)?;
                self.txn.props_mut().set(name, value);
            }
            None => drop(self.txn.props_mut().remove(name)),
        }
        Ok(())
    }

    /// The kind of the node at a path.
    pub fn kind(&self, path: &FsPath) -> SvnResult<Option<NodeKind>> {
        Ok(self.txn.kind(path)?)
    }

    /// The properties of the node at a path.
    ///
    /// # Errors
    /// E160013 when nothing is there.
    pub fn node_props(&self, path: &FsPath) -> SvnResult<PropList> {
        Ok(self.txn.node_props(path)?)
    }

    /// The revision in which the node at a path was changed last; `None` when this transaction did.
    ///
    /// # Errors
    /// E160013 when nothing is there.
    pub fn node_revision(&self, path: &FsPath) -> SvnResult<Option<Revnum>> {
        Ok(self.txn.node_revision(path)?)
    }

    /// The MD5 of a file's text.
    ///
    /// # Errors
    /// E160013 when nothing is there, E160017 when it is no file.
    pub fn file_md5(&self, path: &FsPath) -> SvnResult<Md5> {
        Ok(self.txn.file_md5(path)?)
    }

    /// Checks locks before a change, so that a large commit is not sent in vain. The commit checks
    /// them again.
    ///
    /// # Errors
    /// E160034, E160039 or E160037 when a lock is in the way.
    pub fn check_locks(&self, path: &FsPath, below: bool) -> SvnResult<()> {
        if self.may_have_locks { Ok(self.txn.check_locks_at(path, below)?) } else { Ok(()) }
    }

    /// Checks that the client's version of a node, from `base`, is that of the transaction.
    ///
    /// # Errors
    /// E160028 when it is not, E160006 for a revision that is younger than the transaction's base.
    pub fn check_base(&self, path: &FsPath, kind: NodeKind, base: Revnum) -> SvnResult<()> {
        // A node that the transaction itself changed has no revision.
        let created = self.txn.node_revision(path)?;
        if created.is_some_and(|created| base < created) {
            return Err(out_of_date(path, Some(kind)));
        }
        if created != Some(base) && base > self.txn.base_revision() {
            return Err(sapwood_fs::Error::NoSuchRevision(base).into());
        }
        Ok(())
    }

    /// Checks a directory that this transaction changed already, because a node below it was
    /// changed first: its version in the transaction's base must be the client's, from `base`.
    ///
    /// # Errors
    /// E160028 when it was not, E160006 for a revision that is younger than the transaction's base.
    pub fn check_changed_dir(&mut self, path: &FsPath, base: Revnum) -> SvnResult<()> {
        let began = self.txn.base_revision();
        if base == began || self.txn.node_revision(path)?.is_some() {
            return Ok(());
        }
        if base > began {
            return Err(sapwood_fs::Error::NoSuchRevision(base).into());
        }
        let had = self.sources.get(base)?.find(path)?;
        let has = self.sources.get(began)?.find(path)?;
        match (had, has) {
            (Some(had), Some(has)) if had.relation(&has) == Relation::Unchanged => Ok(()),
            // The client cannot have a node that is new in the transaction.
            (_, None) => Ok(()),
            _ => Err(out_of_date(path, Some(NodeKind::Dir))),
        }
    }

    /// Checks that the user has the rights at a path.
    ///
    /// # Errors
    /// E220004 or E220001 when they have not.
    pub(crate) fn check_access(
        authorizer: &dyn CommitAuthorizer,
        path: &FsPath,
        required: Access,
        recursive: bool,
    ) -> SvnResult<()> {
        if authorizer.allows(path, required, recursive) {
            return Ok(());
        }
        let code = if required.contains(Access::WRITE) {
            ErrorCode::AUTHZ_UNWRITABLE
        } else {
            ErrorCode::AUTHZ_UNREADABLE
        };
        Err(SvnError::new(code, "Access denied"))
    }

    /// Adds an empty file or directory.
    ///
    /// # Errors
    /// Rights, locks, names with control characters, and E160020 for an existing node.
    pub fn add(
        &mut self,
        path: &FsPath,
        kind: NodeKind,
        authorizer: &dyn CommitAuthorizer,
    ) -> SvnResult<()> {
        sapwood_core::path::check_controls(path)?;
        Self::check_access(authorizer, path, Access::WRITE, false)?;
        Self::check_access(authorizer, path.parent(), Access::WRITE, false)?;
        let is_dir = kind == NodeKind::Dir;
        // What is there already is no place for another node, locked or not.
        if let Err(locked) = self.check_locks(path, is_dir)
            && self.txn.kind(path)?.is_none()
        {
            return Err(locked);
        }
        if is_dir {
            self.txn.make_dir(path)?
        } else {
            self.txn.make_file(path)?
        }
        Ok(())
    }

    /// Adds a copy of `source` as it is in `revision`. An existing node is out of date,
    /// unless it came with a copy of the parent (`may_replace`).
    ///
    /// # Errors
    /// As [`TxnEditor::add`]; E160028; E160013 when there is no source.
    pub fn copy(
        &mut self,
        path: &FsPath,
        source: (&FsPath, Revnum),
        kind: NodeKind,
        may_replace: bool,
        authorizer: &dyn CommitAuthorizer,
    ) -> SvnResult<()> {
        sapwood_core::path::check_controls(path)?;
        let is_dir = kind == NodeKind::Dir;
        Self::check_access(authorizer, path, Access::WRITE, is_dir)?;
        Self::check_access(authorizer, path.parent(), Access::WRITE, false)?;
        if let (Some(kind), false) = (self.txn.kind(path)?, may_replace) {
            return Err(out_of_date(path, Some(kind)));
        }
        let (from, revision) = source;
        let root = self.sources.get(revision)?;
        Self::check_access(authorizer, from, Access::READ, is_dir)?;
        self.check_locks(path, true)?;
        Ok(self.txn.copy(&root, from, path, true)?)
    }

    /// Deletes the node at a path, which the client has as of `revision`.
    ///
    /// # Errors
    /// Rights and locks; E160028 when it does not exist or was changed since.
    pub fn delete(
        &mut self,
        path: &FsPath,
        revision: Option<Revnum>,
        authorizer: &dyn CommitAuthorizer,
    ) -> SvnResult<()> {
        let kind = self.txn.kind(path)?;
        let is_dir = kind == Some(NodeKind::Dir);
        Self::check_access(authorizer, path, Access::WRITE, is_dir)?;
        Self::check_access(authorizer, path.parent(), Access::WRITE, false)?;
        let Some(kind) = kind else { return Err(out_of_date(path, None)) };
        if let Some(revision) = revision {
            self.check_base(path, kind, revision)?;
        }
        self.check_locks(path, true)?;
        Ok(self.txn.delete(path)?)
    }

    /// Checks that a node may be changed; the client has it as of `base`.
    ///
    /// # Errors
    /// Rights; E160028 when a directory changed since. (A file is checked when it is opened.)
    pub fn check_writable(
        &self,
        path: &FsPath,
        kind: NodeKind,
        base: Option<Revnum>,
        authorizer: &dyn CommitAuthorizer,
    ) -> SvnResult<()> {
        Self::check_access(authorizer, path, Access::WRITE, false)?;
        match (kind, base) {
            (NodeKind::Dir, Some(base)) => self.check_base(path, kind, base),
            _ => Ok(()),
        }
    }

    /// Sets or deletes a property of a node that may be changed.
    ///
    /// # Errors
    /// Locks, and an invalid value.
    pub fn change_prop(
        &mut self,
        path: &FsPath,
        name: &str,
        value: Option<&[u8]>,
    ) -> SvnResult<()> {
        if let Some(value) = value {
            prop_rules::check_node(path, name, value)?;
        }
        self.check_locks(path, false)?;
        Ok(self.txn.change_prop(path, name, value)?)
    }

    /// Applies `delta` to the text of a file that may be changed. The MD5 of its present text
    /// must be `base`, that of the new one `result`.
    ///
    /// # Errors
    /// Locks, and E200014 for other checksums.
    pub fn apply_delta(
        &mut self,
        path: &FsPath,
        base: Option<Md5>,
        delta: &mut dyn TextDelta,
        result: Option<Md5>,
    ) -> SvnResult<()> {
        self.check_locks(path, false)?;
        Ok(self.txn.apply_delta(path, base, delta, result)?)
    }

    /// Sets the text of a file that may be changed.
    ///
    /// # Errors
    /// Locks, and E200014 when its MD5 is not `expected`.
    pub fn set_text(
        &mut self,
        path: &FsPath,
        text: &mut dyn std::io::Read,
        expected: Option<Md5>,
    ) -> SvnResult<()> {
        self.check_locks(path, false)?;
        Ok(self.txn.set_text(path, text, expected)?)
    }

    /// Commits the transaction as a new revision.
    ///
    /// # Errors
    /// E160024 and E160028 for conflicts with later commits, and the refusal of `pre-commit`.
    pub fn commit(self) -> SvnResult<CommitResult> {
        self.commit_and_call(|| ())
    }

    /// The same; `there` is called when the revision is published, before its hook runs.
    ///
    /// # Errors
    /// As [`TxnEditor::commit`].
    pub fn commit_and_call(self, there: impl FnOnce()) -> SvnResult<CommitResult> {
        let Self { repository, hooks, user, lock_tokens, mut txn, .. } = self;
        // A committer without a name has no tokens.
        hooks.pre_commit(&mut txn, if user.is_some() { &lock_tokens } else { &[] })?;
        let ephemeral: Vec<String> = txn
            .props()
            .iter()
            .filter(|(name, _)| name.starts_with(TXN_PREFIX))
            .map(|(name, _)| name.to_owned())
            .collect();
        for name in ephemeral {
            txn.props_mut().remove(&name);
        }
        let name = txn.name();
        let writer = Arc::clone(txn.writer());
        let sapwood_fs::txn::NewRevision { revision, mut props } = txn.commit_for_props()?;
        there();
        let after = writer.take_error_after_commit();
        let hook = hooks.post_commit(revision, &name);
        // The hook may have changed the properties.
        if !matches!(hook, Ok(false)) {
            props = PropList::clone(&*repository.fs().revprops(revision)?);
        }
        let post_commit_error = post_commit_error(after.as_ref(), hook.err().as_ref());
        let get = |name: &str| props.get(name).map(<[u8]>::to_vec);
        Ok(CommitResult {
            revision,
            date: get(prop_names::DATE),
            author: get(prop_names::AUTHOR),
            post_commit_error,
        })
    }
}

/// The error for a node that is out of date.
pub(crate) fn out_of_date(path: &FsPath, kind: Option<NodeKind>) -> SvnError {
    let message = match kind {
        Some(NodeKind::Dir) => format!("Directory '{path}' is out of date"),
        Some(NodeKind::File) => format!("File '{path}' is out of date"),
        None => format!("'{path}' is out of date"),
    };
    SvnError::new(ErrorCode::FS_TXN_OUT_OF_DATE, message)
}

/// What is reported to the committer of errors after the revision was published: in the filesystem,
/// and in the hook.
fn post_commit_error(after: Option<&SvnError>, hook: Option<&SvnError>) -> Option<String> {
    let text_of = |error: &SvnError, nothing: &str| match error.message() {
        "" => nothing.to_owned(),
        message => message.to_owned(),
    };
    let hook = hook.map(|e| text_of(e, "post-commit hook failed with no error message."));
    let Some(after) = after else { return hook };
    let after = text_of(after, "(no error message)");
    Some(match hook {
        Some(hook) => format!("post commit FS processing had error:\n{after}\n{hook}"),
        None => format!("post commit FS processing had error:\n{after}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_went_wrong_after_the_commit() {
        let error = |message: &str| SvnError::new(ErrorCode::REPOS_HOOK_FAILURE, message);
        let (after, hook) = (error("disk full"), error("no mail"));
        assert_eq!(post_commit_error(None, None), None);
        assert_eq!(post_commit_error(None, Some(&hook)).as_deref(), Some("no mail"));
        let silent = post_commit_error(None, Some(&error("")));
        assert_eq!(silent.as_deref(), Some("post-commit hook failed with no error message."));
        let words = "post commit FS processing had error:\ndisk full";
        assert_eq!(post_commit_error(Some(&after), None).as_deref(), Some(words));
        let words = format!("{words}\nno mail");
        assert_eq!(post_commit_error(Some(&after), Some(&hook)), Some(words));
    }
}
