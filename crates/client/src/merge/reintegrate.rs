//! Merges back into where a branch came from: where what is new on the branch begins, and whether all
//! that the target has up to there was merged to the branch.

use std::collections::{BTreeMap, BTreeSet};

use sapwood_core::paths::RelPath;
use sapwood_core::{ErrorCode, Inherit, Revnum, SvnError, SvnResult, path};
use sapwood_ra::Session;

use super::elide::elide_catalog;
use super::source::MergeSource;
use super::target::MergeTarget;
use super::trim::plain_log;
use crate::context::Context;
use crate::mergeinfo::lines::learn;
use crate::mergeinfo::local::values_below;
use crate::mergeinfo::place::{History, RepoLocation, common_ancestor, location, visit};
use crate::mergeinfo::summary::unrelated;
use crate::mergeinfo::{Catalog, MergeRange, Mergeinfo, RangeList, remote};

fn not_ready(words: impl Into<String>) -> SvnError {
    SvnError::new(ErrorCode::CLIENT_NOT_READY_TO_MERGE, words.into())
}

/// The two sides of a merge back, and the youngest common ancestor; `None` when there is nothing to
/// merge.
///
/// # Errors
/// E195016 when the branches cannot be merged back, with what was not merged to the source; those of
/// the session and of the working copy.
pub(super) fn find_reintegrate(
    _: &Context,
    session: &dyn Session,
    source: &RepoLocation,
    target: &MergeTarget,
) -> SvnResult<Option<(MergeSource, RepoLocation)>> {
    let place = target.place.clone().ok_or_else(|| not_ready("The target has no history"))?;
    if source.relpath.is_empty() || place.relpath.is_empty() {
        return Err(not_ready(
            "Neither the reintegrate source nor target can be the root of the repository",
        ));
    }
    let both = Both { session, source, target: &place };
    let histories = both.target_histories(target)?;
    let ancestor =
        common_ancestor(session, source, &place)?.ok_or_else(|| unrelated(source, &place))?;
    if source.revision == ancestor.revision {
        return Ok(None);
    }
    let merged = remote::catalog(session, source, Inherit::Inherited, true)?;
    let (mut unmerged, youngest) = both.unmerged(target, &ancestor, merged.clone(), histories)?;
    elide_catalog(&mut unmerged)?;
    let left = match youngest {
        None => ancestor,
        Some(youngest) => location(session, &place, youngest)?,
    };
    let ancestor =
        common_ancestor(session, source, &left)?.ok_or_else(|| unrelated(&left, source))?;
    if left.revision > ancestor.revision {
        let missing = both.missing(&left, &unmerged, &merged)?;
        if !missing.is_empty() {
            return Err(not_ready(format!(
                "Reintegrate can only be used if revisions {} through {} were previously merged \
                 from {} to the reintegrate source, but this is not the case:\n{}",
                ancestor.revision.saturating_add(1),
                source.revision,
                place.url(),
                listed(&missing)
            )));
        }
    }
    let ancestral = left.revision == ancestor.revision;
    Ok(Some((MergeSource { left, right: source.clone(), ancestral }, ancestor)))
}

/// A catalog as text.
fn listed(catalog: &Catalog) -> String {
    let sorted = |mut paths: Vec<String>| {
        paths.sort_by(|a, b| path::compare(a, b));
        paths
    };
    let mut out = String::new();
    for relpath in sorted(catalog.keys().cloned().collect()) {
        let value = catalog.get(&relpath).map(Mergeinfo::to_value).unwrap_or_default();
        let lines: Vec<String> =
            value.lines().map(|line| format!("    Missing ranges: {line}")).collect();
        out.push_str(&format!("  {relpath}\n{}\n", lines.join("\n")));
    }
    out
}

/// A branch and where it came from.
struct Both<'b> {
    session: &'b dyn Session,
    source: &'b RepoLocation,
    target: &'b RepoLocation,
}

