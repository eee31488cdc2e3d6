//! Locks of paths: a request for each, sent without waiting for the reply to the one before.

use sapwood_core::date::Timestamp;
use sapwood_core::paths::FsPathBuf;
use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::{Depth, ErrorCode, Revnum, SvnError, SvnResult};
use sapwood_wire_dav::propfind::{Name, PropfindRequest};
use sapwood_wire_dav::report::{answer, ask};
use sapwood_wire_dav::xml::{Document, Element};
use sapwood_wire_dav::{NS_DAV, headers, lock};

use super::client::{Call, Client, LIMITS, children_of, errors_of};
use super::request_queue::{Order, RequestQueue, Take};
use super::session::HttpSession;
use super::transport::Reply;
use crate::Lock;
use crate::session::{LockReceiver, Locks};

/// Bytes of a reply about one lock, at most.
const LOCK_BODY: u64 = 1 << 20;

/// What a status means for a lock or an unlock, beside what the server says of it.
fn refused(reply: Reply, path: &RelPath, target: &str) -> SvnError {
    let status = reply.status();
    let reason = reply.head.status.canonical_reason().unwrap_or("");
    let own = match status {
        400 => Some((
            ErrorCode::FS_NO_SUCH_LOCK,
            format!("No lock on path '{path}' ({status} {reason})"),
        )),
        403 => Some((
            ErrorCode::FS_LOCK_OWNER_MISMATCH,
            format!("Not authorized to perform lock operation on '{path}'"),
        )),
        405 => Some((
            ErrorCode::FS_OUT_OF_DATE,
            format!("Path '{path}' doesn't exist in HEAD revision ({status} {reason})"),
        )),
        423 => Some((
            ErrorCode::FS_PATH_ALREADY_LOCKED,
            format!("Path '{path}' already locked ({status} {reason})"),
        )),
        _ => None,
    };
    let (plain, reported) = errors_of(reply, target);
    let own = own.map_or(plain, |(code, message)| SvnError::new(code, message));
    let Some(reported) = reported else { return own };
    // The server's own sentence is about the filesystem, or what happened there: it knows best.
    let in_filesystem = (160_000..165_000).contains(&reported.code().0);
    if (status == 423 && in_filesystem) || matches!(status, 404 | 409 | 500) {
        return reported;
    }
    if reported.code() == own.code() { also(reported, own) } else { also(own, reported) }
}

/// An error, and another one beside it.
fn also(first: SvnError, other: SvnError) -> SvnError {
    first.with_cause(other.wrap(ErrorCode::COMPOSED_ERROR, "Additional errors:"))
}

/// Whether an error is about one path, and the others go on.
fn is_of_one_path(error: &SvnError) -> bool {
    matches!(
        error.code(),
        ErrorCode::FS_NO_SUCH_LOCK
            | ErrorCode::FS_LOCK_OWNER_MISMATCH
            | ErrorCode::FS_OUT_OF_DATE
            | ErrorCode::FS_PATH_ALREADY_LOCKED
            | ErrorCode::FS_NOT_FOUND
            | ErrorCode::FS_LOCK_EXPIRED
            | ErrorCode::FS_BAD_LOCK_TOKEN
            | ErrorCode::RA_NOT_LOCKED
            | ErrorCode::REPOS_HOOK_FAILURE
            | ErrorCode::FS_NOT_FILE
            | ErrorCode::FS_NO_SUCH_REVISION
            | ErrorCode::FS_PATH_NOT_LOCKED
    )
}

/// The request for the locks at and below an address.
pub(super) fn locks_call(target: &str, depth: Depth) -> Call<'_> {
    Call::new("REPORT", target).xml(ask::locks(depth))
}

impl HttpSession {
    /// The locks that a reply lists.
    pub(super) fn read_locks(
        &self,
        path: &RelPath,
        depth: Depth,
        reply: SvnResult<Reply>,
    ) -> SvnResult<Vec<Lock>> {
        let full = self.in_repository(path).to_fspath();
        let mut found = Vec::new();
        let mut take = |child: Element| {
            let Some(lock) = answer::lock(&child)? else { return Ok(()) };
            // Old servers know no depth. Only files have locks.
            let below = sapwood_core::path::skip_ancestor(&full, &lock.path);
            let wanted = below.is_some_and(|below| {
                below.is_empty()
                    || depth == Depth::Infinity
                    || (depth >= Depth::Files && !below.contains('/'))
            });
            if wanted {
                found.push(Lock {
                    path: FsPathBuf::new(lock.path)?,
                    token: lock.token,
                    owner: lock.owner,
                    comment: lock.comment,
                    is_dav_comment: false,
                    created: lock.created.0,
                    expires: lock.expires.map(|time| time.0),
                });
            }
            Ok(())
        };
        match reply.and_then(|reply| children_of(reply, &mut take)) {
            Ok(_) => Ok(found),
            // There is nothing at the path, nor any lock.
            Err(error) if error.is_no_node() => Ok(Vec::new()),
            Err(error) if error.is_unsupported() => Err(error
                .wrap(ErrorCode::RA_NOT_IMPLEMENTED, "Server does not support locking features")),
            Err(error) => Err(error),
        }
    }

