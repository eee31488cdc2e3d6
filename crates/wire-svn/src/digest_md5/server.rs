//! The server's side.

use std::ops::RangeInclusive;

use sapwood_core::base64;

use super::challenge::Challenge;
use super::directives::Directives;
use super::packets::{Side, layer};
use super::{DigestError, Exchange, Protection, RANDOM, SERVICE, latin1, secret};
use crate::scram::is_same;
use crate::security_layer::Layer;

/// A client's answer has at most this many bytes.
const MAX_ANSWER: usize = 4096;

/// A challenge that waits for its answer, which it takes once.
#[derive(Debug)]
pub struct DigestServer {
    challenge: Challenge,
}

/// A user who has logged in.
#[derive(Debug)]
pub struct Proven {
    /// The name, as the client wrote it.
    pub user: String,
    /// Our own proof, for the client.
    pub proof: String,
    /// What protects the connection after the proof.
    pub layer: Option<Layer>,
}

/// Why no user has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The client does not speak DIGEST-MD5, or does not answer this challenge.
    Malformed,
    /// It does not know the password of this user, or there is no such user.
    NotProven(String),
}

impl From<DigestError> for Refusal {
    fn from(_: DigestError) -> Self {
        Self::Malformed
    }
}

impl DigestServer {
    /// A new challenge, for a protection within these strengths. `random` is used up.
    #[must_use]
    pub fn new(realm: &str, strengths: &RangeInclusive<u32>, random: &[u8; RANDOM]) -> Self {
        let offered = Protection::within(strengths).collect();
        Self { challenge: Challenge::ours(realm, base64::encode(random), offered) }
    }

    /// What the client is to answer.
    #[must_use]
    pub fn challenge(&self) -> String {
        self.challenge.write()
    }

    /// Takes the answer. `password` looks up a user.
    ///
    /// # Errors
    /// [`Refusal`] says what its variants mean.
    pub fn finish(
        self,
        message: &[u8],
        password: &dyn Fn(&str) -> Option<Vec<u8>>,
    ) -> Result<Proven, Refusal> {
        let found = Directives::parse(message, MAX_ANSWER)?;
        let protection = self.agreed(&found)?;
        found.check_charset()?;
        let max_packet = found.max_packet()?;
        let (user, realm) = (found.needed("username")?, found.one("realm")?.unwrap_or(""));
        let cnonce = found.needed("cnonce")?;
        let authzid = found.one("authzid")?.filter(|other| !other.is_empty());
        let is_ours = found.needed("nonce")? == self.challenge.nonce
            && found.needed("nc")? == "00000001"
            && self.challenge.realms.iter().any(|known| known == realm);
        let uri = found.needed("digest-uri")?;
        let service = uri.split_once('/').map(|(service, _)| service);
        if !is_ours
            || user.is_empty()
            || cnonce.is_empty()
            || authzid.is_some_and(|other| other != user)
            || service.is_none_or(|service| !service.eq_ignore_ascii_case(SERVICE))
        {
            return Err(Refusal::Malformed);
        }
        let exchange =
            Exchange { nonce: &self.challenge.nonce, cnonce, qop: protection.qop(), uri, authzid };
        let said = found.needed("response")?;
        // An unknown user takes as long as a known one.
        let known = password(user);
        let (is_known, word) = (known.is_some(), known.as_deref().unwrap_or(b""));
        let parts = [user.as_bytes(), realm.as_bytes(), word];
        let [latin_user, latin_realm, latin_word] = parts.map(latin1);
        // Some clients hash the UTF-8 as it is.
        let [user_bytes, realm_bytes, word] = parts;
        let keys =
            [secret(&latin_user, &latin_realm, &latin_word), secret(user_bytes, realm_bytes, word)]
                .map(|secret| exchange.session_key(secret));
        let rights = keys.map(|key| is_same(exchange.response(key).as_bytes(), said.as_bytes()));
        let right = keys.into_iter().zip(rights).find(|(_, right)| *right && is_known);
        let Some((key, _)) = right else { return Err(Refusal::NotProven(user.to_owned())) };
        Ok(Proven {
            user: user.to_owned(),
            proof: format!("rspauth={}", exchange.proof(key)),
            layer: layer(Side::Server, protection, key, max_packet),
        })
    }

    /// The protection that the client chose, of those that were offered.
    fn agreed(&self, found: &Directives) -> Result<Protection, Refusal> {
        let qop = found.one("qop")?.unwrap_or("auth");
        let cipher = found.one("cipher")?;
        let is_chosen = |offered: &Protection| {
            offered.qop() == qop && offered.cipher().is_none_or(|name| cipher == Some(name))
        };
        self.challenge.offered.iter().copied().find(is_chosen).ok_or(Refusal::Malformed)
    }
}
