//! The blocks that were used last, in memory: what is read in small pieces is checked once, not piece by piece.
//!
//! Invariant: there are never more than a given number, the one that was used longest ago goes first.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::block::BlockId;

/// Blocks, the newest first.
#[derive(Debug)]
pub(crate) struct Recent {
    blocks: Mutex<VecDeque<(BlockId, Arc<[u8]>)>>,
    most: usize,
}

impl Recent {
    pub(crate) fn new(most: usize) -> Self {
        Self { blocks: Mutex::default(), most }
    }

    pub(crate) fn get(&self, id: &BlockId) -> Option<Arc<[u8]>> {
        let mut blocks = self.blocks.lock();
        let at = blocks.iter().position(|(of, _)| of == id)?;
        let found = blocks.remove(at)?;
        let data = Arc::clone(&found.1);
        blocks.push_front(found);
        Some(data)
    }

    pub(crate) fn add(&self, id: BlockId, data: &Arc<[u8]>) {
        let mut blocks = self.blocks.lock();
        blocks.retain(|(of, _)| *of != id);
        blocks.push_front((id, Arc::clone(data)));
        blocks.truncate(self.most);
    }
}
