//! A scripted repository behind the traits of a session, for tests of rules by calls: it counts the questions that it is
//! asked, so that a test can hold how many a rule needs.
//!
//! A script is a list of changed paths for each revision, and mergeinfo. What nodes there are and were follows from that.
//! Texts, locks, edits and commits are not scripted: such a question is an error.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use sapwood_core::date::Timestamp;
use sapwood_core::mergeinfo::Mergeinfo;
use sapwood_core::paths::{FsPath, FsPathBuf, RelPath, RelPathBuf, Url, UrlBuf};
use sapwood_core::{
    Depth, ErrorCode, Exact as _, Lock, NodeKind, PropList, Revnum, Segment, SvnError, SvnResult,
};
use sapwood_delta::Editor;
use sapwood_ra::session::{
    CommitEditor, CommitRequest, Commits, Edits, EntryReceiver, FetchedDir, FetchedFile,
    FileReceiver, FileRevReceiver, FileRevsRequest, Files, HeadNode, History, InheritedProps,
    ListRequest, LockReceiver, Locks, LogChange, LogEntry, LogReceiver, LogRequest,
    MergeinfoRequest, Nodes, ReplayRequest, Report, ReportRequest, Revisions, RevpropChange,
    SessionInfo,
};
use sapwood_ra::{Capability, Dirent, DirentFields};

/// The repository's URL.
pub(crate) const ROOT: &str = "svn://scripted/r";
/// Its UUID.
pub(crate) const UUID: &str = "scripted";

/// A changed path: the letter of a log, the path, and what it was copied from.
type LogPath = (u8, FsPathBuf, Option<(FsPathBuf, Revnum)>);

/// What the repository has.
#[derive(Debug, Default)]
pub(crate) struct Script {
    /// The changed paths of each revision from 1 on.
    revisions: Vec<Vec<LogPath>>,
    /// Mergeinfo by path, of all revisions.
    mergeinfo: BTreeMap<RelPathBuf, Mergeinfo>,
}

impl Script {
    /// Adds a revision by lines of a log: `A /branch /trunk@2`.
    pub(crate) fn revision(mut self, lines: &[&str]) -> Self {
        let fspath = FsPathBuf::canonicalize;
        let changed = |line: &&str| -> LogPath {
            let mut words = line.split(' ');
            let action = words.next().unwrap().as_bytes()[0];
            let path = fspath(words.next().unwrap());
            let from = words.next().and_then(|word| word.split_once('@'));
            (action, path, from.map(|(from, at)| (fspath(from), Revnum(at.parse().unwrap()))))
        };
        self.revisions.push(lines.iter().map(changed).collect());
        self
    }

    /// Gives a path mergeinfo.
    pub(crate) fn mergeinfo(mut self, path: &str, value: &str) -> Self {
        let value = Mergeinfo::parse(value.as_bytes()).unwrap();
        self.mergeinfo.insert(RelPathBuf::canonicalize(path), value);
        self
    }

    /// A session at the root.
    pub(crate) fn open(self) -> Rc<ScriptedSession> {
        let url = RefCell::new(Url::new(ROOT).unwrap().to_owned());
        Rc::new(ScriptedSession { script: self, url, questions: RefCell::default() })
    }

    /// The revision up to `last` in which a path came, with what it was copied from there. `None` where nothing is.
    fn came(&self, path: &FsPath, last: Revnum) -> Option<(Revnum, Option<(FsPathBuf, Revnum)>)> {
        if path.is_root() {
            return Some((Revnum::ZERO, None));
        }
        for revision in (1..=last.0).rev().map(Revnum) {
            let changes = self.of(revision);
            let above = |(_, changed, _): &&LogPath| path.below(changed).is_some();
            let mut gone = false;
            // The deepest change says most of what is below it.
            let mut changes: Vec<&LogPath> = changes.iter().filter(above).collect();
            changes.sort_by_key(|(_, changed, _)| std::cmp::Reverse(changed.len()));
            for (action, changed, from) in changes {
                let below = path.below(changed).unwrap();
                match (action, from) {
                    (b'A' | b'R', Some((from, at))) => {
                        return Some((revision, Some((from.join(below), *at))));
                    }
                    (b'A' | b'R', None) if below.is_empty() => return Some((revision, None)),
                    (b'A' | b'R' | b'D', _) => gone = true,
                    _ => {}
                }
            }
            if gone {
                return None;
            }
        }
        None
    }

    fn of(&self, revision: Revnum) -> &[LogPath] {
        let at = usize::try_from(revision.0).unwrap().checked_sub(1);
        at.and_then(|at| self.revisions.get(at)).map_or(&[], Vec::as_slice)
    }

