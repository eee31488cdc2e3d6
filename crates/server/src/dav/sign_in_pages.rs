//! The requests of a sign-in: the start, the way back from the provider, and signing out.
//!
//! Invariants: a browser is signed in only by the sign-in that it began itself (state, nonce and verifier follow from its own
//! cookie); each sign-in makes a new session; a user is signed out only by a form of ours.

use std::time::Instant;

use hyper::Method;
use sapwood_core::{ErrorCode, SvnError};
use sapwood_oidc::{Error, Proof, Seed, SignedIn};
use sapwood_web::site::{self, Visitor};
use sapwood_web::words;

use super::exchange::Exchange;
use super::fail::{DavResult, Fail};
use super::head::Head;
use super::own_form;
use super::sign_in::asking::{Question, SignInOutcome};
use super::sign_in::cookies::{self, Start};
use super::sign_in::{SignIn, field, path_of_ours};
use super::stage::Stage;
use super::state::HttpState;
use super::web_reply;
use crate::common::operation_log::Subject;
use crate::common::principal::Principal;

/// The longest code of a provider.
const MOST_CODE: usize = 4096;

/// Whether a request was answered, or waits for its body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PageProgress {
    /// There is a reply.
    Answered,
    /// It is admitted, and its body is needed.
    NeedsBody,
}

/// One request for such an address.
pub(crate) struct Visit<'r> {
    pub(crate) shared: &'r HttpState,
    pub(crate) sign_in: &'r SignIn,
    pub(crate) head: &'r Head,
    pub(crate) stage: Stage,
}

/// Answers a request for a page of the server; `None` if it is for none.
pub(crate) fn answer(
    shared: &HttpState,
    head: &Head,
    exchange: &mut Exchange,
    stage: Stage,
) -> Option<DavResult<PageProgress>> {
    let sign_in = shared.sign_in.as_deref()?;
    let looks = head.looks();
    if head.is_svn_client() || !(looks || head.method == Method::POST) {
        return None;
    }
    let visit = Visit { shared, sign_in, head, stage };
    let done = match (head.path.as_str(), looks) {
        (site::SIGN_IN, true) => visit.start(exchange),
        (site::SIGNED_IN, true) => visit.back(exchange),
        (site::SIGN_OUT, true) => visit.before_sign_out(exchange),
        (site::SIGNED_OUT, true) => visit.after_sign_out(exchange),
        (site::SIGN_OUT, false) => return Some(visit.sign_out(exchange)),
        _ => return None,
    };
    Some(done.map(|()| PageProgress::Answered))
}

