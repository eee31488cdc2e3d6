//! A directory: who may log in, and with which groups.
//!
//! Invariant: a login is accepted if a server accepted it within `cache`, or, while no server answers, within `keep`.

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use rustls::ClientConfig;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use crate::address::Address;
use crate::cache::{Cache, Digest};
use crate::error::{Error, Result};
use crate::login::{self, Question};
use crate::member::Member;
use crate::server::Server;
use crate::settings::{CheckedSettings, Settings};
use sapwood_core::WrongSetting;

/// The longest name of a user, and the longest password, in bytes.
const MOST_BYTES: usize = 1024;
/// How often a fault that lasts is reported.
const REPORT: Duration = Duration::from_secs(60);

/// The answer of a directory to a name and password.
#[derive(Debug)]
pub enum Login {
    /// It is this user.
    Accepted(Arc<Member>),
    /// The password is wrong, or there is no such user.
    Refused,
    /// No server says.
    Unavailable {
        /// Why.
        error: Error,
        /// Whether this is worth a line in a log: the same fault was not reported a short time ago.
        is_news: bool,
    },
}

/// A directory. To clone it is cheap.
#[derive(Clone, Debug)]
pub struct Directory {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    checked: CheckedSettings,
    servers: Vec<Server>,
    tls: Arc<ClientConfig>,
    cache: Cache,
    permits: Semaphore,
    /// Questions that are being asked: the same one waits for the answer.
    asked: Mutex<HashMap<Digest, Weak<tokio::sync::Mutex<()>>>>,
    reported: Mutex<Option<Instant>>,
}

impl Directory {
    /// A directory with these settings; no server is asked.
    ///
    /// # Errors
    /// The setting that cannot be used.
    pub fn new(settings: Settings) -> std::result::Result<Self, WrongSetting> {
        let tls = sapwood_tls_client::config(settings.authorities.as_deref())
            .map_err(|why| WrongSetting::new("ca", why.to_string()))?;
        let checked = CheckedSettings::of(settings)?;
        let cache = Cache::new()
            .ok_or_else(|| WrongSetting::new("servers", "the system has no random numbers"))?;
        let servers = checked.addresses.iter().cloned().map(Server::new).collect();
        let permits = Semaphore::new(checked.settings.connections);
        let (asked, reported) = (Mutex::default(), Mutex::default());
        Ok(Self {
            inner: Arc::new(Inner { checked, servers, tls, cache, permits, asked, reported }),
        })
    }

    /// Its name in the configuration.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.inner.checked.settings.name
    }

    /// Whether another one was made from the same settings.
    #[must_use]
    pub fn has_settings_of(&self, other: &Self) -> bool {
        self.inner.checked.settings == other.inner.checked.settings
    }

    /// The user, if this is the user's password. Holds no thread while a server is asked; if it is dropped, the question
    /// is given up.
    pub async fn log_in(&self, user: &str, password: &str) -> Login {
        if !is_sound(user) || !is_sound(password) {
            return Login::Refused;
        }
        self.answer(user, Some(password)).await
    }

    /// The user with this name, who proved it in another way.
    pub async fn find(&self, user: &str) -> Login {
        if !is_sound(user) {
            return Login::Refused;
        }
        self.answer(user, None).await
    }

    /// The user, if a server accepted this password a short time ago.
    #[must_use]
    pub fn has_proved(&self, user: &str, password: &str) -> Option<Arc<Member>> {
        self.cached(user, Some(password))
    }

    /// The user, if a server was asked about the name a short time ago.
    #[must_use]
    pub fn has_found(&self, user: &str) -> Option<Arc<Member>> {
        self.cached(user, None)
    }

    /// Asks each server for a user, as the account that searches, and waits for all: what does not work. For a check of
    /// the configuration; no password is tried but that account's.
    #[must_use]
    pub fn check(&self) -> Vec<Error> {
        let ask = || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let unreachable =
                |why: String| Error::Unreachable { server: self.name().to_owned(), why };
            match runtime {
                Ok(runtime) => runtime.block_on(self.inner.check()),
                Err(error) => vec![unreachable(error.to_string())],
            }
        };
        // A thread of its own, since the caller's may belong to another runtime.
        std::thread::scope(|scope| scope.spawn(ask).join()).unwrap_or_else(|_| vec![Error::AllDown])
    }

    fn cached(&self, user: &str, password: Option<&str>) -> Option<Arc<Member>> {
        let Inner { cache, checked, .. } = &*self.inner;
        cache.get(&cache.digest(user, password), checked.settings.cache, Instant::now())
    }

    async fn answer(&self, user: &str, password: Option<&str>) -> Login {
        let inner = &self.inner;
        let digest = inner.cache.digest(user, password);
        // The same question, asked by many requests at a time, is asked of the server once.
        let turn = inner.turn(digest);
        let _turn = turn.lock().await;
        let settings = &inner.checked.settings;
        if let Some(member) = inner.cache.get(&digest, settings.cache, Instant::now()) {
            return Login::Accepted(member);
        }
        let question = Question { user: user.to_owned(), password: password.map(str::to_owned) };
        let answer = inner.ask(question).await;
        let now = Instant::now();
        match answer {
            Ok(Some(member)) => {
                let member = Arc::new(member);
                inner.cache.accept(digest, Arc::clone(&member), now);
                *inner.reported.lock() = None;
                Login::Accepted(member)
            }
            Ok(None) => {
                inner.cache.refuse(&digest);
                Login::Refused
            }
            Err(error) => match inner.cache.get(&digest, settings.keep, now) {
                Some(member) => Login::Accepted(member),
                None => Login::Unavailable { error, is_news: inner.is_news(now) },
            },
        }
    }
}

