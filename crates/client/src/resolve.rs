//! Settling conflicts.

use sapwood_core::notify::{Action, Notify};
use sapwood_core::{Depth, ErrorCode, SvnResult};
use sapwood_wc::WorkingCopy;
use sapwood_wc::local::Choice;
use sapwood_wc::status::Options;

use crate::context::Context;

/// Paths in conflict at and below a path, in order.
fn conflicted(
    ctx: &Context,
    wc: &WorkingCopy,
    relpath: &str,
    depth: Depth,
) -> SvnResult<Vec<String>> {
    let options =
        Options { depth, unversioned: false, cancel: ctx.cancel().clone(), ..Options::default() };
    let mut found = Vec::new();
    wc.status(relpath, &options, &mut |status| {
        if status.conflicted {
            found.push(status.relpath);
        }
        Ok(())
    })?;
    Ok(found)
}

/// Settles the conflicts at and below a local path.
///
/// # Errors
/// E155010 for what is not known; those of [`WorkingCopy::resolve`].
pub fn resolve(ctx: &Context, target: &str, choice: Choice, depth: Depth) -> SvnResult<()> {
    let (wc, relpath) = ctx.working_copy(&ctx.absolute(target))?;
    for path in conflicted(ctx, &wc, &relpath, depth)? {
        ctx.check_cancel()?;
        wc.resolve(&path, choice, ctx.cancel(), &|told| ctx.tell(told))?;
    }
    Ok(())
}

/// Settles on what is there, and tells of each path once.
///
/// # Errors
/// As [`resolve`].
pub fn resolved(ctx: &Context, target: &str, depth: Depth) -> SvnResult<()> {
    let (wc, relpath) = ctx.working_copy(&ctx.absolute(target))?;
    for path in conflicted(ctx, &wc, &relpath, depth)? {
        ctx.check_cancel()?;
        if wc.resolve(&path, Choice::Working, ctx.cancel(), &|_| {})? {
            let shown = wc.abspath(&path);
            ctx.tell(&Notify::new(Action::Resolved, &shown.to_string_lossy()));
        }
    }
    Ok(())
}

/// Whether an error only says that one conflict cannot be settled in this way.
#[must_use]
pub fn is_failure(code: ErrorCode) -> bool {
    [ErrorCode::WC_CONFLICT_RESOLVER_FAILURE, ErrorCode::CLIENT_CONFLICT_OPTION_NOT_APPLICABLE]
        .contains(&code)
}
