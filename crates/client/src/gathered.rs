//! Local targets whose changes are made together.

use sapwood_core::SvnResult;
use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_wc::WorkingCopy;
use sapwood_wc::gather::GatheredChanges;

use crate::context::Context;
use crate::locate::Locator;

/// What is done with a target: its path below the working copy, and the target as it was typed.
pub(crate) type Each<'e> = dyn FnMut(&GatheredChanges<'_>, &str, &RelPath) -> SvnResult<()> + 'e;

/// Finds the working copy that a target belongs to, and its path there.
pub(crate) type Locate<'l> = dyn FnMut(&str) -> SvnResult<(WorkingCopy, RelPathBuf)> + 'l;

/// Decides what an error of a target means for the others.
pub(crate) type ErrorPolicy<'f> = dyn FnMut(sapwood_core::SvnError) -> SvnResult<()> + 'f;

/// Calls `each` with each target. The changes of targets in a row that are in the same working copy are made
/// together.
///
/// # Errors
/// E155007 for a target in no working copy; those of `each`. What was done for targets before stays.
pub(crate) fn each_target(ctx: &Context, targets: &[String], each: &mut Each<'_>) -> SvnResult<()> {
    let mut locator = Locator::new(ctx);
    let locate = &mut |target: &str| locator.find(target);
    each_located(ctx, targets, locate, each, &mut Err)
}

/// The same, where targets are found with `locate`, and `failed` gets the errors, after what was done before them was
/// reported.
///
/// # Errors
/// Those of `failed`, and of commits.
pub(crate) fn each_located(
    ctx: &Context,
    targets: &[String],
    locate: &mut Locate<'_>,
    each: &mut Each<'_>,
    failed: &mut ErrorPolicy<'_>,
) -> SvnResult<()> {
    let mut left = targets.iter();
    let mut found = None;
    loop {
        let (wc, first) = match found.take() {
            Some(found) => found,
            None => {
                let Some(target) = left.next() else { return Ok(()) };
                ctx.check_cancel()?;
                match locate(target) {
                    Ok((wc, relpath)) => (wc, (target, relpath)),
                    Err(error) => {
                        failed(error)?;
                        continue;
                    }
                }
            }
        };
        found = wc.gather(ctx.cancel(), &|value| ctx.notify(value), |gathered| {
            let mut stop = |error| {
                gathered.let_go()?;
                failed(error)
            };
            each(gathered, first.0, &first.1).or_else(&mut stop)?;
            for target in left.by_ref() {
                ctx.check_cancel()?;
                gathered.next_target()?;
                match locate(target) {
                    Ok((other, relpath)) if other.root() == wc.root() => {
                        each(gathered, target, &relpath).or_else(&mut stop)?;
                    }
                    Ok((other, relpath)) => return Ok(Some((other, (target, relpath)))),
                    Err(error) => stop(error)?,
                }
            }
            Ok::<_, sapwood_core::SvnError>(None)
        })?;
    }
}
