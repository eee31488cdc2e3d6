//! Going through merge sources: one after the other, until one leaves conflicts open.

use std::collections::BTreeSet;
use std::rc::Rc;

use sapwood_core::exact::Exact;
use sapwood_core::notify::{Action, Notify};
use sapwood_core::paths::{RelPath, Url};
use sapwood_core::{ErrorCode, NodeKind, SvnError, SvnResult};
use sapwood_ra::{Capability, Session};
use sapwood_wc::conflict::Conflict;

use super::checkpoint::{Checkpoint, Stage, Undo, write_back};
use super::paths::MergePath;
use super::resume::{InterruptedMerge, ResumeMatch, is_stop};
use super::source::MergeSource;
use super::target::MergeTarget;
use super::types::{MergeOutcome, MergeRun, PathMergeinfo, RangeConflict};
use super::{Merge, SourceKind, TouchedPaths, tracked};
use crate::context::Context;
use crate::mergeinfo::place::Lines;

/// The session at a URL, moved there if it is in the same repository.
fn session_to(
    ctx: &Context,
    known: Option<Rc<dyn Session>>,
    url: &Url,
    target: &MergeTarget,
) -> SvnResult<Rc<dyn Session>> {
    if let Some(session) = known {
        match session.reparent(url) {
            Ok(()) => return Ok(session),
            Err(error) if error.is_no_repository() => {}
            Err(error) => return Err(error),
        }
    }
    if let Some(second) = target.second(ctx, url) {
        return Ok(second);
    }
    Ok(target.caching(Rc::from(sapwood_ra::open(url, &ctx.ra)?)))
}

fn check_record_only(run: &MergeRun<'_>) -> SvnResult<()> {
    let wrong = |words: &str| Err(SvnError::new(ErrorCode::INCORRECT_PARAMS, words));
    if !run.sources.iter().all(|source| source.ancestral) {
        return wrong("Use of two URLs is not compatible with mergeinfo modification");
    }
    if !run.same_repos {
        return wrong(
            "Merge from foreign repository is not compatible with mergeinfo modification",
        );
    }
    Ok(())
}

/// Sessions that are open already, for both sides of what is merged.
pub type Sessions = [Option<Rc<dyn Session>>; 2];

/// Merges the sources. What was stopped before goes on.
///
/// # Errors
/// Those of sessions and of the working copy.
pub fn run(ctx: &Context, mut run: MergeRun<'_>, sessions: Sessions) -> SvnResult<MergeOutcome> {
    if run.options.record_only {
        check_record_only(&run)?;
        if run.options.dry_run {
            return Ok(MergeOutcome::default());
        }
    }
    match InterruptedMerge::find(ctx, &run)? {
        None => through(ctx, &mut run, sessions, None),
        Some(ResumeMatch::Same(stopped)) => through(ctx, &mut run, sessions, Some(*stopped)),
        Some(ResumeMatch::Older(stopped)) => {
            let asked = run.sources;
            let older = stopped.sources.clone();
            let mut first = MergeRun { sources: &older, ..run };
            let done = through(ctx, &mut first, sessions, Some(*stopped))?;
            if done.conflict.is_some() {
                return Ok(done);
            }
            let mut rest = MergeRun { sources: asked, ..first };
            let mut all = through(ctx, &mut rest, [None, None], None)?;
            all.touched.extend(done.touched);
            all.changed.extend(done.changed);
            Ok(all)
        }
    }
}

/// Goes through the sources, or those that are left. What was found of a merge that was stopped is kept again
/// when nothing comes of it.
fn through(
    ctx: &Context,
    run: &mut MergeRun<'_>,
    sessions: Sessions,
    mut stopped: Option<InterruptedMerge>,
) -> SvnResult<MergeOutcome> {
    let result = sources(ctx, run, sessions, &mut stopped);
    match (result, stopped) {
        (Err(error), Some(stopped)) => Err(match stopped.keep_again(&run.target.wc) {
            Ok(()) => error,
            Err(other) => error.with_cause(other),
        }),
        (result, _) => result,
    }
}

