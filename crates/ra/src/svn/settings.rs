//! What a client of an svn server has to know of the user and the configuration.

use std::ffi::OsString;
use std::sync::Arc;

use sapwood_core::CancelToken;
use sapwood_core::config::Config;

use super::idle::IdleConnections;
use crate::auth::Authenticator;

/// The settings of a client of an svn server. Clones share.
#[derive(Clone, Debug)]
pub struct ClientSettings {
    /// The user's `config` file: it names the commands of tunnels.
    pub config: Arc<Config>,
    /// User names, passwords and the questions for them.
    pub auth: Arc<Authenticator>,
    /// Looks up an environment variable: a tunnel's command may be in one.
    pub variable: fn(&str) -> Option<OsString>,
    /// Connections that one session takes over from another.
    pub idle: IdleConnections,
    /// What the program calls itself beside the library's own name.
    pub client_name: Option<String>,
    /// Asks long work to stop.
    pub cancel: CancelToken,
}
