//! `svnadmin list-dblogs` and `list-unused-dblogs`: FSFS has no log files, so the lists are empty.

use sapwood_core::SvnResult;

use crate::command::Invocation;

/// Both subcommands.
pub(super) fn run(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    invocation.take_args(0, 0)?;
    crate::repo::open(&invocation.repository, &invocation.options).map(drop)
}
