//! Comparing a converted repository with its source: changed paths, properties and texts of each revision, and all of the
//! youngest tree.

use sapwood_core::{CancelToken, ErrorCode, FsPath, NodeKind, Revnum, SvnError, SvnResult};
use sapwood_fs::ChangeKind;
use sapwood_fs::source::{Source, SourceNode};

use super::{Event, Notify};

/// Compares the revisions from the first to the last of `range`, and the trees of the last one.
///
/// # Errors
/// E160004 that names the first difference.
pub fn verify(
    source: &Source,
    target: &Source,
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
    let mut open = vec![(source.node(last, FsPath::ROOT)?, target.node(last, FsPath::ROOT)?)];
    while let Some((a, b)) = open.pop() {
        cancel.check()?;
        if !same_node(&a, &b)? {
            return Err(differs(last, "a node of its tree"));
        }
        if a.kind() == NodeKind::Dir {
            let (a, b) = (a.children()?, b.children()?);
            if !a.iter().map(|(name, _)| name).eq(b.iter().map(|(name, _)| name)) {
                return Err(differs(last, "a directory of its tree"));
            }
            open.extend(a.into_iter().zip(b).map(|((_, a), (_, b))| (a, b)));
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
pub fn same_changes(source: &Source, target: &Source, revision: Revnum) -> SvnResult<bool> {
    let (a, b) = (source.changes(revision)?, target.changes(revision)?);
    if a.len() != b.len() {
        return Ok(false);
    }
    for (a, b) in a.iter().zip(&b) {
        let same = (&a.path, a.kind, &a.copy_from) == (&b.path, b.kind, &b.copy_from);
        if !same || (a.text, a.props) != (b.text, b.props) {
            return Ok(false);
        }
        let is_there = a.kind != ChangeKind::Delete;
        let node = |fs: &Source| fs.node(revision, &a.path);
        if is_there && !same_node(&node(source)?, &node(target)?)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether two nodes have the same kind, properties and text, by the recorded MD5 of each.
fn same_node(a: &SourceNode, b: &SourceNode) -> SvnResult<bool> {
    let same = a.kind() == b.kind() && a.props()? == b.props()?;
    Ok(same && (a.kind() == NodeKind::Dir || a.md5()? == b.md5()?))
}
