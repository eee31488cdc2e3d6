//! A merge that was stopped, and its continuation.
//!
//! A merge is stopped by Ctrl-C, or by a lost server; other errors leave what 1.14 leaves. Then unfinished work is
//! reverted, mergeinfo is recorded for the finished slices, and `.svn/sapwood/merge` has the progress. The same
//! merge again reverts the record and continues with the next node, so that it ends as if it had not been stopped:
//! nothing is applied twice, and which nodes get mergeinfo of their own is decided at the end for all of it. With sources
//! that have grown since, the stopped merge is finished first.
//!
//! The file holds the last stopped merge of a working copy, and may be deleted at any moment: mergeinfo
//! does not promise more than was merged. It counts only for the same request on the same base, and
//! only as long as all that the merge did is still there: after a revert, a commit or another merge it begins anew.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::rc::Rc;

use sapwood_core::mergeinfo::MergeRange;
use sapwood_core::notify::{Action, Notify};
use sapwood_core::paths::{RelPath, RelPathBuf, Url};
use sapwood_core::{CancelToken, ErrorCode, NodeKind, SvnError, SvnResult};
use sapwood_wc::WorkingCopy;
use sapwood_wc::view::Status;

use super::checkpoint::{Checkpoint, Stage, write_back};
use super::paths::MergePath;
use super::source::MergeSource;
use super::target::MergeTarget;
use super::tracked;
use super::types::{MergeOutcome, MergeRun};
use super::{Merge, TouchedPaths};
use crate::cache_file::{self, stored_struct};
use crate::context::Context;
use crate::mergeinfo::local::values_below;

/// The file's type and version.
const NAME: &str = "sapwood stopped merge 1";

/// A merge that was stopped.
#[derive(Clone, Debug)]
pub(super) struct InterruptedMerge {
    /// The request, except for the sources.
    question: String,
    /// The target, below the working copy's root.
    target: RelPathBuf,
    /// The content and the revisions of the target.
    base: String,
    /// The sources.
    pub(super) sources: Vec<MergeSource>,
    /// The source that was stopped; those before it are done.
    pub(super) at: usize,
    /// The conflict that it ended with, if all sources are done.
    pub(super) conflict: Option<(MergeSource, bool)>,
    /// The changes to each path.
    pub(super) touched: TouchedPaths,
    /// The present state of each changed path.
    marks: BTreeMap<RelPathBuf, u8>,
    /// All mergeinfo of the target and of what is below it.
    mergeinfo: BTreeMap<RelPathBuf, Vec<u8>>,
    /// The values that were there before the slices that are whole were recorded.
    undo: Vec<(RelPathBuf, Option<Vec<u8>>)>,
    /// How far the source came; `None` before it was known what is missing.
    pub(super) inside: Option<Inside>,
}

/// How far one source came.
#[derive(Clone, Debug)]
pub(super) struct Inside {
    stage: Stage,
    gap: Option<MergeRange>,
    paths: Vec<MergePath>,
    conflicted: BTreeSet<RelPathBuf>,
    new_mergeinfo: BTreeSet<RelPathBuf>,
    deleted_mergeinfo: BTreeSet<RelPathBuf>,
    reached: Checkpoint,
}

stored_struct!(Inside { stage, gap, paths, conflicted, new_mergeinfo, deleted_mergeinfo, reached });
stored_struct!(InterruptedMerge {
    question,
    target,
    base,
    sources,
    at,
    conflict,
    touched,
    marks,
    mergeinfo,
    undo,
    inside,
});

fn place(wc: &WorkingCopy) -> PathBuf {
    sapwood_wc::layout::adm(wc.root()).join("sapwood").join("merge")
}

const ADDED: u8 = 1;
const DELETED: u8 = 2;
const TEXT: u8 = 4;
const PROPS: u8 = 8;

