//! The servers of a directory: their addresses, which of them answer, and connections that wait for the next login.
//!
//! Invariant: a server that failed is tried by one login at a time, each few seconds; the others go on to the next server
//! or end at once, so that a server that hangs holds up few of them.

use std::time::{Duration, Instant};

use parking_lot::Mutex;

use crate::address::Address;
use crate::connection::Connection;

/// How long a server that failed is left alone.
const PAUSE: Duration = Duration::from_secs(10);
/// How long a connection may wait for the next login. Servers close those that wait for minutes.
const IDLE: Duration = Duration::from_secs(30);

/// A server.
#[derive(Debug)]
pub(crate) struct Server {
    pub(crate) address: Address,
    /// Set while it does not answer: when it is tried again.
    again: Mutex<Option<Instant>>,
    /// Connections on which the account is bound that searches.
    pub(crate) searchers: Idle,
    /// Connections on which passwords are tried.
    pub(crate) binders: Idle,
}

impl Server {
    pub(crate) fn new(address: Address) -> Self {
        Self {
            address,
            again: Mutex::new(None),
            searchers: Idle::default(),
            binders: Idle::default(),
        }
    }

    /// Whether a login may try it now. Of a server that failed, this is the only one for a while.
    pub(crate) fn may_try(&self, now: Instant) -> bool {
        let mut again = self.again.lock();
        match *again {
            None => true,
            Some(at) if now < at => false,
            Some(_) => {
                *again = now.checked_add(PAUSE);
                true
            }
        }
    }

    /// Notes that it answered.
    pub(crate) fn answered(&self) {
        *self.again.lock() = None;
    }

    /// Notes that it failed.
    pub(crate) fn failed(&self, now: Instant) {
        *self.again.lock() = now.checked_add(PAUSE);
        self.searchers.clear();
        self.binders.clear();
    }
}

/// Connections that wait for the next login.
#[derive(Debug, Default)]
pub(crate) struct Idle {
    waiting: Mutex<Vec<(Instant, Connection)>>,
}

impl Idle {
    /// The one that was used last, unless that is long ago.
    pub(crate) fn take(&self, now: Instant) -> Option<Connection> {
        let mut waiting = self.waiting.lock();
        waiting.retain(|(since, _)| now.saturating_duration_since(*since) < IDLE);
        waiting.pop().map(|(_, connection)| connection)
    }

    /// Keeps one that is in order.
    pub(crate) fn put(&self, connection: Connection, now: Instant) {
        self.waiting.lock().push((now, connection));
    }

    fn clear(&self) {
        self.waiting.lock().clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        for (url, host, encrypted, here) in [
            ("ldaps://DC1.example.com", "dc1.example.com", true, false),
            ("LDAP://dc1:3389/", "dc1", false, false),
            ("ldap://127.0.0.1:389", "127.0.0.1", false, true),
            ("ldap://[::1]", "[::1]", false, true),
            ("ldap://[::1]:389", "[::1]", false, true),
            ("ldap://localhost", "localhost", false, true),
        ] {
            let address = Address::parse(url).unwrap();
            let found = (&*address.host, address.is_encrypted(), address.is_this_machine());
            assert_eq!(found, (host, encrypted, here), "{url}");
        }
        for bad in ["", "dc1", "ldap://", "ldap://a b", "ldap://a:x", "ldap://a/dc=x", "http://a"] {
            assert_eq!(Address::parse(bad), None, "{bad}");
        }
        assert_eq!(Address::parse("ldap://u@h"), None);
    }

    #[test]
    fn a_server_that_failed_is_tried_by_one_login_at_a_time() {
        let server = Server::new(Address::parse("ldap://a").unwrap());
        let now = Instant::now();
        assert!(server.may_try(now) && server.may_try(now));
        server.failed(now);
        assert!(!server.may_try(now));
        assert!(server.may_try(now + PAUSE) && !server.may_try(now + PAUSE));
        assert!(server.may_try(now + PAUSE * 2));
        server.answered();
        assert!(server.may_try(now + PAUSE * 2) && server.may_try(now + PAUSE * 2));
    }
}
