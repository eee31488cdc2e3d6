//! Sessions to a repository that is opened in this process (`file:///path`).
//!
//! No password is asked for, and no authz file is read: a user that may read and write the
//! files may do everything. Hooks run.

mod commit;
mod edits;
mod locks;
mod nodes;

use std::cell::{OnceCell, RefCell};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use sapwood_core::date::Timestamp;
use sapwood_core::mergeinfo::Mergeinfo;
use sapwood_core::paths::{FsPath, FsPathBuf, RelPath, RelPathBuf, Url, UrlBuf};
use sapwood_core::{
    CancelToken, Depth, ErrorCode, Lock, NodeKind, PropList, Revnum, Segment, SvnError, SvnResult,
    path as paths, uri,
};
use sapwood_delta::Editor;
use sapwood_fs::Filesystem;
use sapwood_repos::{
    Everything, Hooks, Repository, RevpropHooks, RevpropRequest, change_revision_prop,
};

use crate::auth::Authenticator;
use crate::session::{
    COMPATIBLE_VERSION, Capability, CommitEditor, CommitRequest, Dirent, DirentFields, FetchedDir,
    FetchedFile, FileRevReceiver, FileRevsRequest, InheritedProps, ListRequest, LockReceiver,
    LogEntry, LogRequest, MergeinfoRequest, ReplayReceiver, ReplayRequest, Report, ReportRequest,
    RevpropChange, Session, once_a_path, require_mergeinfo,
};
use crate::settings::Settings;

/// A session to a repository in this process.
#[derive(Debug)]
pub struct FileSession {
    repository: Repository,
    root_url: UrlBuf,
    decoded_root_url: String,
    uuid: String,
    /// The repository path of the session's URL.
    fs_path: RefCell<FsPathBuf>,
    /// Whose name changes bear.
    user: OnceCell<Option<String>>,
    /// What transactions say that they were made with.
    user_agent: String,
    auth: Arc<Authenticator>,
    cancel: CancelToken,
}

/// A program reads little of each block, and most often what the system has in memory: copying
/// more costs more than reading twice.
const BLOCK: usize = 16 << 10;

/// Everything may be read.
const ALL: &Everything = &Everything;

fn open_failed(url: &Url) -> SvnError {
    SvnError::new(
        ErrorCode::RA_LOCAL_REPOS_OPEN_FAILED,
        format!("Unable to open repository '{url}'"),
    )
}

impl FileSession {
    /// Opens a session to a canonical `file:` URL.
    ///
    /// # Errors
    /// E180001 when there is no repository, or it cannot be opened.
    pub fn open(url: &Url, settings: &Settings) -> SvnResult<Self> {
        let illegal = |message: String| SvnError::new(ErrorCode::RA_ILLEGAL_URL, message);
        let parts = url.parts().ok_or_else(|| {
            illegal(format!("Local URL '{url}' does not contain 'file://' prefix"))
        })?;
        if !matches!(parts.host, "" | "localhost") {
            return Err(illegal(format!("Local URL '{url}' contains unsupported hostname")));
        }
        let bad = || illegal(format!("Local URL '{url}' is not UTF-8"));
        let path = uri::decode_utf8(parts.path).ok_or_else(bad)?;
        let path = FsPathBuf::canonicalize(&path);
        let root =
            Repository::find_root(Path::new(path.as_str())).ok_or_else(|| open_failed(url))?;
        let caches = settings.caches.get(&settings.config)?;
        let mut options = settings.open_options.clone();
        options.largest_block.get_or_insert(BLOCK);
        let repository = Repository::open(&root, &caches, &options)
            .map_err(|e| open_failed(url).with_cause(e.into()))?;
        let uuid = repository.fs().uuid().map_err(SvnError::from)?;
        let root = root.to_string_lossy();
        let below = paths::skip_ancestor(&root, &path)
            .ok_or_else(|| SvnError::internal("the root that was found is not above the path"))?;
        let fs_path = FsPathBuf::canonicalize(below);
        let mut root_url = url;
        for _ in fs_path.names() {
            root_url = root_url.parent_and_name().map_or(root_url, |(parent, _)| parent);
        }
        let agent = format!("SVN/{COMPATIBLE_VERSION} (sapwood) ra_local");
        Ok(Self {
            repository,
            user_agent: match &settings.client_name {
                Some(name) => format!("{agent} {name}"),
                None => agent,
            },
            decoded_root_url: uri::decode_utf8(root_url).ok_or_else(bad)?,
            root_url: root_url.to_owned(),
            user: OnceCell::new(),
            auth: Arc::clone(&settings.auth),
            uuid,
            fs_path: RefCell::new(fs_path),
            cancel: settings.cancel.clone(),
        })
    }

