//! `svn x-wc-copy-mods`.

use sapwood_client::shelf::copy_changes;
use sapwood_core::SvnResult;

use super::shelves::experiment;
use super::{Command, Invocation};
use crate::pegs::{Of, Part};

pub(super) const COMMAND: Command = Command {
    name: "x-wc-copy-mods",
    help: concat!(
        "Copy local modifications from one WC to another.\n\
         usage: x-wc-copy-mods SRC_WC_PATH DST_WC_PATH\n\
         \n  \
         Make the local changes at and below SRC_WC_PATH at and below DST_WC_PATH too. Both may be in one\n  \
         working copy or in two of one repository.\n",
        experiment!()
    ),
    run,
    ..Command::DEFAULT
};

fn run(inv: &mut Invocation) -> SvnResult<()> {
    let (from, to) = (inv.next_arg()?, inv.next_arg()?);
    let of = Of { program: "svn", command: inv.command.name, part: Part::Folder };
    let (from, to) = (of.whole(&from)?, of.whole(&to)?);
    copy_changes(&inv.ctx, &from, &to).map(drop)
}
