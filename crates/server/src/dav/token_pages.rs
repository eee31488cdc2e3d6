//! `/-/tokens`: a user's personal access tokens, in a page. The user has signed in by OpenID Connect, or sends a password of
//! the accounts.
//!
//! Invariants: a user sees and changes the user's own tokens only; a token does not let its user in here, for it could make
//! one that may do more; nothing changes but by a form of ours.

use std::path::Path;

use hyper::Method;
use sapwood_accounts::{Accounts, AccountsFile, Error, ProviderIdentity, Token, TokenScope};
use sapwood_core::date::Timestamp;
use sapwood_core::{ErrorCode, SvnError};
use sapwood_web::site::TOKENS;
use sapwood_web::site::{self, Visitor};
use sapwood_web::tokens::{self, Row, Tokens};
use sapwood_web::words;

use super::authenticate::{self, Asks};
use super::exchange::Exchange;
use super::fail::{DavResult, Fail};
use super::head::Head;
use super::own_form;
use super::sign_in::field;
use super::sign_in_pages::PageProgress;
use super::stage::Stage;
use super::state::HttpState;
use super::web_reply;
use crate::common::config::AccessConfig;
use crate::common::operation_log::Subject;
use crate::common::principal::Principal;
use crate::common::users::Users;

/// The most days that a token of a page counts.
const MOST_DAYS: i64 = 366;
/// Microseconds of a day.
const DAY: i64 = 86_400_000_000;
/// The most tokens of a user that has made them here.
const MOST_TOKENS: usize = 50;
/// The most repositories that a token names.
const MOST_REPOSITORIES: usize = 50;

/// A user at the page.
struct Visit<'r> {
    shared: &'r HttpState,
    head: &'r Head,
    file: &'r Path,
    user: Principal,
    /// Who the user is for the provider, if that let the user in.
    known: Option<ProviderIdentity>,
    /// What the code of its forms follows from.
    basis: String,
    /// The server, as the browser calls it.
    origin: String,
}

/// Answers a request for the page; `None` if it is for another one, or there is no file of accounts.
pub(super) fn answer(
    shared: &HttpState,
    head: &Head,
    exchange: &mut Exchange,
    stage: Stage,
) -> Option<Result<PageProgress, (Fail, Asks)>> {
    let is_for_page = head.path == TOKENS && (head.looks() || head.method == Method::POST);
    let access = shared.settings.token_access.as_deref().filter(|_| is_for_page)?;
    let file = access.accounts.as_deref().filter(|_| !head.is_svn_client())?;
    let done = visit(shared, head, access, file).and_then(|visit| {
        exchange.user = Some(visit.user.clone());
        if visit.user.has_token() {
            return visit.refuse(exchange, words::TOKENS_NOT_BY_TOKEN);
        }
        if head.looks() {
            return visit.show(exchange, Tokens::default());
        }
        if stage == Stage::Admit && own_form::is_ours(head, &visit.origin) {
            return Ok(PageProgress::NeedsBody);
        }
        let form = own_form::read(head, exchange, &visit.origin)?;
        visit.change(exchange, &form)
    });
    Some(done.map_err(|fail| (fail, Asks::of(Some(access), "Sapwood"))))
}

/// Who asks.
fn visit<'r>(
    shared: &'r HttpState,
    head: &'r Head,
    access: &AccessConfig,
    file: &'r Path,
) -> DavResult<Visit<'r>> {
    let is_bare = !head.headers.contains_key("authorization");
    let sign_in = shared.sign_in.as_deref().filter(|_| is_bare && access.sign_in);
    let session = sign_in.and_then(|own| {
        let (text, user) = own.session(&shared.server.files, &head.headers)?;
        let known = own.known(&user, Timestamp::now());
        let basis = format!("session {}", own.code(&text));
        Some(Visit { shared, head, file, user, known, basis, origin: own.url().to_owned() })
    });
    if let Some(visit) = session {
        // Where nothing is noted of sign-ins, tokens could not end with their user.
        let is_noted = sign_in.is_some_and(|own| own.settings.accounts.as_deref() == Some(file));
        return if is_noted { Ok(visit) } else { Err(Fail::Missing) };
    }
    let users = Users::of(&shared.server.files, access, None)?;
    let user = authenticate::user(shared, head, access, &users)?.ok_or(Fail::AskWho)?;
    let (basis, origin) = (format!("user {}", user.name()), head.absolute(""));
    Ok(Visit { shared, head, file, user, known: None, basis, origin })
}

