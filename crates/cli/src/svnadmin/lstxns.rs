//! `svnadmin lstxns`.

use sapwood_core::SvnResult;

use crate::command::{Invocation, usage_error};
use crate::revision::{self, RevisionSpec};

/// `svnadmin lstxns`.
pub(super) fn run(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    invocation.take_args(0, 0)?;
    let range = invocation.options.revision;
    if range.end != RevisionSpec::Unspecified {
        return Err(usage_error("Revision range is not allowed"));
    }
    let repository = crate::repo::open(&invocation.repository, &invocation.options)?;
    let fs = repository.fs();
    let names = fs.transactions()?;
    let limit = revision::resolve(range.start, fs, fs.youngest()?)?;
    for name in names {
        if let Some(limit) = limit
            && fs.txn_root(&name)?.base_revision() > limit
        {
            continue;
        }
        invocation.out.text(&format!("{name}\n"))?;
    }
    Ok(())
}
