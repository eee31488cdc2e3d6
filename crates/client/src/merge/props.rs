//! Which changes of properties a merge takes.

use sapwood_core::exact::Exact;
use sapwood_core::mergeinfo::{Mergeinfo, RangeList};
use sapwood_core::notify::State;
use sapwood_core::paths::RelPath;
use sapwood_core::props::names;
use sapwood_core::{ErrorCode, PropList, Revnum, SvnError, SvnResult, path};
use sapwood_wc::conflict::{PropChange, PropState};
use sapwood_wc::node::Origin;

use super::Merge;
use crate::mergeinfo::place::{History, RepoLocation, location};

/// Regular properties, not those of entries or of the working copy.
pub(super) fn is_regular(name: &str) -> bool {
    !name.starts_with("svn:entry:") && !name.starts_with("svn:wc:")
}

/// Whether two nodes have the same properties, but for mergeinfo.
pub(super) fn same_props(a: &PropList, b: &PropList) -> bool {
    let counts = |name: &str| is_regular(name) && name != names::MERGEINFO;
    let one = a.iter().filter(|(name, _)| counts(name));
    let other = b.iter().filter(|(name, _)| counts(name)).count();
    let mut count: usize = 0;
    for (name, value) in one {
        if b.get(name) != Some(value) {
            return false;
        }
        count = count.plus(1);
    }
    count == other
}

/// The state of properties, as it is reported.
pub(crate) const fn props_state(state: PropState) -> State {
    match state {
        PropState::Unchanged => State::Unchanged,
        PropState::Changed => State::Changed,
        PropState::Merged => State::Merged,
        PropState::Conflicted => State::Conflicted,
    }
}

/// How one list becomes another.
pub(super) fn changes_between(from: &PropList, to: &PropList) -> Vec<PropChange> {
    let gone = from.iter().filter(|(name, _)| to.get(name).is_none());
    let mut changes: Vec<PropChange> = gone.map(|(name, _)| (name.to_owned(), None)).collect();
    let set = to.iter().filter(|(name, value)| from.get(name) != Some(*value));
    changes.extend(set.map(|(name, value)| (name.to_owned(), Some(value.to_vec()))));
    changes.sort_by(|a, b| a.0.cmp(&b.0));
    changes
}

impl Merge<'_> {
    /// Where what is added at a path is from.
    pub(super) fn origin_of(&self, relpath: &RelPath, revision: Revnum) -> SvnResult<Origin> {
        let below = path::rest_below(&self.target.relpath, relpath)?;
        let place = &self.source.right;
        if place.root != self.target.root {
            let url = place.url().join(RelPath::trusted(below));
            let shown = self.wc().abspath(relpath);
            return Err(SvnError::new(
                ErrorCode::UNSUPPORTED_FEATURE,
                format!(
                    "URL '{url}' of '{}' is not in repository '{}'",
                    shown.display(),
                    self.target.root
                ),
            ));
        }
        let (repos_id, _) = self.wc().repos_location(&self.target.relpath)?;
        Ok(Origin { repos_id, repos_path: place.relpath.join(RelPath::new(below)?), revision })
    }

    /// The changes that are taken: only mergeinfo when nothing but that is merged, none of another
    /// repository's, and none that says what is the node's own history.
    pub(super) fn prepare_props(
        &mut self,
        relpath: &RelPath,
        changes: &[PropChange],
    ) -> SvnResult<Vec<PropChange>> {
        let record_only = self.options.record_only;
        let mut taken: Vec<PropChange> = changes
            .iter()
            .filter(|(name, _)| is_regular(name))
            .filter(|(name, _)| !record_only || name == names::MERGEINFO)
            .filter(|(name, _)| self.same_repos || name != names::MERGEINFO)
            .cloned()
            .collect();
        let Some(at) = taken.iter().position(|(name, _)| name == names::MERGEINFO) else {
            return Ok(taken);
        };
        let forward = self.source.left.revision < self.source.right.revision;
        if (forward || !self.source.ancestral) && (self.honors_mergeinfo() || self.reintegrate) {
            let value = taken.get(at).and_then(|change| change.1.clone());
            match value.filter(|value| !value.is_empty()) {
                None => {}
                Some(value) => match self.without_own_history(relpath, &value)? {
                    None => {}
                    Some(left) if left.is_empty() => drop(taken.remove(at)),
                    Some(left) => {
                        if let Some(change) = taken.get_mut(at) {
                            change.1 = Some(left.to_value().into_bytes());
                        }
                    }
                },
            }
        }
        let change = taken.iter().find(|(name, _)| name == names::MERGEINFO);
        if let Some((_, value)) = change {
            let pristine = match self.wc().view(relpath)? {
                Some(view) => view.pristine_props()?.get(names::MERGEINFO).is_some(),
                None => false,
            };
            match (pristine, value.is_some()) {
                (false, true) => drop(self.new_mergeinfo.insert(relpath.to_owned())),
                (true, false) => drop(self.deleted_mergeinfo.insert(relpath.to_owned())),
                _ => {}
            }
        }
        Ok(taken)
    }

    /// Incoming mergeinfo without what is the node's own history; `None` when it is left as it is.
    fn without_own_history(&self, relpath: &RelPath, value: &[u8]) -> SvnResult<Option<Mergeinfo>> {
        let node = self.node(relpath)?;
        let Some(base) = RepoLocation::origin(&node)?.filter(|_| node.top.op_depth == 0) else {
            return Ok(None);
        };
        let Ok(incoming) = Mergeinfo::parse(value) else { return Ok(None) };
        let mut older = Mergeinfo::new();
        let mut left = Mergeinfo::new();
        for (source, ranges) in &incoming.0 {
            let (old, young) = split(ranges, base.revision);
            if !old.is_empty() {
                older.0.insert(source.clone(), old);
            }
            let mut kept = RangeList::default();
            for range in young.0 {
                if !self.is_own(&base, source, range.start.saturating_add(1))? {
                    kept.0.push(range);
                }
            }
            if !kept.is_empty() {
                left.0.insert(source.clone(), kept);
            }
        }
        if !older.is_empty() {
            let history = History::of(self.right.as_ref(), &base)?;
            let mut rest = older.without(&history.mergeinfo, true);
            rest.0.retain(|_, ranges| !ranges.is_empty());
            rest.merge(&left);
            left = rest;
        }
        Ok(Some(left))
    }

    /// Whether a node was at a path in a revision after the one that it has here.
    fn is_own(&self, base: &RepoLocation, source: &str, revision: u64) -> SvnResult<bool> {
        match location(self.right.as_ref(), base, revision) {
            Ok(place) => Ok(place.fspath() == source),
            Err(error)
                if [
                    ErrorCode::CLIENT_UNRELATED_RESOURCES,
                    ErrorCode::FS_NOT_FOUND,
                    ErrorCode::FS_NO_SUCH_REVISION,
                ]
                .contains(&error.code()) =>
            {
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }
}

/// Ranges up to a revision, and those after it.
fn split(ranges: &RangeList, revision: u64) -> (RangeList, RangeList) {
    let (mut old, mut young) = (RangeList::default(), RangeList::default());
    for range in &ranges.0 {
        if range.start < revision {
            let mut part = *range;
            part.end = part.end.min(revision);
            old.0.push(part);
        }
        if range.end > revision {
            let mut part = *range;
            part.start = part.start.max(revision);
            young.0.push(part);
        }
    }
    (old, young)
}