/// Whether a name or password can be sent to a server.
fn is_sound(text: &str) -> bool {
    (1..=MOST_BYTES).contains(&text.len()) && !text.contains('\0')
}

impl Inner {
    fn turn(&self, digest: Digest) -> Arc<tokio::sync::Mutex<()>> {
        let mut asked = self.asked.lock();
        if let Some(turn) = asked.get(&digest).and_then(Weak::upgrade) {
            return turn;
        }
        asked.retain(|_, turn| turn.strong_count() > 0);
        let turn = Arc::default();
        asked.insert(digest, Arc::downgrade(&turn));
        turn
    }

    fn is_news(&self, now: Instant) -> bool {
        let mut reported = self.reported.lock();
        let is_news = reported.is_none_or(|last| now.saturating_duration_since(last) >= REPORT);
        if is_news {
            *reported = Some(now);
        }
        is_news
    }

    /// Asks the servers in their order, until one answers.
    async fn ask(self: &Arc<Self>, question: Question) -> Result<Option<Member>> {
        let timeout = self.checked.settings.timeout;
        let permit = tokio::time::timeout(timeout, self.permits.acquire()).await;
        let Ok(Ok(_permit)) = permit else { return Err(Error::Busy) };
        let question = Arc::new(question);
        let mut first_error = None;
        let mut next: Vec<usize> = (0..self.servers.len()).rev().collect();
        let mut referred = false;
        while let Some(at) = next.pop() {
            let Some(server) = self.servers.get(at) else { continue };
            if !server.may_try(Instant::now()) {
                continue;
            }
            match self.ask_one(at, &question).await {
                Ok(answer) => {
                    server.answered();
                    return Ok(answer);
                }
                Err(Error::Referral { to, .. }) if !referred && self.named(&to).is_some() => {
                    server.answered();
                    referred = true;
                    next.extend(self.named(&to));
                }
                Err(error) => {
                    if is_fault_of_server(&error) {
                        server.failed(Instant::now());
                    }
                    first_error.get_or_insert(error);
                }
            }
        }
        Err(first_error.unwrap_or(Error::AllDown))
    }

    /// The errors of the servers, in their order.
    async fn check(self: &Arc<Self>) -> Vec<Error> {
        let question = Arc::new(Question { user: "sapwood".to_owned(), password: None });
        let mut asked = JoinSet::new();
        for at in 0..self.servers.len() {
            let (inner, question) = (Arc::clone(self), Arc::clone(&question));
            asked.spawn(async move { (at, inner.ask_one(at, &question).await.err()) });
        }
        let mut errors: Vec<(usize, Option<Error>)> = asked.join_all().await;
        errors.sort_unstable_by_key(|(at, _)| *at);
        errors.into_iter().filter_map(|(_, error)| error).collect()
    }

    /// The server of ours that a referral leads to. Passwords go to no other.
    fn named(&self, url: &str) -> Option<usize> {
        let (scheme, rest) = url.split_once("://")?;
        let authority = rest.split(['/', '?']).next()?;
        let wanted = Address::parse(&format!("{scheme}://{authority}"))?;
        self.servers.iter().position(|server| {
            server.address.host == wanted.host && server.address.url == wanted.url
        })
    }

    /// Asks one server. The question is a task of its own, so that a fault in a library ends this question only.
    async fn ask_one(
        self: &Arc<Self>,
        at: usize,
        question: &Arc<Question>,
    ) -> Result<Option<Member>> {
        let (inner, question) = (Arc::clone(self), Arc::clone(question));
        let url = self.servers.get(at).map_or("", |server| &server.address.url).to_owned();
        let unreachable = |why: String| Error::Unreachable { server: url, why };
        let mut task = JoinSet::new();
        task.spawn(async move {
            let server = inner.servers.get(at).ok_or(Error::AllDown)?;
            login::ask(&inner.checked, &inner.tls, server, &question).await
        });
        let timeout = self.checked.settings.timeout;
        match tokio::time::timeout(timeout, task.join_next()).await {
            Ok(Some(Ok(answer))) => answer,
            Ok(Some(Err(fault))) => Err(unreachable(fault.to_string())),
            Ok(None) => Err(Error::AllDown),
            Err(_) => Err(unreachable(format!("no answer within {} s", timeout.as_secs()))),
        }
    }
}

/// Whether an error says that the server does not work, so that the next logins do better without it.
fn is_fault_of_server(error: &Error) -> bool {
    match error {
        Error::Unreachable { .. } | Error::Malformed { .. } | Error::Answer { .. } => true,
        Error::AllDown
        | Error::Busy
        | Error::Referral { .. }
        | Error::Ambiguous(_)
        | Error::TooManyGroups { .. }
        | Error::Secret { .. } => false,
    }
}
