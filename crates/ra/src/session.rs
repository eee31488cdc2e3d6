//! The traits that every kind of session implements, and what goes in and out of it.
//!
//! A [`RelPath`] is below the session's URL, not escaped; paths that come back in logs, locations and
//! locks are those in the repository. `None` for a revision means the youngest.
//!
//! A session does one thing at a time: while an edit, a report or a reply is under way (also in
//! the receivers of [`History::log`] and its kin), other requests on the same session fail.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::io::Write;

use sapwood_core::date::Timestamp;
use sapwood_core::mergeinfo::Mergeinfo;
use sapwood_core::paths::{FsPath, FsPathBuf, RelPath, RelPathBuf, Url, UrlBuf};
use sapwood_core::{
    Depth, ErrorCode, Lock, NodeKind, PropList, Revnum, Segment, SvnError, SvnResult,
};
use sapwood_delta::Editor;
pub use sapwood_delta::Report;

pub use sapwood_core::{
    ChangedPath as LogChange, CommitRequest, Dirent, DirentFields, FileRev, LogEntry,
    ReplayRequest, ReportKind, ReportRequest,
};

/// What to log, below the session's URL.
pub type LogRequest<'a> = sapwood_core::LogRequest<'a, RelPath>;
/// Which file below the session's URL, which revisions.
pub type FileRevsRequest<'a> = sapwood_core::FileRevsRequest<'a, RelPath>;
/// Whose mergeinfo is wanted, below the session's URL.
pub type MergeinfoRequest<'a> = sapwood_core::MergeinfoRequest<'a, RelPath>;
/// What to list, below the session's URL.
pub type ListRequest<'a> = sapwood_core::ListRequest<'a, RelPath>;
pub use sapwood_repos::FileRevReceiver;

/// The version of Subversion whose behaviour this is.
pub(crate) const COMPATIBLE_VERSION: &str = "1.14.5";
/// The properties of a transaction that name the client that made it.
pub(crate) const TXN_CLIENT_VERSION: &str = "svn:txn-client-compat-version";
/// See there.
pub(crate) const TXN_USER_AGENT: &str = "svn:txn-user-agent";

/// What the other side may or may not be able to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Capability {
    /// Depths other than all and files only.
    Depth,
    /// Mergeinfo is kept track of.
    Mergeinfo,
    /// Logs with any properties.
    LogRevprops,
    /// Replays of a part of the repository.
    PartialReplay,
    /// Commits with any revision properties.
    CommitRevprops,
    /// Revision properties changed only if they have an expected value.
    AtomicRevprops,
    /// Properties of a transaction that do not stay.
    EphemeralTxnprops,
    /// Inherited properties in one request.
    InheritedProps,
    /// File revisions youngest first.
    FileRevsReverse,
    /// The `list` request.
    List,
}

/// What [`Files::get_file`] found.
#[derive(Clone, Debug, Default)]
pub struct FetchedFile {
    /// The revision that was read.
    pub revision: Revnum,
    /// The properties, those of the last change (`svn:entry:...`) among them; empty when they
    /// were not requested.
    pub props: PropList,
}

/// What [`Nodes::get_dir`] found.
#[derive(Clone, Debug, Default)]
pub struct FetchedDir {
    /// The revision that was read.
    pub revision: Revnum,
    /// As in [`FetchedFile`].
    pub props: PropList,
    /// Names and what is known of the nodes, when entries were requested; in no order.
    pub entries: Vec<(String, Dirent)>,
}

/// Leaves one change of each path, the last: logs with merged revisions may report several, those of
/// a revision that was sent elsewhere and those of the next entry.
pub(crate) fn once_a_path(changes: &mut Vec<LogChange<'_>>) {
    let mut places = HashMap::with_capacity(changes.len());
    let mut kept: Vec<LogChange<'_>> = Vec::with_capacity(changes.len());
    for change in changes.drain(..) {
        match places.entry(change.path) {
            Entry::Occupied(place) => {
                if let Some(earlier) = kept.get_mut(*place.get()) {
                    *earlier = change;
                }
            }
            Entry::Vacant(place) => {
                place.insert(kept.len());
                kept.push(change);
            }
        }
    }
    *changes = kept;
}

/// Properties that a path inherits: pairs of a path below the repository's root, and properties;
/// the root's first.
pub type InheritedProps = Vec<(RelPathBuf, PropList)>;

