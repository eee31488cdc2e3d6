//! Comparing a converted repository with its source: changed paths, properties and texts of each revision, and all of the
//! youngest tree.

use sapwood_core::{CancelToken, ErrorCode, FsPath, NodeKind, Revnum, SvnError, SvnResult};
use sapwood_fs::{ChangeKind, Filesystem, Node};

use super::{Event, Notify};

/// Compares the revisions from the first to the last of `range`, and the trees of the last one.
///
/// # Errors
/// E160004 that names the first difference.
pub fn verify(
    source: &Filesystem,
    target: &Filesystem,
    range: (Revnum, Revnum),
    cancel: &CancelToken,
    notify: &mut Notify<'_>,
) -> SvnResult<()> {
    for revision in (range.0.0..=range.1.0).map(Revnum) {
        cancel.check()?;
        if source.revprops(revision)? != target.revprops(revision)? {
            return Err(differs(revision, "its properties"));
        }
        if !same_changes(source, target, revision)? {
            return Err(differs(revision, "its changed paths"));
        }
        notify(Event::Verified(revision))?;
    }
    let last = range.1;
    let top = |fs: &Filesystem| fs.revision_root(last)?.node(FsPath::ROOT);
    let mut open = vec![(top(source)?, top(target)?)];
    while let Some((a, b)) = open.pop() {
        cancel.check()?;
        if !same_node(&a, &b)? {
            return Err(differs(last, "a node of its tree"));
        }
        if a.kind() == NodeKind::Dir {
            let (ours, theirs) = (a.entries()?, b.entries()?);
            if !ours.iter().map(|entry| entry.name).eq(theirs.iter().map(|entry| entry.name)) {
                return Err(differs(last, "a directory of its tree"));
            }
            for (ours, theirs) in ours.iter().zip(theirs.iter()) {
                open.push((a.child_of(&ours)?, b.child_of(&theirs)?));
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
