//! One order: the account, the proof of the name, the certificate.
//!
//! Invariant: what the authority sends is checked before it is kept, and a panic of the library ends the order, not the
//! server.

use std::sync::Arc;
use std::time::Duration;

use instant_acme::{
    Account, AccountCredentials, AuthorizationStatus, ChallengeHandle, ChallengeType, Identifier,
    NewAccount, NewOrder, Order, OrderStatus, RetryPolicy,
};
use rustls::ClientConfig;
use tokio::task::JoinSet;

use crate::answers::{Answer, Answers};
use crate::certificate::LoadedCertificate;
use crate::error::{Error, Result};
use crate::folder::Folder;
use crate::https::Https;
use crate::settings::{Challenge, Settings};

/// How long an order may take.
const TIMEOUT: Duration = Duration::from_secs(300);
/// How often the authority is asked for news, at first, and for how long.
const POLL: Duration = Duration::from_millis(500);
const POLL_FOR: Duration = Duration::from_secs(120);
/// Kinds of problems that are the authority's own.
const PASSING: [&str; 2] = [":badNonce", ":serverInternal"];
/// The longest token.
const MOST_TOKEN: usize = 512;

/// What orders are made with.
#[derive(Debug)]
pub(crate) struct Orders {
    pub(crate) settings: Settings,
    pub(crate) tls: Arc<ClientConfig>,
    pub(crate) folder: Folder,
    pub(crate) answers: Arc<Answers>,
}

impl Orders {
    /// Orders a certificate for a name, and keeps it in the folder.
    pub(crate) async fn order(self: &Arc<Self>, name: &str) -> Result<LoadedCertificate> {
        let (own, name) = (Arc::clone(self), name.to_owned());
        // Ends with this future, too.
        let mut task = JoinSet::new();
        task.spawn(async move { own.order_within(&name).await });
        match tokio::time::timeout(TIMEOUT, task.join_next()).await {
            Ok(Some(Ok(done))) => done,
            Ok(_) => Err(self.unreachable("its answers are not understood")),
            Err(_) => {
                let why = format!("the order did not end within {} s", TIMEOUT.as_secs());
                Err(self.unreachable(&why))
            }
        }
    }

    fn unreachable(&self, why: &str) -> Error {
        Error::Unreachable { directory: self.settings.directory.clone(), why: why.to_owned() }
    }

    fn refused(&self, why: String) -> Error {
        Error::Refused { directory: self.settings.directory.clone(), why }
    }

    /// An error of the library.
    fn failed(&self, error: instant_acme::Error) -> Error {
        match error {
            instant_acme::Error::Api(problem) => {
                let detail = problem.detail.unwrap_or_else(|| "it does not say why".to_owned());
                let more = problem.subproblems.iter().map(|one| format!("; {one}"));
                let kind = problem.r#type.unwrap_or_else(|| "about:blank".to_owned());
                let why = format!("{detail} ({kind}){}", more.collect::<String>());
                let is_passing = PASSING.iter().any(|passing| kind.ends_with(passing));
                if is_passing { self.unreachable(&why) } else { self.refused(why) }
            }
            error => self.unreachable(&error.to_string()),
        }
    }

    async fn order_within(&self, name: &str) -> Result<LoadedCertificate> {
        let account = self.account().await?;
        let identifiers = [Identifier::Dns(name.to_owned())];
        let order = account.new_order(&NewOrder::new(&identifiers)).await;
        let mut order = order.map_err(|e| self.failed(e))?;
        let answers = self.prove(&mut order, name).await?;
        let polls = RetryPolicy::new().initial_delay(POLL).timeout(POLL_FOR);
        let status = order.poll_ready(&polls).await.map_err(|e| self.failed(e))?;
        drop(answers);
        if status != OrderStatus::Ready {
            return Err(self.reason(&mut order).await);
        }
        let key = order.finalize().await.map_err(|e| self.failed(e))?;
        let chain = order.poll_certificate(&polls).await.map_err(|e| self.failed(e))?;
        self.keep(name, format!("{key}{chain}")).await
    }

