//! The operations: what a command line asks for becomes sources, and these a run.

use std::rc::Rc;

use sapwood_core::mergeinfo::{MergeRange, RangeList};
use sapwood_core::notify::{Action, Notify};
use sapwood_core::paths::Url;
use sapwood_core::{ErrorCode, Revnum, SvnError, SvnResult};
use sapwood_ra::Session;

use super::automatic::{self, AutomaticMerge};
use super::normalize::{sources_at_head, sources_of};
use super::resume::{InterruptedMerge, is_stop};
use super::run::{Sessions, run};
use super::source::MergeSource;
use super::target::{AllowedTargets, MergeTarget, lock_place};
use super::types::{MergeOutcome, MergeRun, PathMergeinfo};
use super::{MergeOptions, record};
use crate::context::Context;
use crate::mergeinfo::place::{RepoLocation, common_ancestor};
use crate::open::number_at;
use crate::revision::{Range, Revision};
use crate::target::is_url;

/// Two sources whose difference is merged.
#[derive(Clone, Copy, Debug)]
pub struct TwoSources<'a> {
    /// The left one: a URL or local path.
    pub left: &'a str,
    /// Its revision.
    pub left_revision: Revision,
    /// The right one.
    pub right: &'a str,
    /// Its revision.
    pub right_revision: Revision,
}

fn wrong(words: &str) -> SvnError {
    SvnError::new(ErrorCode::INCORRECT_PARAMS, words)
}

/// A local path stands for its URL, so the revision must be one of the repository.
fn check_revision(path: &str, revision: Revision) -> SvnResult<()> {
    let remote = matches!(revision, Revision::Number(_) | Revision::Date(_) | Revision::Head);
    if remote || is_url(path) {
        return Ok(());
    }
    Err(SvnError::new(
        ErrorCode::CLIENT_BAD_REVISION,
        format!(
            "Invalid merge source '{}'; a working copy path can only be used with a repository \
             revision (a number, a date, or head)",
            if path.is_empty() { "." } else { path }
        ),
    ))
}

/// Two locations that must be in one repository, whatever its URL.
fn check_same_repository(
    one: &RepoLocation,
    one_shown: &str,
    uuid: &str,
    root: Option<&str>,
    other_shown: &str,
) -> SvnResult<()> {
    if one.uuid == uuid && root.is_none_or(|root| one.root == root) {
        return Ok(());
    }
    Err(SvnError::new(
        ErrorCode::CLIENT_UNRELATED_RESOURCES,
        format!("'{one_shown}' must be from the same repository as '{other_shown}'"),
    ))
}

/// Does the work with the target locked, unless nothing is done to it.
fn locked(
    ctx: &Context,
    target: &str,
    dry_run: bool,
    work: impl FnOnce() -> SvnResult<()>,
) -> SvnResult<()> {
    if dry_run {
        return work();
    }
    let (wc, place) = lock_place(ctx, target)?;
    let lock = wc.lock(&place, -1)?;
    let result = work();
    let released = lock.release();
    ctx.wait_for_clock();
    result?;
    Ok(released?)
}

const fn any(mixed: bool) -> AllowedTargets {
    AllowedTargets { mixed, modified: true, switched: true }
}

const CLEAN: AllowedTargets = AllowedTargets { mixed: false, modified: false, switched: false };

/// Merges the difference of two sources.
///
/// # Errors
/// E195002 for missing revisions, E195012 for sources of two repositories, E155015 when conflicts
/// keep revisions from being merged; those of sessions and of the working copy.
pub fn merge_two(
    ctx: &Context,
    sources: TwoSources<'_>,
    target: &str,
    options: &MergeOptions,
) -> SvnResult<()> {
    locked(ctx, target, options.dry_run, || {
        let target = MergeTarget::open(ctx, target, any(options.allow_mixed))?;
        two(ctx, sources, &target, options)?.check(&target)
    })
}

