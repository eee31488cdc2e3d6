//! The requests of a commit, and what is expected of their replies.
//!
//! Invariant: no reply is left out: those of a transaction are checked when they come, at the latest before the MERGE.

use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::{ErrorCode, SvnError, SvnResult};

use super::route::Route;
use super::{HttpCommit, out_of_order};
use crate::http::client::{Call, expect_status};
use crate::http::revprops::patched;
use crate::http::transport::Reply;
use crate::session::LateFailure;

/// What is expected of a reply.
pub(super) struct ExpectedReply {
    /// The node that an error is about.
    about: Option<RelPathBuf>,
    expected: ExpectedStatus,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ExpectedStatus {
    /// One of these statuses.
    Status(&'static [u16]),
    /// Nothing is there.
    Absent,
    /// Properties were changed.
    Patched,
}

impl ExpectedReply {
    /// Checks a reply.
    fn check(&self, call: &Call<'_>, reply: Reply) -> SvnResult<()> {
        match self.expected {
            ExpectedStatus::Status(good) => expect_status(reply, &call.target, good)?.finish(),
            ExpectedStatus::Patched => patched(reply, &call.target),
            ExpectedStatus::Absent => {
                let found = expect_status(reply, &call.target, &[200]).and_then(Reply::finish);
                match (found, &self.about) {
                    (Ok(()), Some(path)) => Err(SvnError::new(
                        ErrorCode::FS_ALREADY_EXISTS,
                        format!("File '{path}' already exists"),
                    )),
                    (Ok(()), None) => Err(out_of_order()),
                    (Err(error), _) if error.is_no_node() => Ok(()),
                    (Err(error), _) => Err(error),
                }
            }
        }
    }
}

/// The status of what was made.
pub(super) const CREATED: ExpectedStatus = ExpectedStatus::Status(&[201]);

/// Checks a reply, and notes what an error is about.
fn checked(
    awaited: &ExpectedReply,
    call: &Call<'_>,
    reply: Reply,
    failed: &mut Option<LateFailure>,
) -> SvnResult<()> {
    let checked = awaited.check(call, reply);
    if checked.is_err() {
        *failed = Some(LateFailure { path: awaited.about.clone() });
    }
    checked
}

impl HttpCommit<'_> {
    /// Makes a request that changes something of the transaction. In an activity each is waited for: where the next
    /// one goes is in the replies.
    pub(super) fn request(
        &mut self,
        call: Call<'_>,
        about: Option<&RelPath>,
        expected: ExpectedStatus,
    ) -> SvnResult<()> {
        let awaited = ExpectedReply { about: about.map(RelPath::to_owned), expected };
        let client = &self.session.client;
        if let Route::Activity(_) = self.route()? {
            let reply = client.call(&call)?;
            return awaited.check(&call, reply);
        }
        let failed = &mut self.failed;
        self.queue.push(client, call.into_owned(), awaited, &mut |awaited, call, reply| {
            checked(&awaited, call, reply, failed)
        })
    }

    /// Makes the last request, after the replies to all others have come.
    pub(super) fn last_request(&mut self, call: Call<'_>) -> SvnResult<Reply> {
        let client = &self.session.client;
        let Self { queue, failed, .. } = self;
        queue.finish(client, &mut |awaited, call, reply| checked(&awaited, call, reply, failed))?;
        if !queue.is_open() {
            return client.call(&call);
        }
        let mut last = None;
        let awaited = ExpectedReply { about: None, expected: ExpectedStatus::Status(&[]) };
        let mut take = |_, _: &Call<'static>, reply| {
            last = Some(reply);
            Ok(())
        };
        queue.push(client, call.into_owned(), awaited, &mut take)?;
        queue.finish(client, &mut take)?;
        last.ok_or_else(|| SvnError::internal("a request that was finished has no reply"))
    }
}
