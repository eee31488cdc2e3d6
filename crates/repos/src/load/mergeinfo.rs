//! `svn:mergeinfo` on its way into another repository: revisions get the numbers that they have
//! there, sources the folder that everything is loaded below.

use sapwood_core::FsPath;
use sapwood_core::mergeinfo::{Mergeinfo, RangeList};
use sapwood_core::{SvnResult, path};

use super::revision_map::RevisionMap;

/// What is known of the numbers of revisions.
#[derive(Clone, Copy, Debug)]
pub struct Numbers<'a> {
    /// From those of the stream to those of the repository.
    pub map: &'a RevisionMap,
    /// The oldest revision that was loaded from the stream.
    pub oldest: Option<u64>,
    /// What revisions before that one are more than in the repository.
    pub offset: i64,
}

impl Numbers<'_> {
    /// The value for the repository; `parent` is the folder that everything is loaded below.
    ///
    /// # Errors
    /// E200020 for what is no mergeinfo.
    pub fn adjust(&self, value: &[u8], parent: Option<&FsPath>) -> SvnResult<Vec<u8>> {
        let mut mergeinfo = Mergeinfo::parse(value)?;
        let mut older = Mergeinfo::default();
        if let Some(oldest) = self.oldest.filter(|oldest| *oldest > 1) {
            let before = RangeList::one(0, oldest.saturating_sub(1), true);
            for (source, ranges) in &mut mergeinfo.0 {
                let old = self.shifted(&RangeList::intersect(&before, ranges, false));
                if !old.is_empty() {
                    older.0.insert(source.clone(), old);
                }
                *ranges = RangeList::remove(&before, ranges, false);
            }
            mergeinfo.0.retain(|_, ranges| !ranges.is_empty());
        }
        for ranges in mergeinfo.0.values_mut() {
            for range in &mut ranges.0 {
                match self.map.get(range.start) {
                    Some(start) => range.start = start,
                    // The revision before the oldest is not in the stream, and is the bound of
                    // ranges all the same.
                    None if self.oldest == Some(range.start.saturating_add(1)) => {
                        let oldest = self.oldest.and_then(|oldest| self.map.get(oldest));
                        if let Some(start) = oldest {
                            range.start = start.saturating_sub(1);
                        }
                    }
                    // A range whose ends come from different numberings would be no range.
                    None => continue,
                }
                if let Some(end) = self.map.get(range.end) {
                    range.end = end;
                }
            }
        }
        mergeinfo.merge(&older);
        for ranges in mergeinfo.0.values_mut() {
            ranges.canonicalize()?;
        }
        if let Some(parent) = parent {
            mergeinfo.0 = mergeinfo
                .0
                .into_iter()
                .map(|(source, ranges)| {
                    let source = path::join(parent, path::to_relpath(&source));
                    (path::canonical_fspath(&source).into_owned(), ranges)
                })
                .collect();
        }
        Ok(mergeinfo.to_value().into_bytes())
    }

    /// Ranges from before the stream; what would come before revision 1 is dropped.
    fn shifted(&self, ranges: &RangeList) -> RangeList {
        let shift = |n: u64| n.checked_add_signed(self.offset.saturating_neg()).filter(|n| *n > 0);
        RangeList(
            ranges
                .0
                .iter()
                .filter_map(|range| {
                    let mut range = *range;
                    range.start = shift(range.start)?;
                    range.end = shift(range.end)?;
                    Some(range)
                })
                .collect(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sapwood_testkit::fspath;

    #[test]
    fn numbers_and_folders() {
        let mut map = RevisionMap::new(crate::load::LeftOut::StreamNumber);
        for (number, here) in [(5, 2), (6, 3), (7, 4)] {
            map.insert(number, here);
        }
        let numbers = Numbers { map: &map, oldest: Some(5), offset: 3 };
        let adjust = |value: &str, parent| {
            String::from_utf8(numbers.adjust(value.as_bytes(), parent).unwrap()).unwrap()
        };
        assert_eq!(adjust("/a:6-7", None), "/a:3-4");
        assert_eq!(adjust("/a:5-7", None), "/a:2-4");
        assert_eq!(adjust("/a:6", Some(fspath("/p/q"))), "/p/q/a:3");
        // Revision 4 would be revision 1 here: a range may not begin at 0.
        assert_eq!(adjust("/a:4,6", None), "/a:3");
        assert!(numbers.adjust(b"nonsense", None).is_err());
    }
}