fn sources(
    ctx: &Context,
    run: &mut MergeRun<'_>,
    mut sessions: Sessions,
    stopped: &mut Option<InterruptedMerge>,
) -> SvnResult<MergeOutcome> {
    let (mut touched, mut changed) = (TouchedPaths::default(), BTreeSet::new());
    let mut first = 0;
    let mut done = MergeOutcome::default();
    if let Some(stopped) = &*stopped {
        (touched, changed, first) = (stopped.touched.clone(), stopped.changed(), stopped.at);
        done.conflict.clone_from(&stopped.conflict);
    } else if let Some(only) = run.only.filter(|_| run.options.record_only) {
        touched.merged.clone_from(only);
    }
    let mut capable = None;
    let count = run.sources.len();
    for (at, source) in run.sources.iter().enumerate().skip(first) {
        if source.left == source.right {
            continue;
        }
        let [left, right] = &mut sessions;
        let first = session_to(ctx, left.take(), &source.left.url(), run.target)?;
        let second = session_to(ctx, right.take(), &source.right.url(), run.target)?;
        sessions = [Some(Rc::clone(&first)), Some(Rc::clone(&second))];
        let mergeinfo_capable = match capable {
            Some(known) => known,
            None => *capable.insert(first.has_capability(Capability::Mergeinfo)?),
        };
        let mut merge = new_merge(ctx, run, source, [first, second], mergeinfo_capable);
        (merge.touched, merge.changed) =
            (std::mem::take(&mut touched), std::mem::take(&mut changed));
        if let Some(inside) = stopped.as_mut().and_then(|stopped| stopped.inside.take()) {
            merge.take_up(inside)?;
        }
        *stopped = None;
        let conflict = match merge.one_source(run) {
            Ok(conflict) => conflict,
            Err(error) => return Err(merge.stop(run, at, error)),
        };
        (touched, changed) = (merge.touched, merge.changed);
        if let Some(conflict) = conflict {
            let last = at.plus(1) == count && conflict.remaining.is_none();
            done.conflict = Some((conflict.range, last));
            break;
        }
    }
    *stopped = None;
    if !done.is_stopped() {
        ctx.notify(&Notify::new(Action::MergeCompleted, &run.target.display_path()));
    }
    (done.touched, done.changed) = (touched.all(), changed);
    Ok(done)
}

/// A merge of one source, of which nothing is done yet.
fn new_merge<'a>(
    ctx: &'a Context,
    run: &MergeRun<'a>,
    source: &MergeSource,
    [left, right]: [Rc<dyn Session>; 2],
    mergeinfo_capable: bool,
) -> Merge<'a> {
    Merge {
        ctx,
        target: run.target,
        options: run.options.clone(),
        same_repos: run.same_repos,
        mergeinfo_capable,
        reintegrate: run.reintegrate,
        source: source.clone(),
        gap: None,
        paths: Vec::new(),
        touched: TouchedPaths::default(),
        conflicted: BTreeSet::new(),
        new_mergeinfo: BTreeSet::new(),
        deleted_mergeinfo: BTreeSet::new(),
        left,
        right,
        lines: Lines::default(),
        begun: None,
        changed: BTreeSet::new(),
        stage: None,
        reached: Checkpoint::default(),
        undo: Undo::default(),
        changes: None,
        kind: SourceKind::Known,
    }
}