/// A change of a revision property.
#[derive(Clone, Copy, Debug)]
pub struct RevpropChange<'a> {
    /// The revision.
    pub revision: Revnum,
    /// The property.
    pub name: &'a str,
    /// Change only if the present value is this (`Some(None)`: absent). Needs
    /// [`Capability::AtomicRevprops`].
    pub expected: Option<Option<&'a [u8]>>,
    /// The new value, `None` to delete.
    pub value: Option<&'a [u8]>,
}

/// A revision that can be replayed once.
pub trait ReplayedEdit {
    /// Drives `editor` with the revision, up to but without `close_edit`.
    ///
    /// # Errors
    /// What the other side and the editor meet.
    fn drive(&mut self, editor: &mut dyn Editor) -> SvnResult<()>;
}

/// Takes the revisions of a replay.
pub trait ReplayReceiver {
    /// The next revision: its properties, and its edit, which must be driven.
    ///
    /// # Errors
    /// Whatever the receiver meets; ends the request.
    fn revision(
        &mut self,
        revision: Revnum,
        props: &PropList,
        edit: &mut dyn ReplayedEdit,
    ) -> SvnResult<()>;
}

/// Takes the revisions of a log; an error ends it.
pub type LogReceiver<'a> = &'a mut dyn FnMut(&LogEntry<'_>) -> SvnResult<()>;

/// Takes the entries of a listing, by their paths below the directory; an error ends it.
pub type EntryReceiver<'a> = &'a mut dyn FnMut(&FsPath, &Dirent) -> SvnResult<()>;

/// Called with the outcome of each path that was to be locked or unlocked.
pub type LockReceiver<'a, T> = &'a mut dyn FnMut(&RelPath, SvnResult<T>) -> SvnResult<()>;

/// A commit that was made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommitInfo {
    /// The new revision.
    pub revision: Revnum,
    /// Its date, as stored.
    pub date: Option<String>,
    /// Its author.
    pub author: Option<String>,
    /// What went wrong after it was there.
    pub post_commit_error: Option<String>,
}

/// The editor of a commit. Dropped without `close_edit`, nothing is committed.
pub trait CommitEditor: Editor {
    /// What came of it, after `close_edit`.
    fn committed(&self) -> Option<&CommitInfo>;

    /// After an error: what it is about, where requests go out before the replies to earlier ones have come. `None`:
    /// the call that returned the error.
    fn late_failure(&self) -> Option<&LateFailure> {
        None
    }
}

/// Takes a file: its properties, then its contents.
pub trait FileReceiver {
    /// The file's revision and properties. Returns where its contents are written.
    ///
    /// # Errors
    /// Whatever the receiver meets; ends the request.
    fn begin(&mut self, file: FetchedFile) -> SvnResult<&mut dyn Write>;
}

/// A file whose contents go to a writer as they are.
pub(crate) struct PlainFile<'c> {
    pub(crate) contents: &'c mut dyn Write,
    /// Its revision and properties, once they came.
    pub(crate) file: Option<FetchedFile>,
}

impl FileReceiver for PlainFile<'_> {
    fn begin(&mut self, file: FetchedFile) -> SvnResult<&mut dyn Write> {
        self.file = Some(file);
        Ok(&mut *self.contents)
    }
}

/// What is known of a node of the youngest revision.
#[derive(Debug)]
pub struct HeadNode {
    /// The youngest revision.
    pub revision: Revnum,
    /// The node; `None` when there is none.
    pub dirent: Option<Dirent>,
    /// Its lock, or why that is not known.
    pub lock: SvnResult<Option<Lock>>,
}

/// The request that an error of a commit is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LateFailure {
    /// The path of the node in the edit; `None` for properties of directories, of which 1.14 names no node.
    pub path: Option<RelPathBuf>,
}

/// Where a session is, and what the other side can do.
#[allow(clippy::missing_errors_doc, reason = "all: what the connection or the repository says")]
pub trait SessionInfo {
    /// The session's URL, canonical.
    fn url(&self) -> UrlBuf;
    /// The repository's URL.
    fn root_url(&self) -> UrlBuf;
    /// The repository's UUID.
    fn uuid(&self) -> String;
    /// Whether the other side can do something.
    fn has_capability(&self, capability: Capability) -> SvnResult<bool>;
    /// Bytes that went over the network, both ways; 0 where there is none.
    fn bytes_transferred(&self) -> u64;
    /// Moves the session to another URL of the same repository.
    fn reparent(&self, url: &Url) -> SvnResult<()>;
}

