//! Commits: an editor that changes a transaction and makes a revision of it.
//!
//! The rules about what is out of date are the reference's: whoever changes or deletes a file, or
//! changes a directory's properties, must have had it as it is in the transaction's base; that
//! two commits changed different things below one directory is no conflict.
//!
//! The transaction lives in memory, and on disk when a hook is to see it. It vanishes with the
//! editor, unless `close_edit` came.

use std::collections::HashMap;
use std::sync::Arc;

use sapwood_core::props::names as prop_names;
use sapwood_core::{
    ErrorCode, Md5, NodeKind, PropList, Revnum, SvnError, SvnResult, path as paths, uri,
};
use sapwood_delta::{Editor, Handle, TextDelta};
use sapwood_fsfs::Roots;
use sapwood_fsfs::txn::{Txn, WriteOptions, Writer, flags};

use crate::authz::Access;
use crate::hooks::Hooks;
use crate::prop_rules;
use crate::repository::Repository;

/// Properties of a transaction that do not become properties of the revision.
const TXN_PREFIX: &str = "svn:txn-";
/// How many names of transactions a process takes at once: two syncs for so many commits.
const NUMBERS_AT_ONCE: u64 = 64;

/// Says what a committer may do.
pub trait CommitAuthorizer {
    /// Whether they have the rights `required` at the fspath `path`, and with `recursive` at
    /// everything below.
    fn allows(&self, path: &str, required: Access, recursive: bool) -> bool;
}

/// A commit that is wanted.
pub struct CommitRequest<'a> {
    /// Where to.
    pub repository: &'a Repository,
    /// Its hooks.
    pub hooks: Hooks,
    /// The repository's URL, decoded: sources of copies must be below it.
    pub url: &'a str,
    /// The fspath that the edit's paths are relative to.
    pub base_path: String,
    /// What the revision's properties shall be, without the author.
    pub revprops: PropList,
    /// Who commits; becomes the author.
    pub user: Option<&'a str>,
    /// The lock tokens that they show: for each a path, as they say it, and the token.
    pub lock_tokens: Vec<(String, String)>,
    /// What the client can do, for `start-commit`.
    pub capabilities: &'a [&'a str],
    /// What they may do.
    pub authorizer: &'a dyn CommitAuthorizer,
}

/// A commit that was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Committed {
    /// The new revision.
    pub revision: Revnum,
    /// Its date, as stored.
    pub date: Option<Vec<u8>>,
    /// Its author.
    pub author: Option<Vec<u8>>,
    /// What went wrong after it was there.
    pub post_commit_error: Option<String>,
}

/// A directory or file that is being edited.
#[derive(Clone, Debug)]
struct Open {
    path: String,
    base: Option<Revnum>,
    was_copied: bool,
    checked_write: bool,
}

/// The editor of one commit.
pub struct CommitEditor<'a> {
    request: CommitRequest<'a>,
    /// Trees that are copied from.
    sources: Roots,
    txn: Option<Txn>,
    open: HashMap<u64, Open>,
    next_handle: u64,
    /// Whether there were any locks when it began.
    may_have_locks: bool,
    committed: Option<Committed>,
}

impl<'a> CommitEditor<'a> {
    /// An editor that has not begun.
    #[must_use]
    pub fn new(request: CommitRequest<'a>) -> Self {
        Self {
            sources: Roots::new(request.repository.fs()),
            request,
            txn: None,
            open: HashMap::new(),
            next_handle: 0,
            may_have_locks: false,
            committed: None,
        }
    }

    /// What came of it, once the edit was closed.
    #[must_use]
    pub fn committed(self) -> Option<Committed> {
        self.committed
    }

    fn insert(&mut self, open: Open) -> Handle {
        let handle = self.next_handle;
        self.next_handle = handle.saturating_add(1);
        self.open.insert(handle, open);
        Handle(handle)
    }

    fn find(&self, handle: Handle) -> SvnResult<&Open> {
        self.open.get(&handle.0).ok_or_else(no_edit)
    }

