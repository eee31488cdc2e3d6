//! `svn resolve`.

use super::Command;
use super::options::{Opt, lines};

pub(super) const COMMAND: Command = Command {
    name: "resolve",
    help: "Resolve conflicts on working copy files or directories.\n\
        usage: resolve [PATH...]\n",
    options: &[Opt::Targets, Opt::Recursive, Opt::Depth, Opt::Quiet, Opt::Accept],
    overrides: &[(
        Opt::Accept,
        lines!(
            "take ARG: 'base', 'working', 'mine-conflict' (mc),",
            "'theirs-conflict' (tc), 'mine-full' (mf),",
            "'theirs-full' (tf)"
        ),
    )],
    ..Command::DEFAULT
};
