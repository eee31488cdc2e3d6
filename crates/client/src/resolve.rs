//! Resolving conflicts.

use sapwood_core::notify::{Action, Notify};
use sapwood_core::paths::RelPath;
use sapwood_core::{Depth, SvnResult};
use sapwood_wc::WorkingCopy;
use sapwood_wc::conflict::Conflict;
use sapwood_wc::local::Choice;

use crate::conflict_walk::{conflicted, walk};
use crate::context::Context;
use crate::text_base::{TextNotices, with_text_bases};

/// Chooses how to resolve a conflict: its working copy, its path there, and its record. `None`
/// leaves it as it is. A callback that resolves it itself notifies through the context.
pub(crate) type Decide<'a> =
    dyn FnMut(&Context, &WorkingCopy, &RelPath, &Conflict) -> SvnResult<Option<Choice>> + 'a;

/// Resolves the conflicts at and below a local path, each as `decide` chooses.
///
/// # Errors
/// E155010 for what is not known; those of [`WorkingCopy::resolve`] and of `decide`.
pub fn resolve(
    ctx: &Context,
    target: &str,
    depth: Depth,
    decide: &mut Decide<'_>,
) -> SvnResult<()> {
    let (wc, relpath) = ctx.working_copy(&ctx.absolute(target))?;
    // What moved away may lie anywhere.
    let result = with_text_bases(ctx, (&wc, RelPath::ROOT), TextNotices::Yes, || {
        walk(ctx, &wc, &relpath, depth, &mut |ctx, wc, path, _| {
            let record = wc.db().actual(path)?.and_then(|actual| actual.conflict_data);
            let Some(record) = record else { return Ok(()) };
            if let Some(choice) = decide(ctx, wc, path, &Conflict::parse(&record)?)? {
                wc.resolve(path, choice, ctx.cancel(), &|notice| ctx.notify(notice))?;
            }
            Ok(())
        })
    });
    ctx.wait_for_clock();
    result
}

/// Accepts the present content, and reports each path once.
///
/// # Errors
/// As [`resolve`].
pub fn resolved(ctx: &Context, target: &str, depth: Depth) -> SvnResult<()> {
    let (wc, relpath) = ctx.working_copy(&ctx.absolute(target))?;
    for path in conflicted(ctx, &wc, &relpath, depth)? {
        ctx.check_cancel()?;
        if wc.resolve(&path, Choice::Working, ctx.cancel(), &|_| {})? {
            let shown = wc.abspath(&path);
            ctx.notify(&Notify::new(Action::Resolved, &shown.to_string_lossy()));
        }
    }
    Ok(())
}
