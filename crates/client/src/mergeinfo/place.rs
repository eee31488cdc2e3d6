//! Locations in a repository, their histories as mergeinfo, and where two histories meet.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap};

use sapwood_core::paths::{RelPath, RelPathBuf, Url, UrlBuf};
use sapwood_core::{ErrorCode, Revnum, Segment, SvnError, SvnResult, path};
use sapwood_ra::Session;

use super::{MergeRange, Mergeinfo, RangeList};
use crate::caching_session::clipped;
use crate::context::Context;
use crate::open::{LocatedSession, session_at};
use crate::revision::Revision;
use crate::working::Node;

/// A path of a repository in a revision.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RepoLocation {
    /// The repository's URL.
    pub root: UrlBuf,
    /// The repository's UUID.
    pub uuid: String,
    /// The path below the root.
    pub relpath: RelPathBuf,
    /// The revision.
    pub revision: u64,
}

impl RepoLocation {
    /// The URL.
    #[must_use]
    pub fn url(&self) -> UrlBuf {
        self.root.join(&self.relpath)
    }

    /// The path as mergeinfo has it.
    #[must_use]
    pub fn fspath(&self) -> String {
        path::canonical_fspath(&self.relpath).into_owned()
    }

    /// Another path of the repository, in another revision.
    #[must_use]
    pub fn at(&self, relpath: &RelPath, revision: u64) -> Self {
        Self { relpath: relpath.to_owned(), revision, ..self.clone() }
    }

    /// What is below this path, in the same revision.
    #[must_use]
    pub fn below(&self, relpath: &RelPath) -> Self {
        self.at(&self.relpath.join(relpath), self.revision)
    }

    /// Whether another location is in the same repository, under the same URL.
    #[must_use]
    pub(crate) fn is_same_repository(&self, other: &Self) -> bool {
        self.root == other.root && self.uuid == other.uuid
    }

    /// Where a session is.
    ///
    /// # Errors
    /// When its URL is not below its root.
    pub fn of(session: &dyn Session, revision: Revnum) -> SvnResult<Self> {
        let (root, url) = (session.root_url(), session.url());
        let relpath = url.below(&root).ok_or_else(|| {
            SvnError::new(ErrorCode::RA_ILLEGAL_URL, format!("'{url}' isn't below '{root}'"))
        })?;
        Ok(Self { root, uuid: session.uuid(), relpath, revision: revision.0 })
    }

    /// Opens a session where a target is in a revision.
    ///
    /// # Errors
    /// As [`session_at`].
    pub fn open(
        ctx: &Context,
        target: &str,
        revision: Revision,
    ) -> SvnResult<(Box<dyn Session>, Self)> {
        let LocatedSession { session, revision, .. } =
            session_at(ctx, target, revision, Revision::Unspecified)?;
        let place = Self::of(session.as_ref(), revision)?;
        Ok((session, place))
    }

    /// Where a node of a working copy is from: its location, or that of what it is a copy of; `None`
    /// of additions and deletions.
    ///
    /// # Errors
    /// SQLite's.
    pub fn origin(node: &Node) -> SvnResult<Option<Self>> {
        if node.is_deleted() {
            return Ok(None);
        }
        let row = &node.top;
        let (Some(id), Some(at), Some(revision)) = (row.repos_id, &row.repos_path, row.revision)
        else {
            return Ok(None);
        };
        let repository = node.wc.db().repository(id)?;
        Ok(Some(Self {
            root: repository.root,
            uuid: repository.uuid,
            relpath: at.clone(),
            revision: revision.0,
        }))
    }
}

/// Does something with a session at another URL; afterwards the session is where it was.
///
/// # Errors
/// Those of the session and of `work`.
pub fn visit<T>(
    session: &dyn Session,
    url: &Url,
    work: impl FnOnce() -> SvnResult<T>,
) -> SvnResult<T> {
    let before = session.url();
    if before == url {
        return work();
    }
    session.reparent(url)?;
    let result = work();
    let back = session.reparent(&before);
    let value = result?;
    back?;
    Ok(value)
}

/// Where a location was between two revisions, the oldest first.
///
/// # Errors
/// E160013 when there is no such location; those of the session.
pub fn segments(
    session: &dyn Session,
    place: &RepoLocation,
    youngest: u64,
    oldest: u64,
) -> SvnResult<Vec<Segment>> {
    let mut found = Vec::new();
    visit(session, &place.url(), || {
        session.location_segments(
            RelPath::ROOT,
            Some(Revnum(place.revision)),
            Some(Revnum(youngest)),
            Some(Revnum(oldest)),
            &mut |segment| {
                found.push(segment.clone());
                Ok(())
            },
        )
    })?;
    found.sort_by_key(|segment| segment.start);
    Ok(found)
}

