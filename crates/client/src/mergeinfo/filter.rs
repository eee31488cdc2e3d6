//! Which revisions of a log were merged into everything that they touch: needed where mergeinfo alone does
//! not answer this, because parts of the target have mergeinfo of their own.

use sapwood_core::path;
use sapwood_ra::{LogChange, LogEntry};

use super::{Catalog, Mergeinfo, RangeList};

/// What a log of the source is compared with.
pub(super) struct Filter<'a> {
    /// Whether merged revisions are looked for, or eligible ones.
    pub(super) merged: bool,
    /// The paths (fspaths) that the source was at.
    pub(super) sources: Vec<&'a str>,
    /// The target's path in the repository.
    pub(super) target: &'a str,
    /// The mergeinfo of the target's tree.
    pub(super) catalog: &'a Catalog,
    /// The revisions that may be wanted; those not inheritable are merged or eligible in parts.
    pub(super) ranges: &'a RangeList,
}

impl Filter<'_> {
    /// Whether a revision is wanted, and if so whether only a part of it is.
    pub(super) fn look(&self, entry: &LogEntry<'_>) -> Option<bool> {
        let revision = entry.revision?.0;
        let at = self.ranges.0.partition_point(|range| range.end < revision);
        let range = self.ranges.0.get(at).filter(|range| range.start < revision)?;
        let partly = !range.inheritable;
        if entry.changes.is_empty() || (self.merged && !partly) {
            return Some(partly);
        }
        if !entry.changes.iter().all(|change| self.has(change, revision)) {
            return Some(partly);
        }
        // All that the revision touches has it.
        self.merged.then_some(false)
    }

    /// The source that a path belongs to, and the path below it; `None` for what cannot be merged.
    fn source_of<'c>(&self, change: &LogChange<'c>) -> Option<(&str, &'c str)> {
        let (source, below) = self.sources.iter().find_map(|source| {
            path::skip_ancestor(source, change.path).map(|below| (*source, below))
        })?;
        // The source itself was added or deleted: that cannot be merged.
        (!below.is_empty() || change.action == b'M').then_some((source, below))
    }

    /// The mergeinfo of what a change would be merged into, from the nearest node that has some, and
    /// whether it is its own.
    fn mergeinfo_at(&self, below: &str) -> Option<(&Mergeinfo, bool)> {
        let affected = path::join(self.target, below);
        let mut at = affected.as_str();
        loop {
            if let Some(found) = self.catalog.get(at) {
                return Some((found, at == affected));
            }
            if at.is_empty() {
                return None;
            }
            at = path::dirname(at);
        }
    }

    /// Whether a changed path needs no more merging of a revision.
    fn has(&self, change: &LogChange<'_>, revision: u64) -> bool {
        let Some((source, below)) = self.source_of(change) else { return true };
        let Some((mergeinfo, own)) = self.mergeinfo_at(below) else { return false };
        if own && change.action != b'M' {
            // A node's own mergeinfo never covers its own addition; merges of later changes do.
            let youngest = mergeinfo.0.get(change.path.as_str()).and_then(RangeList::bounds);
            if youngest.is_some_and(|(_, youngest)| youngest > revision) {
                return true;
            }
        }
        mergeinfo.0.iter().any(|(from, ranges)| {
            path::skip_ancestor(source, from).is_some()
                && ranges.0.iter().any(|range| {
                    range.start < revision && revision <= range.end && (own || range.inheritable)
                })
        })
    }
}
