//! `svnadmin rev-size`.

use sapwood_core::SvnResult;

use crate::command::{Invocation, usage_error};
use crate::revision::{RevisionRange, RevisionSpec};

/// `svnadmin rev-size`.
pub(super) fn run(invocation: &mut Invocation<'_>) -> SvnResult<()> {
    let RevisionRange { start: RevisionSpec::Number(revision), end: RevisionSpec::Unspecified } =
        invocation.options.revision
    else {
        return Err(usage_error("Invalid revision specifier"));
    };
    let repository = crate::repo::open(&invocation.repository, &invocation.options)?;
    let size = repository.fs().revision_size(revision)?;
    let text = if invocation.options.has("quiet") {
        format!("{size}\n")
    } else {
        format!("{size:>12} bytes in revision {revision}\n")
    };
    invocation.out.text(&text)
}
