//! `svnadmin deltify`: for FSFS only the words. Revisions are stored as deltas when they are
//! committed, and never written again.

use sapwood_core::SvnResult;

use crate::command::{Invocation, Runner, Subcommand, name};

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "deltify",
    aliases: &[],
    help: "usage: svnadmin deltify [-r LOWER[:UPPER]] REPOS_PATH\n\n\
     Does nothing for FSFS repositories, whose revisions are never rewritten.\n",
    options: &[name::REVISION, name::QUIET, name::MEMORY_CACHE_SIZE],
    overrides: &[],
    run: Runner::Repository(run),
};

fn run(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    invocation.take_args(0, 0)?;
    let options = &invocation.options;
    let repository = crate::repo::open(&invocation.repository, options)?;
    let fs = repository.fs();
    let youngest = fs.youngest()?;
    let (start, end) = options.revision.resolve(fs, youngest)?;
    let start = start.unwrap_or(youngest);
    let end = end.unwrap_or(start);
    if !options.has(name::QUIET) {
        for revision in start.0..=end.0 {
            invocation.out.text(&format!("Deltifying revision {revision}...done.\n"))?;
        }
    }
    Ok(())
}