    fn fs(&self) -> &Filesystem {
        self.repository.fs()
    }

    /// Whose name changes bear.
    fn user(&self) -> Option<&str> {
        self.user.get_or_init(|| self.auth.username(&self.uuid)).as_deref()
    }

    fn hooks(&self) -> Hooks {
        Hooks::new(&self.repository, None)
    }

    /// The repository path of a path below the session's URL.
    fn at(&self, path: &RelPath) -> FsPathBuf {
        self.fs_path.borrow().join(path)
    }

    fn all_at(&self, paths: &[&RelPath]) -> Vec<FsPathBuf> {
        paths.iter().map(|path| self.at(path)).collect()
    }

    fn revision(&self, revision: Option<Revnum>) -> SvnResult<Revnum> {
        match revision {
            Some(revision) => Ok(revision),
            None => Ok(self.fs().youngest()?),
        }
    }
}

impl Session for FileSession {
    fn url(&self) -> UrlBuf {
        self.root_url.join(self.fs_path.borrow().to_relpath())
    }

    fn root_url(&self) -> UrlBuf {
        self.root_url.clone()
    }

    fn uuid(&self) -> String {
        self.uuid.clone()
    }

    fn has_capability(&self, capability: Capability) -> SvnResult<bool> {
        Ok(capability != Capability::Mergeinfo || self.repository.has_mergeinfo())
    }

    fn bytes_transferred(&self) -> u64 {
        0
    }

    fn reparent(&self, url: &Url) -> SvnResult<()> {
        let below = url.below(&self.root_url).ok_or_else(|| {
            SvnError::new(
                ErrorCode::RA_ILLEGAL_URL,
                format!(
                    "URL '{url}' is not a child of the session's repository root URL '{}'",
                    self.root_url
                ),
            )
        })?;
        *self.fs_path.borrow_mut() = below.to_fspath();
        Ok(())
    }

    fn latest_revnum(&self) -> SvnResult<Revnum> {
        Ok(self.fs().youngest()?)
    }

    fn dated_revision(&self, time: Timestamp) -> SvnResult<Revnum> {
        Ok(self.fs().dated_revision(time.0)?)
    }

    fn rev_proplist(&self, revision: Revnum) -> SvnResult<PropList> {
        Ok((*self.fs().revprops(revision)?).clone())
    }

    fn rev_prop(&self, revision: Revnum, name: &str) -> SvnResult<Option<Vec<u8>>> {
        Ok(self.fs().revprops(revision)?.get(name).map(<[u8]>::to_vec))
    }

    fn change_rev_prop(&self, change: &RevpropChange<'_>) -> SvnResult<()> {
        let RevpropChange { revision, name, expected, value } = *change;
        let user = self.user();
        let hooks = RevpropHooks::ALL;
        let request = RevpropRequest { revision, name, expected, value, user, hooks };
        change_revision_prop(&self.repository, &self.hooks(), &request, ALL)
    }

    fn check_path(&self, path: &RelPath, revision: Option<Revnum>) -> SvnResult<Option<NodeKind>> {
        let root = self.fs().revision_root(self.revision(revision)?)?;
        Ok(root.kind(&self.at(path))?)
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
        self.fetch_file(path, revision, contents, want_props)
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
        let root = self.fs().revision_root(self.revision(revision)?)?;
        let found = sapwood_repos::inherited_props(&root, &self.at(path), None, ALL, &self.cancel)?;
        let found = found.into_iter();
        found.map(|(path, props)| Ok((RelPathBuf::new(path)?, (*props).clone()))).collect()
    }