/// Revisions and their properties.
#[allow(clippy::missing_errors_doc, reason = "all: what the connection or the repository says")]
pub trait Revisions {
    /// The youngest revision.
    fn latest_revnum(&self) -> SvnResult<Revnum>;
    /// The youngest revision at a point in time.
    fn dated_revision(&self, time: Timestamp) -> SvnResult<Revnum>;
    /// The properties of a revision.
    fn rev_proplist(&self, revision: Revnum) -> SvnResult<PropList>;
    /// One property of a revision.
    fn rev_prop(&self, revision: Revnum, name: &str) -> SvnResult<Option<Vec<u8>>>;
    /// Changes a property of a revision.
    fn change_rev_prop(&self, change: &RevpropChange<'_>) -> SvnResult<()>;
}

/// Nodes of a revision: what they are, and what is in directories.
#[allow(clippy::missing_errors_doc, reason = "all: what the connection or the repository says")]
pub trait Nodes: Revisions {
    /// What kind of node there is.
    fn check_path(&self, path: &RelPath, revision: Option<Revnum>) -> SvnResult<Option<NodeKind>>;
    /// What is known of a node; `None` when there is none.
    fn stat(&self, path: &RelPath, revision: Option<Revnum>) -> SvnResult<Option<Dirent>>;
    /// What is known of a node in the youngest revision, and its lock, in one turn where the questions can go out
    /// together.
    fn stat_head(&self, path: &RelPath) -> SvnResult<HeadNode>;
    /// The youngest revision, and what kind of node it has there, in one turn where the questions can go out together.
    fn kind_at_head(&self, path: &RelPath) -> SvnResult<(Revnum, Option<NodeKind>)> {
        let revision = self.latest_revnum()?;
        Ok((revision, self.check_path(path, Some(revision))?))
    }
    /// A directory's properties, and its entries with the given fields.
    fn get_dir(
        &self,
        path: &RelPath,
        revision: Option<Revnum>,
        entries: Option<DirentFields>,
        want_props: bool,
    ) -> SvnResult<FetchedDir>;
    /// Sends `receiver` the nodes at and below a path: where each is in the repository and what is known. E200007 without
    /// [`Capability::List`].
    fn list(&self, request: &ListRequest<'_>, receiver: EntryReceiver<'_>) -> SvnResult<()>;
    /// The properties that a path inherits from its parents in the repository.
    fn inherited_props(
        &self,
        path: &RelPath,
        revision: Option<Revnum>,
    ) -> SvnResult<InheritedProps>;
}

/// Files of a revision.
#[allow(clippy::missing_errors_doc, reason = "all: what the connection or the repository says")]
pub trait Files {
    /// A file's revision, and its properties where they are wanted.
    fn file_head(
        &self,
        path: &RelPath,
        revision: Option<Revnum>,
        want_props: bool,
    ) -> SvnResult<FetchedFile>;
    /// Sends `receiver` a file: its properties, where they are wanted, and its contents, in one turn where the protocol
    /// can ask for both at once.
    fn read_file(
        &self,
        path: &RelPath,
        revision: Option<Revnum>,
        want_props: bool,
        receiver: &mut dyn FileReceiver,
    ) -> SvnResult<()>;
    /// A file's properties, and its contents into `contents` if there is one.
    fn get_file(
        &self,
        path: &RelPath,
        revision: Option<Revnum>,
        contents: Option<&mut dyn Write>,
        want_props: bool,
    ) -> SvnResult<FetchedFile> {
        let Some(contents) = contents else {
            return self.file_head(path, revision, want_props);
        };
        let mut plain = PlainFile { contents, file: None };
        self.read_file(path, revision, want_props, &mut plain)?;
        plain.file.ok_or_else(|| SvnError::internal("a file came without its properties"))
    }
}

/// What became of nodes.
#[allow(clippy::missing_errors_doc, reason = "all: what the connection or the repository says")]
pub trait History {
    /// Mergeinfo by path.
    fn mergeinfo(&self, request: &MergeinfoRequest<'_>) -> SvnResult<Vec<(RelPathBuf, Mergeinfo)>>;
    /// Sends `receiver` log entries. When that fails with E200021 (cease invocation), the rest
    /// is passed over, and this error comes back.
    fn log(&self, request: &LogRequest<'_>, receiver: LogReceiver<'_>) -> SvnResult<()>;
    /// The places that the node at `path` in `peg` has in other revisions.
    fn locations(
        &self,
        path: &RelPath,
        peg: Revnum,
        revisions: &[Revnum],
    ) -> SvnResult<Vec<(Revnum, FsPathBuf)>>;
    /// Where a node was in which revisions.
    fn location_segments(
        &self,
        path: &RelPath,
        peg: Option<Revnum>,
        start: Option<Revnum>,
        end: Option<Revnum>,
        receiver: &mut dyn FnMut(&Segment) -> SvnResult<()>,
    ) -> SvnResult<()>;
    /// The revision in which the node at `path` in `peg` was deleted, up to `end`.
    fn deleted_rev(&self, path: &RelPath, peg: Revnum, end: Revnum) -> SvnResult<Option<Revnum>>;
    /// Sends `receiver` the revisions of a file.
    fn file_revs(
        &self,
        request: &FileRevsRequest<'_>,
        receiver: &mut dyn FileRevReceiver,
    ) -> SvnResult<()>;
}

/// Locks of paths.
#[allow(clippy::missing_errors_doc, reason = "all: what the connection or the repository says")]
pub trait Locks {
    /// The lock of a path.
    fn get_lock(&self, path: &RelPath) -> SvnResult<Option<Lock>>;
    /// All locks at and below a path.
    fn get_locks(&self, path: &RelPath, depth: Depth) -> SvnResult<Vec<Lock>>;
    /// Locks paths (with the revision the caller has); reports each outcome. Failures of single
    /// paths are outcomes, not errors.
    fn lock(
        &self,
        paths: &[(RelPathBuf, Option<Revnum>)],
        comment: Option<&str>,
        steal: bool,
        outcome: LockReceiver<'_, Lock>,
    ) -> SvnResult<()>;
    /// Unlocks paths with their tokens; reports each outcome.
    fn unlock(
        &self,
        paths: &[(RelPathBuf, Option<String>)],
        break_lock: bool,
        outcome: LockReceiver<'_, ()>,
    ) -> SvnResult<()>;
}

/// Requests that are answered with an edit, which drives an editor.
#[allow(clippy::missing_errors_doc, reason = "all: what the connection or the repository says")]
pub trait Edits: Revisions {
    /// Begins an update, switch, status or diff, which will drive `editor`.
    fn report<'s>(
        &'s self,
        request: &ReportRequest<'_>,
        editor: &'s mut dyn Editor,
    ) -> SvnResult<Box<dyn Report + 's>>;
    /// Replays one revision into `editor` as it was committed, up to but without `close_edit`.
    fn replay(
        &self,
        revision: Revnum,
        request: &ReplayRequest,
        editor: &mut dyn Editor,
    ) -> SvnResult<()>;
    /// Replays a range of revisions.
    fn replay_range(
        &self,
        start: Revnum,
        end: Revnum,
        request: &ReplayRequest,
        receiver: &mut dyn ReplayReceiver,
    ) -> SvnResult<()> {
        for revision in (start.0..=end.0).map(Revnum) {
            let props = self.rev_proplist(revision)?;
            let mut edit = OneReplay { session: self, revision, request };
            receiver.revision(revision, &props, &mut edit)?;
        }
        Ok(())
    }
}

/// One revision of a range that is replayed revision by revision.
struct OneReplay<'s, S: ?Sized> {
    session: &'s S,
    revision: Revnum,
    request: &'s ReplayRequest,
}

