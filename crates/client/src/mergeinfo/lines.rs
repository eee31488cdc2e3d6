//! The histories of many nodes, read from one log instead of requested one by one.
//!
//! A log across copies that names several nodes has each revision that changed one of them, and the copies and additions of
//! their parents: the changed paths show where each node was. What a log does not follow to
//! the end (it is limited: nodes that changed often are requested singly, which takes the server a moment each)
//! stays unknown.

use std::collections::HashMap;

use sapwood_core::exact::Exact;
use sapwood_core::paths::{FsPath, RelPath, RelPathBuf};
use sapwood_core::{Revnum, RevpropSelection, Segment, SvnResult};
use sapwood_ra::Session;
use sapwood_ra::session::{LogChange, LogRequest};

use super::place::{RepoLocation, visit};
use crate::caching_session::History;

/// The least number of nodes for one log; fewer are requested one by one.
const FEW: usize = 8;
/// The average number of revisions that are sent for each node.
const REVISIONS: usize = 8;

/// Whether a change puts a node where none of its past was.
const fn makes(change: &LogChange<'_>) -> bool {
    matches!(change.action, b'A' | b'R')
}

/// The changes of a revision that make something: by path, and where it was copied from.
type AddedPaths<'c> = HashMap<&'c RelPath, Option<(&'c FsPath, Revnum)>>;

fn added_paths<'c>(changes: &[LogChange<'c>]) -> AddedPaths<'c> {
    let made = changes.iter().filter(|change| makes(change));
    made.map(|change| (change.path.to_relpath(), change.copy_from)).collect()
}

/// A node on the way back through its past.
#[derive(Debug)]
struct Walk {
    place: RepoLocation,
    /// Where it was, and until which revision.
    at: RelPathBuf,
    until: Revnum,
    segments: Vec<Segment>,
    begun: bool,
}

impl Walk {
    fn new(place: RepoLocation) -> Self {
        let (at, until) = (place.relpath.clone(), Revnum(place.revision));
        Self { place, at, until, segments: Vec::new(), begun: false }
    }

    /// What of a revision's changes is the last word on the node: that of the nearest path.
    fn see(&mut self, revision: Revnum, made: &AddedPaths<'_>) {
        if self.begun || revision > self.until {
            return;
        }
        let mut above = self.at.as_path();
        let from = loop {
            if let Some(from) = made.get(above) {
                break *from;
            }
            if above.is_empty() {
                return;
            }
            above = above.parent();
        };
        let Some(below) = self.at.below(above).map(RelPath::to_owned) else { return };
        let path = Some(self.at.clone());
        self.segments.push(Segment { start: revision, end: self.until, path });
        match from {
            Some((path, source)) => {
                self.at = path.to_relpath().join(&below);
                if source.0.plus(1) < revision.0 {
                    let (start, end) = (Revnum(source.0.plus(1)), Revnum(revision.0.minus(1)));
                    self.segments.push(Segment { start, end, path: None });
                }
                self.until = source;
            }
            None => self.begun = true,
        }
    }
}

/// Adds to a cache the whole histories of locations that are all in the repository, in one revision, as far as a log
/// covers them. A gap is not an error.
///
/// # Errors
/// When the session cannot be moved.
pub(crate) fn learn(
    session: &dyn Session,
    history: &History,
    places: &[RepoLocation],
) -> SvnResult<()> {
    let Some(first) = places.first().filter(|_| places.len() >= FEW) else { return Ok(()) };
    let mut walks: Vec<Walk> = places.iter().cloned().map(Walk::new).collect();
    let paths: Vec<&RelPath> = places.iter().map(|place| place.relpath.as_path()).collect();
    let whole = LogRequest::whole(&paths, (first.revision, 1), RevpropSelection::Names(&[]));
    let limit = sapwood_core::exact::len64(places.len().times(REVISIONS));
    let request = LogRequest { changed_paths: true, limit, ..whole };
    visit(session, &first.root, || {
        let result = session.log(&request, &mut |entry| {
            // Where nothing was made nothing is looked at, however many nodes there are.
            let made = added_paths(&entry.changes);
            if let Some(revision) = entry.revision.filter(|_| !made.is_empty()) {
                walks.iter_mut().for_each(|walk| walk.see(revision, &made));
            }
            Ok(())
        });
        // Then each node says itself what is wrong with it.
        if result.is_err() {
            walks.clear();
        }
        Ok(())
    })?;
    for Walk { place, segments, .. } in walks.into_iter().filter(|walk| walk.begun) {
        history.know_line(&place.relpath, Revnum(place.revision), segments);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use sapwood_core::Url;

    fn change<'c>(path: &'c str, action: u8, from: Option<(&'c str, u64)>) -> LogChange<'c> {
        LogChange {
            path: FsPath::trusted(path),
            action,
            copy_from: from.map(|(path, revision)| (FsPath::trusted(path), Revnum(revision))),
            kind: None,
            text_mod: false,
            prop_mod: false,
        }
    }

    fn walk(at: &RelPath) -> Walk {
        Walk::new(RepoLocation {
            root: Url::new("file:///r").unwrap().to_owned(),
            uuid: "u".to_owned(),
            relpath: at.to_owned(),
            revision: 9,
        })
    }

    fn shown(walk: &Walk) -> Vec<String> {
        let segments = walk.segments.iter();
        segments
            .map(|s| format!("{}-{} {}", s.start, s.end, s.path.as_deref().map_or("", |p| p)))
            .collect()
    }

    #[test]
    fn the_nearest_copy_counts() {
        let mut node = walk(RelPath::trusted("b/d/f"));
        let see = |node: &mut Walk, revision, changes: &[LogChange<'_>]| {
            node.see(Revnum(revision), &added_paths(changes));
        };
        see(&mut node, 9, &[change("/b/d/f", b'M', None), change("/b/d2", b'A', None)]);
        let both = [change("/b", b'A', Some(("/t", 3))), change("/b/d", b'R', Some(("/u/e", 5)))];
        see(&mut node, 7, &both);
        assert_eq!(node.at.as_str(), "u/e/f");
        // Not on its line any more.
        see(&mut node, 6, &[change("/u/e/f", b'R', None)]);
        see(&mut node, 4, &[change("/b/d/f", b'A', None)]);
        assert!(!node.begun);
        see(&mut node, 2, &[change("/u/e/f", b'A', None), change("/u/e", b'A', None)]);
        assert!(node.begun);
        assert_eq!(shown(&node), ["7-9 b/d/f", "6-6 ", "2-5 u/e/f"]);
        see(&mut node, 1, &[change("/u", b'A', None)]);
        assert_eq!(node.segments.len(), 3);
    }
}
