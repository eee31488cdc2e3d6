//! The ID token: what it has to be, so that it proves who signed in (OpenID Connect Core 1.0, section 3.1.3.7).
//!
//! Invariant: [`Token::verify`] returns claims only of a token with a signature by a key of the provider's, from this issuer, for
//! this client, with this nonce, at this time.

use serde::Deserialize;
use serde_json::{Map, Value};

use crate::base64url;
use crate::error::{Error, Result};
use crate::keys::Keys;

/// The longest token, in bytes.
const MOST: usize = 256 << 10;
/// How many seconds the clocks of provider and server may differ.
const SKEW: i64 = 60;

/// What a token says of its user.
pub(crate) type Claims = Map<String, Value>;

/// What a token has to be about.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExpectedClaims<'a> {
    pub(crate) issuer: &'a str,
    pub(crate) client: &'a str,
    pub(crate) nonce: &'a str,
    /// Seconds since 1970.
    pub(crate) now: i64,
    /// The access token that came with it.
    pub(crate) access_token: &'a str,
}

/// The head of a token.
#[derive(Debug, Deserialize)]
struct Head {
    alg: String,
    kid: Option<String>,
    /// Headers that the reader has to understand: none are known here.
    crit: Option<Value>,
}

/// A token in its parts.
#[derive(Debug)]
pub(crate) struct Token<'a> {
    head: Head,
    claims: Claims,
    /// What is signed.
    message: &'a str,
    signature: Vec<u8>,
}

fn refused<T>(why: &'static str) -> Result<T> {
    Err(Error::Token(why))
}

impl<'a> Token<'a> {
    /// Takes a token apart. Nothing of it is proved by that.
    ///
    /// # Errors
    /// [`Error::Token`] for what is none.
    pub(crate) fn parse(text: &'a str) -> Result<Self> {
        let read = || {
            let (message, signature) = text.rsplit_once('.')?;
            let (head, claims) = message.split_once('.')?;
            let head = serde_json::from_slice(&base64url::decode(head)?).ok()?;
            let claims = serde_json::from_slice(&base64url::decode(claims)?).ok()?;
            Some(Self { head, claims, message, signature: base64url::decode(signature)? })
        };
        if text.len() > MOST {
            return refused("it is too long");
        }
        read().map_or(refused("it is malformed"), Ok)
    }

    /// The name of the key that signed it, as it says.
    pub(crate) fn key(&self) -> Option<&str> {
        self.head.kid.as_deref()
    }

    /// What it says, once that is proved.
    ///
    /// # Errors
    /// [`Error::Token`] with what is wrong.
    pub(crate) fn verify(self, keys: &Keys, expected: &ExpectedClaims<'_>) -> Result<Claims> {
        if self.head.crit.is_some() {
            return refused("its head is not understood");
        }
        let message = self.message.as_bytes();
        if !keys.verify(&self.head.alg, self.key(), message, &self.signature) {
            return refused("no key of the provider's signed it");
        }
        let text = |name: &str| self.claims.get(name).and_then(Value::as_str);
        if text("iss") != Some(expected.issuer) {
            return refused("it is another issuer's");
        }
        is_for(&self.claims, expected.client)?;
        is_of_this_time(&self.claims, expected.now)?;
        if text("nonce") != Some(expected.nonce) {
            return refused("it is of another sign-in");
        }
        if text("sub").is_none_or(|subject| subject.is_empty() || subject.len() > 255) {
            return refused("it names no user");
        }
        if let Some(hash) = self.claims.get("at_hash")
            && hash.as_str() != half_hash(&self.head.alg, expected.access_token).as_deref()
        {
            return refused("its access token is another one");
        }
        Ok(self.claims)
    }
}

/// Whether a token is for this client.
fn is_for(claims: &Claims, client: &str) -> Result<()> {
    let is_client = |value: &Value| value.as_str() == Some(client);
    let (is_meant, are_others) = match claims.get("aud") {
        Some(Value::Array(all)) => (all.iter().any(is_client), !all.iter().all(is_client)),
        Some(one) => (is_client(one), false),
        None => (false, false),
    };
    let user = claims.get("azp");
    match user {
        _ if !is_meant => refused("it is for another client"),
        Some(user) if !is_client(user) => refused("it is for another client"),
        None if are_others => refused("it is for other clients, too"),
        _ => Ok(()),
    }
}

/// Whether a token counts now.
fn is_of_this_time(claims: &Claims, now: i64) -> Result<()> {
    // Some providers write fractions.
    let time = |name: &str| match claims.get(name) {
        None => Ok(None),
        Some(value) => match value.as_f64() {
            #[allow(clippy::as_conversions, clippy::cast_possible_truncation, reason = "it clamps")]
            Some(seconds) if seconds.is_finite() => Ok(Some(seconds as i64)),
            _ => refused("a time in it is no number"),
        },
    };
    let early = now.saturating_sub(SKEW);
    let late = now.saturating_add(SKEW);
    match (time("exp")?, time("iat")?, time("nbf")?) {
        (None, ..) => refused("it has no end"),
        (Some(end), ..) if end <= early => refused("it has expired"),
        (_, None, _) => refused("it does not say when it was made"),
        (_, Some(made), _) if made > late => refused("it is of the future"),
        (.., Some(begin)) if begin > late => refused("it does not count yet"),
        _ => Ok(()),
    }
}

/// The first half of a text's digest, which binds an access token to an ID token.
fn half_hash(method: &str, text: &str) -> Option<String> {
    use ring::digest;
    let algorithm = match method.get(2..)? {
        "256" => &digest::SHA256,
        "384" => &digest::SHA384,
        // Of EdDSA, with the curve that is known here.
        "512" | "DSA" => &digest::SHA512,
        _ => return None,
    };
    let sum = digest::digest(algorithm, text.as_bytes());
    let sum = sum.as_ref();
    sum.get(..sum.len() / 2).map(base64url::encode)
}

/// What the fuzzer does: a token of any bytes, and keys of any bytes, prove nothing.
#[must_use]
pub fn fuzz_token(bytes: &[u8]) -> bool {
    let (keys, text) = match bytes.iter().position(|byte| *byte == b'\n') {
        Some(at) => (bytes.get(..at), bytes.get(at..)),
        None => (None, Some(bytes)),
    };
    let keys = keys.and_then(|keys| Keys::parse(keys).ok());
    let keys = keys.unwrap_or_else(Keys::default);
    let Some(text) = text.and_then(|text| str::from_utf8(text).ok()) else { return false };
    let expected =
        ExpectedClaims { issuer: "https://h", client: "svn", nonce: "n", now: 0, access_token: "" };
    Token::parse(text.trim()).is_ok_and(|token| token.verify(&keys, &expected).is_ok())
}

#[cfg(test)]
mod tests;
