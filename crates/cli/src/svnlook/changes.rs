//! `svnlook changed` and `svnlook dirs-changed`.

use sapwood_core::{NodeKind, SvnResult, path};
use sapwood_repos::change_tree::{ChangeAction, ChangeNode, ChangeTree};

use super::{Context, no_argument};
use crate::command::Invocation;
use crate::signals::{self, cancel_token};

/// The tree of changes; an empty one for revision 0.
fn changes(context: &Context) -> SvnResult<ChangeTree> {
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

fn slash(node: &ChangeNode) -> &'static str {
    if node.kind == NodeKind::Dir { "/" } else { "" }
}

/// The lines about one node; empty when nothing is to be said of it.
fn changed_lines(node: &ChangeNode, path: &str, copy_info: bool) -> String {
    let copy = node.copy_from.as_ref().filter(|_| copy_info);
    let status = match node.action {
        ChangeAction::Added if copy.is_some() => "A +",
        ChangeAction::Added => "A  ",
        ChangeAction::Deleted => "D  ",
        ChangeAction::Opened => match (node.text_mod, node.prop_mod) {
            (false, false) => return String::new(),
            (true, false) => "U  ",
            (false, true) => "_U ",
            (true, true) => "UU ",
        },
    };
    let mut lines = format!("{status} {path}{}\n", slash(node));
    if let Some((source, revision)) = copy {
        lines.push_str(&format!(
            "    (from {}{}:r{revision})\n",
            path::to_relpath(source),
            slash(node)
        ));
    }
    lines
}

/// `svnlook changed`.
pub(super) fn changed(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    no_argument(invocation)?;
    let context = Context::open(invocation)?;
    let copy_info = invocation.options.has("copy-info");
    let out = &mut invocation.out;
    walk(&changes(&context)?, |node, path| out.text(&changed_lines(node, path, copy_info)))
}

/// `svnlook dirs-changed`.
pub(super) fn dirs_changed(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    no_argument(invocation)?;
    let context = Context::open(invocation)?;
    let tree = changes(&context)?;
    let out = &mut invocation.out;
    walk(&tree, |node, path| {
        let own_change = |child: &ChangeNode| {
            child.kind == NodeKind::File || child.action != ChangeAction::Opened
        };
        let changed =
            node.prop_mod || node.children.iter().filter_map(|at| tree.get(*at)).any(own_change);
        if node.kind != NodeKind::Dir || !changed {
            return Ok(());
        }
        out.text(&format!("{path}/\n"))
    })
}

#[cfg(test)]
mod tests {
    use sapwood_core::Revnum;

    use super::*;

    #[test]
    fn status_lines() {
        let mut node = ChangeNode {
            name: "a".to_owned(),
            kind: NodeKind::Dir,
            action: ChangeAction::Added,
            text_mod: false,
            prop_mod: false,
            copy_from: Some(("/b".to_owned(), Revnum(3))),
            children: Vec::new(),
            parent: None,
        };
        assert_eq!(changed_lines(&node, "x/a", true), "A + x/a/\n    (from b/:r3)\n");
        assert_eq!(changed_lines(&node, "x/a", false), "A   x/a/\n");
        node.action = ChangeAction::Opened;
        assert_eq!(changed_lines(&node, "x/a", false), "");
        node.prop_mod = true;
        assert_eq!(changed_lines(&node, "x/a", false), "_U  x/a/\n");
    }
}
