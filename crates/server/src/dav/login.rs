//! Checks names and passwords of requests, while no thread has the request: an attempt waits for its turn, its
//! password is checked by one of a few threads or by a directory service, and a failure is answered after a delay.
//!
//! Invariant: a waiting attempt ends when its client disconnects, and in any case after a limited
//! time: see [`LoginDelay`].

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::credentials::{Claim, Evidence};
use super::head::Head;
use super::state::HttpState;
use super::ticket;
use crate::common::fair::Caller;
use crate::common::login_delay::{self, LoginDelay};
use crate::common::metrics::Limit;
use crate::common::operation_log::{Operation, Subject};
use crate::common::principal::Principal;
use crate::common::users::Verdict;

/// Checks the credentials of a request. Where they are a ticket, the reply to the request may have an answer to it.
pub(super) async fn prove(
    shared: &Arc<HttpState>,
    head: &Head,
    claim: Claim,
) -> (Verdict, Option<Vec<u8>>) {
    let Claim { user, evidence, delay } = claim;
    let Some(attempt) = turn(shared, head, &user, delay).await else {
        shared.workers.met(Limit::Logins);
        return (Verdict::TooMany, None);
    };
    let (mut answer, mut is_named) = (None, true);
    let mechanism = evidence.mechanism();
    let verdict = match evidence {
        Evidence::Digest(true) => Verdict::Right(Principal::named(user.clone())),
        Evidence::Digest(false) => Verdict::Wrong,
        Evidence::Password(password, users) => {
            let caller = Caller::new(Some(head.client), Some(&user));
            shared.server.password_check().check(&users, caller, &user, &password).await
        }
        Evidence::Ticket(token, users) => match ticket::user_of(token).await {
            Ok((name, token)) => {
                answer = token;
                shared.server.password_check().of_name(&users, name).await
            }
            Err(error) => {
                // The administrator reads why: mostly a key is missing.
                if let Some(log) = &shared.server.log {
                    log.error(subject(&head.client.to_string(), head), &error, true);
                }
                is_named = false;
                Verdict::Wrong
            }
        },
    };
    match verdict {
        Verdict::Right(_) => {
            attempt.succeeded(Instant::now());
            return (verdict, answer);
        }
        // The attempt says nothing about the password, and does not count.
        Verdict::Unavailable | Verdict::TooMany => return (verdict, None),
        Verdict::Wrong => {}
    }
    let penalty = attempt.failed(Instant::now());
    let host = head.client.to_string();
    let (failures, user) = (penalty.failures, is_named.then_some(&*user));
    let operation = Operation::WrongPassword { mechanism, user, failures };
    shared.server.note(subject(&host, head), &operation);
    tokio::time::sleep(penalty.wait).await;
    (Verdict::Wrong, None)
}

fn subject<'s>(host: &'s str, head: &Head) -> Subject<'s> {
    Subject { host: Some(host), request: head.request, ..Subject::default() }
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
