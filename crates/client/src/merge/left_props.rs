//! The left properties of files whose properties an edit changes. The first few are requested one by one; when
//! there are more, a second edit without texts finds these files, and one request fetches all.

use std::collections::HashMap;

use sapwood_core::exact::Exact;
use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::{Depth, NodeKind, PropList, Revnum, SvnResult};
use sapwood_delta::{EditStep, Handle, StepEditor};
use sapwood_ra::{ReportRequest, Session};

use super::props::is_regular;
use super::report::{ReportedPaths, send_report};
use crate::diff::fetch_all;

/// The most files that are requested one by one.
const ONE_BY_ONE: usize = 4;

/// Asks for properties.
pub(super) struct LeftProps<'m> {
    /// Where nothing else is under way, at the left side.
    session: &'m dyn Session,
    /// The left side's revision.
    revision: Revnum,
    /// The edit's request, but without texts, and its report.
    asked_for: (ReportRequest<'m>, &'m ReportedPaths, Depth),
    asked: usize,
    /// The properties that were fetched at once.
    found: Option<HashMap<RelPathBuf, PropList>>,
}

impl<'m> LeftProps<'m> {
    pub(super) const fn new(
        session: &'m dyn Session,
        revision: Revnum,
        asked_for: (ReportRequest<'m>, &'m ReportedPaths, Depth),
    ) -> Self {
        Self { session, revision, asked_for, asked: 0, found: None }
    }

    /// Those of a file, in the revision that the edit names.
    pub(super) fn of_file(&mut self, at: &RelPath, base: Revnum) -> SvnResult<PropList> {
        self.asked = self.asked.plus(1);
        if self.asked > ONE_BY_ONE && base == self.revision {
            let found = match &mut self.found {
                Some(found) => found,
                None => {
                    let all = self.all()?;
                    self.found.insert(all)
                }
            };
            if let Some(props) = found.remove(at) {
                return Ok(props);
            }
        }
        Ok(self.session.get_file(at, Some(base), None, true)?.props)
    }

    fn all(&self) -> SvnResult<HashMap<RelPathBuf, PropList>> {
        let mut changed = PropChangeRecorder::default();
        let (request, report, depth) = &self.asked_for;
        send_report(self.session, request, report, *depth, &mut changed)?;
        let mut paths: Vec<&RelPath> = Vec::new();
        for (path, base) in &changed.found {
            if base.is_none_or(|base| base == self.revision) && !path.is_empty() {
                paths.push(path);
            }
        }
        let found = fetch_all(self.session, self.revision, &paths, false)?;
        Ok(found.into_iter().map(|(path, left)| (path, left.props)).collect())
    }
}

/// The files that an edit opens and gives other properties, and their revisions.
#[derive(Default)]
struct PropChangeRecorder {
    open: HashMap<u64, (RelPathBuf, Option<Revnum>)>,
    next: u64,
    found: Vec<(RelPathBuf, Option<Revnum>)>,
}

impl StepEditor for PropChangeRecorder {
    fn step(&mut self, step: EditStep<'_>) -> SvnResult<Handle> {
        match step {
            EditStep::Open { kind: NodeKind::File, path, base, .. } => {
                self.next = self.next.wrapping_add(1);
                self.open.insert(self.next, (path.to_owned(), base));
                return Ok(Handle(self.next));
            }
            // Once is enough: the first one of a file is its last look at it.
            EditStep::Prop { kind: NodeKind::File, node, name, .. } if is_regular(name) => {
                self.found.extend(self.open.remove(&node.0));
            }
            EditStep::CloseFile { file, .. } => {
                self.open.remove(&file.0);
            }
            _ => {}
        }
        Ok(Handle::NONE)
    }
}
