//! `svnadmin lstxns`.

use sapwood_core::SvnResult;

use crate::command::{Invocation, Runner, Subcommand, name, usage_error};
use crate::revision::{self, RevisionSpec};

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "lstxns",
    aliases: &[],
    help: "usage: svnadmin lstxns REPOS_PATH\n\n\
         Print the names of transactions that were not committed.  With -r, only those\n\
         that are based on that revision or an older one: they may be forgotten.\n",
    options: &[name::REVISION],
    overrides: &[(name::REVISION, "the newest base revision ARG")],
    run: Runner::Repository(run),
};

fn run(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    invocation.take_args(0, 0)?;
    let range = invocation.options.revision;
    if range.end != RevisionSpec::Unspecified {
        return Err(usage_error("Revision range is not allowed"));
    }
    let repository = crate::repo::open(&invocation.repository, &invocation.options)?;
    let fs = repository.fs();
    let names = fs.transactions()?;
    let limit = revision::resolve(range.start, fs, fs.youngest()?)?;
    for name in names {
        if let Some(limit) = limit
            && fs.txn_root(&name)?.base_revision() > limit
        {
            continue;
        }
        invocation.out.text(&format!("{name}\n"))?;
    }
    invocation.out.flush()?;
    if limit.is_none() { super::leftovers::say(fs) } else { Ok(()) }
}