    fn txn(&mut self) -> SvnResult<&mut Txn> {
        self.txn.as_mut().ok_or_else(no_edit)
    }

    fn full_path(&self, relpath: &str) -> String {
        paths::canonical_fspath(&paths::join(&self.request.base_path, relpath)).into_owned()
    }

    fn check_access(&self, path: &str, required: Access, recursive: bool) -> SvnResult<()> {
        if self.request.authorizer.allows(path, required, recursive) {
            return Ok(());
        }
        let code = if required.contains(Access::WRITE) {
            ErrorCode::AUTHZ_UNWRITABLE
        } else {
            ErrorCode::AUTHZ_UNREADABLE
        };
        Err(SvnError::new(code, "Access denied"))
    }

    /// Checks locks before a change, so that a large commit is not sent in vain. The commit checks
    /// them again.
    fn check_locks(&mut self, path: &str, below: bool) -> SvnResult<()> {
        if self.may_have_locks { Ok(self.txn()?.check_locks_at(path, below)?) } else { Ok(()) }
    }

    /// Checks that a node which the client has as of `base` is what the transaction has.
    fn check_base(&mut self, path: &str, kind: NodeKind, base: Revnum) -> SvnResult<()> {
        let txn = self.txn()?;
        // What the transaction itself changed has no revision.
        let created = txn.node_revision(path)?;
        if created.is_some_and(|created| base < created) {
            return Err(out_of_date(path, Some(kind)));
        }
        if created != Some(base) && base > txn.base_revision() {
            return Err(sapwood_fsfs::Error::NoSuchRevision(base).into());
        }
        Ok(())
    }