impl<S: Edits + ?Sized> ReplayedEdit for OneReplay<'_, S> {
    fn drive(&mut self, editor: &mut dyn Editor) -> SvnResult<()> {
        self.session.replay(self.revision, self.request, editor)
    }
}

/// Commits.
#[allow(clippy::missing_errors_doc, reason = "all: what the connection or the repository says")]
pub trait Commits {
    /// Begins a commit.
    fn commit<'s>(&'s self, request: &CommitRequest<'_>) -> SvnResult<Box<dyn CommitEditor + 's>>;
}

/// A session to one repository, anchored at a URL of it. All methods are in the small traits, each of which is
/// implemented beside the code of its requests.
pub trait Session:
    SessionInfo + Revisions + Nodes + Files + History + Locks + Edits + Commits
{
}

impl<S> Session for S where
    S: SessionInfo + Revisions + Nodes + Files + History + Locks + Edits + Commits
{
}

/// E200007 when merged revisions or mergeinfo are wanted of a repository that knows none.
pub(crate) fn require_mergeinfo(session: &impl SessionInfo, wanted: bool) -> SvnResult<()> {
    if !wanted || session.has_capability(Capability::Mergeinfo)? {
        return Ok(());
    }
    Err(SvnError::new(
        ErrorCode::UNSUPPORTED_FEATURE,
        format!("Retrieval of mergeinfo unsupported by '{}'", session.url()),
    ))
}
