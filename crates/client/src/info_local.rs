//! `svn info` of a working copy alone.

use sapwood_core::{Depth, ErrorCode, SvnError, SvnResult};

use crate::context::Context;
use crate::info::Receiver;

/// Tells what the working copy knows of a local path and what is below it, and of tree conflicts
/// where there is no node. With changelists only of what is on one of them.
///
/// # Errors
/// E155007 and E155010 for what is not under version control; those of `receiver`.
pub fn info(
    ctx: &Context,
    path: &str,
    depth: Depth,
    changelists: &[String],
    receiver: Receiver<'_>,
) -> SvnResult<()> {
    let _ = (ctx, path, depth, changelists, receiver);
    Err(SvnError::new(
        ErrorCode::UNSUPPORTED_FEATURE,
        "This svn cannot do 'info' of working copies yet",
    ))
}
