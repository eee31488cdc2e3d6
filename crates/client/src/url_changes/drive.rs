//! Commits a [`Plan`]: drives the session's commit editor with it.

use std::io::{self, Read};

use sapwood_core::checksum::Md5Hasher;
use sapwood_core::exact::{Cut, Exact};
use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::props::names;
use sapwood_core::{CancelToken, ErrorCode, NodeKind, PropList, SvnError, SvnResult};
use sapwood_delta::{FullText, Handle};
use sapwood_ra::{CommitEditor, CommitInfo, CommitRequest};

use super::plan::{Kind, Operation, Plan, ROOT};
use super::props;
use crate::context::check_cancel;

/// Counts the checksum of what is read; errors name the file.
struct ChecksumReader<'a, R> {
    inner: R,
    sum: Md5Hasher,
    name: &'a str,
    cancel: &'a CancelToken,
}

impl<R: Read> Read for ChecksumReader<'_, R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        check_cancel(self.cancel).map_err(io::Error::other)?;
        let got = self.inner.read(buf).map_err(|e| match e.kind() {
            io::ErrorKind::Interrupted => e,
            _ => io::Error::other(SvnError::io(&e, format_args!("Can't read {}", self.name))),
        })?;
        self.sum.update(buf.head(got));
        Ok(got)
    }
}

fn commit_file(
    editor: &mut dyn CommitEditor,
    operation: &Operation,
    file: Handle,
    cancel: &CancelToken,
) -> SvnResult<()> {
    for (name, value) in &operation.props {
        editor.change_file_prop(file, name, value.as_deref())?;
    }
    let Some(source) = &operation.source else { return editor.close_file(file, None) };
    let name = source.display_path();
    let mut reader =
        ChecksumReader { inner: source.open()?, sum: Md5Hasher::new(), name: &name, cancel };
    editor.apply_textdelta(file, None, &mut FullText::new(&mut reader))?;
    editor.close_file(file, Some(reader.sum.finish()))
}

/// A directory that is open in the edit.
struct OpenDir {
    number: usize,
    relpath: RelPathBuf,
    handle: Handle,
    /// Whether it exists in the base.
    in_base: bool,
    /// The number of finished children.
    done: usize,
}

fn drive(editor: &mut dyn CommitEditor, plan: &Plan<'_>, cancel: &CancelToken) -> SvnResult<()> {
    let url = plan.session.url();
    let root = editor.open_root(Some(plan.base))?;
    let mut open = vec![OpenDir {
        number: ROOT,
        relpath: RelPathBuf::default(),
        handle: root,
        in_base: true,
        done: 0,
    }];
    while let Some(dir) = open.last_mut() {
        check_cancel(cancel)?;
        let Some(operation) = plan.operation(dir.number) else { break };
        if dir.done == 0 {
            for (name, value) in &operation.props {
                editor.change_dir_prop(dir.handle, name, value.as_deref())?;
            }
        }
        let next = operation.children.as_ref().and_then(|children| children.get(dir.done)).copied();
        dir.done = dir.done.plus(1);
        let Some((number, child)) = next.and_then(|n| Some((n, plan.operation(n)?))) else {
            editor.close_directory(dir.handle)?;
            open.pop();
            continue;
        };
        let relpath = dir.relpath.child(&child.name);
        let base = dir.in_base.then_some(plan.base);
        let from =
            child.copy_from.as_ref().map(|(from, rev)| (url.join(RelPath::trusted(from)), *rev));
        let from = from.as_ref().map(|(url, rev)| (url.as_str(), *rev));
        let parent = dir.handle;
        match child.kind {
            Kind::Delete => editor.delete_entry(&relpath, base, parent)?,
            Kind::AddFile => {
                let file = editor.add_file(&relpath, parent, from)?;
                commit_file(editor, child, file, cancel)?;
            }
            Kind::OpenFile => {
                let file = editor.open_file(&relpath, parent, base)?;
                commit_file(editor, child, file, cancel)?;
            }
            Kind::AddDir => {
                let handle = editor.add_directory(&relpath, parent, from)?;
                open.push(OpenDir { number, relpath, handle, in_base: false, done: 0 });
            }
            Kind::OpenDir => {
                let in_base = dir.in_base;
                let handle = editor.open_directory(&relpath, parent, base)?;
                open.push(OpenDir { number, relpath, handle, in_base, done: 0 });
            }
        }
    }
    Ok(())
}

/// Commits a plan; `None` when there is nothing to commit, or no message.
///
/// # Errors
/// Those of the commit; E195011 for properties of revisions that are set by other means.
pub fn commit(
    mut plan: Plan<'_>,
    given: &PropList,
    cancel: &CancelToken,
    message: impl FnOnce() -> SvnResult<Option<Vec<u8>>>,
) -> SvnResult<Option<CommitInfo>> {
    if plan.is_unmodified() {
        return Ok(None);
    }
    plan.move_up()?;
    let Some(message) = message()? else { return Ok(None) };
    props::check_commit(given)?;
    let mut revprops = given.clone();
    revprops.set(names::LOG, &message);
    if plan.session.check_path(RelPath::ROOT, Some(plan.base))? != Some(NodeKind::Dir) {
        return Err(SvnError::new(
            ErrorCode::FS_NOT_DIRECTORY,
            format!("Can't commit to '{}' because it is not a directory", plan.session.url()),
        ));
    }
    let request = CommitRequest { revprops: &revprops, lock_tokens: &[], keep_locks: false };
    let mut editor = plan.session.commit(&request)?;
    if let Err(error) = drive(editor.as_mut(), &plan, cancel).and_then(|()| check_cancel(cancel)) {
        let _ = editor.abort_edit();
        return Err(error);
    }
    editor.close_edit()?;
    Ok(editor.committed().cloned())
}