/// The same, but conflicts that keep revisions from being merged are no error. Returns whether any
/// conflict is left open.
///
/// # Errors
/// As [`merge_two`].
pub(crate) fn merge_two_reporting(
    ctx: &Context,
    sources: TwoSources<'_>,
    target: &str,
    options: &MergeOptions,
) -> SvnResult<bool> {
    let mut conflicts = false;
    locked(ctx, target, options.dry_run, || {
        let target = MergeTarget::open(ctx, target, any(options.allow_mixed))?;
        conflicts = two(ctx, sources, &target, options)?.conflict.is_some();
        Ok(())
    })?;
    Ok(conflicts)
}

fn two(
    ctx: &Context,
    sources: TwoSources<'_>,
    target: &MergeTarget,
    options: &MergeOptions,
) -> SvnResult<MergeOutcome> {
    let TwoSources { left, left_revision, right, right_revision } = sources;
    if !left_revision.is_given() || !right_revision.is_given() {
        return Err(SvnError::new(
            ErrorCode::CLIENT_BAD_REVISION,
            "Not all required revisions are specified",
        ));
    }
    if is_url(left) != is_url(right) {
        return Err(SvnError::new(
            ErrorCode::ILLEGAL_TARGET,
            "Merge sources must both be either paths or URLs",
        ));
    }
    check_revision(left, left_revision)?;
    check_revision(right, right_revision)?;
    let (first, one) = shared(RepoLocation::open(ctx, left, left_revision)?, target);
    let (second, two) = shared(RepoLocation::open(ctx, right, right_revision)?, target);
    check_same_repository(&one, &one.url(), &two.uuid, None, &two.url())?;
    let same_repos = target.is_in_repository_of(&one);
    let ancestor = match options.ignore_mergeinfo {
        true => None,
        false => common_ancestor(first.as_ref(), &one, &two)?,
    };
    let related = ancestor.is_some();
    let way = |from: u64, to: u64| {
        RangeList(vec![MergeRange { start: from, end: to, inheritable: true }])
    };
    let sources = match ancestor {
        None => vec![MergeSource { left: one, right: two, ancestral: false }],
        Some(common) if common == two => {
            sources_of(first.as_ref(), &one, &way(one.revision, common.revision))?
        }
        Some(common) if common == one => {
            sources_of(second.as_ref(), &two, &way(common.revision, two.revision))?
        }
        Some(common) => {
            let source = MergeSource { left: one, right: two, ancestral: false };
            let sessions = [first, second];
            return cousins(ctx, target, sessions, &source, &common, same_repos, options);
        }
    };
    let sessions = [Some(first), Some(second)];
    run_plain(ctx, &sources, target, related, same_repos, options, sessions)
}

fn run_plain(
    ctx: &Context,
    sources: &[MergeSource],
    target: &MergeTarget,
    related: bool,
    same_repos: bool,
    options: &MergeOptions,
    sessions: Sessions,
) -> SvnResult<MergeOutcome> {
    let run_of_all = MergeRun {
        sources,
        target,
        options: options.clone(),
        related,
        same_repos,
        reintegrate: false,
        quiet: false,
        only: None,
        catalog: None,
    };
    run(ctx, run_of_all, sessions)
}

/// A session that a run can have.
fn shared(
    (session, place): (Box<dyn Session>, RepoLocation),
    target: &MergeTarget,
) -> (Rc<dyn Session>, RepoLocation) {
    (target.caching(Rc::from(session)), place)
}

