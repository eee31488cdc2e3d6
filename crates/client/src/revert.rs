//! Taking local changes back.

use sapwood_core::notify::{Action, Notify};
use sapwood_core::{Depth, ErrorCode, SvnResult};
use sapwood_wc::local::RevertOptions;

use crate::context::Context;
use crate::text_base::{Tell, with_text_bases};
use crate::update::wait_for_clock;

/// Reverts local paths. Unversioned paths are reported and left out.
///
/// # Errors
/// As [`sapwood_wc::WorkingCopy::revert`].
pub fn revert(
    ctx: &Context,
    targets: &[String],
    depth: Depth,
    options: &RevertOptions,
) -> SvnResult<()> {
    let result = revert_all(ctx, targets, depth, options);
    wait_for_clock(ctx);
    result
}

fn revert_all(
    ctx: &Context,
    targets: &[String],
    depth: Depth,
    options: &RevertOptions,
) -> SvnResult<()> {
    for target in targets {
        ctx.check_cancel()?;
        let abspath = ctx.absolute(target);
        let (wc, relpath) = ctx.working_copy(&abspath)?;
        let result = with_text_bases(ctx, (&wc, &relpath), Tell::Yes, || {
            Ok(wc.revert(&relpath, depth, options, &|told| ctx.notify(told))?)
        });
        let skipped = [
            ErrorCode::ENTRY_NOT_FOUND,
            ErrorCode::UNVERSIONED_RESOURCE,
            ErrorCode::WC_PATH_NOT_FOUND,
        ];
        match result {
            Err(e) if skipped.contains(&e.code()) => {
                ctx.notify(&Notify::new(Action::Skip, &abspath.to_string_lossy()));
            }
            other => other?,
        }
    }
    Ok(())
}
