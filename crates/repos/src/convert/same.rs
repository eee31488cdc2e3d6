//! Whether a revision, or a node, is the same in source and target.

use sapwood_core::{NodeKind, Revnum, SvnResult};
use sapwood_fs::{ChangeKind, Filesystem, Node};

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
pub(super) fn same_node(a: &Node, b: &Node) -> SvnResult<bool> {
    let same = a.kind() == b.kind() && a.props()? == b.props()?;
    Ok(same && (a.kind() == NodeKind::Dir || a.md5()? == b.md5()?))
}
