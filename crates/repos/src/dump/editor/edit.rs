//! The editor calls: which nodes changed, and how.

use std::collections::BTreeSet;

use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::{ErrorCode, NodeKind, Revnum, SvnError, SvnResult, len64, path};
use sapwood_delta::{EditStep, Handle, StepEditor};

use super::{Action, NodeDumper};

/// A directory that is open in the edit.
pub(super) struct Dir {
    path: String,
    /// Whether its record stands in the stream.
    written: bool,
    /// What to compare with instead of the same path in the revision before.
    compare: Option<(String, Revnum)>,
    /// Entries that went away, until another one comes in their place.
    deleted: BTreeSet<RelPathBuf>,
    /// Whether it has names that it did not have before.
    new_names: bool,
}

impl Dir {
    fn opened(path: &str, compare: Option<(String, Revnum)>) -> Self {
        Self {
            path: path.to_owned(),
            written: false,
            compare,
            deleted: BTreeSet::new(),
            new_names: false,
        }
    }
}

/// Whatever file is open: its record is written when it is opened.
const FILE: Handle = Handle(u64::MAX);

impl NodeDumper<'_> {
    fn dir_mut(&mut self, handle: Handle) -> SvnResult<&mut Dir> {
        usize::try_from(handle.0)
            .ok()
            .and_then(|at| self.dirs.get_mut(at))
            .ok_or_else(|| SvnError::new(ErrorCode::ASSERTION_FAIL, "No such directory is open"))
    }

    fn push_dir(&mut self, dir: Dir) -> Handle {
        let handle = Handle(len64(self.dirs.len()));
        self.dirs.push(dir);
        handle
    }

    /// What a child of `parent` compares with.
    fn child_compare(&mut self, parent: Handle, path: &str) -> SvnResult<Option<(String, Revnum)>> {
        let parent = self.dir_mut(parent)?;
        Ok(parent
            .compare
            .as_ref()
            .map(|(source, rev)| (path::join(source, path::basename(path)), *rev)))
    }

    fn add(
        &mut self,
        kind: NodeKind,
        path: &RelPath,
        parent: Handle,
        copy_from: Option<(&str, Revnum)>,
    ) -> SvnResult<Handle> {
        let replaces = self.dir_mut(parent)?.deleted.remove(path);
        let action = if replaces { Action::Replace } else { Action::Add };
        self.dump(path, Some(kind), action, copy_from, None)?;
        if !replaces && self.settings.check_normalization {
            self.dir_mut(parent)?.new_names = true;
        }
        if kind == NodeKind::File {
            return Ok(FILE);
        }
        let compare =
            copy_from.map(|(source, rev)| (path::canonical_relpath(source).into_owned(), rev));
        Ok(self.push_dir(Dir { written: true, ..Dir::opened(path, compare) }))
    }

    fn open(&mut self, kind: NodeKind, path: &RelPath, parent: Handle) -> SvnResult<Handle> {
        let compare = self.child_compare(parent, path)?;
        if kind == NodeKind::Dir {
            return Ok(self.push_dir(Dir::opened(path, compare)));
        }
        let compare = compare.as_ref().map(|(path, rev)| (path.as_str(), *rev));
        self.dump(path, Some(kind), Action::Change, None, compare)?;
        Ok(FILE)
    }

    /// Writes the record of a directory whose properties change, once.
    fn dump_changed_dir(&mut self, dir: Handle) -> SvnResult<()> {
        let dir = self.dir_mut(dir)?;
        if dir.written {
            return Ok(());
        }
        dir.written = true;
        let path = dir.path.clone();
        let compare = dir.compare.clone();
        let compare = compare.as_ref().map(|(path, rev)| (path.as_str(), *rev));
        Ok(self.dump(&path, Some(NodeKind::Dir), Action::Change, None, compare)?)
    }

    fn close_directory(&mut self, handle: Handle) -> SvnResult<()> {
        if self.settings.verify {
            let dir = self.dir_mut(handle)?;
            let (path, new_names) = (dir.path.clone(), dir.new_names);
            self.check_entries(&path, new_names)?;
        }
        let deleted = std::mem::take(&mut self.dir_mut(handle)?.deleted);
        for path in deleted {
            self.dump(&path, None, Action::Delete, None, None)?;
        }
        // Directories close in the order in which they opened, the last one first.
        if let Ok(at) = usize::try_from(handle.0) {
            self.dirs.truncate(at);
        }
        Ok(())
    }
}

impl StepEditor for NodeDumper<'_> {
    fn step(&mut self, step: EditStep<'_>) -> SvnResult<Handle> {
        match step {
            EditStep::OpenRoot(_) => return Ok(self.push_dir(Dir::opened("", None))),
            EditStep::Add { kind, path, parent, copy_from } => {
                return self.add(kind, path, parent, copy_from);
            }
            EditStep::Open { kind, path, parent, .. } => return self.open(kind, path, parent),
            EditStep::Delete { path, parent, .. } => {
                self.dir_mut(parent)?.deleted.insert(path.to_owned());
            }
            EditStep::Prop { kind: NodeKind::Dir, node, .. } => self.dump_changed_dir(node)?,
            EditStep::CloseDirectory(dir) => self.close_directory(dir)?,
            // A file's record was written, with its properties and text, when it was opened.
            EditStep::Prop { kind: NodeKind::File, .. }
            | EditStep::Text { .. }
            | EditStep::CloseFile { .. }
            | EditStep::TargetRevision(_)
            | EditStep::Absent { .. }
            | EditStep::CloseEdit
            | EditStep::AbortEdit => {}
        }
        Ok(Handle::NONE)
    }
}