/// Merges the difference of two locations that have a common ancestor, neither being it, and records
/// it as two merges: back from the left one to the ancestor, and on to the right one.
fn cousins(
    ctx: &Context,
    target: &MergeTarget,
    [left, right]: [Rc<dyn Session>; 2],
    source: &MergeSource,
    common: &RepoLocation,
    same_repos: bool,
    options: &MergeOptions,
) -> SvnResult<MergeOutcome> {
    let older = InterruptedMerge::older(&whole_of(source, target, options, same_repos))?;
    if let Some(older) = older.filter(|_| !options.record_only && !options.dry_run) {
        let done = cousins(ctx, target, [left, right], &older, common, same_repos, options)?;
        warn_of_rest(ctx, target, older.right.revision);
        return Ok(done);
    }
    let way = |from: u64, to: u64| {
        RangeList(match from == to {
            true => Vec::new(),
            false => vec![MergeRange { start: from, end: to, inheritable: true }],
        })
    };
    let back =
        sources_of(left.as_ref(), &source.left, &way(source.left.revision, common.revision))?;
    let on =
        sources_of(right.as_ref(), &source.right, &way(common.revision, source.right.revision))?;
    let mut done = MergeOutcome::default();
    let options = MergeOptions { ignore_mergeinfo: false, ..options.clone() };
    if !options.record_only {
        let whole = whole_of(source, target, &options, same_repos);
        done = run(ctx, whole, [Some(Rc::clone(&left)), Some(Rc::clone(&right))])?;
        if done.is_stopped() {
            return Ok(done);
        }
    } else if !same_repos {
        return Err(wrong(
            "Merge from foreign repository is not compatible with mergeinfo modification",
        ));
    }
    if !same_repos || options.dry_run {
        return Ok(done);
    }
    let shown = target.display_path();
    ctx.notify(&Notify::new(Action::MergeRecordInfoBegin, &shown));
    let recorded = record_cousins(ctx, target, &[on, back], [left, right], &options, &done);
    if let Err(error) = recorded {
        if options.record_only || !is_stop(&error) {
            return Err(error);
        }
        let whole = whole_of(source, target, &options, same_repos);
        return Err(match InterruptedMerge::keep_whole(&whole, &done) {
            Ok(()) => error,
            Err(other) => error.with_cause(other),
        });
    }
    recorded
}

/// Says that a merge that was stopped is complete, and that what came later is not merged.
fn warn_of_rest(ctx: &Context, target: &MergeTarget, revision: u64) {
    let error = SvnError::new(
        ErrorCode::CLIENT_NOT_READY_TO_MERGE,
        format!(
            "The merge that was stopped is complete; what came after r{revision} is left for a merge after \
             the next commit"
        ),
    );
    let shown = target.display_path();
    ctx.notify(&Notify { error: Some(&error), ..Notify::new(Action::MergeWarning, &shown) });
}

/// The merge of the difference itself.
fn whole_of<'r>(
    source: &'r MergeSource,
    target: &'r MergeTarget,
    options: &MergeOptions,
    same_repos: bool,
) -> MergeRun<'r> {
    MergeRun {
        sources: std::slice::from_ref(source),
        target,
        options: MergeOptions { record_only: false, ..options.clone() },
        related: true,
        same_repos,
        reintegrate: true,
        quiet: false,
        only: None,
        catalog: None,
    }
}

/// Records the way on from the ancestor, and the way back to it.
fn record_cousins(
    ctx: &Context,
    target: &MergeTarget,
    ways: &[Vec<MergeSource>; 2],
    [left, right]: [Rc<dyn Session>; 2],
    options: &MergeOptions,
    done: &MergeOutcome,
) -> SvnResult<MergeOutcome> {
    let mut done = done.clone();
    let touched = done.touched.clone();
    let touched = (!options.record_only).then_some(&touched);
    let mut catalogs = [PathMergeinfo::new(), PathMergeinfo::new()];
    let mut conflict = done.conflict.clone();
    for (sources, catalog) in ways.iter().zip(&mut catalogs) {
        let part = run(
            ctx,
            MergeRun {
                sources,
                target,
                options: MergeOptions { record_only: true, ..options.clone() },
                related: true,
                same_repos: true,
                reintegrate: true,
                quiet: true,
                only: touched,
                catalog: Some(catalog),
            },
            [Some(Rc::clone(&left)), Some(Rc::clone(&right))],
        )?;
        conflict = part.conflict.clone();
        if part.is_stopped() {
            return Ok(part);
        }
    }
    let [mut all, other] = catalogs;
    for (path, mergeinfo) in other {
        all.entry(path).or_default().merge(&mergeinfo);
    }
    record::write(ctx, target, all)?;
    done.conflict = conflict;
    Ok(done)
}

