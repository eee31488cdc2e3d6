//! The numbers that the revisions of a stream got in the repository.
//!
//! A revision that the stream leaves out between two others is taken for the one before it: by that one's number in the
//! stream when `svnadmin load` does it, and in the repository when `svnrdump load` does, as in the reference. Memory grows
//! with the revisions that were loaded, not with their numbers.

use std::collections::BTreeMap;

/// What a revision that the stream leaves out is taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeftOut {
    /// The number in the stream of the revision before it.
    StreamNumber,
    /// The number in the repository of the revision before it.
    RepositoryNumber,
}

/// From numbers of the stream to those of the repository.
#[derive(Clone, Debug)]
pub struct RevisionMap {
    numbers: BTreeMap<u64, u64>,
    left_out: LeftOut,
}

impl RevisionMap {
    /// A map without revisions.
    #[must_use]
    pub const fn new(left_out: LeftOut) -> Self {
        Self { numbers: BTreeMap::new(), left_out }
    }

    /// Notes the number of a revision. Revisions come in the order of the stream.
    pub fn insert(&mut self, number: u64, here: u64) {
        self.numbers.insert(number, here);
    }

    /// The number in the repository; `None` before the first revision and behind the last one.
    #[must_use]
    pub fn get(&self, number: u64) -> Option<u64> {
        let (known, here) = self.numbers.range(..=number).next_back()?;
        if *known == number {
            return Some(*here);
        }
        // It is left out if there is a later one.
        self.numbers.range(number..).next().map(|_| match self.left_out {
            LeftOut::StreamNumber => *known,
            LeftOut::RepositoryNumber => *here,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn revisions_that_are_left_out() {
        let mut map = RevisionMap::new(LeftOut::StreamNumber);
        for (number, here) in [(3, 1), (7, 2), (u64::MAX, 3)] {
            map.insert(number, here);
        }
        let found = [2, 3, 5, 7, 8, u64::MAX - 1, u64::MAX].map(|number| map.get(number));
        assert_eq!(found, [None, Some(1), Some(3), Some(2), Some(7), Some(7), Some(3)]);
        let mut short = RevisionMap::new(LeftOut::RepositoryNumber);
        short.insert(4, 1);
        assert_eq!(short.get(5), None);
        short.insert(9, 2);
        assert_eq!(short.get(5), Some(1));
    }
}
