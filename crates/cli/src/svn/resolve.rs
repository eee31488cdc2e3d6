//! `svn resolve`.

use sapwood_client::resolve::{is_failure, resolve};
use sapwood_core::{Depth, ErrorCode, SvnError, SvnResult};
use sapwood_wc::local::Choice;

use super::given::Accept;
use super::options::{Opt, lines};
use super::targets::check_local;
use super::{Command, Invocation};
use crate::command::usage_error;

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
    run,
    ..Command::DEFAULT
};

fn run(inv: &mut Invocation) -> SvnResult<()> {
    let targets = inv.targets_or_here()?;
    let mut paths = Vec::new();
    for target in &targets {
        paths.push(target.without_peg()?.to_owned());
        check_local(&target.path)?;
    }
    let choice = match inv.opt.accept {
        None => return Err(usage_error("missing --accept option")),
        Some(Accept::Base) => Choice::Base,
        Some(Accept::Working) => Choice::Working,
        Some(Accept::MineConflict) => Choice::MineConflict,
        Some(Accept::TheirsConflict) => Choice::TheirsConflict,
        Some(Accept::MineFull) => Choice::MineFull,
        Some(Accept::TheirsFull) => Choice::TheirsFull,
        Some(Accept::Postpone | Accept::Edit | Accept::Launch | Accept::Recommended) => {
            return Err(usage_error("invalid 'accept' ARG"));
        }
    };
    let depth = inv.opt.depth_or(Depth::Empty);
    let mut failed = false;
    for path in &paths {
        match resolve(&inv.ctx, path, choice, depth) {
            Err(error) if is_failure(error.code()) => {
                inv.out.warn(&error);
                failed = true;
            }
            other => other?,
        }
    }
    if failed {
        return Err(SvnError::new(
            ErrorCode::WC_CONFLICT_RESOLVER_FAILURE,
            "Failure occurred resolving one or more conflicts",
        ));
    }
    Ok(())
}
