//! Questions to a provider: where a browser is sent, who has signed in, and where that user signs out.
//!
//! Invariants: addresses and keys are asked for when they are needed, by one question at a time, and kept for an hour. After
//! a failure, for [`PAUSE`], all who need them hear that it failed, without asking. A key that is not known is asked for at
//! most once in that time.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use sapwood_core::base64;
use sapwood_core::exact::signed;
use serde::Deserialize;
use tokio::sync::Mutex;

use crate::claims::{self, Person};
use crate::discovery::{self, Metadata};
use crate::error::{Error, Result};
use crate::http::{Client, Question, escaped, form};
use crate::keys::Keys;
use crate::proof::Proof;
use crate::settings::Settings;
use crate::token::{Claims, ExpectedClaims, Token};
use sapwood_core::WrongSetting;

/// How long addresses and keys are kept.
const KEPT: Duration = Duration::from_secs(3600);
/// How long nothing is asked again after a failure.
const PAUSE: Duration = Duration::from_secs(10);
/// The longest ID token that is sent back at the end, in bytes: it is kept as long as the session.
const MOST_HINT: usize = 4096;

/// A provider of OpenID Connect.
#[derive(Clone, Debug)]
pub struct Provider(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    settings: Settings,
    /// The addresses to which the provider sends browsers back: after signing in, and after signing out.
    back: String,
    after: String,
    client: Client,
    known: Mutex<Option<ProviderMetadata>>,
}

/// Who has signed in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SignedIn {
    /// The user.
    pub person: Person,
    /// The address at which a browser ends the session at the provider, where that has such a one.
    pub sign_out: Option<String>,
}

/// What the provider said about itself, and when.
#[derive(Clone, Debug)]
struct ProviderMetadata {
    at: Instant,
    said: Result<Arc<About>>,
}

#[derive(Debug)]
struct About {
    metadata: Metadata,
    keys: Keys,
}

/// What the provider answers to a code.
#[derive(Deserialize)]
struct Tokens {
    id_token: String,
    access_token: String,
}

impl Provider {
    /// The provider of these settings; nothing is asked. `back` is the path to which it sends browsers back after signing in,
    /// and `after` that after signing out.
    ///
    /// # Errors
    /// The setting that cannot be used.
    pub fn new(settings: Settings, back: &str, after: &str) -> Result<Self, WrongSetting> {
        settings.check()?;
        let client = Client::new(settings.authorities.as_deref())?;
        let [back, after] = [back, after].map(|path| format!("{}{path}", settings.url));
        Ok(Self(Arc::new(Inner { settings, back, after, client, known: Mutex::default() })))
    }

