//! Tickets of Kerberos over http: Negotiate (RFC 4559). Each request has a token of its own, since a server may forget a
//! connection's user.

use std::cell::RefCell;

use sapwood_core::{ErrorCode, SvnError, SvnResult, base64};
use sapwood_kerberos::{Context, Use};

use super::transport::Reply;

/// Whether requests have tokens.
#[derive(Debug, Default)]
enum State {
    /// No server has asked.
    #[default]
    Untried,
    /// They have. The context of the last one, until the server has answered it.
    Used(Option<Context>),
    /// There is no ticket, or the server did not take it.
    Refused,
}

/// The tickets for one server.
#[derive(Debug, Default)]
pub(super) struct Tickets(RefCell<State>);

fn is_negotiate(header: &str) -> bool {
    header.split(' ').next().is_some_and(|word| word.eq_ignore_ascii_case("negotiate"))
}

impl Tickets {
    /// Whether a request that got this reply (401) should be made again with a ticket.
    pub(super) fn may_answer(&self, reply: &Reply) -> bool {
        let mut state = self.0.borrow_mut();
        if matches!(*state, State::Used(_)) {
            *state = State::Refused;
        }
        let may = matches!(*state, State::Untried)
            && sapwood_kerberos::IS_BUILT_IN
            && reply.headers("www-authenticate").any(is_negotiate);
        if may {
            *state = State::Used(None);
        }
        may
    }

    /// The value of `Authorization` for the next request to a host. Without a ticket there is none.
    pub(super) fn header(&self, host: &str) -> Option<String> {
        let mut state = self.0.borrow_mut();
        let State::Used(last) = &mut *state else { return None };
        let mut context = Context::initiate(Use::Negotiate, host).ok()?;
        let token = context.step(None).ok()?.token?;
        *last = Some(context);
        Some(format!("Negotiate {}", base64::encode(&token)))
    }

    /// Checks the server's own proof in the first reply, if it sends one.
    ///
    /// # Errors
    /// E215004 for a wrong one.
    pub(super) fn verify(&self, reply: &Reply) -> SvnResult<()> {
        let State::Used(last) = &mut *self.0.borrow_mut() else { return Ok(()) };
        let Some(mut context) = last.take() else { return Ok(()) };
        let token = reply.headers("www-authenticate").filter(|header| is_negotiate(header));
        let mut token = token.filter_map(|header| header.split_once(' '));
        let Some((_, token)) = token.next() else { return Ok(()) };
        let wrong = |why: &str| {
            let message = format!("The server did not prove its name by Kerberos: {why}");
            SvnError::new(ErrorCode::AUTHN_FAILED, message)
        };
        let token = base64::decode(token.trim().as_bytes()).ok_or_else(|| wrong("no base64"))?;
        match context.step(Some(&token)) {
            Ok(step) if step.is_done => Ok(()),
            Ok(_) => Err(wrong("it wants more")),
            Err(error) => Err(wrong(&error.to_string())),
        }
    }
}