/// A part of a history: its revisions and its segments.
type Part = (u64, u64, Vec<Segment>);

/// A cache of [`segments`], so that each question is asked once: the past does not change. As large as
/// the number of locations that are asked about.
#[derive(Debug, Default)]
pub struct Lines(RefCell<HashMap<RepoLocation, Vec<Part>>>);

impl Lines {
    /// The result of [`segments`], cached. Errors are not cached.
    ///
    /// # Errors
    /// As [`segments`].
    pub fn segments(
        &self,
        session: &dyn Session,
        place: &RepoLocation,
        youngest: u64,
        oldest: u64,
    ) -> SvnResult<Vec<Segment>> {
        if let Some(known) = self.0.borrow().get(place)
            && let Some((_, _, whole)) =
                known.iter().find(|(last, first, _)| youngest <= *last && *first <= oldest)
        {
            return Ok(clipped(whole, youngest, oldest));
        }
        let found = segments(session, place, youngest, oldest)?;
        let part = (youngest, oldest, found.clone());
        self.0.borrow_mut().entry(place.clone()).or_default().push(part);
        Ok(found)
    }

    /// Whether [`Lines::segments`] has the answer.
    pub(crate) fn has(&self, place: &RepoLocation, (oldest, youngest): (u64, u64)) -> bool {
        let known = self.0.borrow();
        let mut parts = known.get(place).into_iter().flatten();
        parts.any(|(last, first, _)| youngest <= *last && *first <= oldest)
    }

    /// A log said that a location was the same between two revisions.
    pub(crate) fn learn(&self, place: &RepoLocation, (oldest, youngest): (u64, u64)) {
        let path = Some(place.relpath.clone());
        let segment = Segment { start: Revnum(oldest), end: Revnum(youngest), path };
        let part = (youngest, oldest, vec![segment]);
        self.0.borrow_mut().entry(place.clone()).or_default().push(part);
    }

    /// The result of [`History::between`].
    ///
    /// # Errors
    /// As [`segments`].
    pub fn history(
        &self,
        session: &dyn Session,
        tip: &RepoLocation,
        youngest: u64,
        oldest: u64,
    ) -> SvnResult<History> {
        Ok(History::of_segments(tip, self.segments(session, tip, youngest, oldest)?))
    }
}

/// Where a location is in another revision.
///
/// # Errors
/// E195012 when it is not there.
pub fn location(
    session: &dyn Session,
    place: &RepoLocation,
    revision: u64,
) -> SvnResult<RepoLocation> {
    if place.revision == revision {
        return Ok(place.clone());
    }
    let found = visit(session, &place.url(), || {
        session.locations(RelPath::ROOT, Revnum(place.revision), &[Revnum(revision)])
    })?;
    match found.iter().find(|(at, _)| at.0 == revision) {
        Some((_, path)) => Ok(place.at(&RelPathBuf::canonicalize(path), revision)),
        None => Err(SvnError::new(
            ErrorCode::CLIENT_UNRELATED_RESOURCES,
            format!(
                "Unable to find repository location for '{}' in revision {revision}",
                place.url()
            ),
        )),
    }
}

/// The locations that a node was at.
#[derive(Clone, Debug)]
pub struct History {
    /// Where it ends.
    pub tip: RepoLocation,
    /// The locations as mergeinfo, which cannot name revision 0.
    pub mergeinfo: Mergeinfo,
    /// Whether it begins in revision 0.
    pub from_zero: bool,
}

impl History {
    /// The whole history of a location.
    ///
    /// # Errors
    /// As [`segments`].
    pub fn of(session: &dyn Session, tip: &RepoLocation) -> SvnResult<Self> {
        Self::between(session, tip, tip.revision, 0)
    }

    /// The history of a location as far as it lies between two revisions.
    ///
    /// # Errors
    /// As [`segments`].
    pub fn between(
        session: &dyn Session,
        tip: &RepoLocation,
        youngest: u64,
        oldest: u64,
    ) -> SvnResult<Self> {
        Ok(Self::of_segments(tip, segments(session, tip, youngest, oldest)?))
    }

    /// The history that segments describe, in any order.
    #[must_use]
    pub(crate) fn of_segments(tip: &RepoLocation, mut segments: Vec<Segment>) -> Self {
        segments.sort_by_key(|segment| segment.start);
        let from_zero = segments.first().is_some_and(|segment| segment.start == Revnum::ZERO);
        Self { tip: tip.clone(), mergeinfo: as_mergeinfo(&segments), from_zero }
    }

    /// Where the node was in a revision.
    #[must_use]
    pub fn at(&self, revision: u64) -> Option<RepoLocation> {
        let (fspath, _) =
            self.mergeinfo.0.iter().find(|(_, ranges)| ranges.contains_revision(revision))?;
        Some(self.tip.at(&RelPathBuf::canonicalize(fspath), revision))
    }

