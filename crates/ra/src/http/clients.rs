//! The clients of a program, one for each server: several sessions to a server, at the same time or one after the other,
//! share its connections and what the user proved to it.
//!
//! Invariant: a client is shared only by sessions with the same credentials to offer, to the same scheme, host and port.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use sapwood_core::SvnResult;
use sapwood_core::paths::{Url, UrlBuf};

use super::client::Client;
use super::settings::ClientSettings;

/// The clients that there are. Clones share.
#[derive(Clone, Debug, Default)]
pub struct HttpClients(Rc<RefCell<Vec<Rc<Client>>>>);

impl HttpClients {
    /// Says that sessions at these URLs will be opened: what they ask first is asked together, by the first of them. URLs
    /// of other schemes are passed over.
    pub(crate) fn announce(&self, urls: &[UrlBuf], settings: &ClientSettings) {
        for url in urls {
            let Some(parts) = url.parts().filter(|parts| parts.scheme.starts_with("http")) else {
                continue;
            };
            // What is wrong with it is said when its session is opened.
            if let Ok(client) = self.of(url, settings) {
                client.greetings.announce(parts.path.trim_end_matches('/'));
            }
        }
    }

    /// The client for the server of `url`.
    ///
    /// # Errors
    /// As of a new client: a URL or options that cannot be used.
    pub(super) fn of(&self, url: &Url, settings: &ClientSettings) -> SvnResult<Rc<Client>> {
        let mut clients = self.0.borrow_mut();
        let is_same = |client: &&Rc<Client>| {
            client.is_of(url) && Arc::ptr_eq(client.authenticator(), &settings.auth)
        };
        if let Some(client) = clients.iter().find(is_same) {
            return Ok(Rc::clone(client));
        }
        let client = Rc::new(Client::new(url, settings)?);
        clients.push(Rc::clone(&client));
        Ok(client)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::test_client::settings;

    #[test]
    fn one_client_for_each_server_and_user() {
        let settings_of_one = settings();
        let clients = HttpClients::default();
        let of = |settings: &ClientSettings, url: &str| {
            clients.clone().of(Url::new(url).unwrap(), settings).unwrap()
        };
        let first = of(&settings_of_one, "http://host/svn/a");
        for same in ["http://host/svn/b", "http://host", "http://host/svn/a"] {
            assert!(Rc::ptr_eq(&first, &of(&settings_of_one.clone(), same)), "{same}");
        }
        for other in ["http://host:81/svn/a", "http://hosts/svn", "https://host/svn/a"] {
            assert!(!Rc::ptr_eq(&first, &of(&settings_of_one, other)), "{other}");
        }
        // The same server for another user.
        let other = ClientSettings { auth: settings().auth, ..settings_of_one.clone() };
        assert!(!Rc::ptr_eq(&first, &of(&other, "http://host/svn/a")));
    }
}
