//! `svnlook dirs-changed`.

use sapwood_core::{NodeKind, SvnResult};
use sapwood_repos::change_tree::{ChangeAction, ChangeNode};

use super::change_tree::{changes, walk};
use super::{Context, no_argument};
use crate::command::{Invocation, Runner, Subcommand};

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "dirs-changed",
    aliases: &[],
    help: "usage: svnlook dirs-changed REPOS_PATH\n\n\
        Print the directories whose properties or whose own entries changed.\n",
    options: super::SUBJECT,
    overrides: &[],
    run: Runner::Repository(run),
};

fn run(invocation: &mut Invocation<'_>) -> SvnResult<()> {
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