    /// What a reply says of the lock of a path.
    fn read_lock(&self, path: &RelPath, call: &Call<'_>, mut reply: Reply) -> SvnResult<Lock> {
        if reply.status() != 200 {
            return Err(refused(reply, path, &call.target));
        }
        let owner = reply.header(headers::LOCK_OWNER).map(str::to_owned);
        let created = reply.header(headers::CREATION_DATE).map(str::to_owned);
        let root = Document::open(&mut reply, LIMITS)?.into_root()?;
        reply.finish()?;
        let granted = lock::read_reply(&root)?;
        let created = match created {
            Some(date) => Timestamp::parse(date.as_bytes())?.0,
            None => 0,
        };
        let seconds = granted.timeout.and_then(|seconds| i64::try_from(seconds).ok());
        Ok(Lock {
            path: self.in_repository(path).to_fspath(),
            token: granted.token,
            owner: owner.or_else(|| self.client.user()).unwrap_or_default(),
            comment: granted.comment,
            is_dav_comment: false,
            created,
            expires: seconds
                .map(|seconds| created.saturating_add(seconds.saturating_mul(1_000_000))),
        })
    }

    /// The token to unlock a path with: the known one, or the repository's.
    fn token_of(&self, path: &RelPath, known: Option<&str>) -> SvnResult<String> {
        if let Some(token) = known.filter(|token| !token.is_empty()) {
            return Ok(token.to_owned());
        }
        self.get_lock(path)?.map(|lock| lock.token).ok_or_else(|| {
            let message = format!("'{path}' is not locked in the repository");
            SvnError::new(ErrorCode::RA_NOT_LOCKED, message)
        })
    }
}

impl Locks for HttpSession {
    /// The lock of a file that may not exist: reports do not list those.
    fn get_lock(&self, path: &RelPath) -> SvnResult<Option<Lock>> {
        let full = self.in_repository(path).to_fspath();
        let found = self.get_locks(path, Depth::Empty)?;
        if let Some(lock) = found.into_iter().find(|lock| full == *lock.path) {
            return Ok(Some(lock));
        }
        let wanted = PropfindRequest::These(vec![Name::new(NS_DAV, "lockdiscovery")]);
        let target = self.public(path);
        let call = Call::new("PROPFIND", &target).with("depth", "0").xml(wanted.write());
        let reply = self.client.call(&call)?;
        if reply.status() != 207 {
            reply.finish()?;
            return Ok(None);
        }
        let said = |name: &str| reply.header(name).map(str::to_owned);
        let (owner, created) = (said(headers::LOCK_OWNER), said(headers::CREATION_DATE));
        let body = reply.bytes(LOCK_BODY)?;
        let root = Document::open(&body[..], LIMITS)?.into_root()?;
        let active = root
            .child(NS_DAV, "response")
            .and_then(|response| response.child(NS_DAV, "propstat"))
            .and_then(|found| found.child(NS_DAV, "prop")?.child(NS_DAV, "lockdiscovery"))
            .and_then(|locks| locks.child(NS_DAV, "activelock"));
        let Some(active) = active else { return Ok(None) };
        let token = active.child(NS_DAV, "locktoken").and_then(|token| token.child(NS_DAV, "href"));
        let Some(token) = token else { return Ok(None) };
        let created = created.and_then(|date| Timestamp::parse(date.as_bytes()).ok());
        Ok(Some(Lock {
            path: full,
            token: token.trimmed().to_owned(),
            owner: owner.unwrap_or_else(String::new),
            comment: active.child(NS_DAV, "owner").map(|owner| owner.text.clone()),
            is_dav_comment: false,
            created: created.map_or(0, |date| date.0),
            expires: None,
        }))
    }

    fn get_locks(&self, path: &RelPath, depth: Depth) -> SvnResult<Vec<Lock>> {
        let target = self.public(path);
        let reply = self.client.run_expecting(&locks_call(&target, depth), &[200]);
        self.read_locks(path, depth, reply)
    }

    fn lock(
        &self,
        paths: &[(RelPathBuf, Option<Revnum>)],
        comment: Option<&str>,
        steal: bool,
        receiver: LockReceiver<'_, Lock>,
    ) -> SvnResult<()> {
        let read = |path: &RelPath, call: &Call<'_>, reply| self.read_lock(path, call, reply);
        let mut requests = LockRequests::new(&self.client, &read, &|_| None, receiver);
        for (path, revision) in paths {
            let target = self.public(path);
            let call = lock_call(&target, *revision, comment, steal);
            if !requests.send(path, call.into_owned())? {
                break;
            }
        }
        requests.finish()
    }

