//! Properties of revisions that the target does not have as they are: those that changed in the source since they were
//! converted.

use std::sync::Arc;

use sapwood_core::{PropList, Revnum, SvnResult};
use sapwood_fs::Filesystem;
use sapwood_fs::txn::Writer;
use sapwood_store::ordered::{self, Outlet, ReceiverGone};

use super::same::same_changes;
use super::{Pair, differs};

/// A revision whose properties differ, and those of the source.
pub(super) type DifferingRevprops = (Revnum, Arc<PropList>);

/// The properties of a revision of the source, where the target has others.
pub(super) fn differing(
    source: &Filesystem,
    target: &Filesystem,
    revision: Revnum,
) -> SvnResult<Option<DifferingRevprops>> {
    let wanted = source.revprops(revision)?;
    Ok((target.revprops(revision)? != wanted).then_some((revision, wanted)))
}

/// Gives a revision of the target these properties.
///
/// # Errors
/// E160004 when it has others afterwards.
pub(super) fn set(writer: &Writer, (revision, wanted): &DifferingRevprops) -> SvnResult<()> {
    let change = &mut |_: &_| Ok(Some(PropList::clone(wanted)));
    writer.change_revision_props(*revision, change)?;
    if writer.fs().revprops(*revision)? == *wanted {
        Ok(())
    } else {
        Err(differs(*revision, "its properties"))
    }
}

/// Makes the properties of the revisions before `end`, which were compared, those of the source. Several threads look for those that
/// differ, without a lock. Where they do, the revision is compared again.
///
/// # Errors
/// As [`set`]; E160004 when such a revision differs.
pub(super) fn take(pair: &Pair<'_>, end: Revnum) -> SvnResult<()> {
    let Some(last) = end.prev() else { return Ok(()) };
    let (source, target) = (pair.source, pair.target());
    let work = |(first, last): (Revnum, Revnum),
                to: &Outlet<'_, SvnResult<Vec<DifferingRevprops>>>| {
        let look = |revision| {
            pair.cancel.check()?;
            let found = differing(source, target, revision)?;
            if found.is_some() && !same_changes(source, target, revision)? {
                return Err(differs(revision, "its changed paths"));
            }
            Ok(found)
        };
        let found = (first.0..=last.0).map(Revnum).filter_map(|rev| look(rev).transpose());
        let found = found.collect::<SvnResult<_>>();
        let has_failed = found.is_err();
        to.send(found)?;
        if has_failed { Err(ReceiverGone) } else { Ok(()) }
    };
    ordered::run(ordered::batches(Revnum::ZERO, last), pair.threads, &work, &mut |found| {
        found?.iter().try_for_each(|found| set(pair.writer, found))
    })
}
