//! All that one revision brought, read to the last byte.

use sapwood_core::Exact;
use std::sync::Arc;

use sapwood_core::checksum::Sha1Hasher;
use sapwood_core::date::Timestamp;
use sapwood_core::props::names::DATE;
use sapwood_core::{CancelToken, ErrorCode, NodeKind, Revnum, SvnError, len64};
use sapwood_fsfs_format::NodeRev;

use crate::contents::Contents;
use crate::dump_index::check;
use crate::error::{Error, Result};
use crate::filesystem::Filesystem;

#[allow(clippy::missing_errors_doc, reason = "all: `Error` says what its variants mean")]
impl Filesystem {
    /// Checks the tree of a revision as [`crate::Root::verify`] does, and reads all that the
    /// revision brought: node-revisions, directories, properties and texts with all their
    /// checksums, the list of changed paths, and revision properties.
    pub fn verify_revision(&self, revision: Revnum, cancel: &CancelToken) -> Result<()> {
        let root = self.revision_root(revision)?;
        root.verify_with(cancel, &mut |node| self.verify_node(node, cancel))?;
        // Whether what they say is true is found when they are replayed.
        self.changed_paths(revision)?;
        let props = self.revprops(revision)?;
        if let Some(date) = props.get(DATE) {
            Timestamp::parse(date).map_err(|e| Error::Svn(e.into()))?;
        }
        Ok(())
    }

    fn verify_node(&self, node: &Arc<NodeRev>, cancel: &CancelToken) -> Result<()> {
        self.fs.props(node)?;
        if node.kind == NodeKind::Dir {
            // The walk has read its entries.
            return Ok(());
        }
        // Reading checks the MD5; the SHA-1 is checked here, for readers never need it.
        let expected = node.text.and_then(|rep| rep.sha1);
        let mut sha1 = expected.is_some().then(Sha1Hasher::new);
        let mut contents = Contents::new(self, node).with_sum_aside();
        let mut len = 0u64;
        while let Some(piece) = contents.next_piece()? {
            check(cancel)?;
            len = len.plus(len64(piece.len()));
            if let Some(sha1) = &mut sha1 {
                sha1.update(piece);
            }
        }
        let recorded = node.text.map_or(0, |rep| rep.expanded_size);
        if len != recorded {
            return Err(super::corrupt(format!(
                "Text of node-revision '{}' has {len} bytes, but {recorded} are recorded",
                node.id
            )));
        }
        match (expected, sha1.map(Sha1Hasher::finish)) {
            (Some(expected), Some(actual)) if expected != actual => Err(Error::Svn(SvnError::new(
                ErrorCode::CHECKSUM_MISMATCH,
                format!(
                    "SHA1 checksum mismatch of node-revision '{}':\n   expected:  {expected}\n     \
                     actual:  {actual}\n",
                    node.id
                ),
            ))),
            _ => Ok(()),
        }
    }
}
