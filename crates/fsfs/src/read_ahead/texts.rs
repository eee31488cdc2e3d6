//! Deltas of texts that are computed before it is their turn, on another thread.
//!
//! A thread that reads a stream of changes ahead can guess what the next text of a file will be stored
//! as a delta to: what it would be if that were the next commit. When it is the text's turn, the
//! guess is compared with the truth. If it was wrong, because the file changed in between, the
//! delta is computed again: a guess costs time, and never changes what is written.

use sapwood_core::FsPath;
use sapwood_core::NodeKind;
use sapwood_fsfs_format::NodeRev;

use crate::error::Result;
use crate::root::Root;
use crate::txn::{DeltaAhead, Writer};

impl Writer {
    /// Guesses how `text` will be stored when it becomes the next text of the file at `path`, or
    /// of a new file. `None` when there is nothing to be guessed from.
    #[must_use]
    pub fn delta_ahead(&self, path: Option<&FsPath>, text: &[u8]) -> Option<DeltaAhead> {
        self.try_delta_ahead(path, text).ok().flatten()
    }

    fn try_delta_ahead(&self, path: Option<&FsPath>, text: &[u8]) -> Result<Option<DeltaAhead>> {
        let Some(path) = path else { return self.delta_of_next(None, text).map(Some) };
        // An older one is a worse guess, no harm; looking each time would cost more.
        let youngest = self.fs.fs.youngest_known();
        let root = Root::of_revision(&self.fs, youngest)?;
        let Some(node) = root.find(path)?.filter(|node| node.kind() == NodeKind::File) else {
            return Ok(None);
        };
        let mut next = NodeRev::clone(&node.rev);
        next.predecessor = Some(node.rev.id);
        next.predecessor_count = node.rev.predecessor_count.saturating_add(1);
        self.delta_of_next(Some((&next, youngest)), text).map(Some)
    }
}
