//! A session that asks each question about the past once: what a node is and was, which revisions changed
//! it, and what was merged into it. The answers are kept in memory until the command ends.
//!
//! Only questions that name their revisions are answered from the cache, and of logs only those without revision
//! properties, except for the author, which is shown beside conflicts. Errors are not cached. The cache is of one
//! repository.

use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::{Rc, Weak};

use sapwood_core::date::Timestamp;
use sapwood_core::mergeinfo::Mergeinfo;
use sapwood_core::paths::{FsPath, FsPathBuf, RelPath, RelPathBuf, Url, UrlBuf};
use sapwood_core::props::names;
use sapwood_core::{
    Depth, Exact as _, Lock, NodeKind, PropList, Revnum, RevpropSelection, Segment, SvnResult,
};
use sapwood_delta::Editor;
use sapwood_ra::session::{
    CommitEditor, CommitRequest, Commits, Edits, FetchedDir, FetchedFile, FileReceiver,
    FileRevReceiver, FileRevsRequest, Files, HeadNode, InheritedProps, ListRequest, LockReceiver,
    Locks, LogChange, LogEntry, LogRequest, MergeinfoRequest, Nodes, ReplayReceiver, ReplayRequest,
    Report, ReportRequest, Revisions, RevpropChange, SessionInfo,
};
use sapwood_ra::{Capability, Dirent, DirentFields, Session, Settings};

use sapwood_wc::WorkingCopy;

use crate::shared_session::{SessionGuard, SessionHandle, SharedSession};

/// The most values that are cached: paths of logs, locations and lists.
const LIMIT: usize = 200_000;

/// One changed path of a log.
#[derive(Clone, Debug)]
struct Change {
    path: FsPathBuf,
    action: u8,
    copy_from: Option<(FsPathBuf, u64)>,
    kind: Option<NodeKind>,
    text_mod: bool,
    prop_mod: bool,
}

/// One revision of a log.
#[derive(Clone, Debug)]
struct Entry {
    revision: Option<Revnum>,
    changes: Vec<Change>,
    revprops: Vec<(String, Vec<u8>)>,
}

/// The history of a node between two revisions.
#[derive(Clone, Debug)]
struct Past {
    youngest: u64,
    oldest: u64,
    segments: Vec<Segment>,
}

/// The cached answers.
#[derive(Clone, Debug, Default)]
struct Answers {
    uuid: String,
    lines: HashMap<String, Vec<Past>>,
    kinds: HashMap<String, Option<NodeKind>>,
    places: HashMap<String, Vec<(Revnum, FsPathBuf)>>,
    deletions: HashMap<String, Option<Revnum>>,
    mergeinfo: HashMap<String, Vec<(RelPathBuf, Mergeinfo)>>,
    logs: HashMap<String, Vec<Entry>>,
}

/// The cached answers of a repository, for any number of sessions.
#[derive(Debug)]
pub(crate) struct History {
    answers: RefCell<Answers>,
    /// The number of cached values.
    size: std::cell::Cell<usize>,
    /// The last session that was opened.
    line: RefCell<Weak<SharedSession>>,
}

impl History {
    /// An empty cache for the repository of this UUID.
    pub(crate) fn new(uuid: &str) -> Rc<Self> {
        Rc::new(Self {
            answers: RefCell::new(Answers { uuid: uuid.to_owned(), ..Answers::default() }),
            size: std::cell::Cell::default(),
            line: RefCell::default(),
        })
    }

    /// Whether it is of the repository of this UUID.
    pub(crate) fn is_of(&self, uuid: &str) -> bool {
        self.answers.borrow().uuid == uuid
    }

    /// Adds the history of a location from its revision back to its beginning, the youngest part
    /// first, which another source gave.
    pub(crate) fn know_line(&self, relpath: &RelPath, peg: Revnum, segments: Vec<Segment>) {
        if self.takes(segments.len()) {
            let line = Past { youngest: peg.0, oldest: 0, segments };
            self.answers.borrow_mut().lines.entry(line_key(relpath, peg)).or_default().push(line);
        }
    }