    /// The account of the folder, or a new one.
    async fn account(&self) -> Result<Account> {
        let builder = || Account::builder_with_http(Box::new(Https(Arc::clone(&self.tls))));
        let path = self.folder.account_path();
        let wrong = |why: String| Error::Malformed { path: path.clone(), why };
        let wanted = &self.settings.directory;
        if let Some(bytes) = self.folder.with(Folder::account).await? {
            let value: serde_json::Value =
                serde_json::from_slice(&bytes).map_err(|e| wrong(e.to_string()))?;
            let directory = value.get("directory").and_then(|text| text.as_str()).unwrap_or("");
            if directory != wanted {
                let why = format!("it is an account at '{directory}': another 'folder' is needed");
                return Err(wrong(why));
            }
            let known = String::from_utf8_lossy(&bytes);
            let known: AccountCredentials =
                serde_json::from_str(&known).map_err(|e| wrong(e.to_string()))?;
            return builder().from_credentials(known).await.map_err(|e| self.failed(e));
        }
        let contact = self.settings.contact_urls();
        let contact: Vec<&str> = contact.iter().map(String::as_str).collect();
        let new = NewAccount {
            contact: &contact,
            terms_of_service_agreed: self.settings.terms_agreed,
            only_return_existing: false,
        };
        let made = builder().create(&new, wanted.clone(), None).await;
        let (account, credentials) = made.map_err(|e| self.failed(e))?;
        let text = serde_json::to_vec(&credentials).map_err(|e| wrong(e.to_string()))?;
        let path = path.clone();
        self.folder.with(move |folder| folder.replace(&path, &text)).await?;
        Ok(account)
    }

    /// Answers what the authority is going to ask, and says that it may.
    async fn prove(&self, order: &mut Order, name: &str) -> Result<Vec<Answer>> {
        let mut answers = Vec::new();
        let mut all = order.authorizations();
        while let Some(authorization) = all.next().await {
            let mut authorization = authorization.map_err(|e| self.failed(e))?;
            match authorization.status {
                AuthorizationStatus::Valid => continue,
                AuthorizationStatus::Pending => {}
                other => return Err(self.refused(format!("the proof is {other:?}"))),
            }
            let wanted = match self.settings.challenge {
                Challenge::Http01 => ChallengeType::Http01,
                Challenge::TlsAlpn01 => ChallengeType::TlsAlpn01,
            };
            let Some(mut challenge) = authorization.challenge(wanted) else {
                return Err(self.refused("it does not offer the proof of 'challenge'".to_owned()));
            };
            answers.push(self.answer(&challenge, name)?);
            challenge.set_ready().await.map_err(|e| self.failed(e))?;
        }
        Ok(answers)
    }

    fn answer(&self, challenge: &ChallengeHandle<'_>, name: &str) -> Result<Answer> {
        let text = challenge.key_authorization();
        match self.settings.challenge {
            Challenge::Http01 => {
                let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
                let token = &challenge.token;
                if token.is_empty() || token.len() > MOST_TOKEN || !token.chars().all(is_plain) {
                    return Err(self.unreachable("the token is none"));
                }
                Ok(self.answers.say(token, text.as_str()))
            }
            Challenge::TlsAlpn01 => {
                let hash: Result<[u8; 32], _> = text.digest().as_ref().try_into();
                let hash = hash.map_err(|_| self.unreachable("the hash is none"))?;
                self.answers.show(name, &hash).map_err(|e| self.unreachable(&e.to_string()))
            }
        }
    }

    /// Why the authority does not believe the proof.
    async fn reason(&self, order: &mut Order) -> Error {
        let mut all = order.authorizations();
        while let Some(Ok(mut authorization)) = all.next().await {
            let Ok(now) = authorization.refresh().await else { continue };
            let mut problems = now.challenges.iter().filter_map(|one| one.error.clone());
            if let Some(problem) = problems.next() {
                return self.failed(instant_acme::Error::Api(problem));
            }
        }
        self.refused("the name is not proved".to_owned())
    }

    /// Writes what came, if it can be used.
    async fn keep(&self, name: &str, pem: String) -> Result<LoadedCertificate> {
        let path = self.folder.certificate_path(name);
        let wrong = |why| Error::Malformed { path: path.clone(), why };
        let kept = LoadedCertificate::of_pem(pem.as_bytes(), name).map_err(wrong)?;
        if kept.ends <= crate::schedule::now() {
            return Err(wrong("the authority sent a certificate that has ended".to_owned()));
        }
        let path = path.clone();
        self.folder.with(move |folder| folder.replace(&path, pem.as_bytes())).await?;
        Ok(kept)
    }
}