impl Visit<'_> {
    /// The session of the browser, and who signed in.
    fn session(&self) -> Option<(String, Principal)> {
        self.sign_in.session(&self.shared.server.files, &self.head.headers)
    }

    fn query(&self, name: &str) -> Option<String> {
        field(self.head.query.as_deref()?, name)
    }

    /// Sends a browser to the provider.
    fn start(&self, exchange: &mut Exchange) -> DavResult {
        let (seed, at) = match &self.head.said {
            Some(SignInOutcome::Where(seed, at)) => (seed, at),
            Some(other) => return self.failed(other, exchange),
            None => {
                let seed = Seed::new().map_err(SvnError::from)?;
                return Err(Fail::Ask(Box::new(Question::Where(seed))));
            }
        };
        let to = self.query("to").map_or("/".to_owned(), |to| path_of_ours(&to));
        let start = Start { seed: seed.clone(), to };
        let cookie = start.cookie(&self.sign_in.secret, self.sign_in.is_secure(), cookies::now());
        exchange.header("set-cookie", &cookie);
        lead(exchange, at);
        Ok(())
    }

    /// The browser comes back.
    fn back(&self, exchange: &mut Exchange) -> DavResult {
        let (secret, is_secure) = (&self.sign_in.secret, self.sign_in.is_secure());
        let start = Start::of(&self.head.headers, secret, is_secure, cookies::now());
        let state = self.query("state");
        let is_own = |start: &Start| Some(Proof::of(secret, &start.seed).state) == state;
        let Some(start) = start.filter(is_own) else {
            return self.say(exchange, 400, words::STALE_SIGN_IN);
        };
        match &self.head.said {
            Some(SignInOutcome::Who(signed_in)) => {
                return self.begin_session(exchange, signed_in, &start);
            }
            Some(other) => return self.failed(other, exchange),
            None => {}
        }
        let issuer = &self.sign_in.settings.provider.settings().issuer;
        // RFC 9207: the answer of another provider is none of this one.
        let is_other = self.query("iss").is_some_and(|named| named != *issuer);
        let code = self.query("code").filter(|code| !code.is_empty() && code.len() <= MOST_CODE);
        match code {
            Some(code) if !is_other => {
                Err(Fail::Ask(Box::new(Question::Who { seed: start.seed, code })))
            }
            _ => self.say(exchange, 403, words::REFUSED_BY_PROVIDER),
        }
    }

    fn begin_session(
        &self,
        exchange: &mut Exchange,
        signed_in: &SignedIn,
        start: &Start,
    ) -> DavResult {
        let sign_in = self.sign_in;
        let may_come = |user: &Principal| sign_in.may_come(&self.shared.server.files, user);
        let Some(user) = Principal::of_person(&signed_in.person) else {
            self.log(&unknown("A user of the OpenID provider has a name that no user can have"));
            return self.say(exchange, 403, words::REFUSED_HERE);
        };
        if !may_come(&user)? {
            self.log(&unknown("A user of the OpenID provider is disabled in the accounts"));
            return self.say(exchange, 403, words::REFUSED_HERE);
        }
        if let Err(error) = sign_in.note(&self.shared.server.files, &user) {
            self.log(&error);
            return self.say(exchange, 403, words::REFUSED_HERE);
        }
        // The browser gets a session that no other one knows, also where it had one.
        if let Some(old) = cookies::session(&self.head.headers, self.sign_in.is_secure()) {
            drop(sign_in.sessions.end(&sign_in.code(old)));
        }
        let text = Seed::new().map_err(SvnError::from)?;
        let limits = (sign_in.settings.length, sign_in.settings.idle);
        exchange.user = Some(user.clone());
        let session = (user, signed_in.sign_out.clone());
        sign_in.sessions.begin(sign_in.code(text.text()), session, limits, Instant::now());
        exchange.header("set-cookie", &cookies::of_session(text.text(), self.sign_in.is_secure()));
        exchange.header("set-cookie", &cookies::no_start(self.sign_in.is_secure()));
        lead(exchange, &format!("{}{}", sign_in.url(), path_of_ours(&start.to)));
        Ok(())
    }

    /// The page that asks whether a user wants to sign out.
    fn before_sign_out(&self, exchange: &mut Exchange) -> DavResult {
        let Some((session, user)) = self.session() else {
            return self.say(exchange, 200, words::NOT_SIGNED_IN);
        };
        let visitor = Visitor { user: Some(user.name().to_owned()), ..Visitor::default() };
        web_reply::write(exchange, site::sign_out(&visitor, &self.form_code(&session)));
        Ok(())
    }

    fn sign_out(&self, exchange: &mut Exchange) -> DavResult<PageProgress> {
        let origin = self.sign_in.url();
        if own_form::is_ours(self.head, origin) && self.stage == Stage::Admit {
            return Ok(PageProgress::NeedsBody);
        }
        let form = own_form::read(self.head, exchange, origin)?;
        let session = self.session();
        let is_ours = |(session, _): &(String, _)| {
            field(&form, "code").is_some_and(|code| self.is_form_code(session, &code))
        };
        let Some((session, _)) = session.filter(is_ours) else {
            return self.say(exchange, 403, words::STALE_FORM).map(|()| PageProgress::Answered);
        };
        let at_provider = self.sign_in.sessions.end(&self.sign_in.code(&session));
        exchange.header("set-cookie", &cookies::no_session(self.sign_in.is_secure()));
        let again = self.sign_in.link("/", None);
        web_reply::write(exchange, site::signed_out(at_provider.as_deref(), &again));
        Ok(PageProgress::Answered)
    }

    /// The browser comes back from signing out at the provider.
    fn after_sign_out(&self, exchange: &mut Exchange) -> DavResult {
        let again = self.sign_in.link("/", None);
        let (title, sentence) = (words::SIGNED_OUT, words::SIGNED_OUT_THERE);
        web_reply::write(exchange, site::notice(200, title, sentence, Some(&again)));
        Ok(())
    }

    /// The code of the forms that a session is shown.
    fn form_code(&self, session: &str) -> String {
        self.sign_in.secret.code("form", session)
    }

    fn is_form_code(&self, session: &str, code: &str) -> bool {
        self.sign_in.secret.is_code("form", session, code)
    }

    /// A page with a sentence and a link to sign in.
    fn say(&self, exchange: &mut Exchange, status: u16, sentence: &str) -> DavResult {
        exchange.header("set-cookie", &cookies::no_start(self.sign_in.is_secure()));
        let again = self.sign_in.link("/", None);
        web_reply::write(
            exchange,
            site::notice(status, words::NOT_SIGNED_IN, sentence, Some(&again)),
        );
        Ok(())
    }

    /// The provider did not say what was asked.
    fn failed(&self, said: &SignInOutcome, exchange: &mut Exchange) -> DavResult {
        let SignInOutcome::Failed(error) = said else {
            return self.say(exchange, 503, words::BUSY);
        };
        self.log(&SvnError::from(error.clone()));
        match error {
            Error::NotAllowed { .. } => self.say(exchange, 403, words::REFUSED_HERE),
            Error::Token(_) => self.say(exchange, 403, words::REFUSED_BY_PROVIDER),
            Error::Answer { .. } | Error::Unreachable { .. } | Error::Random(_) => {
                self.say(exchange, 503, words::PROVIDER_DOWN)
            }
        }
    }

    fn log(&self, error: &SvnError) {
        let host = self.head.client.to_string();
        if let Some(log) = &self.shared.server.log {
            let request = self.head.request;
            let subject = Subject { host: Some(&host), request, ..Subject::default() };
            log.error(subject, error, true);
        }
    }
}

/// Sends a browser elsewhere, by a GET.
pub(super) fn lead(exchange: &mut Exchange, to: &str) {
    exchange.status(303);
    exchange.header("location", to);
    exchange.header("cache-control", "no-store");
    exchange.header("referrer-policy", "no-referrer");
}

/// A user who may not come in.
fn unknown(why: &'static str) -> SvnError {
    SvnError::new(ErrorCode::AUTHN_FAILED, why)
}