impl Merge<'_> {
    /// Merges the present source, and takes away what the target need not say.
    fn one_source(&mut self, run: &mut MergeRun<'_>) -> SvnResult<Option<RangeConflict>> {
        let conflict = match self.stage.take_if(|stage| stage.recorded) {
            Some(stage) => stage.conflict,
            None => self.whole(run)?,
        };
        if !run.options.dry_run {
            self.undo.clear();
            if let Err(error) = self.elide_target() {
                let stage = Stage::new(self.source.clone());
                let conflict = conflict.clone();
                self.stage = Some(Stage { recorded: true, conflict, ..stage });
                return Err(error);
            }
        }
        Ok(conflict)
    }

    /// Merges the present source as far as conflicts allow. Those that can be resolved at once are
    /// resolved, and the merge goes on.
    fn whole(&mut self, run: &mut MergeRun<'_>) -> SvnResult<Option<RangeConflict>> {
        let mut kind = if self.may_assume(run)? {
            self.kind = SourceKind::Assumed;
            Some(NodeKind::Dir)
        } else {
            self.left_kind()?
        };
        let mut source = self.source.clone();
        loop {
            let catalog = run.catalog.as_deref_mut();
            let conflict = if kind == Some(NodeKind::Dir) {
                match self.directory(&source, catalog, run.quiet) {
                    Err(error) if self.is_unsure() && !is_stop(&error) => {
                        kind = self.ask_again(error)?;
                        continue;
                    }
                    other => other?,
                }
            } else {
                self.file(&source, run.related, catalog, run.quiet)?
            };
            let Some(found) = conflict else { return Ok(None) };
            let settle = self.options.settle.clone();
            let Some(settle) = settle.filter(|_| !self.options.dry_run) else {
                return Ok(Some(found));
            };
            if !self.resolve_conflicts(&*settle)? {
                return Ok(Some(found));
            }
            self.conflicted.clear();
            match found.remaining {
                Some(remaining) => source = remaining,
                None => return Ok(None),
            }
        }
    }

    fn left_kind(&self) -> SvnResult<Option<NodeKind>> {
        self.left.check_path(RelPath::ROOT, Some(self.source.left_revision()))
    }

    /// Whether it is not known yet that the source is a directory.
    const fn is_unsure(&self) -> bool {
        matches!(self.kind, SourceKind::Assumed | SourceKind::Refused)
    }

    /// Whether the edit will say that the source is a directory, so that the server need not be asked.
    fn may_assume(&self, run: &MergeRun<'_>) -> SvnResult<bool> {
        Ok(self.stage.is_none()
            && self.honors_mergeinfo()
            && !self.options.record_only
            && !self.reintegrate
            && run.catalog.is_none()
            && self.may_ask_from_above(&self.source)
            && self.target.is_dir()?)
    }

    /// A merge of what was taken for a directory has failed: its kind, if it is not that which failed.
    fn ask_again(&mut self, error: SvnError) -> SvnResult<Option<NodeKind>> {
        let refused = self.kind == SourceKind::Refused;
        if refused {
            // The session may still hold the rest of an edit that broke off.
            let url = self.source.left.url();
            let session = Rc::from(sapwood_ra::open(&url, &self.ctx.ra)?);
            self.left = self.target.caching(session);
        }
        let kind = self.left_kind()?;
        if kind == Some(NodeKind::Dir) && !refused {
            return Err(error);
        }
        write_back(self.wc(), &self.undo.take())?;
        (self.stage, self.reached) = (None, Checkpoint::default());
        self.paths.clear();
        self.kind = SourceKind::Known;
        Ok(kind)
    }

    /// Makes sure that a source is a directory that was taken for one.
    pub(super) fn make_sure(&mut self) -> SvnResult<()> {
        if self.kind == SourceKind::Assumed {
            if self.left_kind()? != Some(NodeKind::Dir) {
                self.kind = SourceKind::Refused;
                let url = self.source.left.url();
                let text = format!("'{url}' is not a directory");
                return Err(SvnError::new(ErrorCode::FS_NOT_DIRECTORY, text));
            }
            self.kind = SourceKind::Known;
        }
        Ok(())
    }

    fn directory(
        &mut self,
        source: &MergeSource,
        catalog: Option<&mut PathMergeinfo>,
        quiet: bool,
    ) -> SvnResult<Option<RangeConflict>> {
        if self.stage.is_none() {
            self.paths.clear();
        }
        let result = if self.honors_mergeinfo() {
            tracked::directory(self, source, catalog, quiet)?
        } else {
            if self.stage.take().is_none() {
                self.paths.push(MergePath {
                    remaining: Some(source.ranges()),
                    ..MergePath::new(self.target.relpath.clone())
                });
            }
            if let Err(error) = self.drive_dir(source) {
                self.stage = Some(Stage::new(source.clone()));
                return Err(error);
            }
            self.range_conflict(source, None)
        };
        self.paths.clear();
        Ok(result)
    }

    fn file(
        &mut self,
        source: &MergeSource,
        related: bool,
        catalog: Option<&mut PathMergeinfo>,
        quiet: bool,
    ) -> SvnResult<Option<RangeConflict>> {
        self.paths.clear();
        let result = if self.honors_mergeinfo() {
            tracked::file(self, source, related, catalog, quiet)?
        } else if self.options.record_only {
            None
        } else {
            if source.ancestral {
                self.paths.push(MergePath {
                    remaining: Some(source.ranges()),
                    ..MergePath::new(self.target.relpath.clone())
                });
            }
            self.drive_file(source, related)?;
            self.range_conflict(source, None)
        };
        self.begun = None;
        self.paths.clear();
        Ok(result)
    }

    /// The record of conflicts that a range left, if it left some.
    #[must_use]
    pub(crate) fn range_conflict(
        &self,
        range: &MergeSource,
        remaining: Option<MergeSource>,
    ) -> Option<RangeConflict> {
        (!self.conflicted.is_empty()).then(|| RangeConflict { range: range.clone(), remaining })
    }

    /// Resolves the new conflicts. Returns whether none is left open.
    fn resolve_conflicts(&self, settle: &super::Settle) -> SvnResult<bool> {
        let mut all = true;
        for relpath in &self.conflicted {
            let record = self.wc().db().actual(relpath)?.and_then(|a| a.conflict_data);
            let Some(record) = record else { continue };
            let conflict = Conflict::parse(&record)?;
            if let Some(choice) = settle(self.wc(), relpath, &conflict)
                && self
                    .wc()
                    .resolve(relpath, choice, self.ctx.cancel(), &|_| {})
                    .map_err(|error| self.not_resolved(relpath, &conflict, error.into()))?
            {
                let path = self.wc().abspath(relpath);
                self.ctx.notify(&Notify::new(Action::Resolved, &path.to_string_lossy()));
            }
            let left = self.wc().db().actual(relpath)?.and_then(|a| a.conflict_data);
            all &= left.is_none();
        }
        Ok(all)
    }

    /// The error for a conflict that a choice does not resolve, in 1.14's words where it is one of the tree.
    fn not_resolved(&self, relpath: &RelPath, conflict: &Conflict, error: SvnError) -> SvnError {
        let is_refused = error.code() == ErrorCode::CLIENT_CONFLICT_OPTION_NOT_APPLICABLE;
        if conflict.tree.is_none() || !is_refused {
            return error;
        }
        let shown = self.wc().abspath(relpath);
        let message = format!(
            "Tree conflict can only be resolved to 'working' state; '{}' not resolved",
            shown.display()
        );
        SvnError::new(ErrorCode::WC_CONFLICT_RESOLVER_FAILURE, message)
    }
}
