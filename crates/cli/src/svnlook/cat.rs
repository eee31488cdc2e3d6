//! `svnlook cat`.

use sapwood_core::SvnResult;

use super::{Context, existing_file, one_argument};
use crate::command::{Invocation, Runner, Subcommand};

/// How much of a file is read at once, in bytes.
const BUFFER: usize = 128 << 10;

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "cat",
    aliases: &[],
    help: "usage: svnlook cat REPOS_PATH FILE_PATH\n\n\
        Print what is in a file.  The slash at the start of FILE_PATH may be left out.\n",
    options: super::SUBJECT,
    overrides: &[],
    run: Runner::Repository(run),
};

fn run(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    let arg = one_argument(invocation)?;
    let context = Context::open(invocation)?;
    let node = existing_file(&context.root()?, &arg)?;
    let mut contents = node.contents()?;
    let mut buffer = vec![0; BUFFER];
    loop {
        let len = contents.read_some(&mut buffer)?;
        let Some(bytes) = buffer.get(..len).filter(|b| !b.is_empty()) else {
            return invocation.out.end_stream();
        };
        invocation.out.stream(bytes)?;
    }
}
