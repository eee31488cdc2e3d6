//! `svnadmin deltify`: for FSFS only the words. Revisions are stored as deltas when they are
//! committed, and never written again.

use sapwood_core::SvnResult;

use crate::command::{Invocation, usage_error};

/// `svnadmin deltify`.
pub(super) fn run(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    invocation.take_args(0, 0)?;
    let options = &invocation.options;
    let repository = crate::repo::open(&invocation.repository, options)?;
    let fs = repository.fs();
    let youngest = fs.youngest()?;
    let start = options.revision.start.resolve(fs, youngest)?.unwrap_or(youngest);
    let end = options.revision.end.resolve(fs, youngest)?.unwrap_or(start);
    if start > end {
        return Err(usage_error("First revision cannot be higher than second"));
    }
    if !options.has("quiet") {
        for revision in start.0..=end.0 {
            invocation.out.text(&format!("Deltifying revision {revision}...done.\n"))?;
        }
    }
    Ok(())
}
