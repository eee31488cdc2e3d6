//! The changes that lead from BASE of a working copy to a location in the repository, as the other side sends them.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::{NodeKind, SvnResult};
use sapwood_delta::{EditStep, Handle, StepEditor, TextDelta};
use sapwood_wc::WorkingCopy;
use sapwood_wc::conflict::PropChange;

use super::local::pristine_text;
use super::regular::{is_regular, wrong_handle};
use super::remote::apply;
use super::sides::Text;
use super::spool::Spool;

/// The repository's change of a node of BASE.
#[derive(Clone, Debug, Default)]
pub(super) struct Change {
    pub(super) deleted: bool,
    pub(super) added: Option<NodeKind>,
    pub(super) props: Vec<PropChange>,
    pub(super) text: Option<Text>,
}

/// Records an edit of BASE.
pub(super) struct Recorder<'a> {
    wc: &'a WorkingCopy,
    /// Where the edit starts, below the working copy's root.
    start: &'a RelPath,
    pub(super) changes: BTreeMap<RelPathBuf, Change>,
    /// The directories of BASE that the edit goes through.
    pub(super) opened_dirs: BTreeSet<RelPathBuf>,
    open: HashMap<u64, RelPathBuf>,
    next: u64,
    /// Where texts wait until the edit is complete.
    texts: Spool,
}

impl<'a> Recorder<'a> {
    pub(super) fn new(wc: &'a WorkingCopy, start: &'a RelPath) -> Self {
        Self {
            wc,
            start,
            changes: BTreeMap::new(),
            opened_dirs: BTreeSet::new(),
            open: HashMap::new(),
            next: 0,
            texts: Spool::default(),
        }
    }

    fn handle(&mut self, at: &RelPath) -> Handle {
        self.next = self.next.wrapping_add(1);
        self.open.insert(self.next, self.start.join(at));
        Handle(self.next)
    }

    fn opened_dir(&mut self, at: &RelPath) -> Handle {
        self.opened_dirs.insert(self.start.join(at));
        self.handle(at)
    }

    /// An edit that begins at the parent does not go through a directory in which nothing changed.
    pub(super) fn pass_over_unchanged_root(&mut self) {
        if self.changes.is_empty() && self.opened_dirs.len() == 1 {
            self.opened_dirs.clear();
        }
    }

    fn change(&mut self, handle: Handle) -> SvnResult<&mut Change> {
        let relpath = self.open.get(&handle.0).ok_or_else(wrong_handle)?;
        Ok(self.changes.entry(relpath.clone()).or_default())
    }

    fn added(&mut self, at: &RelPath, kind: NodeKind) -> Handle {
        let handle = self.handle(at);
        let relpath = self.start.join(at);
        self.changes.entry(relpath).or_default().added = Some(kind);
        handle
    }

    fn set_prop(&mut self, handle: Handle, name: &str, value: Option<&[u8]>) -> SvnResult<()> {
        if is_regular(name) {
            self.change(handle)?.props.push((name.to_owned(), value.map(<[u8]>::to_vec)));
        }
        Ok(())
    }

    fn set_text(&mut self, file: Handle, delta: &mut dyn TextDelta) -> SvnResult<()> {
        let relpath = self.open.get(&file.0).cloned().ok_or_else(wrong_handle)?;
        let is_new = self.changes.get(&relpath).is_some_and(|c| c.added.is_some());
        let base = match is_new {
            true => None,
            false => self.wc.db().base(&relpath)?,
        };
        let base = base.map_or(Ok(Text::Empty), |row| pristine_text(self.wc, &row))?;
        let text = self.texts.add(apply(&base, delta)?)?;
        self.change(file)?.text = Some(text);
        Ok(())
    }

    /// Whether a node above this one is new, so that BASE says nothing of it.
    pub(super) fn is_below_new(&self, relpath: &RelPath) -> bool {
        let mut at = relpath;
        while !at.is_empty() && at != self.start {
            at = at.parent();
            if self.changes.get(at).is_some_and(|c| c.added.is_some() || c.deleted) {
                return true;
            }
        }
        false
    }
}

impl StepEditor for Recorder<'_> {
    fn step(&mut self, step: EditStep<'_>) -> SvnResult<Handle> {
        match step {
            EditStep::OpenRoot(_) => return Ok(self.opened_dir(RelPath::ROOT)),
            EditStep::Open { path, kind: NodeKind::Dir, .. } => return Ok(self.opened_dir(path)),
            EditStep::Open { path, .. } => return Ok(self.handle(path)),
            EditStep::Add { kind, path, .. } => return Ok(self.added(path, kind)),
            EditStep::Delete { path, .. } => {
                self.changes.entry(self.start.join(path)).or_default().deleted = true;
            }
            EditStep::Prop { node, name, value, .. } => self.set_prop(node, name, value)?,
            EditStep::Text { file, delta, .. } => self.set_text(file, delta)?,
            EditStep::CloseDirectory(node) | EditStep::CloseFile { file: node, .. } => {
                self.open.remove(&node.0).ok_or_else(wrong_handle)?;
            }
            EditStep::TargetRevision(_)
            | EditStep::Absent { .. }
            | EditStep::CloseEdit
            | EditStep::AbortEdit => {}
        }
        Ok(Handle::NONE)
    }
}
