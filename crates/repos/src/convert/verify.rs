//! Comparing a converted repository with its source: changed paths, properties and texts of each revision, and all of the
//! youngest tree. Several threads compare, and differences are reported in the order of revisions. Properties of revisions that
//! changed in the source meanwhile are taken over. What was found equal is noted, once its properties are on disk.

use sapwood_core::{Exact as _, Revnum, Sha1, SvnResult};
use sapwood_fs::Filesystem;
use sapwood_store::ordered::{self, Outlet, ReceiverGone};

use super::compared::{ComparisonState, Pace};
use super::revprops::{self, DifferingRevprops};
use super::same::same_changes;
use super::summary::{self, Summaries};
use super::{Event, Notify, Pair, differs, tree};

/// What came of the comparison of some revisions: the first and last, and properties that differ.
struct Batch {
    range: (Revnum, Revnum),
    props: Vec<DifferingRevprops>,
}

/// Compares what was not compared before: the revisions to `youngest`, in several threads, and then its tree; properties
/// of all of them. Where `summaries` say what a revision of the source has, only the target's is read.
///
/// # Errors
/// E160004 that names the first difference.
pub(super) fn verify(
    pair: &Pair<'_>,
    youngest: Revnum,
    compared: &mut ComparisonState,
    summaries: &Summaries,
    notify: &mut Notify<'_>,
) -> SvnResult<()> {
    let first = compared.next();
    if let Some(before) = first.prev() {
        notify(Event::VerifiedBefore(before))?;
    }
    revisions(pair, (first, youngest), compared, summaries, notify)?;
    tree::compare(pair, youngest, compared)?;
    // They may have changed since: these are looked at in each run.
    revprops::take(pair, first)
}

/// Compares the revisions from the first to the last of `range`.
fn revisions(
    pair: &Pair<'_>,
    range: (Revnum, Revnum),
    compared: &mut ComparisonState,
    summaries: &Summaries,
    notify: &mut Notify<'_>,
) -> SvnResult<()> {
    let (source, target) = (pair.source, pair.target());
    let work = |range: (Revnum, Revnum), to: &Outlet<'_, SvnResult<Batch>>| {
        let compare = |revision| {
            pair.cancel.check()?;
            same_revision(source, target, summaries.get(revision), revision)
        };
        let found = (range.0.0..=range.1.0).map(Revnum);
        let found = found.filter_map(|revision| compare(revision).transpose());
        let batch = found.collect::<SvnResult<_>>().map(|props| Batch { range, props });
        let is_wrong = batch.is_err();
        to.send(batch)?;
        if is_wrong { Err(ReceiverGone) } else { Ok(()) }
    };
    let mut pace = Pace::new(pair.at_once);
    ordered::run(ordered::batches(range.0, range.1), pair.threads, &work, &mut |batch| {
        let Batch { range: done, props } = batch?;
        props.iter().try_for_each(|found| revprops::set(pair.writer, found))?;
        let equal = (done.0.0..=done.1.0).map(Revnum);
        equal.map(Event::Verified).try_for_each(&mut *notify)?;
        let more = done.1.0.minus(done.0.0).plus(1);
        if pace.is_due(more) || done.1 == range.1 { compared.revisions_to(done.1) } else { Ok(()) }
    })
}

/// That a revision has the same changed paths in both; its properties, where they differ.
fn same_revision(
    source: &Filesystem,
    target: &Filesystem,
    summary: Option<Sha1>,
    revision: Revnum,
) -> SvnResult<Option<DifferingRevprops>> {
    let is_same = match summary {
        Some(wanted) => summary::of(target, revision)? == wanted,
        None => false,
    };
    if !is_same && !same_changes(source, target, revision)? {
        return Err(differs(revision, "its changed paths"));
    }
    revprops::differing(source, target, revision)
}
