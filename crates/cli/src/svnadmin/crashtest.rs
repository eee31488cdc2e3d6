//! `svnadmin crashtest`: for tests of what a crashed process leaves behind.

use sapwood_core::SvnResult;

use crate::command::{Invocation, Runner, Subcommand};
use crate::repo::local_style;

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "crashtest",
    aliases: &[],
    help: "usage: svnadmin crashtest REPOS_PATH\n\n\
     Open the repository and abort, as a server does that crashes.\n",
    options: &[],
    overrides: &[],
    run: Runner::Repository(run),
};

/// `svnadmin crashtest`. Ends the process with SIGABRT while the repository is open. Like the
/// reference's it does not mind further arguments.
fn run(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    let repository = crate::repo::open(&invocation.repository, &invocation.options)?;
    let out = &mut invocation.out;
    out.text(&format!(
        "Successfully opened repository '{}'.\n\
         Will now crash to simulate a crashing server process.\n",
        local_style(&invocation.repository)
    ))?;
    out.flush()?;
    // Held open to the end.
    let _open = repository;
    std::process::abort()
}
