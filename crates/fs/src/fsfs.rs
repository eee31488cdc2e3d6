//! What only FSFS has, for `svnfsfs`, which is a program for this one engine: E160060 for another one.

use sapwood_core::{CancelToken, ErrorCode, Revnum, SvnError};

use crate::admin::MaintenanceOptions;
use crate::error::{Error, Result};
use crate::filesystem::Filesystem;

pub use sapwood_fsfs::{ItemType, P2lEntry, stats};

#[allow(clippy::missing_errors_doc, reason = "each fails as its engine does: `Error` says how")]
impl Filesystem {
    fn only_fsfs(&self) -> Result<&sapwood_fsfs::Filesystem> {
        self.fsfs().ok_or_else(|| {
            let message = format!("{} repositories are not supported", self.engine().name());
            Error::Svn(SvnError::new(ErrorCode::FS_UNSUPPORTED_TYPE, message))
        })
    }

    /// Whether it is one that the methods here are for.
    pub fn require_fsfs(&self) -> Result<()> {
        self.only_fsfs().map(drop)
    }

    /// Counts and sums all items.
    pub fn stats(
        &self,
        cancel: &CancelToken,
        progress: &mut dyn FnMut(Revnum),
    ) -> Result<stats::Stats> {
        Ok(self.only_fsfs()?.stats(cancel, progress)?)
    }

    /// Shows the p2l index of the file that holds a revision.
    pub fn dump_index(
        &self,
        revision: Revnum,
        cancel: &CancelToken,
        found: &mut dyn FnMut(&P2lEntry) -> Result<()>,
    ) -> Result<()> {
        Ok(self.only_fsfs()?.dump_index(revision, cancel, &mut |entry| Ok(found(entry)?))?)
    }

    /// Bytes of the file of a revision.
    pub fn revision_size(&self, revision: Revnum) -> Result<u64> {
        Ok(self.only_fsfs()?.revision_size(revision)?)
    }

    /// Replaces the indexes of a file by those that these entries make.
    pub fn load_index(
        &self,
        entries: Vec<P2lEntry>,
        options: &MaintenanceOptions,
        cancel: &CancelToken,
    ) -> Result<()> {
        Ok(self.only_fsfs()?.load_index(entries, options, cancel)?)
    }
}
