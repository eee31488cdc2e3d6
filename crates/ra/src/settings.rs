//! What a session needs to know of the person, the machine and the configuration.

use std::ffi::OsString;
use std::sync::Arc;

use sapwood_core::CancelToken;
use sapwood_core::config::Config;
use sapwood_core::paths::UrlBuf;
use sapwood_fs::OpenOptions;

use crate::auth::Authenticator;
use crate::caches::FileCaches;
use crate::http::{self, HttpClients};
use crate::svn::{self, IdleConnections};

/// Everything that [`crate::open()`] takes beside the URL. Clones share.
#[derive(Clone)]
pub struct Settings {
    /// The user's `config` file.
    pub config: Arc<Config>,
    /// The user's `servers` file.
    pub servers: Arc<Config>,
    /// User names, passwords and the questions for them.
    pub auth: Arc<Authenticator>,
    /// Looks up an environment variable: a tunnel's command may be in one.
    pub variable: fn(&str) -> Option<OsString>,
    /// Whose name changes made over `file:` bear unless something else is said: the system's user.
    pub system_user: Option<String>,
    /// Caches for repositories opened in this process.
    pub caches: Arc<FileCaches>,
    /// How to open them.
    pub open_options: OpenOptions,
    /// The clients of http servers, which sessions share.
    pub http_clients: HttpClients,
    /// Connections to svn servers, which one session takes over from another.
    pub svn_connections: IdleConnections,
    /// What the program calls itself beside the library's own name.
    pub client_name: Option<String>,
    /// Asks long work to stop.
    pub cancel: CancelToken,
}

impl Settings {
    /// Says that sessions at these URLs will be opened: what those over http ask first is asked together.
    pub fn announce(&self, urls: &[UrlBuf]) {
        self.http_clients.announce(urls, &self.of_http());
    }

    /// What a client of an http server needs of these.
    pub(crate) fn of_http(&self) -> http::ClientSettings {
        http::ClientSettings {
            servers: Arc::clone(&self.servers),
            auth: Arc::clone(&self.auth),
            client_name: self.client_name.clone(),
            cancel: self.cancel.clone(),
        }
    }

    /// What a client of an svn server needs of these.
    pub(crate) fn of_svn(&self) -> svn::ClientSettings {
        svn::ClientSettings {
            config: Arc::clone(&self.config),
            auth: Arc::clone(&self.auth),
            variable: self.variable,
            idle: self.svn_connections.clone(),
            client_name: self.client_name.clone(),
            cancel: self.cancel.clone(),
        }
    }
}

impl std::fmt::Debug for Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Settings").field("client_name", &self.client_name).finish_non_exhaustive()
    }
}
