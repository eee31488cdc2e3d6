//! Taking local changes back.

use sapwood_core::notify::{Action, Notify};
use sapwood_core::{Depth, ErrorCode, SvnResult};
use sapwood_wc::local::RevertOptions;

use crate::context::Context;
use crate::gathered::each_target;
use crate::text_base::{TextNotices, with_text_bases};

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
    ctx.wait_for_clock();
    result
}

fn revert_all(
    ctx: &Context,
    targets: &[String],
    depth: Depth,
    options: &RevertOptions,
) -> SvnResult<()> {
    let skipped =
        [ErrorCode::ENTRY_NOT_FOUND, ErrorCode::UNVERSIONED_RESOURCE, ErrorCode::WC_PATH_NOT_FOUND];
    each_target(ctx, targets, &mut |gathered, target, relpath| {
        let wc = gathered.wc();
        if !wc.stores_pristines() {
            // Texts may have to be fetched first.
            gathered.let_go()?;
        }
        let result = with_text_bases(ctx, (wc, relpath), TextNotices::Yes, || {
            wc.revert_among(relpath, depth, options, gathered)?;
            if !wc.stores_pristines() {
                // Texts that are not needed any more go after this.
                gathered.let_go()?;
            }
            Ok(())
        });
        match result {
            Err(e) if skipped.contains(&e.code()) => {
                let abspath = ctx.absolute(target);
                gathered.notify(&Notify::new(Action::Skip, &abspath.to_string_lossy()));
                Ok(())
            }
            other => other,
        }
    })
}
