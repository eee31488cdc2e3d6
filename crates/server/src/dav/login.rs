//! Checks names and passwords of requests, while no thread has the request: an attempt waits for its turn, its
//! password is checked by one of a few threads, and a failure is answered after a delay.
//!
//! Invariant: a waiting attempt ends when its client disconnects, and in any case after a limited
//! time: see [`LoginDelay`].

use std::sync::Arc;
use std::time::{Duration, Instant};

use hyper::header::{AUTHORIZATION, HeaderMap};
use sapwood_core::base64;

use super::authenticate::Users;
use super::head::Head;
use super::state::HttpState;
use crate::common::fair::Caller;
use crate::common::login_delay::{self, LoginDelay};
use crate::common::operation_log::{Operation, Subject};

/// The result of checking a name and password.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// This user is authenticated.
    Right(String),
    /// The password is wrong, or there is no such user.
    Wrong,
    /// Too many attempts are in progress.
    TooMany,
}

/// What is to be checked.
#[derive(Debug)]
pub struct Claim {
    pub(super) user: String,
    pub(super) evidence: Evidence,
    /// The first delay at the location; zero for none.
    pub(super) delay: Duration,
}

/// How the name is verified.
#[derive(Debug)]
pub enum Evidence {
    /// By Digest authentication, which was checked already.
    Digest(bool),
    /// By a password, in these files.
    Password(String, Users),
}

impl Evidence {
    const fn mechanism(&self) -> &'static str {
        match self {
            Self::Digest(_) => "Digest",
            Self::Password(..) => "Basic",
        }
    }
}

/// Checks the credentials of a request.
pub(super) async fn prove(shared: &Arc<HttpState>, head: &Head, claim: Claim) -> Verdict {
    let Claim { user, evidence, delay } = claim;
    let Some(attempt) = turn(shared, head, &user, delay).await else { return Verdict::TooMany };
    let mechanism = evidence.mechanism();
    let is_right = match evidence {
        Evidence::Digest(is_right) => is_right,
        Evidence::Password(password, users) => {
            let caller = Caller::new(Some(head.client), Some(&user));
            let permit = shared.workers.hashes.acquire(caller).await;
            let (shared, user) = (Arc::clone(shared), user.clone());
            let known = tokio::task::spawn_blocking(move || {
                let is_known = users.know(&shared, &user, &password);
                drop(permit);
                is_known
            });
            // After a fault of ours no user is admitted.
            known.await.unwrap_or(false)
        }
    };
    if is_right {
        attempt.succeeded(Instant::now());
        return Verdict::Right(user);
    }
    let penalty = attempt.failed(Instant::now());
    if let Some(log) = &shared.server.log {
        let host = head.client.to_string();
        let subject = Subject { host: Some(&host), ..Subject::default() };
        let failures = penalty.failures;
        log.command(subject, &Operation::WrongPassword { mechanism, user: Some(&user), failures });
    }
    tokio::time::sleep(penalty.wait).await;
    Verdict::Wrong
}

/// Waits until an attempt may be checked; `None` when that takes too long.
async fn turn(
    shared: &HttpState,
    head: &Head,
    user: &str,
    delay: Duration,
) -> Option<login_delay::Attempt> {
    let end = Instant::now().checked_add(LoginDelay::patience(delay))?;
    let mut queue = None;
    loop {
        match shared.server.logins.begin(Some(head.client), user, delay, Instant::now()) {
            Ok(attempt) => return Some(attempt),
            Err(_) if Instant::now() >= end => return None,
            Err(wait) => {
                if queue.is_none() {
                    // Only a few may wait at a time; the others are refused at once.
                    let caller = Caller::new(Some(head.client), Some(user));
                    queue = Some(shared.workers.attempts.try_acquire(caller)?);
                }
                tokio::time::sleep(wait).await;
            }
        }
    }
}

/// The name and password of Basic authentication.
pub(super) fn credentials(headers: &HeaderMap) -> Option<(String, String)> {
    let value = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, rest) = value.split_once(' ')?;
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let decoded = String::from_utf8(base64::decode(rest.trim().as_bytes())?).ok()?;
    let (user, password) = decoded.split_once(':')?;
    Some((user.to_owned(), password.to_owned()))
}
