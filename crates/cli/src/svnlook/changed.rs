//! `svnlook changed`.

use sapwood_core::{NodeKind, SvnResult, path};
use sapwood_repos::change_tree::{ChangeAction, ChangeNode};

use super::change_tree::{changes, walk};
use super::{Context, no_argument};
use crate::command::{Invocation, Runner, Subcommand, name};

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "changed",
    aliases: &[],
    help: "usage: svnlook changed REPOS_PATH\n\nPrint which paths changed, and how.\n",
    options: &[name::REVISION, name::TRANSACTION, name::COPY_INFO],
    overrides: &[],
    run: Runner::Repository(run),
};

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

fn run(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    no_argument(invocation)?;
    let context = Context::open(invocation)?;
    let copy_info = invocation.options.has(name::COPY_INFO);
    let out = &mut invocation.out;
    walk(&changes(&context)?, |node, path| out.text(&changed_lines(node, path, copy_info)))
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