    /// Whether an answer with `count` values is cached.
    fn takes(&self, count: usize) -> bool {
        let size = self.size.get().plus(count).plus(1);
        if size > LIMIT {
            return false;
        }
        self.size.set(size);
        true
    }
}

/// The part of a line between two revisions.
pub(crate) fn clipped(segments: &[Segment], youngest: u64, oldest: u64) -> Vec<Segment> {
    let within =
        segments.iter().filter(|segment| segment.start.0 <= youngest && segment.end.0 >= oldest);
    within
        .map(|segment| Segment {
            start: segment.start.max(Revnum(oldest)),
            end: segment.end.min(Revnum(youngest)),
            path: segment.path.clone(),
        })
        .collect()
}

/// The cache key of a location's history.
fn line_key(relpath: &RelPath, peg: Revnum) -> String {
    format!("{relpath}@{peg}")
}

/// A session with a cache. It moves to another URL when it has a question there. Meanwhile the working copy's
/// database is not locked against other programs.
pub(crate) struct SessionWithCache {
    inner: SessionHandle,
    history: Rc<History>,
    wc: Option<WorkingCopy>,
    root: UrlBuf,
    url: RefCell<UrlBuf>,
}

impl SessionWithCache {
    /// A session that shares a cache, if the cache is of its repository.
    pub(crate) fn wrap(
        inner: Rc<dyn Session>,
        history: &Rc<History>,
        wc: Option<&WorkingCopy>,
    ) -> Rc<dyn Session> {
        if !history.is_of(&inner.uuid()) {
            return inner;
        }
        let url = inner.url();
        Self::at(inner, url, history, wc)
    }

    /// A session that is at `url`, although its inner session is above it, in the repository of the cache.
    pub(crate) fn at(
        inner: Rc<dyn Session>,
        url: UrlBuf,
        history: &Rc<History>,
        wc: Option<&WorkingCopy>,
    ) -> Rc<dyn Session> {
        let (root, url) = (inner.root_url(), RefCell::new(url));
        let inner = SessionHandle::one(inner);
        *history.line.borrow_mut() = Rc::downgrade(inner.line());
        Rc::new(Self { inner, history: Rc::clone(history), wc: wc.cloned(), root, url })
    }

    /// A second session beside the one that was opened last. It shares that one's connection while it is idle.
    /// `None` without such a session, or when the URL is elsewhere.
    pub(crate) fn second(
        url: &Url,
        settings: &Settings,
        history: &Rc<History>,
        wc: Option<&WorkingCopy>,
    ) -> Option<Rc<dyn Session>> {
        let line = history.line.borrow().upgrade()?;
        let inner = SessionHandle::second(line, settings);
        let root = inner.any().root_url();
        url.below(&root)?;
        let url = RefCell::new(url.to_owned());
        Some(Rc::new(Self { inner, history: Rc::clone(history), wc: wc.cloned(), root, url }))
    }

    /// Whether the session that was opened last is one for which a move is a request, and above a URL.
    pub(crate) fn is_above(url: &Url, history: &History) -> bool {
        let line = history.line.borrow().upgrade();
        line.is_some_and(|line| {
            let has = line.url();
            is_svn(&has) && url.below(&has).is_some_and(|below| !below.is_empty())
        })
    }

    /// A path of the session as the repository has it.
    fn whole(&self, at: &RelPath) -> Option<RelPathBuf> {
        Some(self.url.borrow().below(&self.root)?.join(at))
    }

