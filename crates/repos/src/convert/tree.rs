//! Comparing all of the youngest tree, in an order that can be taken up at any path: a directory before what is in it, of its
//! entries the last name first.

use std::collections::HashSet;

use sapwood_core::{Exact as _, FsPath, NodeKind, Revnum, SvnResult};
use sapwood_fs::{Directory, Filesystem, Node};

use super::compared::{ComparisonState, Pace};
use super::same::same_node;
use super::{Pair, differs};

/// How many nodes are compared for each revision of a batch.
const NODES: u64 = 16;

/// Compares the tree of a revision in both, from where an earlier comparison of it ended. What stands at several paths, as
/// branches and tags do, is compared once.
///
/// # Errors
/// E160004 that says that there is a difference.
pub(super) fn compare(
    pair: &Pair<'_>,
    revision: Revnum,
    compared: &mut ComparisonState,
) -> SvnResult<()> {
    let Some(from) = compared.tree_from(revision) else { return Ok(()) };
    let top = |fs: &Filesystem| fs.revision_root(revision)?.node(FsPath::ROOT);
    let mut open = vec![(top(pair.source)?, top(pair.target())?)];
    let mut met = HashSet::new();
    let mut pace = Pace::new(pair.at_once.times(NODES));
    while let Some((a, b)) = open.pop() {
        pair.cancel.check()?;
        if !same_node(&a, &b)? {
            return Err(differs(revision, "a node of its tree"));
        }
        if a.kind() == NodeKind::Dir {
            let (ours, theirs) = (a.entries()?, b.entries()?);
            if !ours.iter().map(|entry| entry.name).eq(theirs.iter().map(|entry| entry.name)) {
                return Err(differs(revision, "a directory of its tree"));
            }
            for (ours, theirs) in ours.iter().zip(theirs.iter()).take(left(&ours, &a, &from)) {
                if met.insert((ours.id, theirs.id)) {
                    open.push((a.child_of(&ours)?, b.child_of(&theirs)?));
                }
            }
        }
        if pace.is_due(1)
            && let Some((next, _)) = open.last()
        {
            compared.tree_to(revision, Some(next.path()))?;
        }
    }
    compared.tree_to(revision, None)
}

/// How many entries of a directory are still to be compared: on the way to the path where the comparison begins, those after
/// its next name were.
fn left(entries: &Directory, dir: &Node, from: &FsPath) -> usize {
    match from.below(dir.path()).and_then(|way| way.names().next()) {
        Some(name) => entries.iter().take_while(|entry| entry.name <= name).count(),
        None => entries.len(),
    }
}
