//! `svn:mergeinfo` on its way through the filter: sources that are dropped, revisions that get
//! new numbers.

use std::collections::BTreeMap;

use sapwood_core::mergeinfo::{MergeRange, Mergeinfo, RangeList};
use sapwood_core::{ErrorCode, SvnError, SvnResult};

use super::{DumpFilter, Outcome};

/// The new number of `old`; for a dropped revision that of the last one before it.
pub(super) fn mapped(renumbered: &BTreeMap<i64, Outcome>, old: i64) -> Option<i64> {
    match *renumbered.get(&old)? {
        Outcome::Written(new) => Some(new),
        Outcome::Dropped(last) => last,
    }
}

impl DumpFilter<'_> {
    /// The value that the filtered stream must have.
    pub(super) fn adjust_mergeinfo(&self, value: &[u8]) -> SvnResult<Vec<u8>> {
        let mut mergeinfo = Mergeinfo::parse(value)?;
        if self.options.skip_missing_merge_sources
            && let Some(oldest) = self.oldest_kept
        {
            // The oldest revision of the stream is the start of all history: nothing can have
            // been merged from it or from before it.
            for list in mergeinfo.0.values_mut() {
                *list = RangeList::remove(&RangeList::one(0, oldest, true), list, false);
            }
            mergeinfo.0.retain(|_, list| !list.is_empty());
        }
        let mut kept = Mergeinfo::default();
        for (source, mut list) in mergeinfo.0 {
            if self.options.drops(source.as_bytes()) {
                if self.options.skip_missing_merge_sources {
                    continue;
                }
                return Err(SvnError::new(
                    ErrorCode::INCOMPLETE_DATA,
                    format!(
                        "Missing merge source path '{source}'; try with \
                         --skip-missing-merge-sources"
                    ),
                ));
            }
            if self.renumbering {
                for range in &mut list.0 {
                    range.start = self.renumber_bound(range.start, "start")?;
                    range.end = self.renumber_bound(range.end, "end")?;
                }
            }
            list.canonicalize()?;
            if let Some(bad) = list.0.iter().find(|r| r.start == r.end) {
                return Err(SvnError::new(ErrorCode::ASSERTION_FAIL, show_empty(*bad)));
            }
            kept.0.insert(source, list);
        }
        Ok(kept.to_value().into_bytes())
    }

    fn renumber_bound(&self, old: u64, which: &str) -> SvnResult<u64> {
        let new = i64::try_from(old).ok().and_then(|old| mapped(&self.summary.renumbered, old));
        new.and_then(|new| u64::try_from(new).ok()).ok_or_else(|| {
            SvnError::new(
                ErrorCode::NODE_UNEXPECTED_KIND,
                format!("No valid revision range '{which}' in filtered stream"),
            )
        })
    }
}

/// The text of a range of which renumbering left nothing; the reference cannot write it either.
fn show_empty(range: MergeRange) -> String {
    let MergeRange { start, end, inheritable } = range;
    format!("bad range {{start={start},end={end},inheritable={}}}", u8::from(inheritable))
}
