//! The client's side.

use std::ops::RangeInclusive;

use sapwood_core::{Md5, base64};

use super::challenge::Challenge;
use super::directives::{Directives, quoted, token};
use super::packets::{Side, layer};
use super::{DigestError, Exchange, Protection, RANDOM, SERVICE, latin1, secret};
use crate::scram::is_same;
use crate::security_layer::{Layer, MAX_PACKET};

/// The server's last message has at most this many bytes.
const MAX_PROOF: usize = 2048;

/// Who logs in, and where.
#[derive(Clone, Copy, Debug)]
pub struct DigestLogin<'a> {
    /// The user's name.
    pub user: &'a str,
    /// The password.
    pub password: &'a str,
    /// The host's name, as the user wrote it.
    pub host: &'a str,
    /// The realm that the protocol said.
    pub realm: &'a str,
    /// How strong the protection of the connection may be.
    pub strengths: &'a RangeInclusive<u32>,
}

/// A login whose challenge was answered.
#[derive(Debug)]
pub struct DigestClient {
    answer: String,
    proof: String,
    session_key: Md5,
    pub(super) protection: Protection,
    max_packet: u32,
}

impl DigestClient {
    /// Answers a challenge; takes the strongest protection that is allowed. `random` is used up.
    ///
    /// # Errors
    /// [`DigestError::Malformed`] and [`DigestError::TooWeak`].
    pub fn new(
        challenge: &[u8],
        login: &DigestLogin<'_>,
        random: &[u8; RANDOM],
    ) -> Result<Self, DigestError> {
        Self::with_cnonce(challenge, login, &base64::encode(random))
    }

    fn with_cnonce(
        challenge: &[u8],
        login: &DigestLogin<'_>,
        cnonce: &str,
    ) -> Result<Self, DigestError> {
        let challenge = Challenge::parse(challenge)?;
        let mut allowed = Protection::within(login.strengths);
        let protection = allowed.find(|allowed| challenge.offered.contains(allowed));
        let protection = protection.ok_or(DigestError::TooWeak)?;
        let known = challenge.realms.iter().find(|realm| *realm == login.realm);
        let realm = known.or_else(|| challenge.realms.first());
        let uri = format!("{SERVICE}/{}", login.host);
        let exchange = Exchange {
            nonce: &challenge.nonce,
            cnonce,
            qop: protection.qop(),
            uri: &uri,
            authzid: None,
        };
        let [user, of_realm, password] =
            [login.user, realm.map_or("", |realm| realm), login.password]
                .map(|text| latin1(text.as_bytes()));
        let session_key = exchange.session_key(secret(&user, &of_realm, &password));
        let mut answer = String::new();
        quoted(&mut answer, "username", login.user);
        if let Some(realm) = realm {
            quoted(&mut answer, "realm", realm);
        }
        quoted(&mut answer, "nonce", &challenge.nonce);
        quoted(&mut answer, "cnonce", cnonce);
        token(&mut answer, "nc", "00000001");
        token(&mut answer, "qop", protection.qop());
        if let Some(cipher) = protection.cipher() {
            quoted(&mut answer, "cipher", cipher);
        }
        if protection != Protection::None {
            token(&mut answer, "maxbuf", MAX_PACKET);
        }
        quoted(&mut answer, "digest-uri", &uri);
        token(&mut answer, "response", exchange.response(session_key));
        if challenge.utf8 {
            token(&mut answer, "charset", "utf-8");
        }
        let proof = exchange.proof(session_key);
        Ok(Self { answer, proof, session_key, protection, max_packet: challenge.max_packet })
    }

    /// What answers the challenge.
    #[must_use]
    pub fn answer(&self) -> &str {
        &self.answer
    }

    /// Checks the server's proof.
    ///
    /// # Errors
    /// [`DigestError::Malformed`]; [`DigestError::NotProven`] when it does not know the password.
    pub fn verify(&self, message: &[u8]) -> Result<(), DigestError> {
        let found = Directives::parse(message, MAX_PROOF)?;
        let proof = found.needed("rspauth")?;
        let is_right = is_same(proof.as_bytes(), self.proof.as_bytes());
        if is_right { Ok(()) } else { Err(DigestError::NotProven) }
    }

    /// What protects the connection from now on.
    #[must_use]
    pub fn into_layer(self) -> Option<Layer> {
        layer(Side::Client, self.protection, self.session_key, self.max_packet)
    }
}
