//! One range: the difference is fetched and applied.

use std::io::Write as _;
use std::rc::Rc;

use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::{Depth, Exact as _, NodeKind, PropList, Revnum, SvnError, SvnResult, path};
use sapwood_ra::{ReportKind, ReportRequest, Session};

use super::apply::{Apply, Sides};
use super::buffered_edit::BufferedEdit;
use super::checkpoint::Checkpoint;
use super::editor::RangeEditor;
use super::files::FileChange;
use super::left_props::LeftProps;
use super::paths::{MergePath, parents};
use super::props::changes_between;
use super::rebased_edit::RebasedEdit;
use super::report::{ReportedPaths, send_report};
use super::source::MergeSource;
use super::{Merge, SourceKind};
use crate::diff::sides::{Keeper, Text, TextFile};
use crate::mergeinfo::place::{RepoLocation, visit};

/// Errors of files that a merge needs for a while.
fn temporary_failed(error: &std::io::Error) -> SvnError {
    SvnError::io(error, "Can't create temporary file")
}

/// The target begins with a revision, some paths below it with others; what is done is as it is in the
/// last revision.
fn reported_paths(
    start: u64,
    below: Vec<(RelPathBuf, u64)>,
    done: Option<(&Checkpoint, u64)>,
) -> ReportedPaths {
    let mut all: ReportedPaths =
        below.into_iter().map(|(path, start)| (path, Some(start))).collect();
    if let Some((reached, end)) = done {
        all.retain(|(path, _)| !reached.covers(path) && !reached.gone.contains(path));
        // The server knows no first revision of a directory that is being added.
        let is_recorded = |path: &&RelPathBuf| !reached.is_within_addition(path);
        let gone = reached.gone.iter().filter(|path| !reached.covers(path)).filter(is_recorded);
        all.extend(gone.map(|path| (path.clone(), None)));
        all.extend(reached.done.iter().filter(is_recorded).map(|path| (path.clone(), Some(end))));
        all.sort_by(|a, b| path::compare(&a.0, &b.0));
    }
    all.insert(0, (RelPathBuf::default(), Some(start)));
    all
}

