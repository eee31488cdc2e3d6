//! Which questions reach the session behind a cache.

use std::rc::Rc;

use sapwood_core::mergeinfo::Mergeinfo;
use sapwood_core::paths::{FsPathBuf, RelPath, RelPathBuf};
use sapwood_core::{Revnum, RevpropSelection, Segment};
use sapwood_ra::Session;
use sapwood_ra::session::{LogEntry, LogRequest, MergeinfoRequest};

use super::SessionWithCache;
use super::answers::{History, LIMIT, clipped};
use crate::testing::{Script, ScriptedSession, UUID};

#[test]
fn a_part_of_a_line() {
    let segment = |start, end, path: Option<&str>| Segment {
        start: Revnum(start),
        end: Revnum(end),
        path: path.map(RelPathBuf::canonicalize),
    };
    let line = [segment(1, 5, Some("a")), segment(6, 9, None), segment(10, 20, Some("b"))];
    assert_eq!(clipped(&line, 20, 1), line);
    assert_eq!(
        clipped(&line, 12, 4),
        [segment(4, 5, Some("a")), segment(6, 9, None), segment(10, 12, Some("b"))]
    );
    assert_eq!(clipped(&line, 8, 7), [segment(7, 8, None)]);
    assert_eq!(clipped(&line, 30, 21), []);
}

/// A trunk with a branch, which is behind a cache.
fn branched() -> (Rc<ScriptedSession>, Rc<dyn Session>) {
    let script = Script::default()
        .revision(&["A /trunk"])
        .revision(&["M /trunk"])
        .revision(&["A /branch /trunk@1"])
        .revision(&["M /branch"])
        .mergeinfo("branch", "/trunk:2");
    let asked = script.open();
    let inner: Rc<dyn Session> = Rc::<ScriptedSession>::clone(&asked);
    (asked, SessionWithCache::wrap(inner, &History::new(UUID), None))
}

#[test]
fn what_a_node_was_is_asked_once() {
    let (asked, session) = branched();
    let branch = RelPath::trusted("branch");
    for _ in 0..2 {
        assert!(session.check_path(branch, Some(Revnum(4))).unwrap().is_some());
        assert!(session.check_path(branch, Some(Revnum(2))).unwrap().is_none());
        assert_eq!(session.deleted_rev(branch, Revnum(3), Revnum(4)).unwrap(), None);
        let places = session.locations(branch, Revnum(4), &[Revnum(1), Revnum(2)]).unwrap();
        assert_eq!(places, [(Revnum(1), FsPathBuf::canonicalize("/trunk"))]);
    }
    let once = [("check_path", 2), ("deleted_rev", 1), ("locations", 1)];
    assert_eq!(asked.take_questions(), once);
    // The youngest revision may be another one the next time.
    for _ in 0..2 {
        session.check_path(branch, None).unwrap();
    }
    assert_eq!(asked.take_questions(), [("check_path", 2)]);
}

#[test]
fn a_line_says_what_its_parts_are() {
    let (asked, session) = branched();
    let line = |path: &str, peg: u64, (youngest, oldest): (u64, u64)| {
        let mut found = Vec::new();
        let (path, revision) = (RelPath::trusted(path), |number| Some(Revnum(number)));
        let mut take = |segment: &Segment| {
            let path = segment.path.as_ref().map(ToString::to_string);
            found.push((segment.start.0, segment.end.0, path));
            Ok(())
        };
        let (peg, from, to) = (revision(peg), revision(youngest), revision(oldest));
        session.location_segments(path, peg, from, to, &mut take).unwrap();
        found
    };
    let at = |path: &str| Some(path.to_owned());
    let whole = [(3, 4, at("branch")), (2, 2, None), (1, 1, at("trunk"))];
    assert_eq!(line("branch", 4, (4, 0)), whole);
    assert_eq!(line("branch", 4, (3, 2)), [(3, 3, at("branch")), (2, 2, None)]);
    assert_eq!(line("trunk", 1, (1, 0)), [(1, 1, at("trunk"))]);
    assert_eq!(asked.take_questions(), [("location_segments", 1)]);
    // Of the trunk's later revisions the branch knows nothing.
    assert_eq!(line("trunk", 2, (2, 0)), [(1, 2, at("trunk"))]);
    assert_eq!(asked.take_questions(), [("location_segments", 1)]);
}

#[test]
fn a_log_that_was_enough_is_cached_whole() {
    let (asked, session) = branched();
    let names = RevpropSelection::Names(&[]);
    let request = LogRequest::whole(&[RelPath::ROOT], (1, 4), names);
    let mut seen = Vec::new();
    let enough = session.log(&request, &mut |entry| {
        seen.push(entry.revision);
        let code = sapwood_core::ErrorCode::CEASE_INVOCATION;
        Err(sapwood_core::SvnError::new(code, ""))
    });
    assert!(enough.unwrap_err().is_ceased());
    let mut all = |entry: &LogEntry<'_>| {
        seen.push(entry.revision);
        Ok(())
    };
    session.log(&request, &mut all).unwrap();
    assert_eq!(seen, [1, 1, 2, 3, 4].map(|revision| Some(Revnum(revision))));
    assert_eq!(asked.take_questions(), [("log", 1)]);
}

#[test]
fn a_move_that_would_be_a_request_is_a_longer_path() {
    let (asked, session) = branched();
    let branch = session.root_url().join(RelPath::trusted("branch"));
    session.reparent(&branch).unwrap();
    assert!(session.check_path(RelPath::ROOT, Some(Revnum(4))).unwrap().is_some());
    let request = MergeinfoRequest {
        paths: &[RelPath::ROOT],
        revision: Some(Revnum(4)),
        inherit: sapwood_core::Inherit::Explicit,
        include_descendants: false,
    };
    let found = sapwood_ra::History::mergeinfo(session.as_ref(), &request).unwrap();
    assert_eq!(found, [(RelPathBuf::default(), Mergeinfo::parse(b"/trunk:2").unwrap())]);
    assert_eq!(asked.take_questions(), [("check_path", 1), ("mergeinfo", 1)]);
}

#[test]
fn the_number_of_values_is_bounded() {
    let history = History::new("one");
    assert!(history.is_of("one") && !history.is_of("two"));
    assert!(history.takes(3));
    assert!(!history.takes(LIMIT));
    assert!(history.takes(LIMIT - 5) && !history.takes(0));
}