/// The state of a path, as far as a revert would change it. Nothing of a path in conflict, which a user
/// may resolve either way.
fn mark(wc: &WorkingCopy, relpath: &RelPath) -> SvnResult<u8> {
    let Some(view) = wc.view(relpath)?.filter(|view| !view.is_conflicted()) else { return Ok(0) };
    let props = if view.props_modified() { PROPS } else { 0 };
    Ok(match view.status() {
        Status::Deleted => DELETED,
        Status::Added => ADDED,
        Status::Normal if view.kind() == Some(NodeKind::File) && wc.file_modified(&view)? => {
            TEXT | props
        }
        _ => props,
    })
}

fn question(run: &MergeRun<'_>) -> String {
    let options = &run.options;
    format!(
        "depth {:?}, ignoring {} {}, force {}, diff {:?}, related {}, same {}, reintegrate {}",
        options.depth,
        options.ignore_mergeinfo,
        options.ignore_ancestry,
        options.force_delete,
        options.diff,
        run.related,
        run.same_repos,
        run.reintegrate
    )
}

fn base_of(target: &MergeTarget) -> SvnResult<String> {
    let range = target.wc.revision_range(&target.relpath)?;
    Ok(format!("{:?} {range:?}", target.place))
}

/// Whether an error says that a merge was stopped, and not that it cannot be made.
pub(super) fn is_stop(error: &SvnError) -> bool {
    [
        ErrorCode::CANCELLED,
        ErrorCode::RA_SVN_CONNECTION_CLOSED,
        ErrorCode::RA_SVN_IO_ERROR,
        ErrorCode::RA_CANNOT_CREATE_SESSION,
        ErrorCode::RA_DAV_CONN_TIMEOUT,
    ]
    .into_iter()
    .any(|code| error.has_code(code))
}

/// The relation of a stopped merge to the present request.
#[derive(Debug)]
pub(super) enum ResumeMatch {
    /// The same.
    Same(Box<InterruptedMerge>),
    /// The same, but that the last source has grown since.
    Older(Box<InterruptedMerge>),
}

/// Whether sources are those, but that the last one ends with a later revision.
fn grown(old: &[MergeSource], new: &[MergeSource]) -> bool {
    let (Some((last, before)), Some((now, others))) = (old.split_last(), new.split_last()) else {
        return false;
    };
    before == others
        && last.left == now.left
        && last.ancestral == now.ancestral
        && last.right.at(&now.right.relpath, now.right.revision) == now.right
        && last.right.relpath == now.right.relpath
        && !now.is_reverse()
        && last.right.revision < now.right.revision
}

impl MergeRun<'_> {
    /// Whether it is kept how far it comes.
    pub(super) const fn keeps(&self) -> bool {
        !self.options.dry_run && !self.options.record_only && self.catalog.is_none()
    }
}

impl InterruptedMerge {
    /// The first path at which the working copy is not as the merge left it.
    fn changed_since(&self, wc: &WorkingCopy) -> SvnResult<Option<RelPathBuf>> {
        for (relpath, then) in &self.marks {
            if then & !mark(wc, relpath)? != 0 {
                return Ok(Some(relpath.clone()));
            }
        }
        let now = values_below(wc, &self.target)?;
        let differs = |relpath: &&RelPathBuf| now.get(*relpath) != self.mergeinfo.get(*relpath);
        Ok(now.keys().chain(self.mergeinfo.keys()).find(differs).cloned())
    }

    fn is_of(&self, target: &MergeTarget) -> SvnResult<bool> {
        Ok(self.target == target.relpath && self.base == base_of(target)?)
    }