    /// Checks that what `handle` stands for may be written, once: its path.
    fn writable(&mut self, handle: Handle, kind: NodeKind) -> SvnResult<String> {
        let open = self.find(handle)?.clone();
        if !open.checked_write {
            self.check_access(&open.path, Access::WRITE, false)?;
            if let (NodeKind::Dir, Some(base)) = (kind, open.base) {
                self.check_base(&open.path, kind, base)?;
            }
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
        check_valid(path)?;
        let path = self.full_path(path);
        let parent = self.find(parent)?.clone();
        let is_dir = kind == NodeKind::Dir;
        self.check_access(&path, Access::WRITE, is_dir && copy_from.is_some())?;
        self.check_access(&parent.path, Access::WRITE, false)?;
        if let Some((url, revision)) = copy_from {
            if let (Some(kind), false) = (self.txn()?.kind(&path)?, parent.was_copied) {
                return Err(out_of_date(&path, Some(kind)));
            }
            let source = self.source_path(url)?;
            let root = self.sources.get(revision)?;
            self.check_access(&source, Access::READ, is_dir)?;
            self.check_locks(&path, true)?;
            self.txn()?.copy(&root, &source, &path, true)?;
        } else if is_dir {
            self.check_locks(&path, true)?;
            self.txn()?.make_dir(&path)?;
        } else {
            self.check_locks(&path, false)?;
            self.txn()?.make_file(&path)?;
        }
        let was_copied = is_dir && copy_from.is_some();
        Ok(self.insert(Open { path, base: None, was_copied, checked_write: true }))
    }

    /// The fspath of a copy's source.
    fn source_path(&self, url: &str) -> SvnResult<String> {
        let url = uri::decode_utf8(url).unwrap_or_else(|| url.to_owned());
        match url.strip_prefix(self.request.url) {
            Some(path) if path.is_empty() || path.starts_with('/') => {
                Ok(paths::canonical_fspath(path).into_owned())
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
        if let Some(value) = value {
            prop_rules::check_node(&path, name, value)?;
        }
        self.check_locks(&path, false)?;
        Ok(self.txn()?.change_prop(&path, name, value)?)
    }

    /// Begins the transaction on top of the youngest revision.
    fn begin(&mut self, base: Option<Revnum>) -> SvnResult<()> {
        let request = &mut self.request;
        let fs = request.repository.fs();
        let youngest = fs.youngest()?;
        if let Some(base) = base.filter(|base| *base > youngest) {
            return Err(SvnError::new(
                ErrorCode::FS_NO_SUCH_REVISION,
                format!("No such revision {base} (HEAD is {youngest})"),
            ));
        }
        self.may_have_locks = fs.may_have_locks()?;
        let options = WriteOptions { numbers_at_once: NUMBERS_AT_ONCE, ..Default::default() };
        let mut txn = Writer::new(fs, options)?.begin(youngest)?;
        let mut props = std::mem::take(&mut request.revprops);
        // The name is what was proved, whatever the client says.
        match request.user {
            Some(user) => drop(props.set(prop_names::AUTHOR, user)),
            None => drop(props.remove(prop_names::AUTHOR)),
        }
        for (name, value) in props.iter() {
            prop_rules::check(name, value)?;
        }
        props.set(flags::CHECK_LOCKS, "true");
        *txn.props_mut() = props;
        if let Some(user) = request.user {
            let tokens = request.lock_tokens.iter().map(|(_, token)| token.clone());
            txn.set_access(user, tokens.collect());
        }
        request.hooks.start_commit(request.user, request.capabilities, &mut txn)?;
        self.txn = Some(txn);
        Ok(())
    }

    fn commit(&mut self, mut txn: Txn) -> SvnResult<Committed> {
        let hooks = &self.request.hooks;
        // Who is nobody shows no tokens.
        let tokens = &self.request.lock_tokens;
        hooks.pre_commit(&mut txn, if self.request.user.is_some() { tokens } else { &[] })?;
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
        let sapwood_fsfs::txn::Committed { revision, mut props } = txn.commit_for_props()?;
        let after = writer.take_error_after_commit();
        let hook = hooks.post_commit(revision, &name);
        // The hook may have changed them.
        if !matches!(hook, Ok(false)) {
            props = PropList::clone(&*self.request.repository.fs().revprops(revision)?);
        }
        let post_commit_error = post_commit_error(after.as_ref(), hook.err().as_ref());
        let get = |name: &str| props.get(name).map(<[u8]>::to_vec);
        Ok(Committed {
            revision,
            date: get(prop_names::DATE),
            author: get(prop_names::AUTHOR),
            post_commit_error,
        })
    }
}

impl Editor for CommitEditor<'_> {
    sapwood_delta::ignore_absent!();

    fn open_root(&mut self, base: Option<Revnum>) -> SvnResult<Handle> {
        if self.txn.is_some() {
            return Err(no_edit());
        }
        self.begin(base)?;
        let path = self.full_path("");
        Ok(self.insert(Open { path, base, was_copied: false, checked_write: false }))
    }

    fn delete_entry(
        &mut self,
        path: &str,
        revision: Option<Revnum>,
        parent: Handle,
    ) -> SvnResult<()> {
        let path = self.full_path(path);
        let kind = self.txn()?.kind(&path)?;
        self.check_access(&path, Access::WRITE, kind == Some(NodeKind::Dir))?;
        self.check_access(&self.find(parent)?.path, Access::WRITE, false)?;
        let Some(kind) = kind else { return Err(out_of_date(&path, None)) };
        if let Some(revision) = revision {
            self.check_base(&path, kind, revision)?;
        }
        self.check_locks(&path, true)?;
        Ok(self.txn()?.delete(&path)?)
    }

    fn add_directory(
        &mut self,
        path: &str,
        parent: Handle,
        copy_from: Option<(&str, Revnum)>,
    ) -> SvnResult<Handle> {
        self.add(path, parent, copy_from, NodeKind::Dir)
    }

    fn open_directory(
        &mut self,
        path: &str,
        parent: Handle,
        base: Option<Revnum>,
    ) -> SvnResult<Handle> {
        let full = self.full_path(path);
        let was_copied = self.find(parent)?.was_copied;
        if self.txn()?.kind(&full)?.is_none() {
            return Err(SvnError::new(
                ErrorCode::FS_NOT_DIRECTORY,
                format!("Path '{path}' not present"),
            ));
        }
        Ok(self.insert(Open { path: full, base, was_copied, checked_write: false }))
    }

    fn change_dir_prop(&mut self, dir: Handle, name: &str, value: Option<&[u8]>) -> SvnResult<()> {
        self.change_prop(dir, NodeKind::Dir, name, value)
    }

    fn close_directory(&mut self, dir: Handle) -> SvnResult<()> {
        self.open.remove(&dir.0);
        Ok(())
    }

    fn add_file(
        &mut self,
        path: &str,
        parent: Handle,
        copy_from: Option<(&str, Revnum)>,
    ) -> SvnResult<Handle> {
        self.add(path, parent, copy_from, NodeKind::File)
    }

    fn open_file(&mut self, path: &str, parent: Handle, base: Option<Revnum>) -> SvnResult<Handle> {
        self.find(parent)?;
        let path = self.full_path(path);
        self.check_access(&path, Access::READ, false)?;
        match base {
            Some(base) => self.check_base(&path, NodeKind::File, base)?,
            // It must exist all the same.
            None => drop(self.txn()?.node_revision(&path)?),
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
        self.check_locks(&path, false)?;
        Ok(self.txn()?.apply_delta(&path, base, delta, None)?)
    }

    fn change_file_prop(
        &mut self,
        file: Handle,
        name: &str,
        value: Option<&[u8]>,
    ) -> SvnResult<()> {
        self.change_prop(file, NodeKind::File, name, value)
    }

    fn close_file(&mut self, file: Handle, text: Option<Md5>) -> SvnResult<()> {
        let Some(open) = self.open.remove(&file.0) else { return Err(no_edit()) };
        let Some(expected) = text else { return Ok(()) };
        let actual = self.txn()?.file_md5(&open.path)?;
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

    fn close_edit(&mut self) -> SvnResult<()> {
        let Some(txn) = self.txn.take() else {
            return Err(SvnError::new(
                ErrorCode::REPOS_BAD_ARGS,
                "No valid transaction supplied to close_edit",
            ));
        };
        self.committed = Some(self.commit(txn)?);
        Ok(())
    }

    fn abort_edit(&mut self) -> SvnResult<()> {
        self.txn = None;
        Ok(())
    }
}

fn out_of_date(path: &str, kind: Option<NodeKind>) -> SvnError {
    let message = match kind {
        Some(NodeKind::Dir) => format!("Directory '{path}' is out of date"),
        Some(NodeKind::File) => format!("File '{path}' is out of date"),
        None => format!("'{path}' is out of date"),
    };
    SvnError::new(ErrorCode::FS_TXN_OUT_OF_DATE, message)
}

/// What the committer is told of what went wrong after the revision was there: in the filesystem,
/// and in the hook.
fn post_commit_error(after: Option<&SvnError>, hook: Option<&SvnError>) -> Option<String> {
    let told = |error: &SvnError, nothing: &str| match error.message() {
        "" => nothing.to_owned(),
        message => message.to_owned(),
    };
    let hook = hook.map(|e| told(e, "post-commit hook failed with no error message."));
    let Some(after) = after else { return hook };
    let after = told(after, "(no error message)");
    Some(match hook {
        Some(hook) => format!("post commit FS processing had error:\n{after}\n{hook}"),
        None => format!("post commit FS processing had error:\n{after}"),
    })
}

/// The error for editor calls in an order that makes no sense.
fn no_edit() -> SvnError {
    SvnError::new(ErrorCode::REPOS_BAD_ARGS, "Editor commands out of order")
}

/// Refuses new names with control characters.
fn check_valid(path: &str) -> SvnResult<()> {
    let Some(bad) = path.bytes().find(u8::is_ascii_control) else { return Ok(()) };
    let mut shown = String::with_capacity(path.len());
    for c in path.chars() {
        if c.is_ascii_control() {
            shown.push_str(&format!("\\{:03o}", u32::from(c)));
        } else {
            shown.push(c);
        }
    }
    Err(SvnError::new(
        ErrorCode::FS_PATH_SYNTAX,
        format!("Invalid control character '0x{bad:02x}' in path '{shown}'"),
    ))
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
