//! The properties of all nodes of a tree in a repository by one report, without texts: as many turns for a large tree as
//! for a small one.
//!
//! Invariant: the nodes come in the order of their paths, as they do when directories are listed one by one.

use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::{Depth, PropList, Revnum, SvnResult, path};
use sapwood_delta::{EditStep, Handle, ReportEntry, StepEditor};
use sapwood_ra::{ReportKind, ReportRequest, Session};

/// The properties of the nodes at and below the session's URL, a directory; only of those that have some that are
/// `wanted`, which is also all that is kept in memory.
///
/// # Errors
/// Those of the session.
pub(crate) fn fetch(
    session: &dyn Session,
    revision: Revnum,
    depth: Depth,
    wanted: &dyn Fn(&str) -> bool,
) -> SvnResult<Vec<(RelPathBuf, PropList)>> {
    let mut editor = TreeProps { wanted, open: Vec::new(), found: Vec::new() };
    let kind = ReportKind::Status;
    let request = ReportRequest { revision: Some(revision), target: "", depth, kind };
    let mut report = session.report(&request, &mut editor)?;
    report.entry(&ReportEntry::new(RelPath::ROOT, revision, depth).starting_empty())?;
    report.finish()?;
    let mut found = editor.found;
    found.sort_by(|a, b| path::compare(&a.0, &b.0));
    Ok(found)
}

/// Takes the edit. Nodes are open one within the other, a file last.
struct TreeProps<'w> {
    wanted: &'w dyn Fn(&str) -> bool,
    open: Vec<(RelPathBuf, PropList)>,
    found: Vec<(RelPathBuf, PropList)>,
}

impl TreeProps<'_> {
    fn enter(&mut self, at: &RelPath) {
        self.open.push((at.to_owned(), PropList::new()));
    }

    fn note(&mut self, name: &str, value: Option<&[u8]>) {
        if let (Some((_, props)), Some(value), true) =
            (self.open.last_mut(), value, (self.wanted)(name))
        {
            props.set(name, value);
        }
    }

    fn leave(&mut self) {
        self.found.extend(self.open.pop().filter(|(_, props)| !props.is_empty()));
    }
}

impl StepEditor for TreeProps<'_> {
    fn step(&mut self, step: EditStep<'_>) -> SvnResult<Handle> {
        match step {
            EditStep::OpenRoot(_) => self.enter(RelPath::ROOT),
            EditStep::Add { path, .. } | EditStep::Open { path, .. } => self.enter(path),
            EditStep::Prop { name, value, .. } => self.note(name, value),
            EditStep::CloseDirectory(_) | EditStep::CloseFile { .. } => self.leave(),
            _ => {}
        }
        Ok(Handle::NONE)
    }
}
