//! Connections to svn servers that no session uses at the moment: the next session to the same repository takes one over,
//! so that a command with many targets or externals opens one connection.
//!
//! Invariant: a connection that waits here is between two requests, and its server has said all that it had to say.

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;

use sapwood_core::paths::{Url, UrlBuf};

use super::connection::Connection;
use super::repository::Repository;
use crate::auth::Authenticator;

/// A connection without a session.
#[derive(Debug)]
pub(super) struct IdleConnection {
    pub(super) conn: Connection,
    /// The URL that the server knows.
    pub(super) server: UrlBuf,
    pub(super) repository: Rc<Repository>,
}

/// The connections that no session uses. Clones share.
#[derive(Clone, Debug, Default)]
pub struct IdleConnections(Rc<RefCell<Vec<IdleConnection>>>);

impl IdleConnections {
    /// Takes a connection to the repository of `url`, of the user whose credentials these are.
    pub(super) fn take(&self, url: &Url, auth: &Arc<Authenticator>) -> Option<IdleConnection> {
        let mut idle = self.0.borrow_mut();
        loop {
            let at = idle.iter().position(|one| {
                let repository = &one.repository;
                url.below(&repository.root_url).is_some() && Arc::ptr_eq(auth, &repository.auth)
            })?;
            let found = idle.swap_remove(at);
            if found.conn.is_idle() {
                return Some(found);
            }
        }
    }

    /// Keeps a connection, unless it was closed or left in the middle of something.
    pub(super) fn put(&self, one: IdleConnection) {
        if one.conn.is_idle() {
            self.0.borrow_mut().push(one);
        }
    }
}
