//! `svnadmin rmtxns`.

use sapwood_core::SvnResult;
use sapwood_fs::txn::{WriteOptions, Writer};

use crate::command::{Invocation, Runner, Subcommand, name};
use crate::report;

pub(super) const COMMAND: Subcommand = Subcommand {
    name: "rmtxns",
    aliases: &[],
    help: "usage: svnadmin rmtxns REPOS_PATH TXN_NAME...\n\n\
         Delete transactions, and files that lstxns names of some that are not there.\n",
    options: &[name::QUIET],
    overrides: &[],
    run: Runner::Repository(run),
};

/// `svnadmin rmtxns`. A transaction that cannot be removed is reported, and the rest is removed all the same.
fn run(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    let names = invocation.take_args(0, usize::MAX)?;
    let repository = crate::repo::open(&invocation.repository, &invocation.options)?;
    let writer = Writer::new(repository.fs(), WriteOptions::default())?;
    for name in &names {
        if let Err(error) = writer.purge_txn(name) {
            invocation.out.flush()?;
            report::error(&error.into(), "svnadmin: ");
        } else if !invocation.options.has(name::QUIET) {
            invocation.out.text(&format!("Transaction '{name}' removed.\n"))?;
        }
    }
    Ok(())
}
