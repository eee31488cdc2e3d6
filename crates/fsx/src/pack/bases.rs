//! The youngest text of each path, which a text of a later shard is likely to be a delta to: without it, a container of an earlier
//! shard would be read for each path.
//!
//! They were made of items whose checksums are right. What there is no room for is read from its container.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use sapwood_core::Exact as _;
use sapwood_fsx_format::Id;

use crate::cached::KeptText;

/// Bytes of texts, at most.
const MOST: usize = 48 << 20;

/// Texts by their representation.
#[derive(Debug, Default)]
pub(super) struct Bases(Mutex<Kept>);

#[derive(Debug, Default)]
struct Kept {
    texts: HashMap<Id, Arc<KeptText>>,
    bytes: usize,
}

impl Bases {
    pub(super) fn get(&self, id: Id) -> Option<Arc<KeptText>> {
        self.0.lock().texts.get(&id).cloned()
    }

    /// Keeps a text, if there is room.
    pub(super) fn keep(&self, id: Id, text: &Arc<KeptText>) {
        let mut kept = self.0.lock();
        let bytes = kept.bytes.plus(text.text.len());
        if bytes <= MOST && !kept.texts.contains_key(&id) {
            kept.bytes = bytes;
            kept.texts.insert(id, Arc::clone(text));
        }
    }

    /// Keeps a text no longer: the path has a younger one.
    pub(super) fn remove(&self, id: Id) {
        let mut kept = self.0.lock();
        if let Some(text) = kept.texts.remove(&id) {
            kept.bytes = kept.bytes.minus(text.text.len());
        }
    }
}

#[cfg(test)]
mod tests {
    use sapwood_core::{Md5, Revnum};
    use sapwood_fsx_format::ChangeSet;

    use super::*;

    #[test]
    fn there_is_room_for_so_many_bytes() {
        let bases = Bases::default();
        let id = |number| Id { change_set: ChangeSet::Revision(Revnum(1)), number };
        let half = Arc::new(KeptText { md5: Md5([0; 16]), text: vec![0; MOST / 2] });
        (0..3).for_each(|number| bases.keep(id(number), &half));
        let there = || (0..3).filter(|number| bases.get(id(*number)).is_some()).collect::<Vec<_>>();
        assert_eq!(there(), [0, 1]);
        // Once more takes no more room.
        bases.keep(id(0), &half);
        bases.remove(id(1));
        bases.remove(id(1));
        bases.keep(id(2), &half);
        assert_eq!(there(), [0, 2]);
    }
}
