//! Whether what is on disk is whole: indexes, checksums, trees, revision properties, rep-cache.
//!
//! Two layers, as in the reference: [`Filesystem::verify_metadata`] looks at files and indexes
//! (`svn_fs_verify`), [`Root::verify`] at one tree (`svn_fs_verify_root`).
//! [`Filesystem::verify_revision`] reads all that a revision brought, with every checksum.

use sapwood_core::{CancelToken, Revnum};

use crate::error::Result;
use crate::filesystem::Filesystem;
use crate::root::Root;

#[allow(clippy::missing_errors_doc, unused_variables)]
impl Filesystem {
    /// Checks indexes against each other, their checksums and the items they describe, revision
    /// properties, and the rep-cache, for all files that hold revisions from `start` (0 when
    /// `None`) to `end` (the youngest). Stops at the first thing that is wrong.
    ///
    /// `progress` is called with the first revision of each shard, and with `None` when the
    /// rep-cache is begun, just as the reference reports "Verifying metadata at revision N" and
    /// "Verifying repository metadata".
    pub fn verify_metadata(
        &self,
        start: Option<Revnum>,
        end: Option<Revnum>,
        cancel: &CancelToken,
        progress: &mut dyn FnMut(Option<Revnum>),
    ) -> Result<()> {
        todo!()
    }

    /// Checks the tree of a revision as [`Root::verify`] does, and reads all that the revision
    /// brought: node-revisions, directories, properties and texts with all their checksums,
    /// changed paths and what they refer to, and revision properties.
    pub fn verify_revision(&self, revision: Revnum, cancel: &CancelToken) -> Result<()> {
        todo!()
    }
}

#[allow(clippy::missing_errors_doc)]
impl Root {
    /// Checks the node-revisions that this revision or transaction made: no cycles, predecessor
    /// counts, mergeinfo counts, and the root's predecessor.
    pub fn verify(&self) -> Result<()> {
        todo!()
    }
}
