//! What binds a sign-in to one browser: the state that comes back in the address, the nonce that comes back in the ID token,
//! and the verifier (PKCE) that only this server shows to the provider.
//!
//! All three follow from a random seed and a key of this process. The seed is in a cookie of the browser, signed; so a
//! sign-in that has begun takes no memory here, however many begin, and the cookie alone says none of the three.

use ring::{digest, hmac};

use crate::base64url;
use crate::error::{Error, Result};

/// The key of this process.
#[derive(Clone)]
pub struct Secret([u8; 32]);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

fn random() -> Result<[u8; 32]> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|e| Error::Random(e.to_string()))?;
    Ok(bytes)
}

impl Secret {
    /// A new key.
    ///
    /// # Errors
    /// When the system has no random bytes.
    pub fn new() -> Result<Self> {
        random().map(Self)
    }

    /// A code for a text of this kind, which follows from the key, and from which the key does not follow.
    #[must_use]
    pub fn code(&self, kind: &str, text: &str) -> String {
        base64url::encode(hmac::sign(&self.key(), &message(kind, text)).as_ref())
    }

    /// Whether a code is that of a text, in a time that does not depend on where it differs.
    #[must_use]
    pub fn is_code(&self, kind: &str, text: &str, code: &str) -> bool {
        let is_right = |sum: Vec<u8>| hmac::verify(&self.key(), &message(kind, text), &sum).is_ok();
        base64url::decode(code).is_some_and(is_right)
    }

    fn key(&self) -> hmac::Key {
        hmac::Key::new(hmac::HMAC_SHA256, &self.0)
    }
}

/// What a code is made of. No kind has a NUL byte.
fn message(kind: &str, text: &str) -> Vec<u8> {
    [kind.as_bytes(), b"\0", text.as_bytes()].concat()
}

/// The random part of a sign-in, as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seed(String);

impl Seed {
    /// A new one.
    ///
    /// # Errors
    /// When the system has no random bytes.
    pub fn new() -> Result<Self> {
        Ok(Self(base64url::encode(&random()?)))
    }

    /// One that a signed cookie names.
    #[must_use]
    pub fn of(text: &str) -> Self {
        Self(text.to_owned())
    }

    /// Its text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.0
    }
}

/// What binds a sign-in to one browser.
#[derive(Clone, PartialEq, Eq)]
pub struct Proof {
    /// What comes back in the address.
    pub state: String,
    /// What comes back in the ID token.
    pub nonce: String,
    /// What this server shows to the provider.
    pub verifier: String,
}

impl std::fmt::Debug for Proof {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Proof")
    }
}

impl Proof {
    /// That of a seed.
    #[must_use]
    pub fn of(secret: &Secret, seed: &Seed) -> Self {
        let one = |kind| secret.code(kind, seed.text());
        Self { state: one("state"), nonce: one("nonce"), verifier: one("verifier") }
    }

    /// What the provider learns of the verifier beforehand.
    #[must_use]
    pub(crate) fn challenge(&self) -> String {
        base64url::encode(digest::digest(&digest::SHA256, self.verifier.as_bytes()).as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proof_follows_from_key_and_seed_only() {
        let (one, other) = (Secret::new().unwrap(), Secret::new().unwrap());
        let (seed, next) = (Seed::new().unwrap(), Seed::new().unwrap());
        let proof = Proof::of(&one, &seed);
        assert_eq!(Proof::of(&one, &Seed::of(seed.text())), proof);
        for different in [Proof::of(&other, &seed), Proof::of(&one, &next)] {
            assert!(different.state != proof.state && different.verifier != proof.verifier);
        }
        assert!(proof.state != proof.nonce && proof.nonce != proof.verifier);
        // RFC 7636 wants 43 to 128 characters.
        assert_eq!(proof.verifier.len(), 43);
        assert!(one.is_code("state", seed.text(), &proof.state));
        assert!(
            !one.is_code("nonce", seed.text(), &proof.state)
                && !one.is_code("state", "", &proof.state)
        );
        assert!(!one.is_code("state", seed.text(), "") && !one.is_code("state", seed.text(), "%"));
    }

    /// RFC 7636, appendix B.
    #[test]
    fn the_challenge_is_that_of_the_standard() {
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk".to_owned();
        let proof = Proof { state: String::new(), nonce: String::new(), verifier };
        assert_eq!(proof.challenge(), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
    }
}