/// Merges revisions of one source, or what the target lacks of it when there are no `ranges`.
///
/// # Errors
/// As [`merge_two`].
pub fn merge_peg(
    ctx: &Context,
    source: &str,
    peg: Revision,
    ranges: Option<&[Range]>,
    target: &str,
    options: &MergeOptions,
) -> SvnResult<()> {
    let Some(ranges) = ranges else {
        return merge_automatic(ctx, source, peg, target, options);
    };
    if ranges.is_empty() {
        return Ok(());
    }
    locked(ctx, target, options.dry_run, || {
        let target = MergeTarget::open(ctx, target, any(options.allow_mixed))?;
        let (session, place, sources) = picked(ctx, source, peg, ranges, &target)?;
        let same_repos = target.is_in_repository_of(&place);
        let sessions = [Some(session), None];
        run_plain(ctx, &sources, &target, true, same_repos, options, sessions)?.check(&target)
    })
}

/// The part of a source that is merged.
fn picked(
    ctx: &Context,
    source: &str,
    peg: Revision,
    ranges: &[Range],
    target: &MergeTarget,
) -> SvnResult<(Rc<dyn Session>, RepoLocation, Vec<MergeSource>)> {
    let is_number = |revision: Revision| matches!(revision, Revision::Number(_));
    let all_numbers = ranges.iter().all(|range| is_number(range.start) && is_number(range.end));
    let head = matches!(peg, Revision::Head | Revision::Unspecified);
    if !(is_url(source) && (head || is_number(peg)) && all_numbers) {
        let (session, place) = shared(RepoLocation::open(ctx, source, peg)?, target);
        let ranges = numbers(ctx, session.as_ref(), source, ranges)?;
        let sources = sources_of(session.as_ref(), &place, &ranges)?;
        return Ok((session, place, sources));
    }
    let session = target.open_session(ctx, Url::new(source)?)?;
    let ranges = numbers(ctx, session.as_ref(), source, ranges)?;
    // The number of the youngest revision need not be known.
    if head && let Some(sources) = sources_at_head(session.as_ref(), &ranges)? {
        let place = RepoLocation::of(session.as_ref(), Revnum::ZERO)?;
        return Ok((session, place, sources));
    }
    let peg = number_at(ctx, session.as_ref(), source, peg)?;
    let place = RepoLocation::of(session.as_ref(), peg)?;
    let sources = sources_of(session.as_ref(), &place, &ranges)?;
    Ok((session, place, sources))
}

/// Ranges with numbers; empty ones are left out.
fn numbers(
    ctx: &Context,
    session: &dyn Session,
    source: &str,
    ranges: &[Range],
) -> SvnResult<RangeList> {
    let mut found = RangeList::default();
    for range in ranges {
        if !range.start.is_given() || !range.end.is_given() {
            return Err(SvnError::new(
                ErrorCode::CLIENT_BAD_REVISION,
                "Not all required revisions are specified",
            ));
        }
        let start = number_at(ctx, session, source, range.start)?.0;
        let end = number_at(ctx, session, source, range.end)?.0;
        if start != end {
            found.0.push(MergeRange { start, end, inheritable: true });
        }
    }
    Ok(found)
}

fn merge_automatic(
    ctx: &Context,
    source: &str,
    peg: Revision,
    path: &str,
    options: &MergeOptions,
) -> SvnResult<()> {
    if options.ignore_mergeinfo {
        return Err(wrong("Cannot merge automatically while ignoring mergeinfo"));
    }
    let (merge, session) = {
        let target = MergeTarget::open(ctx, path, any(options.allow_mixed))?;
        let Some(_) = target.place else {
            return Err(SvnError::new(
                ErrorCode::CLIENT_UNRELATED_RESOURCES,
                format!(
                    "Can't perform automatic merge into '{}' because it is locally added and \
                     therefore not related to the merge source",
                    target.display_path()
                ),
            ));
        };
        let (session, place) = shared(RepoLocation::open(ctx, source, peg)?, &target);
        let (shown, root) = (target.display_path(), target.root.as_str());
        check_same_repository(&place, source, &target.uuid, Some(root), &shown)?;
        (automatic::find(ctx, session.as_ref(), &place, &target)?, session)
    };
    locked(ctx, path, options.dry_run, || do_automatic(ctx, &merge, path, options, session))
}