    /// The youngest location that two histories have in common.
    #[must_use]
    pub fn meet(&self, other: &Self) -> Option<RepoLocation> {
        if self.tip.root != other.tip.root {
            return None;
        }
        let common = self.mergeinfo.0.iter().filter_map(|(fspath, mine)| {
            let both = RangeList::intersect(mine, other.mergeinfo.0.get(fspath)?, true);
            both.bounds().map(|(_, youngest)| (youngest, fspath))
        });
        match common.max_by_key(|(youngest, _)| *youngest) {
            Some((youngest, fspath)) => {
                Some(self.tip.at(&RelPathBuf::canonicalize(fspath), youngest))
            }
            None => (self.from_zero && other.from_zero).then(|| self.tip.at(RelPath::ROOT, 0)),
        }
    }
}

/// The youngest location that both are descended from.
///
/// # Errors
/// As [`segments`].
pub fn common_ancestor(
    session: &dyn Session,
    a: &RepoLocation,
    b: &RepoLocation,
) -> SvnResult<Option<RepoLocation>> {
    if a.root != b.root {
        return Ok(None);
    }
    Ok(History::of(session, a)?.meet(&History::of(session, b)?))
}

fn as_mergeinfo(segments: &[Segment]) -> Mergeinfo {
    let mut found: BTreeMap<String, RangeList> = BTreeMap::new();
    for segment in segments {
        let Some(relpath) = &segment.path else { continue };
        if segment.end == Revnum::ZERO {
            continue;
        }
        found.entry(path::canonical_fspath(relpath).into_owned()).or_default().0.push(MergeRange {
            start: segment.start.0.saturating_sub(1),
            end: segment.end.0,
            inheritable: true,
        });
    }
    Mergeinfo(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history(relpath: &RelPath, revision: u64, mergeinfo: &[u8], from_zero: bool) -> History {
        let tip = RepoLocation {
            root: sapwood_core::Url::new("file:///r").unwrap().to_owned(),
            uuid: "u".to_owned(),
            relpath: relpath.to_owned(),
            revision,
        };
        History { tip, mergeinfo: Mergeinfo::parse(mergeinfo).unwrap(), from_zero }
    }

    #[test]
    fn histories_meet_where_one_was_copied_from() {
        let trunk = history(RelPath::trusted("trunk"), 9, b"/trunk:2-9", false);
        let branch = history(RelPath::trusted("branch"), 8, b"/trunk:2-4\n/branch:5-8", false);
        let met = trunk.meet(&branch).unwrap();
        assert_eq!((met.relpath.as_str(), met.revision), ("trunk", 4));
        assert_eq!(branch.at(4).unwrap().relpath, "trunk");
        assert_eq!(branch.at(1), None);
    }

    #[test]
    fn the_common_ancestor_of_two_branches_takes_two_questions() {
        use sapwood_ra::session::SessionInfo as _;

        let session = crate::testing::Script::default()
            .revision(&["A /trunk"])
            .revision(&["A /one /trunk@1"])
            .revision(&["M /trunk"])
            .revision(&["A /two /trunk@3"])
            .open();
        let at = |path: &str, revision| RepoLocation {
            root: session.root_url(),
            uuid: session.uuid(),
            relpath: RelPathBuf::canonicalize(path),
            revision,
        };
        let met = common_ancestor(session.as_ref(), &at("one", 4), &at("two", 4)).unwrap().unwrap();
        assert_eq!((met.relpath.as_str(), met.revision), ("trunk", 1));
        // The session goes to each of them, and back.
        assert_eq!(session.take_questions(), [("location_segments", 2), ("reparent", 4)]);
        let lines = Lines::default();
        for (youngest, oldest) in [(4, 0), (4, 2), (2, 1)] {
            lines.segments(session.as_ref(), &at("two", 4), youngest, oldest).unwrap();
        }
        assert_eq!(session.take_questions(), [("location_segments", 1), ("reparent", 2)]);
        let there = location(session.as_ref(), &at("two", 4), 2).unwrap();
        assert_eq!((there.relpath.as_str(), there.revision), ("trunk", 2));
        let error = location(session.as_ref(), &at("two", 4), 0).unwrap_err();
        assert_eq!(error.code(), ErrorCode::CLIENT_UNRELATED_RESOURCES);
    }

    #[test]
    fn roots_meet_in_revision_0_at_least() {
        let (a, b) = (
            history(RelPath::trusted("a"), 3, b"/a:3", false),
            history(RelPath::trusted("b"), 3, b"/b:3", true),
        );
        assert!(a.meet(&b).is_none());
        let both = history(RelPath::trusted("a"), 3, b"/a:3", true).meet(&b).unwrap();
        assert_eq!((both.relpath.as_str(), both.revision), ("", 0));
    }
}
