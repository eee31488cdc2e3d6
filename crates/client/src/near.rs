//! Paths beside each other: what is no directory and no link is in the same working copy as another path of its folder.
//!
//! Invariant: what is known here is used only while no working copy is made or removed.

use std::path::{Path, PathBuf};

use sapwood_core::paths::RelPath;
use sapwood_wc::WorkingCopy;

/// The folder of the path that was found last, and its working copy.
#[derive(Debug, Default)]
pub(crate) struct Near(Option<(PathBuf, WorkingCopy)>);

/// Whether what is at a path may itself be, or lead to, a working copy.
fn decides(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|found| found.is_dir() || found.is_symlink())
}

impl Near {
    /// The working copy of a path beside the last one.
    pub(crate) fn find(&self, abspath: &Path) -> Option<&WorkingCopy> {
        let (folder, wc) = self.0.as_ref()?;
        (abspath.parent() == Some(folder) && !decides(abspath)).then_some(wc)
    }

    /// Notes where a path was found: one that is beside no other is forgotten, as the root is, which is in no folder of
    /// its working copy.
    pub(crate) fn note(&mut self, abspath: &Path, wc: &WorkingCopy, relpath: &RelPath) {
        let folder = abspath.parent().filter(|_| !relpath.is_empty() && !decides(abspath));
        self.0 = folder.map(|folder| (folder.to_owned(), wc.clone()));
    }
}