impl Both<'_> {
    /// The histories of the target and of all below it that has mergeinfo, by path in the repository.
    fn target_histories(&self, target: &MergeTarget) -> SvnResult<Catalog> {
        let wc = &target.wc;
        let mut paths = BTreeSet::from([target.relpath.clone()]);
        for (relpath, value) in values_below(wc, &target.relpath)? {
            if wc.db().top(&relpath)?.is_some_and(|row| row.file_external) {
                continue;
            }
            if let Err(error) = Mergeinfo::parse(&value) {
                let code = ErrorCode::CLIENT_INVALID_MERGEINFO_NO_MERGETRACKING;
                let words = format!(
                    "Invalid mergeinfo detected on '{}', merge tracking not possible",
                    wc.abspath(&relpath).display()
                );
                return Err(error.wrap(code, words).wrap(code, "Reintegrate merge not possible"));
            }
            paths.insert(relpath);
        }
        let mut places = Vec::new();
        for relpath in paths {
            let (_, repos_relpath) = wc.repos_location(&relpath)?;
            places.push(self.target.at(&repos_relpath, self.target.revision));
        }
        learn(self.session, &target.history, &places)?;
        let mut histories = Catalog::new();
        for place in places {
            let history = History::of(self.session, &place)?.mergeinfo;
            histories.insert(place.relpath.into_string(), history);
        }
        Ok(histories)
    }

    /// The location of the source for one of the target.
    fn in_source(&self, target_path: &str) -> SvnResult<RepoLocation> {
        let below = path::rest_below(&self.target.relpath, target_path)?;
        Ok(self.source.below(RelPath::new(below)?))
    }

    /// The location of the target for one of the source.
    fn in_target(&self, source_path: &str) -> SvnResult<RepoLocation> {
        let below = path::rest_below(&self.source.relpath, source_path)?;
        Ok(self.target.below(RelPath::new(below)?))
    }

    /// Fetches the histories that will be needed, of which the target's nodes must exist.
    fn learn_lines(
        &self,
        target: &MergeTarget,
        merged: &Catalog,
        histories: &Catalog,
    ) -> SvnResult<()> {
        let mut sources = Vec::new();
        for target_path in histories.keys() {
            let place = self.in_source(target_path)?;
            if merged.contains_key(place.relpath.as_str()) {
                sources.push(place);
            }
        }
        learn(self.session, &target.history, &sources)?;
        let (mut others, mut targets) = (Vec::new(), Vec::new());
        for source_path in merged.keys() {
            let place = self.in_target(source_path)?;
            if histories.contains_key(place.relpath.as_str()) {
                continue;
            }
            let below = place.relpath.rest_below(&self.target.relpath)?;
            let base = target.wc.db().base(&target.relpath.join(below))?;
            if base.is_some_and(|row| {
                row.presence.is_there()
                    && row.repos_path.as_deref() == Some(&place.relpath)
                    && row.revision == Some(Revnum(place.revision))
            }) {
                targets.push(place);
                others.push(self.source.at(RelPath::new(source_path)?, self.target.revision));
            }
        }
        learn(self.session, &target.history, &targets)?;
        learn(self.session, &target.history, &others)
    }

    /// What of the target's history is not in the source, by path of the source; and the youngest
    /// revision that was merged from the target to the source.
    fn unmerged(
        &self,
        target: &MergeTarget,
        ancestor: &RepoLocation,
        mut merged: Catalog,
        histories: Catalog,
    ) -> SvnResult<(Catalog, Option<u64>)> {
        self.learn_lines(target, &merged, &histories)?;
        let mut youngest: Option<u64> = None;
        let mut look = |history: &Mergeinfo, mergeinfo: &Mergeinfo| {
            let both = mergeinfo.intersect(history, true).bounds();
            youngest = youngest.max(both.map(|(_, youngest)| youngest));
        };
        let mut found = Catalog::new();
        for (target_path, history) in histories {
            let place = self.in_source(&target_path)?;
            // The common history counts as merged, whatever mergeinfo says.
            let history = history.within(ancestor.revision, self.source.revision);
            let mergeinfo = match merged.remove(place.relpath.as_str()) {
                Some(mergeinfo) => {
                    look(&history, &mergeinfo);
                    mergeinfo
                }
                None if !self.is_there(&place)? => continue,
                None => remote::of(self.session, &place, Inherit::Inherited)?.unwrap_or_default(),
            };
            let left = self.not_in_source(&history, mergeinfo, &place)?;
            found.insert(place.relpath.into_string(), left);
        }
        // Nodes of the source whose counterparts in the target have no mergeinfo.
        for (source_path, mergeinfo) in merged {
            let counterpart = self.in_target(&source_path)?;
            let history = match History::of(self.session, &counterpart) {
                Err(error)
                    if [ErrorCode::FS_NOT_FOUND, ErrorCode::RA_DAV_REQUEST_FAILED]
                        .contains(&error.code()) =>
                {
                    continue;
                }
                other => other?.mergeinfo,
            };
            look(&history, &mergeinfo);
            let place = self.source.at(RelPath::new(&source_path)?, self.target.revision);
            let left = self.not_in_source(&history, mergeinfo, &place)?;
            if !left.is_empty() {
                found.insert(source_path, left);
            }
        }
        if let Some(youngest) = youngest {
            found = found
                .into_iter()
                .map(|(path, mergeinfo)| (path, mergeinfo.within(0, youngest)))
                .filter(|(_, mergeinfo)| !mergeinfo.is_empty())
                .collect();
        }
        Ok((found, youngest))
    }

    /// Whether the repository has a node in a place.
    fn is_there(&self, place: &RepoLocation) -> SvnResult<bool> {
        let revision = Some(Revnum(place.revision));
        let kind =
            visit(self.session, &place.url(), || self.session.check_path(RelPath::ROOT, revision))?;
        Ok(kind.is_some())
    }

    /// The part of a history that is neither the source's, nor merged into it.
    fn not_in_source(
        &self,
        history: &Mergeinfo,
        mut mergeinfo: Mergeinfo,
        place: &RepoLocation,
    ) -> SvnResult<Mergeinfo> {
        mergeinfo.merge(&History::of(self.session, place)?.mergeinfo);
        Ok(history.without(&mergeinfo, true))
    }

    /// The changes that were not merged to the source, by path of the source.
    fn missing(
        &self,
        left: &RepoLocation,
        unmerged: &Catalog,
        merged: &Catalog,
    ) -> SvnResult<Catalog> {
        let mut ranges = RangeList::default();
        unmerged.values().for_each(|mergeinfo| ranges.merge(&mergeinfo.all_ranges()));
        let Some((oldest, youngest)) = ranges.bounds() else { return Ok(Catalog::new()) };
        let oldest = oldest.saturating_add(1);
        let there = (oldest..=youngest).contains(&self.target.revision);
        let url = if there { self.target.url() } else { left.url() };
        let fspath = self.target.fspath();
        let mut missing: BTreeMap<(String, String), BTreeSet<u64>> = BTreeMap::new();
        visit(self.session, &url, || {
            plain_log(self.session, RelPath::ROOT, (youngest, oldest), true, &mut |entry| {
                let Some(revision) = entry.revision.map(|revision| revision.0) else {
                    return Ok(());
                };
                for change in &entry.changes {
                    let Some(below) = path::skip_ancestor(&fspath, change.path) else { continue };
                    let at = self.source.relpath.join(RelPath::new(below)?);
                    if let Some(place) = self.place_without(merged, &at, change.path, revision) {
                        missing.entry(place).or_default().insert(revision);
                    }
                }
                Ok(())
            })
        })?;
        let mut catalog = Catalog::new();
        for ((at, from), revisions) in missing {
            let mut list = RangeList::default();
            for revision in revisions {
                let before = revision.saturating_sub(1);
                match list.0.last_mut() {
                    Some(last) if last.end == before => last.end = revision,
                    _ => {
                        let range = MergeRange { start: before, end: revision, inheritable: true };
                        list.0.push(range);
                    }
                }
            }
            catalog.entry(at).or_default().0.insert(from, list);
        }
        Ok(catalog)
    }

    /// The node of the source whose mergeinfo lacks a revision of a changed path, and the path that it
    /// should have it from; `None` if it has it.
    fn place_without(
        &self,
        merged: &Catalog,
        at: &RelPath,
        changed: &str,
        revision: u64,
    ) -> Option<(String, String)> {
        // What is left of the changed path, `count` bytes shorter.
        let shortened = |suffix: &str| {
            let cut = if suffix.is_empty() { 0 } else { suffix.len().saturating_add(1) };
            changed.get(..changed.len().saturating_sub(cut)).unwrap_or_default().to_owned()
        };
        let mut above = at;
        while !above.is_empty() {
            if let Some(mergeinfo) = merged.get(above.as_str()) {
                let suffix = at.below(above).unwrap_or_default();
                let from = shortened(suffix);
                let has = mergeinfo.0.get(&from).is_some_and(|ranges| {
                    ranges.0.iter().any(|range| {
                        range.start < revision && revision <= range.end && range.inheritable
                    })
                });
                return (!has).then(|| (above.to_string(), from));
            }
            above = above.parent();
        }
        let suffix = at.below(&self.source.relpath).unwrap_or_default();
        Some((self.source.relpath.to_string(), shortened(suffix)))
    }
}
