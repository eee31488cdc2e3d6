//! Sessions to a repository that is opened in this process (`file:///path`).
//!
//! No password is asked for, and no authz file is read: a user that may read and write the
//! files may do everything. Hooks run.

mod commit;
mod edits;
mod files;
mod history;
mod locks;
mod nodes;
mod revisions;

use std::cell::{OnceCell, RefCell};
use std::path::Path;
use std::sync::Arc;

use sapwood_core::paths::{FsPathBuf, RelPath, Url, UrlBuf};
use sapwood_core::{CancelToken, ErrorCode, Revnum, SvnError, SvnResult, path as paths, uri};
use sapwood_fs::Filesystem;
use sapwood_repos::{Everything, Hooks, Repository};

use crate::auth::Authenticator;
use crate::error::Error;
use crate::session::{COMPATIBLE_VERSION, Capability, SessionInfo};
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

impl SessionInfo for FileSession {
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
        let below = url
            .below(&self.root_url)
            .ok_or_else(|| Error::other_repository(url, &self.root_url))?;
        *self.fs_path.borrow_mut() = below.to_fspath();
        Ok(())
    }
}
