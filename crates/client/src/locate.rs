//! Which working copy each of many local paths is in.

use sapwood_core::SvnResult;
use sapwood_core::paths::RelPathBuf;
use sapwood_wc::WorkingCopy;

use crate::context::Context;
use crate::near::Near;

/// Finds the working copies of paths. What is no directory and no link is in the same working copy as another path of
/// its folder. Invariant: lives only while no working copy is made or removed.
pub(crate) struct Locator<'c> {
    ctx: &'c Context,
    last: Near,
}

impl<'c> Locator<'c> {
    /// One that knows nothing yet.
    pub(crate) fn new(ctx: &'c Context) -> Self {
        Self { ctx, last: Near::default() }
    }

    /// The working copy of a path as it was typed, and the path below its root.
    ///
    /// # Errors
    /// As [`Context::working_copy`].
    pub(crate) fn find(&mut self, target: &str) -> SvnResult<(WorkingCopy, RelPathBuf)> {
        let abspath = self.ctx.absolute(target);
        if let Some(wc) = self.last.find(&abspath) {
            return Ok((wc.clone(), wc.relpath(&abspath)?));
        }
        let (wc, relpath) = self.ctx.working_copy(&abspath)?;
        self.last.note(&abspath, &wc, &relpath);
        Ok((wc, relpath))
    }
}
