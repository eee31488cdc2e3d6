//! The state of one connection, as its commands see it.

use std::sync::Arc;

use sapwood_core::Exact;
use sapwood_core::config::Config;
use sapwood_core::paths::FsPathBuf;
use sapwood_core::{CancelToken, Revnum, SvnError, SvnResult};
use sapwood_fs::Root;
use sapwood_repos::Repository;
use sapwood_wire_svn::editor::WireOptions;
use sapwood_wire_svn::{Error as WireError, List};

use crate::common::access::UserAccess;
use crate::common::operation_log::Operation;
use crate::common::state::ServerState;
use crate::svn::connection::Connection;

/// The state of one connection whose client has a repository.
#[derive(Debug)]
pub(crate) struct Session<'s> {
    /// The state that all connections share.
    pub shared: &'s ServerState,
    /// The connection's buffers.
    pub conn: Connection,
    /// Cancels the work for the client when the server ends or the client disconnects.
    pub cancel: CancelToken,
    /// The repository.
    pub repository: Repository,
    /// The repository's URL, percent-encoded.
    pub url: String,
    /// The same, decoded.
    pub decoded_url: String,
    /// The fspath of the session's URL: what relative paths are relative to.
    pub fs_path: FsPathBuf,
    /// The user and their rights.
    pub access: UserAccess<'s>,
    /// User names and passwords.
    pub passwords: Option<Arc<Config>>,
    /// The realm of authentication.
    pub realm: String,
    /// The repository's UUID.
    pub uuid: String,
    /// The client's capabilities.
    pub options: WireOptions,
    /// Whether the client supports mergeinfo.
    pub client_mergeinfo: bool,
    /// The last trees that were used, the latest first: clients ask for many paths of one revision,
    /// one after the other, and a tree caches the way to the last path.
    pub(super) roots: Vec<Root>,
}

/// How many trees a connection caches: a comparison needs two.
pub(super) const ROOTS: usize = 2;

/// Why a command failed.
#[derive(Debug)]
pub(crate) enum Fail {
    /// The client gets the error, and may go on.
    Command(SvnError),
    /// The connection ends with this error.
    Fatal(SvnError),
}

/// The outcome of a command.
pub(crate) type CommandResult = Result<(), Fail>;

impl From<SvnError> for Fail {
    fn from(error: SvnError) -> Self {
        Self::Command(error)
    }
}

impl From<sapwood_repos::Error> for Fail {
    fn from(error: sapwood_repos::Error) -> Self {
        Self::Command(error.into())
    }
}

impl From<sapwood_fs::Error> for Fail {
    fn from(error: sapwood_fs::Error) -> Self {
        Self::Command(error.into())
    }
}

/// Parameters of other types mean a broken client: the rest of its input is unreliable.
impl From<WireError> for Fail {
    fn from(error: WireError) -> Self {
        if error.is_of_a_value() { Self::Command(error.into()) } else { Self::Fatal(error.into()) }
    }
}

impl<'s> Session<'s> {
    /// The tree of a revision.
    ///
    /// # Errors
    /// E160006 when there is no such revision; corruption and system errors.
    pub(crate) fn root(&mut self, revision: Revnum) -> SvnResult<Root> {
        let known = self.roots.iter().position(|root| root.revision() == Some(revision));
        let root = match known {
            Some(at) => self.roots.remove(at),
            None => self.repository.fs().revision_root(revision)?,
        };
        self.roots.truncate(ROOTS - 1);
        self.roots.insert(0, root.clone());
        Ok(root)
    }

    /// The user's name, from the login agent.
    #[must_use]
    pub(crate) fn tunnel_user(&self) -> Option<&'s str> {
        self.shared.settings.tunnel.as_ref().and_then(|t| t.user.as_deref())
    }

    /// Writes a line to the operational log.
    pub(crate) fn log_command(&self, operation: &Operation<'_>) {
        self.shared.note(self.access.subject(), operation);
    }

    /// Writes an error to the operational log.
    pub(crate) fn log_error(&self, error: &SvnError) {
        if let Some(log) = &self.shared.log {
            log.error(self.access.subject(), error, false);
        }
    }

    /// The fspath of a path relative to the session's URL.
    #[must_use]
    pub(crate) fn full_path(&self, relative: &str) -> FsPathBuf {
        FsPathBuf::canonicalized(sapwood_core::path::join(&self.fs_path, relative))
    }

    /// Reserves memory for as many paths in the repository as `list` has items, whose own bytes are
    /// counted already. Each path begins with that of the session, which a client may make
    /// megabytes long: the memory made from a request is limited as the request is.
    ///
    /// # Errors
    /// E210009 when that would be too much; E210002 when there was no room in time.
    pub(crate) fn make_room_for(&mut self, list: List<'_>) -> Result<(), Fail> {
        let each = self.fs_path.len().plus(BESIDE_A_PATH);
        Ok(self.conn.hold_more(list.count_items().saturating_mul(each))?)
    }
}

/// The bytes of a path from a request beside its letters: owned, in a list, in a table.
const BESIDE_A_PATH: usize = 64;