    /// The session itself, where it is to be.
    fn there(&self) -> SvnResult<SessionGuard<'_>> {
        let (taken, below) = self.near(RelPath::ROOT)?;
        if !below.is_empty() {
            taken.reparent(&self.url.borrow())?;
        }
        Ok(taken)
    }

    /// The session itself, perhaps further up, and the path from there.
    fn near(&self, at: &RelPath) -> SvnResult<(SessionGuard<'_>, RelPathBuf)> {
        if let Some(wc) = &self.wc {
            wc.db().let_go()?;
        }
        let url = self.url.borrow();
        let taken = self.inner.take(&url)?;
        let has = taken.url();
        if has == *url {
            return Ok((taken, at.to_owned()));
        }
        // An svn server gets a longer path, since a move would cost a request; others move for free.
        if is_svn(&self.root)
            && let Some(below) = url.below(&has)
        {
            return Ok((taken, below.join(at)));
        }
        taken.reparent(&url)?;
        Ok((taken, at.to_owned()))
    }

    /// Keeps that what is in a segment now was on this line.
    fn know_parts(&self, oldest: u64, segments: &[Segment]) {
        for segment in segments {
            let Some(path) = &segment.path else { continue };
            let youngest = segment.end.0;
            let part = clipped(segments, youngest, oldest);
            if youngest >= oldest && self.history.takes(part.len()) {
                let key = line_key(path, segment.end);
                let line = Past { youngest, oldest, segments: part };
                self.history.answers.borrow_mut().lines.entry(key).or_default().push(line);
            }
        }
    }
}

/// Paths, as they are seen from further up.
fn joined(above: &RelPath, paths: &[&RelPath]) -> Vec<RelPathBuf> {
    paths.iter().map(|at| above.join(at)).collect()
}

/// Whether a URL is one of the protocol in which each move of a session is a request.
pub(crate) fn is_svn(url: &Url) -> bool {
    url.starts_with("svn:") || url.starts_with("svn+")
}

/// The answer to a question in one of the maps, requested when it is not cached.
macro_rules! once {
    ($this:expr, $map:ident, $key:expr, $ask:expr, $size:expr) => {{
        let key: String = $key;
        if let Some(known) = $this.history.answers.borrow().$map.get(&key) {
            return Ok(known.clone());
        }
        let answer = $ask?;
        let size: usize = $size(&answer);
        if $this.history.takes(size) {
            $this.history.answers.borrow_mut().$map.insert(key, answer.clone());
        }
        Ok(answer)
    }};
}

