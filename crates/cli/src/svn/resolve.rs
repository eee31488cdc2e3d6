//! `svn resolve`.

use sapwood_core::{Depth, SvnResult};

use super::given::Accept;
use super::options::{Opt, lines};
use super::targets::check_local_names;
use super::{Command, Invocation};
use crate::command::usage_error;
use crate::pegs::Part;

pub(super) const COMMAND: Command = Command {
    name: "resolve",
    help: "Resolve conflicts on working copy files or directories.\n\
        usage: resolve [PATH...]\n\
        \n  \
        Settle conflicts of each PATH and what is below it: each is asked about. With --accept=ARG PATH alone is\n  \
        settled without a question; with -R what is below it too. Then the files that the conflict left go, and PATH can be committed.\n",
    options: &[Opt::Targets, Opt::Recursive, Opt::Depth, Opt::Quiet, Opt::Accept],
    overrides: &[(
        Opt::Accept,
        lines!(
            "take ARG: 'base', 'working', 'mine-conflict' (mc),",
            "'theirs-conflict' (tc), 'mine-full' (mf),",
            "'theirs-full' (tf)"
        ),
    )],
    run,
    ..Command::DEFAULT
};

fn run(inv: &mut Invocation) -> SvnResult<()> {
    let targets = inv.targets_or_here()?;
    let paths = inv.names(Part::Target, &targets)?;
    check_local_names(&paths)?;
    match inv.opt.accept {
        None if inv.opt.non_interactive => {
            return Err(usage_error("missing --accept option"));
        }
        Some(Accept::Postpone | Accept::Edit | Accept::Launch) => {
            return Err(usage_error("invalid 'accept' ARG"));
        }
        _ => {}
    }
    // Questions cover everything below; `--accept` covers only the named paths.
    let usual = if inv.opt.accept.is_none() { Depth::Infinity } else { Depth::Empty };
    inv.walk_conflicts(&paths, inv.opt.depth_or(usual))
}
