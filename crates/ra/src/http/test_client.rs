//! A client for tests, without configuration and credentials.

use std::sync::Arc;

use sapwood_core::CancelToken;
use sapwood_core::config::{Case, Config};
use sapwood_core::paths::Url;

use super::client::Client;
use crate::auth::{AuthOptions, Authenticator};
use crate::file::FileCaches;
use crate::settings::Settings;

/// Without configuration and credentials.
pub(super) fn settings() -> Settings {
    let empty = Arc::new(Config::new(Case::INSENSITIVE));
    let auth = Authenticator::new(AuthOptions::default(), Arc::clone(&empty), None);
    Settings {
        config: Arc::clone(&empty),
        servers: empty,
        auth: Arc::new(auth),
        variable: |_| None,
        system_user: None,
        caches: Arc::new(FileCaches::new(1 << 20)),
        http_clients: crate::http::HttpClients::default(),
        svn_connections: crate::svn::IdleConnections::default(),
        open_options: sapwood_fs::OpenOptions::default(),
        client_name: None,
        cancel: CancelToken::default(),
    }
}

/// A client of a server on this machine.
pub(super) fn client(port: u16) -> Client {
    Client::new(Url::new(&format!("http://127.0.0.1:{port}")).unwrap(), &settings()).unwrap()
}