impl Merge<'_> {
    /// A new temporary file beside the pristine texts, from where it can be moved into place.
    pub(super) fn temporary(&self) -> SvnResult<tempfile::NamedTempFile> {
        tempfile::NamedTempFile::new_in(sapwood_wc::layout::tmp(self.wc().root()))
            .map_err(|e| temporary_failed(&e))
    }

    /// Keeps a text, in such a file if it is long.
    pub(super) fn keeper(&self) -> Keeper {
        Keeper::within(sapwood_wc::layout::tmp(self.wc().root()))
    }

    /// A file with a text, beside the pristine texts where it is in memory; `None` of nothing.
    pub(super) fn in_file<'t>(&self, text: &'t Text) -> SvnResult<Option<TextFile<'t>>> {
        let Text::Memory(bytes) = text else { return Ok(text.path().map(TextFile::Own)) };
        let mut file = self.temporary()?;
        file.write_all(bytes).map_err(|e| temporary_failed(&e))?;
        Ok(Some(TextFile::Made(file.into_temp_path())))
    }

    /// Says which revisions come, of all of the present source.
    fn show_progress(&self, now: &MergeSource) {
        let range = |source: &MergeSource| {
            let (one, other) = (source.left.revision, source.right.revision);
            (one.min(other).plus(1), one.max(other))
        };
        self.ctx.wc.meter.set_revisions(range(now), range(&self.source));
    }

    /// A file of the repository and its properties.
    pub(super) fn fetch(
        &self,
        session: &dyn Session,
        at: &RelPath,
        revision: Revnum,
    ) -> SvnResult<(Text, PropList)> {
        // Waiting work must not keep other programs from the working copy's database.
        self.wc().db().released(|| {
            let mut kept = self.keeper();
            let found = session.get_file(at, Some(revision), Some(&mut kept), true)?;
            Ok((kept.finish()?, found.props))
        })
    }

    /// Merges one range of a directory. Where mergeinfo counts, the first range that is left of each
    /// of [`Merge::paths`] says where the difference begins for it. What is left of a range that was
    /// stopped is merged; how far it came when it is stopped is in [`Merge::reached`] then.
    ///
    /// # Errors
    /// Those of the sessions and of the working copy.
    pub(crate) fn drive_dir(&mut self, source: &MergeSource) -> SvnResult<()> {
        let reached = std::mem::take(&mut self.reached);
        if reached.is_done(RelPath::ROOT) {
            return Ok(());
        }
        self.show_progress(source);
        let depth = self.depth();
        let starts = if self.honors_mergeinfo() { Some(self.starts(source)) } else { None };
        let (start, below) = starts.unwrap_or((source.left.revision, Vec::new()));
        let last = source.right.revision;
        if self.changes.as_ref().is_some_and(|known| known.are_none(start, &below, last)) {
            return Ok(());
        }
        let (primary, other) = (Rc::clone(&self.left), Rc::clone(&self.right));
        let (from, to) = (source.left.url(), source.right.url());
        let ignore_ancestry = self.options.ignore_ancestry;
        // Finished nodes need not come again. The server knows them by their paths in the last revision.
        let known = source.left.relpath == source.right.relpath;
        let report = reported_paths(start, below, known.then_some((&reached, last)));
        // From above the edit says what the source is, and the session need not be moved.
        let is_dir = matches!(self.kind, SourceKind::Assumed | SourceKind::Confirmed);
        let from_above = is_dir && self.may_ask_from_above(source);
        let (above, name) = source.left.relpath.parent_and_name();
        let (at, name) = match from_above {
            true => (source.left.root.join(above), RelPath::new(name)?),
            false => (from.clone(), RelPath::ROOT),
        };
        let mut kind = self.kind;
        let result = visit(primary.as_ref(), &at, || {
            visit(other.as_ref(), &from, || {
                let request = |text_deltas, target| ReportRequest {
                    revision: Some(source.right_revision()),
                    target,
                    depth,
                    kind: ReportKind::Diff { versus_url: &to, ignore_ancestry, text_deltas },
                };
                let (other, left) = (other.as_ref(), source.left_revision());
                let left_props = LeftProps::new(other, left, (request(false, ""), &report, depth));
                let request = request(true, name.as_str());
                let mut editor = RangeEditor::new(self, (other, left_props), source, reached);
                let mut ahead = BufferedEdit::new(&mut editor);
                let result = if from_above {
                    let mut edit = RebasedEdit::new(&mut ahead, name);
                    let result = send_report(primary.as_ref(), &request, &report, depth, &mut edit);
                    kind = kind.after(edit.opened, edit.refused || result.is_err());
                    result
                } else {
                    send_report(primary.as_ref(), &request, &report, depth, &mut ahead)
                };
                let result = ahead.end(result);
                if result.is_err() {
                    let reached = editor.into_reached();
                    self.reached = reached;
                }
                result
            })
        });
        self.kind = kind;
        result
    }

    /// Whether the difference of a source can be requested from the directory above it.
    pub(super) fn may_ask_from_above(&self, source: &MergeSource) -> bool {
        source.ancestral
            && self.depth() == Depth::Infinity
            && !source.left.relpath.is_empty()
            && self.target.is_asked_from_above(&source.left.url())
    }

    /// Where the difference begins for the target, and for the nodes below it that differ in that
    /// from what is above them.
    fn starts(&self, source: &MergeSource) -> (u64, Vec<(RelPathBuf, u64)>) {
        let end = source.right.revision;
        let later = |start: u64| match source.is_reverse() {
            true => start < end,
            false => start > end,
        };
        let Some((target, below)) = self.paths.split_first() else {
            return (source.left.revision, Vec::new());
        };
        let first = target.next().map(|range| range.start).filter(|start| !later(*start));
        let mut starts = Vec::new();
        let above = parents(&self.paths).into_iter().skip(1);
        for (child, above) in below.iter().zip(above).filter(|(child, _)| !child.absent) {
            let above = above.and_then(|at| self.paths.get(at)).and_then(MergePath::next);
            let own = match (child.next(), above) {
                (Some(own), _) if later(own.start) => continue,
                (Some(own), Some(above)) if own.start == above.start => continue,
                (Some(own), _) => own.start,
                (None, None) => continue,
                (None, Some(_)) => end,
            };
            let relpath = child.relpath.below(&target.relpath);
            starts.extend(relpath.map(|relpath| (relpath.to_owned(), own)));
        }
        (first.unwrap_or(end), starts)
    }

    /// Merges one range of a file. `related` says whether both sides have a common ancestor.
    ///
    /// # Errors
    /// Those of the sessions and of the working copy.
    pub(crate) fn drive_file(&mut self, source: &MergeSource, related: bool) -> SvnResult<()> {
        self.begun = None;
        self.show_progress(source);
        let side = |session: &Rc<dyn Session>, place: &RepoLocation| {
            let revision = Revnum(place.revision);
            visit(session.as_ref(), &place.url(), || {
                self.fetch(session.as_ref(), RelPath::ROOT, revision)
            })
        };
        let (left_text, left) = side(&self.left, &source.left)?;
        let (right_text, right) = side(&self.right, &source.right)?;
        let as_change = self.options.ignore_ancestry || related;
        let mut apply = Apply::new(self, source.left_revision(), source.right_revision());
        if as_change {
            let opened = apply.open(RelPath::ROOT, None, NodeKind::File, Sides::BOTH)?;
            if opened.skip {
                return Ok(());
            }
            let changes = changes_between(&left, &right);
            let texts = Some((&left_text, &right_text));
            return apply.file_changed(
                opened.id,
                &FileChange { texts, pristine: None, left: &left, changes: &changes },
            );
        }
        let above = apply.begin_above_file()?;
        let opened = apply.open(RelPath::ROOT, Some(above), NodeKind::File, Sides::DELETED)?;
        if !opened.skip {
            apply.file_deleted(opened.id, &left_text, &left)?;
        }
        let opened = apply.open(RelPath::ROOT, Some(above), NodeKind::File, Sides::ADDED)?;
        if !opened.skip {
            apply.file_added(opened.id, &right_text, &right)?;
        }
        Ok(())
    }
}