    /// Looks whether what is asked was stopped before. It is taken out of its file then, and what was
    /// recorded of it is taken back.
    pub(super) fn find(ctx: &Context, run: &MergeRun<'_>) -> SvnResult<Option<ResumeMatch>> {
        if !run.keeps() {
            return Ok(None);
        }
        let (wc, file) = (&run.target.wc, place(&run.target.wc));
        let Some(mut stopped) = cache_file::read::<Self>(&file, NAME) else { return Ok(None) };
        let same = stopped.sources == run.sources;
        let asked = same || grown(&stopped.sources, run.sources);
        if !asked || stopped.question != question(run) || !stopped.is_of(run.target)? {
            return Ok(None);
        }
        std::fs::remove_file(&file).map_err(|e| {
            SvnError::io(&e, format_args!("Can't remove file '{}'", file.display()))
        })?;
        let shown = run.target.display_path();
        if let Some(relpath) = stopped.changed_since(wc)? {
            let error = SvnError::new(
                ErrorCode::WC_NOT_UP_TO_DATE,
                format!(
                    "The merge that was stopped begins anew, because '{}' was changed since",
                    wc.abspath(&relpath).display()
                ),
            );
            ctx.notify(&Notify {
                error: Some(&error),
                ..Notify::new(Action::MergeWarning, &shown)
            });
            return Ok(None);
        }
        write_back(wc, &std::mem::take(&mut stopped.undo))?;
        ctx.notify(&Notify::new(Action::MergeGoesOn, &shown));
        let stopped = Box::new(stopped);
        Ok(Some(if same { ResumeMatch::Same(stopped) } else { ResumeMatch::Older(stopped) }))
    }

    /// Whether a merge into a target that must have no local changes was stopped, so that it has some.
    pub(super) fn waits(
        ctx: &Context,
        path: &str,
        source: Option<&MergeSource>,
    ) -> SvnResult<bool> {
        let (wc, relpath) = ctx.working_copy(&ctx.absolute(path))?;
        let Some(stopped) = cache_file::read::<Self>(&place(&wc), NAME) else { return Ok(false) };
        let asked = source.is_none_or(|source| {
            let sources = std::slice::from_ref(source);
            stopped.sources == sources || grown(&stopped.sources, sources)
        });
        Ok(asked && stopped.target == relpath && stopped.changed_since(&wc)?.is_none())
    }

    /// The source that a merge into a target was stopped with, if what is asked has grown since.
    pub(super) fn older(run: &MergeRun<'_>) -> SvnResult<Option<MergeSource>> {
        let Some(stopped) = cache_file::read::<Self>(&place(&run.target.wc), NAME) else {
            return Ok(None);
        };
        let is_it = stopped.question == question(run)
            && grown(&stopped.sources, run.sources)
            && stopped.is_of(run.target)?
            && stopped.changed_since(&run.target.wc)?.is_none();
        Ok(stopped.sources.into_iter().next().filter(|_| is_it))
    }

    /// Keeps it for later once more: nothing was done since it was found.
    pub(super) fn keep_again(mut self, wc: &WorkingCopy) -> SvnResult<()> {
        self.mergeinfo = values_below(wc, &self.target)?;
        cache_file::write(&place(wc), NAME, &self)
    }

    /// Keeps that all sources are merged, but not yet recorded.
    pub(super) fn keep_whole(run: &MergeRun<'_>, done: &MergeOutcome) -> SvnResult<()> {
        if !run.keeps() {
            return Ok(());
        }
        let touched = TouchedPaths { merged: done.touched.clone(), ..TouchedPaths::default() };
        let mut stopped = Self::new(run, run.sources.len(), touched, &done.changed)?;
        stopped.conflict.clone_from(&done.conflict);
        cache_file::write(&place(&run.target.wc), NAME, &stopped)
    }

    fn new(
        run: &MergeRun<'_>,
        at: usize,
        touched: TouchedPaths,
        changed: &BTreeSet<RelPathBuf>,
    ) -> SvnResult<Self> {
        let target = run.target;
        let mut marks = BTreeMap::new();
        for relpath in changed {
            marks.insert(relpath.clone(), mark(&target.wc, relpath)?);
        }
        Ok(Self {
            question: question(run),
            target: target.relpath.clone(),
            base: base_of(target)?,
            sources: run.sources.to_vec(),
            at,
            conflict: None,
            touched,
            marks,
            mergeinfo: values_below(&target.wc, &target.relpath)?,
            undo: Vec::new(),
            inside: None,
        })
    }

    /// The paths that were changed.
    pub(super) fn changed(&self) -> BTreeSet<RelPathBuf> {
        self.marks.keys().cloned().collect()
    }
}

