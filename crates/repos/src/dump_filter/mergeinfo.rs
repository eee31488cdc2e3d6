//! `svn:mergeinfo` on its way through the filter: sources that are dropped, revisions that get
//! new numbers.

use std::collections::BTreeMap;

use sapwood_core::mergeinfo::{MergeRange, Mergeinfo, RangeList};
use sapwood_core::{ErrorCode, SvnError, SvnResult};

use super::{DumpFilter, Outcome};

/// The new number of `old`; for a dropped revision that of the last one before it.
pub(super) fn mapped(renumbered: &BTreeMap<u64, Outcome>, old: u64) -> Option<u64> {
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
                *list = younger_than(list, oldest);
            }
            mergeinfo.0.retain(|_, list| !list.0.is_empty());
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
            canonicalize(&mut list)?;
            kept.0.insert(source, list);
        }
        Ok(kept.to_value().into_bytes())
    }

    fn renumber_bound(&self, old: u64, which: &str) -> SvnResult<u64> {
        mapped(&self.summary.renumbered, old).ok_or_else(|| {
            SvnError::new(
                ErrorCode::NODE_UNEXPECTED_KIND,
                format!("No valid revision range '{which}' in filtered stream"),
            )
        })
    }
}

/// What is left of `list` after `oldest`. Ranges that touch become one here, inheritable if
/// either was: what the reference's removal of ranges does when it does not look at inheritance.
fn younger_than(list: &RangeList, oldest: u64) -> RangeList {
    let mut left: Vec<MergeRange> = Vec::new();
    for range in &list.0 {
        let range = MergeRange { start: range.start.max(oldest), ..*range };
        if range.start >= range.end {
            continue;
        }
        match left.last_mut() {
            Some(last) if last.start <= range.end && range.start <= last.end => {
                last.start = last.start.min(range.start);
                last.end = last.end.max(range.end);
                last.inheritable |= range.inheritable;
            }
            _ => left.push(range),
        }
    }
    RangeList(left)
}

/// Sorts ranges and joins those that touch and are alike.
fn canonicalize(list: &mut RangeList) -> SvnResult<()> {
    list.0.sort_by_key(|r| (r.start, r.end));
    let mut done: Vec<MergeRange> = Vec::with_capacity(list.0.len());
    for range in list.0.drain(..) {
        match done.last_mut() {
            Some(last) if range.start <= last.end => {
                if last.inheritable == range.inheritable {
                    last.end = last.end.max(range.end);
                } else if range.start < last.end {
                    return Err(SvnError::new(
                        ErrorCode::MERGEINFO_PARSE_ERROR,
                        format!(
                            "Unable to parse overlapping revision ranges '{}' and '{}' with \
                             different inheritance types",
                            show(*last),
                            show(range)
                        ),
                    ));
                } else {
                    done.push(range);
                }
            }
            _ => done.push(range),
        }
    }
    // Renumbering can leave nothing of a range; the reference cannot write that down.
    if let Some(bad) = done.iter().find(|r| r.start == r.end) {
        return Err(SvnError::new(ErrorCode::ASSERTION_FAIL, show(*bad)));
    }
    list.0 = done;
    Ok(())
}

/// A forward range as in the property.
fn show(range: MergeRange) -> String {
    let mark = if range.inheritable { "" } else { "*" };
    let first = range.start.saturating_add(1);
    if range.start == range.end {
        format!(
            "bad range {{start={},end={},inheritable={}}}",
            range.start,
            range.end,
            u8::from(range.inheritable)
        )
    } else if first == range.end {
        format!("{first}{mark}")
    } else {
        format!("{first}-{}{mark}", range.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(ranges: &[(u64, u64, bool)]) -> RangeList {
        RangeList(
            ranges
                .iter()
                .map(|&(start, end, inheritable)| MergeRange { start, end, inheritable })
                .collect(),
        )
    }

    #[test]
    fn cutting_off_old_revisions() {
        let all = list(&[(1, 4, true), (6, 9, false), (9, 12, true)]);
        assert_eq!(younger_than(&all, 2), list(&[(2, 4, true), (6, 12, true)]));
        assert_eq!(younger_than(&all, 12), list(&[]));
    }

    #[test]
    fn joining() {
        let mut ranges = list(&[(3, 5, true), (1, 3, true), (5, 6, false)]);
        canonicalize(&mut ranges).unwrap();
        assert_eq!(ranges, list(&[(1, 5, true), (5, 6, false)]));
        let mut ranges = list(&[(1, 5, true), (3, 6, false)]);
        assert!(canonicalize(&mut ranges).unwrap_err().message().contains("'2-5' and '4-6*'"));
        let mut ranges = list(&[(5, 5, true)]);
        assert_eq!(
            canonicalize(&mut ranges).unwrap_err().message(),
            "bad range {start=5,end=5,inheritable=1}"
        );
    }
}
