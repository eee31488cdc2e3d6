//! The contents of the phys-to-log index (`svnfsfs dump-index`), and sizes of revisions
//! (`svnadmin rev-size`).

use sapwood_core::{CancelToken, Revnum};
use sapwood_fsfs_format::P2lEntry;

use crate::error::Result;
use crate::filesystem::Filesystem;

#[allow(clippy::missing_errors_doc, unused_variables)]
impl Filesystem {
    /// Calls `found` with every entry of the phys-to-log index of the file that holds `revision`,
    /// in the order of offsets. E160043 when the filesystem addresses items physically.
    pub fn dump_index(
        &self,
        revision: Revnum,
        cancel: &CancelToken,
        found: &mut dyn FnMut(&P2lEntry) -> Result<()>,
    ) -> Result<()> {
        todo!()
    }

    /// The bytes on disk of a revision's data and properties.
    pub fn revision_size(&self, revision: Revnum) -> Result<u64> {
        todo!()
    }
}