    /// Where a node was, the youngest first.
    fn segments(&self, path: &FsPath, peg: Revnum) -> Vec<Segment> {
        let (mut found, mut at, mut end) = (Vec::new(), path.to_owned(), peg);
        while let Some((start, from)) = self.came(&at, end) {
            found.push(Segment { start, end, path: Some(at.to_relpath().to_owned()) });
            let Some((from, revision)) = from else { break };
            if revision.next() < start {
                let end = Revnum(start.0.minus(1));
                found.push(Segment { start: revision.next(), end, path: None });
            }
            (at, end) = (from, revision);
        }
        found
    }
}

/// A session to a scripted repository.
#[derive(Debug)]
pub(crate) struct ScriptedSession {
    script: Script,
    url: RefCell<UrlBuf>,
    questions: RefCell<BTreeMap<&'static str, usize>>,
}

impl ScriptedSession {
    /// How often each question was asked since this was called last.
    pub(crate) fn take_questions(&self) -> Vec<(&'static str, usize)> {
        self.questions.take().into_iter().collect()
    }

    fn count(&self, question: &'static str) {
        self.questions.borrow_mut().entry(question).or_default().tally(1);
    }

    fn refuse<T>(&self, question: &'static str) -> SvnResult<T> {
        self.count(question);
        Err(SvnError::new(ErrorCode::UNSUPPORTED_FEATURE, format!("'{question}' is not scripted")))
    }

    /// A path below the session's URL as the repository has it.
    fn at(&self, path: &RelPath) -> FsPathBuf {
        let below = self.url.borrow().below(&self.root_url()).unwrap().to_owned();
        below.join(path).to_fspath()
    }

    fn youngest(&self) -> Revnum {
        Revnum(sapwood_core::len64(self.script.revisions.len()))
    }
}

impl SessionInfo for ScriptedSession {
    fn url(&self) -> UrlBuf {
        self.url.borrow().clone()
    }

    fn root_url(&self) -> UrlBuf {
        Url::new(ROOT).unwrap().to_owned()
    }

    fn uuid(&self) -> String {
        UUID.to_owned()
    }

    fn has_capability(&self, _: Capability) -> SvnResult<bool> {
        Ok(true)
    }

    fn bytes_transferred(&self) -> u64 {
        0
    }

    fn reparent(&self, url: &Url) -> SvnResult<()> {
        self.count("reparent");
        *self.url.borrow_mut() = url.to_owned();
        Ok(())
    }
}

impl Revisions for ScriptedSession {
    fn latest_revnum(&self) -> SvnResult<Revnum> {
        self.count("latest_revnum");
        Ok(self.youngest())
    }

    fn dated_revision(&self, _: Timestamp) -> SvnResult<Revnum> {
        self.refuse("dated_revision")
    }

    fn rev_proplist(&self, _: Revnum) -> SvnResult<PropList> {
        self.refuse("rev_proplist")
    }

    fn rev_prop(&self, _: Revnum, _: &str) -> SvnResult<Option<Vec<u8>>> {
        self.refuse("rev_prop")
    }

    fn change_rev_prop(&self, _: &RevpropChange<'_>) -> SvnResult<()> {
        self.refuse("change_rev_prop")
    }
}

impl Nodes for ScriptedSession {
    fn check_path(&self, path: &RelPath, revision: Option<Revnum>) -> SvnResult<Option<NodeKind>> {
        self.count("check_path");
        let came = self.script.came(&self.at(path), revision.unwrap_or(self.youngest()));
        Ok(came.map(|_| NodeKind::Dir))
    }

    fn stat(&self, _: &RelPath, _: Option<Revnum>) -> SvnResult<Option<Dirent>> {
        self.refuse("stat")
    }

    fn stat_head(&self, _: &RelPath) -> SvnResult<HeadNode> {
        self.refuse("stat_head")
    }

    fn get_dir(
        &self,
        _: &RelPath,
        _: Option<Revnum>,
        _: Option<DirentFields>,
        _: bool,
    ) -> SvnResult<FetchedDir> {
        self.refuse("get_dir")
    }

    fn list(&self, _: &ListRequest<'_>, _: EntryReceiver<'_>) -> SvnResult<()> {
        self.refuse("list")
    }

    fn inherited_props(&self, _: &RelPath, _: Option<Revnum>) -> SvnResult<InheritedProps> {
        self.refuse("inherited_props")
    }
}

impl Files for ScriptedSession {
    fn file_head(&self, _: &RelPath, _: Option<Revnum>, _: bool) -> SvnResult<FetchedFile> {
        self.refuse("file_head")
    }

    fn read_file(
        &self,
        _: &RelPath,
        _: Option<Revnum>,
        _: bool,
        _: &mut dyn FileReceiver,
    ) -> SvnResult<()> {
        self.refuse("read_file")
    }
}