    fn mergeinfo(&self, request: &MergeinfoRequest<'_>) -> SvnResult<Vec<(RelPathBuf, Mergeinfo)>> {
        require_mergeinfo(self, true)?;
        let wanted = self.all_at(request.paths);
        let wanted: Vec<&FsPath> = wanted.iter().map(FsPathBuf::as_path).collect();
        let base = self.fs_path.borrow().clone();
        let mut catalog = Vec::new();
        sapwood_repos::mergeinfo_catalog(
            &self.repository,
            &request.of(&wanted),
            ALL,
            &self.cancel,
            &mut |path, info| {
                let below = path.below(&base).unwrap_or_else(|| path.to_relpath());
                catalog.push((below.to_owned(), info.clone()));
                Ok(())
            },
        )?;
        Ok(catalog)
    }

    fn log(
        &self,
        request: &LogRequest<'_>,
        receiver: &mut dyn FnMut(&LogEntry<'_>) -> SvnResult<()>,
    ) -> SvnResult<()> {
        require_mergeinfo(self, request.include_merged_revisions)?;
        let wanted = self.all_at(request.paths);
        let wanted: Vec<&FsPath> = wanted.iter().map(FsPathBuf::as_path).collect();
        let request = request.of(&wanted);
        let merged = request.include_merged_revisions;
        let mut entries = Entries { merged, receiver };
        sapwood_repos::log_to(&self.repository, &request, ALL, &self.cancel, &mut entries)?;
        Ok(())
    }

    fn locations(
        &self,
        path: &RelPath,
        peg: Revnum,
        revisions: &[Revnum],
    ) -> SvnResult<Vec<(Revnum, FsPathBuf)>> {
        let path = self.at(path);
        Ok(sapwood_repos::locations(&self.repository, &path, peg, revisions, ALL, &self.cancel)?)
    }

    fn location_segments(
        &self,
        path: &RelPath,
        peg: Option<Revnum>,
        start: Option<Revnum>,
        end: Option<Revnum>,
        receiver: &mut dyn FnMut(&Segment) -> SvnResult<()>,
    ) -> SvnResult<()> {
        let path = self.at(path);
        let request = sapwood_repos::SegmentsRequest { path: &path, peg, start, end };
        let cancel = &self.cancel;
        sapwood_repos::location_segments(&self.repository, &request, ALL, cancel, receiver)?;
        Ok(())
    }

    fn deleted_rev(&self, path: &RelPath, peg: Revnum, end: Revnum) -> SvnResult<Option<Revnum>> {
        Ok(sapwood_repos::deleted_rev(&self.repository, &self.at(path), peg, end, &self.cancel)?)
    }

    fn file_revs(
        &self,
        request: &FileRevsRequest<'_>,
        receiver: &mut dyn FileRevReceiver,
    ) -> SvnResult<()> {
        require_mergeinfo(self, request.include_merged_revisions)?;
        let path = self.at(request.path);
        let request = request.of(path.as_path());
        sapwood_repos::file_revs(&self.repository, &request, ALL, &self.cancel, receiver)?;
        Ok(())
    }

    fn get_lock(&self, path: &RelPath) -> SvnResult<Option<Lock>> {
        Ok(self.fs().lock(&self.at(path))?)
    }

    fn get_locks(&self, path: &RelPath, depth: Depth) -> SvnResult<Vec<Lock>> {
        Ok(self.fs().locks(&self.at(path), depth)?)
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

/// Takes the revisions of a log, as the reference's session in the same process does.
struct Entries<'r> {
    merged: bool,
    receiver: &'r mut dyn FnMut(&LogEntry<'_>) -> SvnResult<()>,
}

impl sapwood_repos::LogReceiver for Entries<'_> {
    fn entry(&mut self, entry: &sapwood_repos::LogRevision<'_>) -> SvnResult<()> {
        let mut entry = entry.entry();
        if self.merged {
            once_a_path(&mut entry.changes);
        }
        (self.receiver)(&entry)
    }

    fn takes_all_ends(&self) -> bool {
        self.merged
    }
}
