//! Where bytes of entries are read best, and which segments are still of use.
//!
//! Invariant: a place follows from the state alone, and what is read there is checked by those who read.

use std::collections::BTreeSet;
use std::ops::Range;

use sapwood_core::exact::Exact as _;
use sapwood_core::len64;
use sapwood_objects::Key;

use crate::state::{LOG, Location, RevisionData, SEGMENTS, State};

/// A range of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The object.
    pub key: Key,
    /// Its length in bytes; `u64::MAX` when that is not known.
    pub object_len: u64,
    /// The range.
    pub range: Range<u64>,
}

impl State {
    /// Drops segments that have nothing any more that is not packed.
    pub(crate) fn forget_segments(&mut self) {
        let inline = self.data.values().filter_map(|data| match data {
            RevisionData::Inline(location) => Some(location.slot),
            RevisionData::Big(..) => None,
        });
        let others = self.files.values().map(|file| &file.bytes).chain(self.props.values());
        let used: BTreeSet<u64> = inline.chain(others.map(|location| location.slot)).collect();
        self.segments.retain(|first, segment| {
            used.range(*first..first.plus(len64(segment.lens.len()))).next().is_some()
        });
    }

    /// Where bytes of an entry are read best: in a segment, if they are in one.
    ///
    /// # Errors
    /// None: the names of entries and segments are keys.
    pub fn place(&self, location: &Location) -> sapwood_objects::Result<Place> {
        if let Some(place) = self.in_segment(location)? {
            return Ok(place);
        }
        let key = Key::slot(&Key::new(LOG)?, location.slot)?;
        let at = len64(location.at);
        let range = at..at.plus(len64(location.len));
        Ok(Place { key, object_len: u64::MAX, range })
    }

    /// Where they are in a segment.
    fn in_segment(&self, location: &Location) -> sapwood_objects::Result<Option<Place>> {
        let slot = location.slot;
        let Some((first, segment)) = self.segments.range(..=slot).next_back() else {
            return Ok(None);
        };
        let mut at = len64(location.at);
        for (entry, len) in (*first..).zip(&segment.lens) {
            if entry == slot {
                let key = Key::of_token(SEGMENTS, segment.data.token)?;
                let range = at..at.plus(len64(location.len));
                return Ok(Some(Place { key, object_len: segment.data.len, range }));
            }
            at = at.plus(*len);
        }
        Ok(None)
    }
}