impl History for ScriptedSession {
    /// Whose mergeinfo is its own: none is inherited.
    fn mergeinfo(&self, request: &MergeinfoRequest<'_>) -> SvnResult<Vec<(RelPathBuf, Mergeinfo)>> {
        self.count("mergeinfo");
        let own = |path: &&RelPath| {
            let whole = self.at(path);
            let value = self.script.mergeinfo.get(whole.to_relpath())?;
            Some(((*path).to_owned(), value.clone()))
        };
        Ok(request.paths.iter().filter_map(own).collect())
    }

    fn log(&self, request: &LogRequest<'_>, receiver: LogReceiver<'_>) -> SvnResult<()> {
        self.count("log");
        let paths: Vec<FsPathBuf> = request.paths.iter().map(|path| self.at(path)).collect();
        let youngest = self.youngest();
        let (start, end) = (request.start.unwrap_or(youngest), request.end.unwrap_or(youngest));
        let mut wanted: Vec<u64> = (start.0.min(end.0)..=start.0.max(end.0)).collect();
        if end < start {
            wanted.reverse();
        }
        for revision in wanted.into_iter().map(Revnum) {
            let changes = self.script.of(revision);
            let touches = |path: &FsPathBuf| {
                changes.iter().any(|(_, changed, _)| changed.below(path).is_some())
            };
            if !paths.is_empty() && !paths.iter().any(touches) {
                continue;
            }
            let changes = changes.iter().map(|(action, path, from)| LogChange {
                path,
                action: *action,
                copy_from: from.as_ref().map(|(path, at)| (path.as_path(), *at)),
                kind: None,
                text_mod: false,
                prop_mod: false,
            });
            receiver(&LogEntry {
                revision: Some(revision),
                has_children: false,
                subtractive_merge: false,
                changes: changes.collect(),
                revprops: Vec::new(),
            })?;
        }
        Ok(())
    }

    fn locations(
        &self,
        path: &RelPath,
        peg: Revnum,
        revisions: &[Revnum],
    ) -> SvnResult<Vec<(Revnum, FsPathBuf)>> {
        self.count("locations");
        let segments = self.script.segments(&self.at(path), peg);
        let place = |revision: &Revnum| {
            let mut covering =
                segments.iter().filter(|s| s.start <= *revision && *revision <= s.end);
            Some((*revision, covering.next()?.path.as_ref()?.to_fspath()))
        };
        Ok(revisions.iter().filter_map(place).collect())
    }

    fn location_segments(
        &self,
        path: &RelPath,
        peg: Option<Revnum>,
        start: Option<Revnum>,
        end: Option<Revnum>,
        receiver: &mut dyn FnMut(&Segment) -> SvnResult<()>,
    ) -> SvnResult<()> {
        self.count("location_segments");
        let peg = peg.unwrap_or(self.youngest());
        let (youngest, oldest) = (start.unwrap_or(peg), end.unwrap_or(Revnum::ZERO));
        let segments = self.script.segments(&self.at(path), peg);
        let part = crate::caching_session::clipped(&segments, youngest.0, oldest.0);
        part.iter().try_for_each(receiver)
    }

    fn deleted_rev(&self, path: &RelPath, peg: Revnum, end: Revnum) -> SvnResult<Option<Revnum>> {
        self.count("deleted_rev");
        let path = self.at(path);
        let mut later = (peg.0.plus(1)..=end.0).map(Revnum);
        Ok(later.find(|revision| self.script.came(&path, *revision).is_none()))
    }

    fn file_revs(&self, _: &FileRevsRequest<'_>, _: &mut dyn FileRevReceiver) -> SvnResult<()> {
        self.refuse("file_revs")
    }
}

impl Locks for ScriptedSession {
    fn get_lock(&self, _: &RelPath) -> SvnResult<Option<Lock>> {
        self.refuse("get_lock")
    }

    fn get_locks(&self, _: &RelPath, _: Depth) -> SvnResult<Vec<Lock>> {
        self.refuse("get_locks")
    }

    fn lock(
        &self,
        _: &[(RelPathBuf, Option<Revnum>)],
        _: Option<&str>,
        _: bool,
        _: LockReceiver<'_, Lock>,
    ) -> SvnResult<()> {
        self.refuse("lock")
    }

    fn unlock(
        &self,
        _: &[(RelPathBuf, Option<String>)],
        _: bool,
        _: LockReceiver<'_, ()>,
    ) -> SvnResult<()> {
        self.refuse("unlock")
    }
}

impl Edits for ScriptedSession {
    fn report<'s>(
        &'s self,
        _: &ReportRequest<'_>,
        _: &'s mut dyn Editor,
    ) -> SvnResult<Box<dyn Report + 's>> {
        self.refuse("report")
    }

    fn replay(&self, _: Revnum, _: &ReplayRequest, _: &mut dyn Editor) -> SvnResult<()> {
        self.refuse("replay")
    }
}

impl Commits for ScriptedSession {
    fn commit<'s>(&'s self, _: &CommitRequest<'_>) -> SvnResult<Box<dyn CommitEditor + 's>> {
        self.refuse("commit")
    }
}