impl Visit<'_> {
    fn visitor(&self) -> Visitor {
        Visitor {
            user: Some(self.user.name().to_owned()),
            can_sign_out: self.known.is_some(),
            ..Visitor::default()
        }
    }

    fn refuse(&self, exchange: &mut Exchange, why: &str) -> DavResult<PageProgress> {
        web_reply::write(exchange, site::notice(403, words::TOKENS, why, None));
        Ok(PageProgress::Answered)
    }

    /// Shows the page, with what came of a form.
    fn show(&self, exchange: &mut Exchange, tokens: Tokens) -> DavResult<PageProgress> {
        // Read anew: it may have been changed a moment ago.
        let accounts = AccountsFile::at(self.file).read().map_err(SvnError::from)?;
        let own = accounts.users().get(self.user.name());
        if own.is_none() && self.known.is_none() {
            return self.refuse(exchange, words::TOKENS_NO_ACCOUNT);
        }
        let uses = self.shared.server.files.accounts(self.file)?.uses.read();
        let now = Timestamp::now();
        let row = |(name, token): (&String, &Token)| Row {
            name: name.clone(),
            read_only: token.scope.read_only,
            repositories: token.scope.repositories.clone(),
            made: token.created.to_string(),
            ends: token.expires.map(|end| end.to_string()),
            has_ended: token.has_expired(now),
            used: uses.get(token.id()).map(ToString::to_string),
        };
        let tokens = Tokens {
            rows: own.into_iter().flat_map(|user| user.tokens.iter().map(row)).collect(),
            code: self.shared.forms.code("tokens", &self.basis),
            until: self.known.as_ref().map(|known| known.until.to_string()),
            ..tokens
        };
        let now = now.0.div_euclid(1_000_000);
        web_reply::write(exchange, tokens::page(&self.visitor(), &tokens, now));
        Ok(PageProgress::Answered)
    }

    /// Does what a form says.
    fn change(&self, exchange: &mut Exchange, form: &str) -> DavResult<PageProgress> {
        let code = field(form, "code");
        if !code.is_some_and(|code| self.shared.forms.is_code("tokens", &self.basis, &code)) {
            return self.refuse(exchange, words::STALE_FORM);
        }
        let file = AccountsFile::at(self.file);
        let user = self.user.name();
        if let Some(name) = field(form, "revoke") {
            let revoked = file.change(|accounts| accounts.revoke_token(user, &name));
            return match revoked {
                Ok(()) => {
                    exchange.status(303);
                    exchange.header("location", TOKENS);
                    Ok(PageProgress::Answered)
                }
                Err(error) => self.explain(exchange, error),
            };
        }
        match self.make(&file, form) {
            Ok(fresh) => self.show(exchange, Tokens { fresh: Some(fresh), ..Tokens::default() }),
            Err(error) => self.explain(exchange, error),
        }
    }

    /// Makes a token: its name and its text.
    fn make(&self, file: &AccountsFile, form: &str) -> Result<(String, String), Error> {
        let user = self.user.name();
        let name = field(form, "name").map_or_else(String::new, |name| name.trim().to_owned());
        let days = field(form, "days").and_then(|days| days.parse::<i64>().ok());
        let days = days.filter(|days| (1..=MOST_DAYS).contains(days)).ok_or(Error::Days)?;
        let named = field(form, "repositories");
        let named = named.as_deref().unwrap_or("");
        let named = named.split([',', ' ']).filter(|name| !name.is_empty());
        let repositories: Vec<String> = named.take(MOST_REPOSITORIES).map(str::to_owned).collect();
        let scope = TokenScope { read_only: field(form, "read-only").is_some(), repositories };
        let now = Timestamp::now();
        let (token, text) = Token::make(scope, now, Some(Timestamp(now.0 + days * DAY)))?;
        file.change(|accounts: &mut Accounts| {
            if let Some(known) = &self.known {
                accounts.add_from_provider(user, known, &self.user.plain_groups())?;
            }
            if accounts.user(user)?.tokens.len() >= MOST_TOKENS {
                return Err(Error::TooManyTokens(user.to_owned()));
            }
            accounts.add_token(user, &name, token)
        })?;
        Ok((name, text))
    }

    /// The page with what is wrong with a form; what is wrong with the file is for the log.
    fn explain(&self, exchange: &mut Exchange, error: Error) -> DavResult<PageProgress> {
        let problem = match &error {
            Error::Name { .. }
            | Error::Days
            | Error::TokenExists(..)
            | Error::TooManyTokens(_)
            | Error::NoToken(..) => error.to_string(),
            Error::NoUser(_) | Error::AnotherPerson(_) => {
                return self.refuse(exchange, words::TOKENS_NO_ACCOUNT);
            }
            _ => {
                self.log(&SvnError::from(error));
                let hidden = SvnError::new(ErrorCode::BASE, words::TOKENS_FAILED);
                return Err(Fail::with(hidden, 500));
            }
        };
        self.show(exchange, Tokens { problem: Some(problem), ..Tokens::default() })
    }

    fn log(&self, error: &SvnError) {
        let host = self.head.client.to_string();
        if let Some(log) = &self.shared.server.log {
            let (request, user) = (self.head.request, Some(self.user.name()));
            let subject = Subject { host: Some(&host), user, request, ..Subject::default() };
            log.error(subject, error, false);
        }
    }
}
