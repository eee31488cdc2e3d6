//! What a client of an http server has to know of the user and the configuration.

use std::sync::Arc;

use sapwood_core::CancelToken;
use sapwood_core::config::Config;

use crate::auth::Authenticator;

/// The settings of a client of an http server.
#[derive(Clone, Debug)]
pub struct ClientSettings {
    /// The user's `servers` file.
    pub servers: Arc<Config>,
    /// User names, passwords and the questions for them.
    pub auth: Arc<Authenticator>,
    /// What the program calls itself beside the library's own name.
    pub client_name: Option<String>,
    /// Asks long work to stop.
    pub cancel: CancelToken,
}
