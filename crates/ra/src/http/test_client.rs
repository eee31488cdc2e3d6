//! A client for tests, without configuration and credentials.

use std::sync::Arc;

use sapwood_core::CancelToken;
use sapwood_core::config::{Case, Config};
use sapwood_core::paths::Url;

use super::client::Client;
use super::settings::ClientSettings;
use crate::auth::{AuthOptions, Authenticator};

/// Without configuration and credentials.
pub(super) fn settings() -> ClientSettings {
    let empty = Arc::new(Config::new(Case::INSENSITIVE));
    let auth = Authenticator::new(AuthOptions::default(), Arc::clone(&empty), None);
    let cancel = CancelToken::default();
    ClientSettings { servers: empty, auth: Arc::new(auth), client_name: None, cancel }
}

/// A client of a server on this machine.
pub(super) fn client(port: u16) -> Client {
    Client::new(Url::new(&format!("http://127.0.0.1:{port}")).unwrap(), &settings()).unwrap()
}
