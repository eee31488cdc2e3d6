//! `svnadmin setuuid`.

use sapwood_core::{SvnError, SvnResult};
use sapwood_fs::txn::{WriteOptions, Writer};

use crate::command::Invocation;

/// `svnadmin setuuid`.
pub(super) fn run(invocation: &mut Invocation<'_>) -> SvnResult<()> {
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
