//! `svnadmin recover`.

use sapwood_core::SvnResult;
use sapwood_fs::admin::maintenance::MaintenanceOptions;

use crate::command::{Invocation, Runner, Subcommand, name};

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "recover",
    aliases: &[],
    help: "usage: svnadmin recover REPOS_PATH\n\n\
     Mend what a crash may have left behind.\n",
    options: &[name::WAIT],
    overrides: &[],
    run: Runner::Repository(run),
};

/// `svnadmin recover`. `--wait` has no meaning for FSFS: no process holds the whole repository.
fn run(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    invocation.take_args(0, 0)?;
    let options = &invocation.options;
    let repository = crate::repo::open(&invocation.repository, options)?;
    let out = &mut invocation.out;
    out.text(
        "Repository lock acquired.\n\
         Please wait; recovering the repository may take some time...\n",
    )?;
    out.flush()?;
    repository.fs().recover(&MaintenanceOptions::default(), &crate::signals::cancel_token())?;
    out.text("\nRecovery completed.\n")?;
    let youngest = crate::repo::open(&invocation.repository, options)?.fs().youngest()?;
    out.text(&format!("The latest repos revision is {youngest}.\n"))
}
