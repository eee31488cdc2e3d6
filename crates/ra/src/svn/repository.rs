//! What a session to an svn server, and a connection that waits for the next session, know of the repository.

use std::sync::Arc;

use sapwood_core::paths::UrlBuf;

use crate::auth::Authenticator;

/// A repository, as its server presented it, and how it is reached.
#[derive(Debug)]
pub(super) struct Repository {
    pub(super) root_url: UrlBuf,
    pub(super) uuid: String,
    pub(super) capabilities: Vec<String>,
    pub(super) auth: Arc<Authenticator>,
    pub(super) realm_prefix: String,
    pub(super) host: String,
    pub(super) is_tunneled: bool,
    /// The server knows the user: it asks for no name again, whatever the command.
    pub(super) is_logged_in: bool,
    pub(super) user_agent: String,
}