fn replay_entries(
    entries: &[Entry],
    receiver: &mut dyn FnMut(&LogEntry<'_>) -> SvnResult<()>,
) -> SvnResult<()> {
    for entry in entries {
        let changes = entry.changes.iter().map(|change| LogChange {
            path: &change.path,
            action: change.action,
            copy_from: change.copy_from.as_ref().map(|(from, at)| (from.as_path(), Revnum(*at))),
            kind: change.kind,
            text_mod: change.text_mod,
            prop_mod: change.prop_mod,
        });
        receiver(&LogEntry {
            revision: entry.revision,
            has_children: false,
            subtractive_merge: false,
            changes: changes.collect(),
            revprops: entry.revprops.iter().map(|(n, v)| (n.as_str(), v.as_slice())).collect(),
        })?;
    }
    Ok(())
}

fn to_entry(entry: &LogEntry<'_>) -> Entry {
    let changes = entry.changes.iter().map(|change| Change {
        path: change.path.to_owned(),
        action: change.action,
        copy_from: change.copy_from.map(|(from, at)| (from.to_owned(), at.0)),
        kind: change.kind,
        text_mod: change.text_mod,
        prop_mod: change.prop_mod,
    });
    let revprops = entry.revprops.iter().map(|(name, v)| ((*name).to_owned(), v.to_vec()));
    Entry { revision: entry.revision, changes: changes.collect(), revprops: revprops.collect() }
}

impl SessionInfo for SessionWithCache {
    fn url(&self) -> UrlBuf {
        self.url.borrow().clone()
    }

    fn root_url(&self) -> UrlBuf {
        self.root.clone()
    }

    fn uuid(&self) -> String {
        self.inner.any().uuid()
    }

    fn has_capability(&self, capability: Capability) -> SvnResult<bool> {
        self.inner.any().has_capability(capability)
    }

    fn bytes_transferred(&self) -> u64 {
        match &self.inner {
            SessionHandle::One(_) => self.inner.any().bytes_transferred(),
            SessionHandle::Second { own, .. } => own.get().map_or(0, |own| own.bytes_transferred()),
        }
    }

    fn reparent(&self, url: &Url) -> SvnResult<()> {
        if url.below(&self.root).is_none() {
            return self.inner.take(url)?.reparent(url);
        }
        *self.url.borrow_mut() = url.to_owned();
        Ok(())
    }
}

impl Revisions for SessionWithCache {
    fn latest_revnum(&self) -> SvnResult<Revnum> {
        self.near(RelPath::ROOT)?.0.latest_revnum()
    }

    fn dated_revision(&self, time: Timestamp) -> SvnResult<Revnum> {
        self.near(RelPath::ROOT)?.0.dated_revision(time)
    }

    fn rev_proplist(&self, revision: Revnum) -> SvnResult<PropList> {
        self.near(RelPath::ROOT)?.0.rev_proplist(revision)
    }

    fn rev_prop(&self, revision: Revnum, name: &str) -> SvnResult<Option<Vec<u8>>> {
        self.near(RelPath::ROOT)?.0.rev_prop(revision, name)
    }

    fn change_rev_prop(&self, change: &RevpropChange<'_>) -> SvnResult<()> {
        self.near(RelPath::ROOT)?.0.change_rev_prop(change)
    }
}

impl Nodes for SessionWithCache {
    fn check_path(&self, at: &RelPath, revision: Option<Revnum>) -> SvnResult<Option<NodeKind>> {
        let (Some(whole), Some(revision)) = (self.whole(at), revision) else {
            let (near, at) = self.near(at)?;
            return near.check_path(&at, revision);
        };
        once!(
            self,
            kinds,
            format!("{whole}@{revision}"),
            self.near(at).and_then(|(near, at)| near.check_path(&at, Some(revision))),
            |_: &_| 1
        )
    }

    fn stat(&self, at: &RelPath, revision: Option<Revnum>) -> SvnResult<Option<Dirent>> {
        self.there()?.stat(at, revision)
    }

    fn stat_head(&self, at: &RelPath) -> SvnResult<HeadNode> {
        self.there()?.stat_head(at)
    }

    fn get_dir(
        &self,
        at: &RelPath,
        revision: Option<Revnum>,
        entries: Option<DirentFields>,
        want_props: bool,
    ) -> SvnResult<FetchedDir> {
        self.there()?.get_dir(at, revision, entries, want_props)
    }

    fn list(
        &self,
        request: &ListRequest<'_>,
        receiver: &mut dyn FnMut(&FsPath, &Dirent) -> SvnResult<()>,
    ) -> SvnResult<()> {
        self.there()?.list(request, receiver)
    }

    fn inherited_props(&self, at: &RelPath, revision: Option<Revnum>) -> SvnResult<InheritedProps> {
        self.there()?.inherited_props(at, revision)
    }
}

impl Files for SessionWithCache {
    fn file_head(
        &self,
        at: &RelPath,
        revision: Option<Revnum>,
        want_props: bool,
    ) -> SvnResult<FetchedFile> {
        self.there()?.file_head(at, revision, want_props)
    }

    fn read_file(
        &self,
        at: &RelPath,
        revision: Option<Revnum>,
        want_props: bool,
        receiver: &mut dyn FileReceiver,
    ) -> SvnResult<()> {
        self.there()?.read_file(at, revision, want_props, receiver)
    }
}

impl sapwood_ra::History for SessionWithCache {
    fn mergeinfo(&self, request: &MergeinfoRequest<'_>) -> SvnResult<Vec<(RelPathBuf, Mergeinfo)>> {
        let (Some(base), Some(revision)) = (self.whole(RelPath::ROOT), request.revision) else {
            return self.there()?.mergeinfo(request);
        };
        let &MergeinfoRequest { paths, inherit, include_descendants, .. } = request;
        once!(
            self,
            mergeinfo,
            // What comes back are paths below the session's.
            format!("{base} {paths:?}@{revision} {inherit:?} {include_descendants}"),
            self.near(RelPath::ROOT).and_then(|(near, above)| {
                let paths = joined(&above, paths);
                let paths: Vec<&RelPath> = paths.iter().map(RelPathBuf::as_path).collect();
                let found = near.mergeinfo(&MergeinfoRequest { paths: &paths, ..*request })?;
                let own = |(at, value): (RelPathBuf, Mergeinfo)| {
                    at.below(&above).map(|below| (below.to_owned(), value))
                };
                Ok(found.into_iter().filter_map(own).collect())
            }),
            |found: &Vec<(RelPathBuf, Mergeinfo)>| {
                found.iter().map(|(_, mergeinfo)| mergeinfo.0.len()).sum()
            }
        )
    }

    fn log(
        &self,
        request: &LogRequest<'_>,
        receiver: &mut dyn FnMut(&LogEntry<'_>) -> SvnResult<()>,
    ) -> SvnResult<()> {
        let author_only = |names: &[&str]| names.iter().all(|name| *name == names::AUTHOR);
        let plain = matches!(request.revprops, RevpropSelection::Names(list) if author_only(list))
            && !request.include_merged_revisions;
        let (Some(base), Some(start), Some(end), true) =
            (self.whole(RelPath::ROOT), request.start, request.end, plain)
        else {
            return self.there()?.log(request, receiver);
        };
        let LogRequest { paths, limit, changed_paths, strict_node_history, .. } = request;
        let paths = joined(&base, paths);
        let with = request.revprops;
        let key = format!(
            "{paths:?} {start}:{end} {limit} {changed_paths} {strict_node_history} {with:?}"
        );
        let known = self.history.answers.borrow().logs.get(&key).cloned();
        if let Some(known) = known {
            return replay_entries(&known, receiver);
        }
        let (mut entries, mut count) = (Some(Vec::new()), 0usize);
        let mut enough = None;
        let (near, above) = self.near(RelPath::ROOT)?;
        let below = joined(&above, request.paths);
        let below: Vec<&RelPath> = below.iter().map(RelPathBuf::as_path).collect();
        let asked = LogRequest { paths: &below, ..*request };
        near.log(&asked, &mut |entry| {
            count = count.plus(entry.changes.len()).plus(1);
            match &mut entries {
                Some(all) if count <= LIMIT => all.push(to_entry(entry)),
                all => *all = None,
            }
            if enough.is_some() {
                return Ok(());
            }
            match receiver(entry) {
                // The rest comes anyhow, and another question may be about it.
                Err(error) if error.is_ceased() => {
                    enough = Some(error);
                    Ok(())
                }
                other => other,
            }
        })?;
        if let Some(entries) = entries.filter(|_| self.history.takes(count)) {
            self.history.answers.borrow_mut().logs.insert(key, entries);
        }
        enough.map_or(Ok(()), Err)
    }

    fn locations(
        &self,
        at: &RelPath,
        peg: Revnum,
        revisions: &[Revnum],
    ) -> SvnResult<Vec<(Revnum, FsPathBuf)>> {
        let Some(whole) = self.whole(at) else {
            return self.there()?.locations(at, peg, revisions);
        };
        once!(
            self,
            places,
            format!("{whole}@{peg} {revisions:?}"),
            self.near(at).and_then(|(near, at)| near.locations(&at, peg, revisions)),
            Vec::len
        )
    }

    fn location_segments(
        &self,
        at: &RelPath,
        peg: Option<Revnum>,
        start: Option<Revnum>,
        end: Option<Revnum>,
        receiver: &mut dyn FnMut(&Segment) -> SvnResult<()>,
    ) -> SvnResult<()> {
        let (Some(whole), Some(Revnum(youngest)), Some(Revnum(oldest))) =
            (self.whole(at), start, end)
        else {
            return self.there()?.location_segments(at, peg, start, end, receiver);
        };
        let key = peg.map(|peg| line_key(&whole, peg));
        if let Some(key) = &key {
            let known = self.history.answers.borrow().lines.get(key).and_then(|lines| {
                let line =
                    lines.iter().find(|line| line.oldest <= oldest && youngest <= line.youngest)?;
                Some(clipped(&line.segments, youngest, oldest))
            });
            if let Some(known) = known {
                return known.iter().try_for_each(receiver);
            }
        }
        let mut segments = Vec::new();
        let (near, at) = self.near(at)?;
        near.location_segments(&at, peg, start, end, &mut |segment| {
            segments.push(segment.clone());
            receiver(segment)
        })?;
        drop(near);
        self.know_parts(oldest, &segments);
        if let Some(key) = key.filter(|_| self.history.takes(segments.len())) {
            let line = Past { youngest, oldest, segments };
            self.history.answers.borrow_mut().lines.entry(key).or_default().push(line);
        }
        Ok(())
    }

    fn deleted_rev(&self, at: &RelPath, peg: Revnum, end: Revnum) -> SvnResult<Option<Revnum>> {
        let Some(whole) = self.whole(at) else { return self.there()?.deleted_rev(at, peg, end) };
        once!(
            self,
            deletions,
            format!("{whole}@{peg} {end}"),
            self.near(at).and_then(|(near, at)| near.deleted_rev(&at, peg, end)),
            |_: &_| 1
        )
    }

    fn file_revs(
        &self,
        request: &FileRevsRequest<'_>,
        receiver: &mut dyn FileRevReceiver,
    ) -> SvnResult<()> {
        self.there()?.file_revs(request, receiver)
    }
}

impl Locks for SessionWithCache {
    fn get_lock(&self, at: &RelPath) -> SvnResult<Option<Lock>> {
        self.there()?.get_lock(at)
    }

    fn get_locks(&self, at: &RelPath, depth: Depth) -> SvnResult<Vec<Lock>> {
        self.there()?.get_locks(at, depth)
    }

    fn lock(
        &self,
        paths: &[(RelPathBuf, Option<Revnum>)],
        comment: Option<&str>,
        steal: bool,
        outcome: LockReceiver<'_, Lock>,
    ) -> SvnResult<()> {
        self.there()?.lock(paths, comment, steal, outcome)
    }

    fn unlock(
        &self,
        paths: &[(RelPathBuf, Option<String>)],
        break_lock: bool,
        outcome: LockReceiver<'_, ()>,
    ) -> SvnResult<()> {
        self.there()?.unlock(paths, break_lock, outcome)
    }
}

impl Edits for SessionWithCache {
    fn report<'s>(
        &'s self,
        request: &ReportRequest<'_>,
        editor: &'s mut dyn Editor,
    ) -> SvnResult<Box<dyn Report + 's>> {
        self.there()?.keep(|session| session.report(request, editor))
    }

    fn replay(
        &self,
        revision: Revnum,
        request: &ReplayRequest,
        editor: &mut dyn Editor,
    ) -> SvnResult<()> {
        self.there()?.replay(revision, request, editor)
    }

    fn replay_range(
        &self,
        start: Revnum,
        end: Revnum,
        request: &ReplayRequest,
        receiver: &mut dyn ReplayReceiver,
    ) -> SvnResult<()> {
        self.there()?.replay_range(start, end, request, receiver)
    }
}

impl Commits for SessionWithCache {
    fn commit<'s>(&'s self, request: &CommitRequest<'_>) -> SvnResult<Box<dyn CommitEditor + 's>> {
        self.there()?.session().commit(request)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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

    use crate::testing::{Script, ScriptedSession, UUID};

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
}