impl Merge<'_> {
    /// Goes on with what was stopped.
    pub(super) fn take_up(&mut self, inside: Inside) -> SvnResult<()> {
        let Inside { stage, gap, paths, conflicted, new_mergeinfo, deleted_mergeinfo, reached } =
            inside;
        for relpath in conflicted {
            // A user may have resolved it.
            let row = self.wc().db().actual(&relpath)?;
            if row.is_some_and(|row| row.conflict_data.is_some()) {
                self.conflicted.insert(relpath);
            }
        }
        (self.stage, self.gap, self.paths, self.reached) = (Some(stage), gap, paths, reached);
        (self.new_mergeinfo, self.deleted_mergeinfo) = (new_mergeinfo, deleted_mergeinfo);
        Ok(())
    }

    /// The merge stops: unfinished work is reverted, finished work is recorded, and the progress is
    /// saved. A failure of that is reported below the error.
    pub(super) fn stop(&mut self, run: &MergeRun<'_>, at: usize, error: SvnError) -> SvnError {
        if self.options.dry_run || !is_stop(&error) {
            return error;
        }
        match self.leave(run, at) {
            Ok(()) => error,
            Err(other) => error.with_cause(other),
        }
    }

    fn leave(&mut self, run: &MergeRun<'_>, at: usize) -> SvnResult<()> {
        write_back(self.wc(), &self.undo.take())?;
        if !run.keeps() || (at == 0 && self.stage.is_none()) {
            return Ok(());
        }
        let recorded = self.record_whole();
        let undo = self.undo.take();
        if recorded.is_err() {
            write_back(self.wc(), &undo)?;
        }
        let mut stopped = InterruptedMerge::new(run, at, self.touched.clone(), &self.changed)?;
        if recorded.is_ok() {
            stopped.undo = undo;
        }
        stopped.inside = self.stage.take().map(|stage| Inside {
            stage,
            gap: self.gap,
            paths: std::mem::take(&mut self.paths),
            conflicted: std::mem::take(&mut self.conflicted),
            new_mergeinfo: std::mem::take(&mut self.new_mergeinfo),
            deleted_mergeinfo: std::mem::take(&mut self.deleted_mergeinfo),
            reached: std::mem::take(&mut self.reached),
        });
        cache_file::write(&place(self.wc()), NAME, &stopped)?;
        recorded
    }

    /// Records the finished slices, with sessions that are not cancelled: the state of the
    /// merge stays as it is.
    fn record_whole(&mut self) -> SvnResult<()> {
        if self.stage.as_ref().is_none_or(|stage| stage.whole.is_none()) {
            return Ok(());
        }
        let settings = sapwood_ra::Settings { cancel: CancelToken::new(), ..self.ctx.ra.clone() };
        let open = |url: &Url| {
            let session = Rc::from(sapwood_ra::open(url, &settings)?);
            Ok::<_, SvnError>(self.target.caching(session))
        };
        let (left, right) = (open(&self.source.left.url())?, open(&self.source.right.url())?);
        (self.left, self.right) = (left, right);
        let (paths, touched) = (self.paths.clone(), self.touched.clone());
        let result = tracked::record_whole(self);
        (self.paths, self.touched) = (paths, touched);
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mergeinfo::place::RepoLocation;

    fn source(from: &str, left: u64, right: u64) -> MergeSource {
        let place = |revision| RepoLocation {
            root: sapwood_core::Url::new("file:///r").unwrap().to_owned(),
            uuid: "u".to_owned(),
            relpath: RelPath::trusted(from).to_owned(),
            revision,
        };
        MergeSource { left: place(left), right: place(right), ancestral: true }
    }

    #[test]
    fn sources_that_have_grown() {
        let old = [source("a", 1, 3), source("b", 3, 7)];
        assert!(grown(&old, &[source("a", 1, 3), source("b", 3, 9)]));
        for other in [
            vec![],
            vec![source("b", 3, 9)],
            vec![source("a", 1, 3), source("b", 3, 7)],
            vec![source("a", 1, 3), source("b", 4, 9)],
            vec![source("a", 1, 3), source("c", 3, 9)],
            vec![source("a", 1, 2), source("b", 3, 9)],
            vec![source("a", 1, 3), source("b", 3, 2)],
        ] {
            assert!(!grown(&old, &other), "{other:?}");
        }
    }
}
