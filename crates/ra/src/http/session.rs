//! A session over http.

use std::cell::RefCell;
use std::io::Write;
use std::rc::Rc;

use sapwood_core::date::Timestamp;
use sapwood_core::exact::Exact as _;
use sapwood_core::mergeinfo::Mergeinfo;
use sapwood_core::paths::{FsPath, FsPathBuf, RelPath, RelPathBuf, Url, UrlBuf};
use sapwood_core::{Depth, NodeKind, PropList, Revnum, SvnError, SvnResult};
use sapwood_delta::Editor;

use super::client::Client;
use super::clients::HttpClients;
use super::endpoints::{Endpoints, below};
use super::settings::ClientSettings;
use crate::error::Error;
use crate::session::require_mergeinfo;
use crate::session::{
    Capability, CommitEditor, CommitRequest, Dirent, DirentFields, FetchedDir, FetchedFile,
    FileReceiver, FileRevReceiver, FileRevsRequest, HeadNode, InheritedProps, ListRequest,
    LockReceiver, LogEntry, LogRequest, MergeinfoRequest, PlainFile, ReplayReceiver, ReplayRequest,
    Report, ReportRequest, RevpropChange, Session,
};
use crate::{Lock, Segment};

/// A session over http.
#[derive(Debug)]
pub struct HttpSession {
    pub(super) client: Rc<Client>,
    /// Bytes that the client had sent and received before this session.
    transferred_before: u64,
    pub(super) places: Endpoints,
    place: RefCell<SessionUrl>,
    root_url: UrlBuf,
}

/// Where a session is.
#[derive(Debug)]
struct SessionUrl {
    url: UrlBuf,
    /// The same below the root of the repository.
    relpath: RelPathBuf,
}

impl HttpSession {
    /// Opens a session to a canonical URL.
    ///
    /// # Errors
    /// What connecting and logging in meet; E175003 for servers that are none of Subversion's;
    /// [`Error::Moved`].
    pub fn open(
        url: &Url,
        clients: &HttpClients,
        settings: &ClientSettings,
    ) -> crate::Result<Self> {
        let client = clients.of(url, settings)?;
        let transferred_before = client.transferred();
        let illegal = || Error::IllegalUrl(url.to_string());
        let path = url.parts().ok_or_else(illegal)?.path;
        let places = Endpoints::learn(&client, path.trim_end_matches('/'), client.options.bulk)?;
        let root_url = format!("{}{}", client.base, places.root);
        let root_url = UrlBuf::canonicalize(&root_url).map_err(|_| illegal())?;
        let relpath = url.below(&root_url).ok_or_else(illegal)?;
        let place = RefCell::new(SessionUrl { url: url.to_owned(), relpath });
        Ok(Self { client, transferred_before, places, place, root_url })
    }

    /// The place in the repository of a path below the session's URL.
    pub(super) fn in_repository(&self, path: &RelPath) -> RelPathBuf {
        self.place.borrow().relpath.join(path)
    }

    /// The percent-encoded path of the session's URL with a path below it.
    pub(super) fn public(&self, path: &RelPath) -> String {
        below(&self.places.root, &self.in_repository(path))
    }

    /// The address of a node that never changes, and the revision that it is of.
    pub(super) fn stable(
        &self,
        path: &RelPath,
        revision: Option<Revnum>,
    ) -> SvnResult<(String, Revnum)> {
        let revision = match revision {
            Some(revision) => revision,
            None => self.latest_revnum()?,
        };
        let target = self.places.node(&self.client, &self.in_repository(path), revision)?;
        Ok((target, revision))
    }
}

impl Session for HttpSession {
    fn url(&self) -> UrlBuf {
        self.place.borrow().url.clone()
    }

    fn root_url(&self) -> UrlBuf {
        self.root_url.clone()
    }

    fn uuid(&self) -> String {
        self.places.uuid.clone()
    }

    fn has_capability(&self, capability: Capability) -> SvnResult<bool> {
        let places = &self.places;
        Ok(match capability {
            Capability::Depth => places.knows("depth"),
            Capability::Mergeinfo => places.knows("mergeinfo") && places.mergeinfo,
            Capability::LogRevprops => places.knows("log-revprops"),
            Capability::PartialReplay => places.knows("partial-replay"),
            // Revision properties of a transaction are set like any others.
            Capability::CommitRevprops => true,
            Capability::AtomicRevprops => places.knows("atomic-revprops"),
            Capability::EphemeralTxnprops => places.knows("ephemeral-txnprops"),
            Capability::InheritedProps => places.knows("inherited-props"),
            Capability::FileRevsReverse => places.knows("reverse-file-revs"),
            Capability::List => places.knows("list"),
        })
    }

    fn bytes_transferred(&self) -> u64 {
        self.client.transferred().minus(self.transferred_before)
    }

    fn reparent(&self, url: &Url) -> SvnResult<()> {
        let Some(relpath) = url.below(&self.root_url) else {
            return Err(SvnError::new(
                sapwood_core::ErrorCode::RA_ILLEGAL_URL,
                format!(
                    "URL '{url}' is not a child of the session's repository root URL '{}'",
                    self.root_url
                ),
            ));
        };
        *self.place.borrow_mut() = SessionUrl { url: url.to_owned(), relpath };
        Ok(())
    }

    fn latest_revnum(&self) -> SvnResult<Revnum> {
        // Of the session's own URL: a user that may not read the root may know this.
        self.places.youngest(&self.client, &self.public(RelPath::ROOT))
    }

    fn dated_revision(&self, time: Timestamp) -> SvnResult<Revnum> {
        self.revision_at(time)
    }

    fn rev_proplist(&self, revision: Revnum) -> SvnResult<PropList> {
        self.fetch_revprops(revision)
    }

