//! Externals.
use sapwood_core::{Depth, SvnResult};
use sapwood_wc::WorkingCopy;

use crate::context::Context;
use crate::update::Shared;

/// Brings the externals below a target to what the properties say.
pub(crate) fn handle(
    _ctx: &Context,
    _wc: &WorkingCopy,
    _relpath: &str,
    _depth: Depth,
    _root: &str,
    _session: &mut Shared,
) -> SvnResult<()> {
    Ok(())
}