    /// The settings.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.0.settings
    }

    /// The address to which a browser is sent to sign in.
    ///
    /// # Errors
    /// When the provider does not answer, or not as it should.
    pub async fn begin(&self, proof: &Proof) -> Result<String> {
        let about = self.about(None).await?;
        let Settings { client_id, scopes, .. } = self.settings();
        let scope = scopes.iter().fold("openid".to_owned(), |all, one| format!("{all} {one}"));
        let query = form(&[
            ("response_type", "code"),
            ("client_id", client_id),
            ("redirect_uri", &self.0.back),
            ("scope", &scope),
            ("state", &proof.state),
            ("nonce", &proof.nonce),
            ("code_challenge", &proof.challenge()),
            ("code_challenge_method", "S256"),
        ]);
        Ok(with_query(&about.metadata.authorization_endpoint, &query))
    }

    /// Who has signed in, by the code that a browser brings back.
    ///
    /// # Errors
    /// When the provider does not answer, or not as it should; when it does not prove who the user is; when the user may not
    /// sign in here.
    pub async fn finish(&self, code: &str, proof: &Proof) -> Result<SignedIn> {
        let about = self.about(None).await?;
        let tokens = self.tokens(&about.metadata, code, proof).await?;
        let token = Token::parse(&tokens.id_token)?;
        let about = self.about(token.key()).await?;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |now| now.as_secs());
        let Settings { issuer, client_id, .. } = self.settings();
        let mut claims = token.verify(
            &about.keys,
            &ExpectedClaims {
                issuer,
                client: client_id,
                nonce: &proof.nonce,
                now: signed(now),
                access_token: &tokens.access_token,
            },
        )?;
        if claims::are_short(&claims, self.settings())
            && let Some(url) = &about.metadata.userinfo_endpoint
        {
            let more = self.more(url, &tokens.access_token, &claims).await?;
            claims::add(&mut claims, more);
        }
        let person = claims::person(&claims, self.settings())?;
        Ok(SignedIn { person, sign_out: self.sign_out(&about.metadata, &tokens.id_token) })
    }

    /// Where the user of an ID token signs out.
    fn sign_out(&self, metadata: &Metadata, id_token: &str) -> Option<String> {
        let end = metadata.end_session_endpoint.as_deref()?;
        let client = &*self.settings().client_id;
        let mut pairs = vec![("client_id", client), ("post_logout_redirect_uri", &*self.0.after)];
        // Without it the provider asks the user first.
        if id_token.len() <= MOST_HINT {
            pairs.push(("id_token_hint", id_token));
        }
        Some(with_query(end, &form(&pairs)))
    }

    /// What the provider is, with a key of this name if it has such a one.
    async fn about(&self, key: Option<&str>) -> Result<Arc<About>> {
        let mut known = self.0.known.lock().await;
        if let Some(ProviderMetadata { at, said }) = &*known {
            let is_enough = match said {
                Ok(about) => at.elapsed() < KEPT && about.keys.have(key),
                Err(_) => false,
            };
            // A token may be signed by a key that is newer than what was asked for.
            if is_enough || at.elapsed() < PAUSE {
                return said.clone();
            }
        }
        let said = self.ask_about().await.map(Arc::new);
        *known = Some(ProviderMetadata { at: Instant::now(), said: said.clone() });
        said
    }

    async fn ask_about(&self) -> Result<About> {
        let issuer = &self.settings().issuer;
        let url = discovery::address(issuer);
        let metadata = Metadata::parse(&self.get(&url, None, "its addresses").await?, issuer)?;
        let keys = Keys::parse(&self.get(&metadata.jwks_uri, None, "its keys").await?)?;
        Ok(About { metadata, keys })
    }

    async fn get(
        &self,
        url: &str,
        authorization: Option<String>,
        what: &'static str,
    ) -> Result<bytes::Bytes> {
        let answer = self.0.client.ask(Question { url, authorization, form: None }).await?;
        match answer.status {
            200 => Ok(answer.body),
            status => Err(Error::answer(what, format!("status {status}"))),
        }
    }

    /// The tokens for a code.
    async fn tokens(&self, metadata: &Metadata, code: &str, proof: &Proof) -> Result<Tokens> {
        const WHAT: &str = "an ID token";
        let Settings { client_id, client_secret, .. } = self.settings();
        let mut pairs = vec![
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", &*self.0.back),
            ("code_verifier", &*proof.verifier),
        ];
        let mut authorization = None;
        match client_secret {
            Some(secret) if !metadata.wants_secret_in_form() => {
                let both = format!("{}:{}", escaped(client_id), escaped(secret));
                authorization = Some(format!("Basic {}", base64::encode(both.as_bytes())));
            }
            Some(secret) => pairs.extend([("client_id", &**client_id), ("client_secret", secret)]),
            None => pairs.push(("client_id", client_id)),
        }
        let url = &*metadata.token_endpoint;
        let question = Question { url, authorization, form: Some(form(&pairs)) };
        let answer = self.0.client.ask(question).await?;
        if answer.status != 200 {
            let refusal = refusal(answer.status, &answer.body);
            // A code that was used, or is another client's.
            let is_wrong = refusal.ends_with("'invalid_grant'");
            let unknown = Error::Token("there is none: the provider does not know the code");
            return Err(if is_wrong { unknown } else { Error::answer(WHAT, refusal) });
        }
        serde_json::from_slice(&answer.body).map_err(|e| Error::answer(WHAT, e))
    }

    /// What the provider says of a user besides the ID token.
    async fn more(&self, url: &str, access_token: &str, claims: &Claims) -> Result<Claims> {
        const WHAT: &str = "more about a user";
        let authorization = Some(format!("Bearer {access_token}"));
        let body = self.get(url, authorization, WHAT).await?;
        let more: Claims = serde_json::from_slice(&body).map_err(|e| Error::answer(WHAT, e))?;
        if more.get("sub") != claims.get("sub") {
            return Err(Error::answer(WHAT, "it is about another user"));
        }
        Ok(more)
    }
}

/// An address with more in its query.
fn with_query(address: &str, query: &str) -> String {
    let joint = if address.contains('?') { '&' } else { '?' };
    format!("{address}{joint}{query}")
}

/// Why the provider gives no token: the word of the standard for it, if there is one.
fn refusal(status: u16, body: &[u8]) -> String {
    #[derive(Deserialize)]
    struct Refusal {
        error: String,
    }
    let word = serde_json::from_slice(body).map(|refusal: Refusal| refusal.error);
    let is_plain = |word: &String| word.len() <= 64 && word.bytes().all(|b| b.is_ascii_graphic());
    match word.ok().filter(is_plain) {
        Some(word) => format!("status {status}, '{word}'"),
        None => format!("status {status}"),
    }
}
