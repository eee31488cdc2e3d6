//! `svnadmin setuuid`.

use sapwood_core::{SvnError, SvnResult};
use sapwood_fs::txn::{WriteOptions, Writer};

use crate::command::{Invocation, Runner, Subcommand};

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "setuuid",
    aliases: &[],
    help: "usage: svnadmin setuuid REPOS_PATH [NEW_UUID]\n\n\
         Give the repository another UUID, or a new one.\n",
    options: &[],
    overrides: &[],
    run: Runner::Repository(run),
};

fn run(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    let args = invocation.take_args(0, 1)?;
    let repository = crate::repo::open(&invocation.repository, &invocation.options)?;
    let uuid = match args.into_iter().next() {
        Some(uuid) => uuid,
        None => sapwood_fs::uuid::generate()
            .map_err(|e| SvnError::io(&e, "Can't make a random UUID"))?,
    };
    Writer::new(repository.fs(), WriteOptions::default())?.set_uuid(&uuid)?;
    Ok(())
}
