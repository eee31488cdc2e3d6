//! `svnadmin rev-size`.

use sapwood_core::SvnResult;

use crate::command::{Invocation, Runner, Subcommand, name, usage_error};
use crate::revision::{RevisionRange, RevisionSpec};

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "rev-size",
    aliases: &[],
    help: "usage: svnadmin rev-size REPOS_PATH -r REVISION\n\n\
         Print how many bytes a revision takes on disk, with its properties and\n\
         without indexes.\n",
    options: &[name::REVISION, name::QUIET, name::MEMORY_CACHE_SIZE],
    overrides: &[
        (name::REVISION, "the revision ARG"),
        (name::QUIET, "print only the number and a newline"),
    ],
    run: Runner::Repository(run),
};

fn run(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    let RevisionRange { start: RevisionSpec::Number(revision), end: RevisionSpec::Unspecified } =
        invocation.options.revision
    else {
        return Err(usage_error("Invalid revision specifier"));
    };
    let repository = crate::repo::open(&invocation.repository, &invocation.options)?;
    let size = repository.fs().revision_size(revision)?;
    let text = if invocation.options.has(name::QUIET) {
        format!("{size}\n")
    } else {
        format!("{size:>12} bytes in revision {revision}\n")
    };
    invocation.out.text(&text)
}
