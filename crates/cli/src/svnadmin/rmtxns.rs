//! `svnadmin rmtxns`.

use sapwood_core::SvnResult;
use sapwood_fs::txn::{WriteOptions, Writer};

use crate::command::Invocation;
use crate::report;

/// `svnadmin rmtxns`. What cannot be removed is told, and the rest is removed all the same.
pub(super) fn run(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    let names = invocation.take_args(0, usize::MAX)?;
    let repository = crate::repo::open(&invocation.repository, &invocation.options)?;
    let writer = Writer::new(repository.fs(), WriteOptions::default())?;
    for name in &names {
        if let Err(error) = writer.purge_txn(name) {
            invocation.out.flush()?;
            report::error(&error.into(), "svnadmin: ");
        } else if !invocation.options.has("quiet") {
            invocation.out.text(&format!("Transaction '{name}' removed.\n"))?;
        }
    }
    Ok(())
}
