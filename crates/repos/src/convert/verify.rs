//! Comparing a converted repository with its source: changed paths, properties and texts of each revision, and all of the
//! youngest tree. Several threads compare, and differences are reported in the order of revisions.

use std::collections::HashSet;

use sapwood_core::{CancelToken, ErrorCode, FsPath, NodeKind, Revnum, SvnError, SvnResult};
use sapwood_fs::{ChangeKind, Filesystem, Node};
use sapwood_store::ordered::{self, Outlet, ReceiverGone};

use super::{Event, Notify};

/// Compares the revisions from the first to the last of `range` in `threads` threads, and then the trees of the last one.
///
/// # Errors
/// E160004 that names the first difference.
pub fn verify(
    source: &Filesystem,
    target: &Filesystem,
    range: (Revnum, Revnum),
    threads: usize,
    cancel: &CancelToken,
    notify: &mut Notify<'_>,
) -> SvnResult<()> {
    let work = |(first, last): (Revnum, Revnum), to: &Outlet<'_, SvnResult<(Revnum, Revnum)>>| {
        let compare = |revision| {
            cancel.check()?;
            same_revision(source, target, revision)
        };
        let compared = (first.0..=last.0).map(Revnum).try_for_each(compare);
        let is_wrong = compared.is_err();
        to.send(compared.map(|()| (first, last)))?;
        if is_wrong { Err(ReceiverGone) } else { Ok(()) }
    };
    ordered::run(ordered::batches(range.0, range.1), threads, &work, &mut |compared| {
        let (first, last): (Revnum, Revnum) = compared?;
        (first.0..=last.0).map(Revnum).try_for_each(|revision| notify(Event::Verified(revision)))
    })?;
    // The trees of revisions that were compared before were too.
    if range.0 > range.1 { Ok(()) } else { same_tree(source, target, range.1, cancel) }
}

/// That a revision has the same properties and changed paths in both.
fn same_revision(source: &Filesystem, target: &Filesystem, revision: Revnum) -> SvnResult<()> {
    if source.revprops(revision)? != target.revprops(revision)? {
        return Err(differs(revision, "its properties"));
    }
    if !same_changes(source, target, revision)? {
        return Err(differs(revision, "its changed paths"));
    }
    Ok(())
}

/// That a revision has the same tree in both. What stands at several paths, as branches and tags do, is compared once.
fn same_tree(
    source: &Filesystem,
    target: &Filesystem,
    revision: Revnum,
    cancel: &CancelToken,
) -> SvnResult<()> {
    let top = |fs: &Filesystem| fs.revision_root(revision)?.node(FsPath::ROOT);
    let mut open = vec![(top(source)?, top(target)?)];
    let mut met = HashSet::new();
    while let Some((a, b)) = open.pop() {
        cancel.check()?;
        if !same_node(&a, &b)? {
            return Err(differs(revision, "a node of its tree"));
        }
        if a.kind() == NodeKind::Dir {
            let (ours, theirs) = (a.entries()?, b.entries()?);
            if !ours.iter().map(|entry| entry.name).eq(theirs.iter().map(|entry| entry.name)) {
                return Err(differs(revision, "a directory of its tree"));
            }
            for (ours, theirs) in ours.iter().zip(theirs.iter()) {
                if met.insert((ours.id, theirs.id)) {
                    open.push((a.child_of(&ours)?, b.child_of(&theirs)?));
                }
            }
        }
    }
    Ok(())
}

fn differs(revision: Revnum, what: &str) -> SvnError {
    let message = format!("Revision {revision} differs from that of the source: {what}");
    SvnError::new(ErrorCode::FS_CORRUPT, message)
}

/// Whether a revision changed the same paths in both in the same way, to the same nodes.
///
/// # Errors
/// Those of reading.
pub fn same_changes(source: &Filesystem, target: &Filesystem, revision: Revnum) -> SvnResult<bool> {
    let roots = (source.revision_root(revision)?, target.revision_root(revision)?);
    let (a, b) = (roots.0.changed_paths()?, roots.1.changed_paths()?);
    if a.len() != b.len() {
        return Ok(false);
    }
    for (a, b) in a.iter().zip(b.iter()) {
        let same = (a.path, a.kind, a.copy_from) == (b.path, b.kind, b.copy_from);
        if !same || (a.text_mod, a.prop_mod) != (b.text_mod, b.prop_mod) {
            return Ok(false);
        }
        let is_there = a.kind != ChangeKind::Delete;
        if is_there && !same_node(&roots.0.node(a.path)?, &roots.1.node(a.path)?)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether two nodes have the same kind, properties and text, by the recorded MD5 of each.
fn same_node(a: &Node, b: &Node) -> SvnResult<bool> {
    let same = a.kind() == b.kind() && a.props()? == b.props()?;
    Ok(same && (a.kind() == NodeKind::Dir || a.md5()? == b.md5()?))
}
