//! Comparing a converted repository with its source: changed paths, properties and texts of each revision, and all of the
//! youngest tree. Several threads compare, and differences are reported in the order of revisions. Properties of revisions that
//! changed in the source meanwhile are taken over.

use std::collections::HashSet;

use sapwood_core::{CancelToken, FsPath, NodeKind, Revnum, Sha1, SvnResult};
use sapwood_fs::txn::Writer;
use sapwood_fs::{ChangeKind, Filesystem, Node};
use sapwood_store::ordered::{self, Outlet, ReceiverGone};

use super::revprops::{self, Differing};
use super::summary::{self, Summaries};
use super::{Event, Notify, differs};

/// What came of the comparison of some revisions: the first and last, and properties that differ.
struct Compared {
    range: (Revnum, Revnum),
    props: Vec<Differing>,
}

/// Compares the revisions from the first to the last of `range` in `threads` threads, and then the trees of the last one. Where
/// `summaries` say what a revision of the source has, only the target's is read.
///
/// # Errors
/// E160004 that names the first difference.
pub(super) fn verify(
    source: &Filesystem,
    writer: &Writer,
    range: (Revnum, Revnum),
    summaries: &Summaries,
    threads: usize,
    cancel: &CancelToken,
    notify: &mut Notify<'_>,
) -> SvnResult<()> {
    let target = writer.fs();
    let work = |range: (Revnum, Revnum), to: &Outlet<'_, SvnResult<Compared>>| {
        let compare = |revision| {
            cancel.check()?;
            same_revision(source, target, summaries.get(revision), revision)
        };
        let found = (range.0.0..=range.1.0).map(Revnum);
        let found = found.filter_map(|revision| compare(revision).transpose());
        let compared = found.collect::<SvnResult<_>>().map(|props| Compared { range, props });
        let is_wrong = compared.is_err();
        to.send(compared)?;
        if is_wrong { Err(ReceiverGone) } else { Ok(()) }
    };
    ordered::run(ordered::batches(range.0, range.1), threads, &work, &mut |compared| {
        let Compared { range, props } = compared?;
        props.iter().try_for_each(|found| revprops::set(writer, found))?;
        let done = (range.0.0..=range.1.0).map(Revnum);
        done.map(Event::Verified).try_for_each(&mut *notify)
    })?;
    // The trees of revisions that were compared before were too.
    if range.0 > range.1 { Ok(()) } else { same_tree(source, target, range.1, cancel) }
}

/// That a revision has the same changed paths in both; its properties, where they differ.
fn same_revision(
    source: &Filesystem,
    target: &Filesystem,
    summary: Option<Sha1>,
    revision: Revnum,
) -> SvnResult<Option<Differing>> {
    let is_same = match summary {
        Some(wanted) => summary::of(target, revision)? == wanted,
        None => false,
    };
    if !is_same && !same_changes(source, target, revision)? {
        return Err(differs(revision, "its changed paths"));
    }
    revprops::differing(source, target, revision)
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

/// Whether a revision changed the same paths in both in the same way, to the same nodes.
///
/// # Errors
/// Those of reading.
pub(super) fn same_changes(
    source: &Filesystem,
    target: &Filesystem,
    revision: Revnum,
) -> SvnResult<bool> {
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
