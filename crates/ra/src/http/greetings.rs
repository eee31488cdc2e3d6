//! The first requests of sessions that are to come: which were announced, and the replies that were fetched ahead.
//! `endpoints` sends them.

use std::cell::RefCell;

use super::transport::Reply;

/// The replies to the first requests of sessions that are to come, which were sent together.
#[derive(Debug, Default)]
pub(super) struct Greetings {
    /// Addresses of which a session will be opened.
    announced: RefCell<Vec<String>>,
    replies: RefCell<Vec<(String, Reply)>>,
}

impl Greetings {
    /// Says that a session at an address will be opened.
    pub(super) fn announce(&self, target: &str) {
        self.announced.borrow_mut().push(target.to_owned());
    }

    /// The addresses that were announced, which are not announced any longer.
    pub(super) fn take_announced(&self) -> Vec<String> {
        std::mem::take(&mut *self.announced.borrow_mut())
    }

    /// Keeps the reply of an address for its session.
    pub(super) fn put(&self, target: String, reply: Reply) {
        self.replies.borrow_mut().push((target, reply));
    }

    /// The reply of an address, once.
    pub(super) fn take(&self, target: &str) -> Option<Reply> {
        let mut replies = self.replies.borrow_mut();
        let at = replies.iter().position(|(known, _)| known == target)?;
        Some(replies.swap_remove(at).1)
    }
}
