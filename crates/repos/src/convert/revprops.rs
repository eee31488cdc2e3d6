//! Properties of revisions that changed in the source since they were converted.

use std::sync::Arc;

use sapwood_core::{CancelToken, PropList, Revnum, SvnResult};
use sapwood_fs::Filesystem;
use sapwood_fs::txn::Writer;
use sapwood_store::ordered::{self, Outlet, ReceiverGone};

/// Properties that the target does not have as they are.
type Differing = SvnResult<Vec<(Revnum, Arc<PropList>)>>;

/// Makes the properties of the revisions up to `youngest` those of the source. Several threads look for those that
/// differ, without a lock.
pub(super) fn take(
    source: &Filesystem,
    writer: &Writer,
    youngest: Revnum,
    threads: usize,
    cancel: &CancelToken,
) -> SvnResult<()> {
    let target = writer.fs();
    let work = |(first, last): (Revnum, Revnum), to: &Outlet<'_, Differing>| {
        let differ = |revision| {
            cancel.check()?;
            let wanted = source.revprops(revision)?;
            Ok((target.revprops(revision)? != wanted).then_some((revision, wanted)))
        };
        let found = (first.0..=last.0).map(Revnum).filter_map(|rev| differ(rev).transpose());
        let found = found.collect::<Differing>();
        let has_failed = found.is_err();
        to.send(found)?;
        if has_failed { Err(ReceiverGone) } else { Ok(()) }
    };
    ordered::run(ordered::batches(Revnum::ZERO, youngest), threads, &work, &mut |found| {
        for (revision, wanted) in found? {
            let change = &mut |_: &_| Ok(Some(PropList::clone(&wanted)));
            writer.change_revision_props(revision, change)?;
        }
        Ok(())
    })
}