/// What a target may be that must be clean: as a merge of this source (of any, if it is not known yet) left
/// it that was stopped.
fn clean_or_stopped(
    ctx: &Context,
    path: &str,
    source: Option<&MergeSource>,
    dry_run: bool,
) -> SvnResult<AllowedTargets> {
    Ok(if !dry_run && InterruptedMerge::waits(ctx, path, source)? { any(false) } else { CLEAN })
}

fn do_automatic(
    ctx: &Context,
    merge: &AutomaticMerge,
    path: &str,
    options: &MergeOptions,
    right: Rc<dyn Session>,
) -> SvnResult<()> {
    let source =
        MergeSource { left: merge.base.clone(), right: merge.right.clone(), ancestral: false };
    let allowed = match merge.reintegrate_like {
        true => clean_or_stopped(ctx, path, Some(&source), options.dry_run)?,
        false => any(options.allow_mixed),
    };
    let target = MergeTarget::open(ctx, path, allowed)?;
    if !merge.reintegrate_like {
        // Which subtree needs which revisions is found out from all since the common ancestor.
        let range = MergeRange {
            start: merge.ancestor.revision,
            end: merge.right.revision,
            inheritable: true,
        };
        let list = if range.start == range.end { Vec::new() } else { vec![range] };
        let sources = sources_of(right.as_ref(), &merge.right, &RangeList(list))?;
        let sessions = [Some(right), None];
        return run_plain(ctx, &sources, &target, true, true, options, sessions)?.check(&target);
    }
    for (given, what) in [
        (options.record_only, "record-only"),
        (options.depth.is_some(), "depth"),
        (options.force_delete, "force_delete"),
    ] {
        if given {
            return Err(wrong(&format!(
                "The required merge is reintegrate-like, and the {what} option cannot be used with \
                 this kind of merge"
            )));
        }
    }
    let base = target.caching(Rc::from(sapwood_ra::open(&merge.base.url(), &ctx.ra)?));
    // Refuses what a reintegrate merge refuses, as revisions that the source lacks.
    automatic::find_reintegrate(ctx, right.as_ref(), &merge.right, &target)?;
    let options = MergeOptions { ignore_ancestry: false, ..options.clone() };
    let sessions = [base, right];
    cousins(ctx, &target, sessions, &source, &merge.ancestor, true, &options)?.check(&target)
}

/// Merges a branch back into where it came from.
///
/// # Errors
/// As [`merge_two`]; E195012 and E195016 for branches that cannot be merged back.
pub fn merge_reintegrate(
    ctx: &Context,
    source: &str,
    peg: Revision,
    path: &str,
    options: &MergeOptions,
) -> SvnResult<()> {
    locked(ctx, path, options.dry_run, || {
        let dry_run = options.dry_run;
        let allowed = clean_or_stopped(ctx, path, None, dry_run)?;
        let target = MergeTarget::open(ctx, path, allowed)?;
        let Some(place) = &target.place else {
            return Err(SvnError::new(
                ErrorCode::CLIENT_UNRELATED_RESOURCES,
                format!(
                    "Can't reintegrate into '{}' because it is locally added and therefore not \
                     related to the merge source",
                    target.display_path()
                ),
            ));
        };
        let other = target.caching(Rc::from(sapwood_ra::open(&place.url(), &ctx.ra)?));
        let (session, from) = shared(RepoLocation::open(ctx, source, peg)?, &target);
        let (shown, root) = (target.display_path(), target.root.as_str());
        check_same_repository(&from, source, &target.uuid, Some(root), &shown)?;
        let found = automatic::find_reintegrate(ctx, session.as_ref(), &from, &target)?;
        let Some((source, common)) = found else { return Ok(()) };
        let source = MergeSource { ancestral: false, ..source };
        let allowed = clean_or_stopped(ctx, path, Some(&source), dry_run)?;
        let target = MergeTarget::open(ctx, path, allowed)?;
        let sessions = [other, session];
        cousins(ctx, &target, sessions, &source, &common, true, options)?.check(&target)
    })
}