    fn unlock(
        &self,
        paths: &[(RelPathBuf, Option<String>)],
        break_lock: bool,
        receiver: LockReceiver<'_, ()>,
    ) -> SvnResult<()> {
        let read = |path: &RelPath, call: &Call<'_>, reply: Reply| match reply.status() {
            200 | 204 => reply.finish(),
            _ => Err(refused(reply, path, &call.target)),
        };
        // The lock is gone: that must be reported before the failure of the hook.
        let is_done = |error: &SvnError| {
            (error.code() == ErrorCode::REPOS_POST_UNLOCK_HOOK_FAILED).then_some(())
        };
        let mut requests = LockRequests::new(&self.client, &read, &is_done, receiver);
        for (path, token) in paths {
            let token = match self.token_of(path, token.as_deref()) {
                Ok(token) => token,
                Err(error) => {
                    requests.refuse(path, error)?;
                    continue;
                }
            };
            let target = self.public(path);
            let mut call = Call::new("UNLOCK", &target).with("lock-token", format!("<{token}>"));
            if break_lock {
                call = call.with(headers::OPTIONS, "lock-break");
            }
            if !requests.send(path, call.into_owned())? {
                break;
            }
        }
        requests.finish()
    }
}

fn lock_call<'c>(
    target: &'c str,
    revision: Option<Revnum>,
    comment: Option<&str>,
    steal: bool,
) -> Call<'c> {
    let mut call = Call::new("LOCK", target)
        .with("depth", "0")
        .with("timeout", "Infinite")
        .xml(lock::write_request(comment));
    if steal {
        call = call.with(headers::OPTIONS, "lock-steal");
    }
    if let Some(revision) = revision {
        call = call.with(headers::VERSION_NAME, revision.to_string());
    }
    call
}

/// Requests for the locks of many paths, which go out without waiting for each other's replies.
struct LockRequests<'r, T> {
    client: &'r Client,
    queue: RequestQueue<RelPathBuf>,
    /// What a reply says.
    read: &'r dyn Fn(&RelPath, &Call<'_>, Reply) -> SvnResult<T>,
    /// What was done nevertheless, when there was an error that ends the whole.
    is_done: &'r dyn Fn(&SvnError) -> Option<T>,
    receiver: LockReceiver<'r, T>,
    /// The error that ends the whole.
    failed: Option<SvnError>,
}

impl<'r, T> LockRequests<'r, T> {
    fn new(
        client: &'r Client,
        read: &'r dyn Fn(&RelPath, &Call<'_>, Reply) -> SvnResult<T>,
        is_done: &'r dyn Fn(&SvnError) -> Option<T>,
        receiver: LockReceiver<'r, T>,
    ) -> Self {
        let queue = RequestQueue::new(Order::Free);
        Self { client, queue, read, is_done, receiver, failed: None }
    }

    /// Sends the request for a path; returns whether there may be more.
    fn send(&mut self, path: &RelPath, call: Call<'static>) -> SvnResult<bool> {
        self.with_queue(|queue, client, take| queue.push(client, call, path.to_owned(), take))?;
        Ok(self.failed.is_none())
    }

    /// The request for a path cannot be sent.
    fn refuse(&mut self, path: &RelPath, error: SvnError) -> SvnResult<()> {
        self.with_queue(|queue, client, take| queue.finish(client, take))?;
        if !is_of_one_path(&error) {
            return Err(error);
        }
        (self.receiver)(path, Err(error))
    }

    /// Waits for all replies. After the first error that is not of one path alone, the locks that were made
    /// nevertheless are reported, and then the error.
    fn finish(mut self) -> SvnResult<()> {
        self.with_queue(|queue, client, take| queue.finish(client, take))?;
        self.queue.end(self.client)?;
        self.failed.map_or(Ok(()), Err)
    }

    fn with_queue(
        &mut self,
        work: impl FnOnce(&mut RequestQueue<RelPathBuf>, &Client, Take<'_, RelPathBuf>) -> SvnResult<()>,
    ) -> SvnResult<()> {
        let Self { client, queue, read, is_done, receiver, failed } = self;
        let done = work(queue, client, &mut |path, call, reply| {
            let error = match read(&path, call, reply) {
                Err(error) if !is_of_one_path(&error) => error,
                outcome => return receiver(&path, outcome),
            };
            if let Some(done) = is_done(&error) {
                receiver(&path, Ok(done))?;
            }
            failed.get_or_insert(error);
            Ok(())
        });
        if done.is_err() {
            queue.drain(client);
        }
        done
    }
}
