//! Which working copy each of many local paths is in.

use std::path::{Path, PathBuf};

use sapwood_core::SvnResult;
use sapwood_core::paths::RelPathBuf;
use sapwood_wc::WorkingCopy;

use crate::context::Context;

/// Finds the working copies of paths. What is no directory and no link is in the same working copy as another path of
/// its folder. Invariant: lives only while no working copy is made or removed.
pub(crate) struct Locator<'c> {
    ctx: &'c Context,
    /// The folder of the path that was found last, and its working copy.
    last: Option<(PathBuf, WorkingCopy)>,
}

impl<'c> Locator<'c> {
    /// One that knows nothing yet.
    pub(crate) const fn new(ctx: &'c Context) -> Self {
        Self { ctx, last: None }
    }

    /// The working copy of a path as it was typed, and the path below its root.
    ///
    /// # Errors
    /// As [`Context::working_copy`].
    pub(crate) fn find(&mut self, target: &str) -> SvnResult<(WorkingCopy, RelPathBuf)> {
        let abspath = self.ctx.absolute(target);
        let folder = abspath.parent().unwrap_or(&abspath);
        let decides = |path: &Path| {
            std::fs::symlink_metadata(path).is_ok_and(|found| found.is_dir() || found.is_symlink())
        };
        if let Some((known, wc)) = &self.last
            && known == folder
            && !decides(&abspath)
        {
            return Ok((wc.clone(), wc.relpath(&abspath)?));
        }
        let (wc, relpath) = self.ctx.working_copy(&abspath)?;
        // The root itself is in no folder of its working copy.
        self.last =
            (!relpath.is_empty() && !decides(&abspath)).then(|| (folder.to_owned(), wc.clone()));
        Ok((wc, relpath))
    }
}