    fn rev_prop(&self, revision: Revnum, name: &str) -> SvnResult<Option<Vec<u8>>> {
        Ok(self.fetch_revprops(revision)?.get(name).map(<[u8]>::to_vec))
    }

    fn change_rev_prop(&self, change: &RevpropChange<'_>) -> SvnResult<()> {
        self.set_revprop(change)
    }

    fn check_path(&self, path: &RelPath, revision: Option<Revnum>) -> SvnResult<Option<NodeKind>> {
        self.kind_of(path, revision)
    }

    fn stat(&self, path: &RelPath, revision: Option<Revnum>) -> SvnResult<Option<Dirent>> {
        self.dirent_of(path, revision)
    }

    fn get_file(
        &self,
        path: &RelPath,
        revision: Option<Revnum>,
        contents: Option<&mut dyn Write>,
        want_props: bool,
    ) -> SvnResult<FetchedFile> {
        match contents {
            Some(contents) => {
                let mut plain = PlainFile { contents, file: None };
                self.fetch_text(path, revision, want_props, &mut plain)?;
                plain.file.ok_or_else(|| SvnError::internal("a file came without its properties"))
            }
            None => self.fetch_file(path, revision, want_props),
        }
    }

    fn read_file(
        &self,
        path: &RelPath,
        revision: Option<Revnum>,
        receiver: &mut dyn FileReceiver,
    ) -> SvnResult<()> {
        self.fetch_text(path, revision, true, receiver)
    }

    fn stat_head(&self, path: &RelPath) -> SvnResult<HeadNode> {
        self.look_at_head(path)
    }

    fn get_dir(
        &self,
        path: &RelPath,
        revision: Option<Revnum>,
        entries: Option<DirentFields>,
        want_props: bool,
    ) -> SvnResult<FetchedDir> {
        self.fetch_dir(path, revision, entries, want_props)
    }

    fn list(
        &self,
        request: &ListRequest<'_>,
        receiver: &mut dyn FnMut(&FsPath, &Dirent) -> SvnResult<()>,
    ) -> SvnResult<()> {
        self.list_below(request, receiver)
    }

    fn inherited_props(
        &self,
        path: &RelPath,
        revision: Option<Revnum>,
    ) -> SvnResult<InheritedProps> {
        self.fetch_inherited(path, revision)
    }

    fn mergeinfo(&self, request: &MergeinfoRequest<'_>) -> SvnResult<Vec<(RelPathBuf, Mergeinfo)>> {
        require_mergeinfo(self, true)?;
        self.fetch_mergeinfo(request)
    }

    fn log(
        &self,
        request: &LogRequest<'_>,
        receiver: &mut dyn FnMut(&LogEntry<'_>) -> SvnResult<()>,
    ) -> SvnResult<()> {
        require_mergeinfo(self, request.include_merged_revisions)?;
        self.stream_log(request, receiver)
    }

    fn locations(
        &self,
        path: &RelPath,
        peg: Revnum,
        revisions: &[Revnum],
    ) -> SvnResult<Vec<(Revnum, FsPathBuf)>> {
        self.fetch_locations(path, peg, revisions)
    }

    fn location_segments(
        &self,
        path: &RelPath,
        peg: Option<Revnum>,
        start: Option<Revnum>,
        end: Option<Revnum>,
        receiver: &mut dyn FnMut(&Segment) -> SvnResult<()>,
    ) -> SvnResult<()> {
        self.stream_segments(path, (peg, start, end), receiver)
    }

    fn deleted_rev(&self, path: &RelPath, peg: Revnum, end: Revnum) -> SvnResult<Option<Revnum>> {
        self.fetch_deleted_rev(path, peg, end)
    }

    fn file_revs(
        &self,
        request: &FileRevsRequest<'_>,
        receiver: &mut dyn FileRevReceiver,
    ) -> SvnResult<()> {
        require_mergeinfo(self, request.include_merged_revisions)?;
        self.stream_file_revs(request, receiver)
    }

    fn get_lock(&self, path: &RelPath) -> SvnResult<Option<Lock>> {
        self.fetch_lock(path)
    }

    fn get_locks(&self, path: &RelPath, depth: Depth) -> SvnResult<Vec<Lock>> {
        self.fetch_locks(path, depth)
    }

    fn lock(
        &self,
        paths: &[(RelPathBuf, Option<Revnum>)],
        comment: Option<&str>,
        steal: bool,
        outcome: LockReceiver<'_, Lock>,
    ) -> SvnResult<()> {
        self.lock_many(paths, comment, steal, outcome)
    }

    fn unlock(
        &self,
        paths: &[(RelPathBuf, Option<String>)],
        break_lock: bool,
        outcome: LockReceiver<'_, ()>,
    ) -> SvnResult<()> {
        self.unlock_many(paths, break_lock, outcome)
    }

    fn report<'s>(
        &'s self,
        request: &ReportRequest<'_>,
        editor: &'s mut dyn Editor,
    ) -> SvnResult<Box<dyn Report + 's>> {
        self.begin_report(request, editor)
    }

    fn replay(
        &self,
        revision: Revnum,
        request: &ReplayRequest,
        editor: &mut dyn Editor,
    ) -> SvnResult<()> {
        self.replay_one(revision, request, editor)
    }

    fn replay_range(
        &self,
        start: Revnum,
        end: Revnum,
        request: &ReplayRequest,
        receiver: &mut dyn ReplayReceiver,
    ) -> SvnResult<()> {
        self.replay_many(start, end, request, receiver)
    }

    fn commit<'s>(&'s self, request: &CommitRequest<'_>) -> SvnResult<Box<dyn CommitEditor + 's>> {
        self.begin_commit(request)
    }
}
