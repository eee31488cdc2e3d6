//! `svnadmin upgrade`.

use sapwood_core::SvnResult;
use sapwood_fs::admin::maintenance::MaintenanceOptions;
use sapwood_fs::admin::upgrade::UpgradeNotice;
use sapwood_repos::upgrade::upgrade;

use crate::command::{Invocation, Runner, Subcommand};

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "upgrade",
    aliases: &[],
    help: "usage: svnadmin upgrade REPOS_PATH\n\n\
     Bring the repository to the newest format, changing as little as that takes.\n",
    options: &[],
    overrides: &[],
    run: Runner::Repository(run),
};

fn run(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    invocation.take_args(0, 0)?;
    let repository = crate::repo::open(&invocation.repository, &invocation.options)?;
    let out = &mut invocation.out;
    out.text(
        "Repository lock acquired.\n\
         Please wait; upgrading the repository may take some time...\n",
    )?;
    out.flush()?;
    let options = MaintenanceOptions::default();
    upgrade(&repository, &options, &crate::signals::cancel_token(), &mut |notice| {
        out.text(&match notice {
            UpgradeNotice::PackedRevprops(shard) => {
                format!("Packed revision properties in shard {shard}\n")
            }
            UpgradeNotice::Bumped(format) => format!("Bumped repository format to {format}\n"),
            UpgradeNotice::RemovedRevprops(shard) => {
                format!("Removed non-packed revision properties in shard {shard}\n")
            }
        })?;
        Ok(())
    })?;
    out.text("\nUpgrade completed.\n")
}
