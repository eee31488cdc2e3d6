//! Questions whose answers are not cached: they are handed on to the session itself.

use sapwood_core::date::Timestamp;
use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::{Depth, Lock, PropList, Revnum, SvnResult};
use sapwood_delta::Editor;
use sapwood_ra::session::{
    CommitEditor, CommitRequest, Commits, Edits, FetchedFile, FileReceiver, Files, LockReceiver,
    Locks, ReplayReceiver, ReplayRequest, Report, ReportRequest, Revisions, RevpropChange,
};

use super::SessionWithCache;

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
