//! The tree of what changed in a revision or transaction, walked in the order of its paths.

use sapwood_core::{SvnResult, path};
use sapwood_repos::change_tree::{ChangeNode, ChangeTree};

use super::Context;
use crate::signals::{self, cancel_token};

/// The tree of changes; an empty one for revision 0.
pub(super) fn changes(context: &Context) -> SvnResult<ChangeTree> {
    match context.base()? {
        Some(base) => Ok(ChangeTree::of(&context.root()?, base, &cancel_token())?),
        None => {
            context.root()?;
            Ok(ChangeTree::default())
        }
    }
}

/// Walks a tree of changes, parents before children, with the path of each node.
pub(super) fn walk(
    tree: &ChangeTree,
    mut visit: impl FnMut(&ChangeNode, &str) -> SvnResult<()>,
) -> SvnResult<()> {
    let mut stack = vec![(0_usize, String::new())];
    while let Some((at, path)) = stack.pop() {
        let Some(node) = tree.get(at) else { continue };
        signals::check()?;
        visit(node, &path)?;
        for child in node.children.iter().rev() {
            if let Some(child_node) = tree.get(*child) {
                stack.push((*child, path::join(&path, &child_node.name)));
            }
        }
    }
    Ok(())
}
