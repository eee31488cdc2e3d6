//! `svn update`: brings working copies to a revision.

use sapwood_core::notify::{Action, Notify};
use sapwood_core::{ErrorCode, Revnum, SvnError, SvnResult};

use crate::context::Context;
use crate::externals::update_one;
pub use crate::tree::update::Update;

/// Updates paths. Returns the revision that each came to; `None` where it was skipped.
///
/// # Errors
/// E155007 when none of the paths is in a working copy.
pub fn update(ctx: &Context, paths: &[&str], how: &Update) -> SvnResult<Vec<Option<Revnum>>> {
    let mut reached = Vec::new();
    let mut found = false;
    let mut changed = false;
    for target in paths {
        ctx.check_cancel()?;
        let abspath = ctx.absolute(target);
        let mut session = None;
        match update_one(ctx, &abspath, how, true, &mut session) {
            Ok(revision) => {
                found = true;
                changed |= revision.is_some();
                reached.push(revision);
            }
            Err(error) if error.is_no_working_copy() => {
                reached.push(None);
                ctx.notify(&Notify::new(Action::Skip, target));
            }
            Err(error) => {
                ctx.wait_for_clock();
                return Err(error);
            }
        }
    }
    if changed {
        ctx.wait_for_clock();
    }
    if !found {
        return Err(SvnError::new(
            ErrorCode::WC_NOT_WORKING_COPY,
            "None of the targets are working copies",
        ));
    }
    Ok(reached)
}
