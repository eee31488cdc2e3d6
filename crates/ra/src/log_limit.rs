//! The limit of a history where the server keeps none (old servers): its revisions are counted, those that were merged
//! into them are not.

use sapwood_core::exact::Exact as _;

/// The entries of a history, as they come.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LogLimit {
    /// The most revisions; 0 for no limit.
    most: u64,
    count: u64,
    /// How many lists of merged revisions are open.
    nesting: u64,
}

impl LogLimit {
    pub(crate) const fn new(most: u64) -> Self {
        Self { most, count: 0, nesting: 0 }
    }

    /// Whether the next entry is within the limit; `None` if it ends a list that was not begun.
    pub(crate) fn admits(&mut self, has_children: bool, ends_children: bool) -> Option<bool> {
        if self.nesting == 0 {
            self.count = self.count.plus(1);
        }
        if self.most > 0 && self.nesting == 0 && self.count > self.most {
            return Some(false);
        }
        if has_children {
            self.nesting = self.nesting.plus(1);
        }
        if ends_children {
            self.nesting = self.nesting.checked_sub(1)?;
        }
        Some(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merged_revisions_do_not_count() {
        let mut limit = LogLimit::new(2);
        let entries =
            [(true, false), (false, false), (false, true), (false, false), (false, false)];
        let admitted = entries.map(|(children, ends)| limit.admits(children, ends));
        assert_eq!(admitted, [Some(true), Some(true), Some(true), Some(true), Some(false)]);
        assert_eq!(LogLimit::new(0).admits(false, true), None);
    }
}
