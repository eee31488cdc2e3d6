//! DIGEST-MD5 (RFC 2831): the messages of both sides, and the keys and packets of its security layers.
//!
//! The server challenges, the client answers with a digest of its password and the challenge, and the server proves in
//! return that it knows the password too. Both sides may agree that all that follows is signed (`auth-int`) or
//! encrypted (`auth-conf`, with RC4 or triple DES; the ciphers of 40 and 56 bits are left out). MD5, RC4 and triple DES are
//! weak by today's standards: a server offers this mechanism only where its configuration names it. Random bytes
//! are the caller's. There is no fast login by an earlier nonce: each challenge is answered once.

mod challenge;
mod client;
mod directives;
mod packets;
mod server;

use std::ops::RangeInclusive;

use sapwood_core::Md5;

pub use challenge::Challenge;
pub use client::{DigestClient, DigestLogin};
pub use server::{DigestServer, Proven, Refusal};

/// Bytes of a nonce, before base64.
pub const RANDOM: usize = 24;
/// The name of the mechanism.
pub const MECHANISM: &str = "DIGEST-MD5";
/// The name of the service in `digest-uri`.
const SERVICE: &str = "svn";

/// Why a client gives up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DigestError {
    /// The server does not speak DIGEST-MD5, or does not answer us.
    #[error("malformed message")]
    Malformed,
    /// The server does not know the password.
    #[error("the server does not know the password")]
    NotProven,
    /// Nothing that the server offers is as strong as it has to be.
    #[error("no common protection layer")]
    TooWeak,
}

/// A cipher of a layer that encrypts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cipher {
    /// RC4 with a key of 128 bits.
    Rc4,
    /// Triple DES in CBC mode with two keys.
    TripleDes,
}

/// How a connection is protected after the login.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protection {
    /// Not at all (`auth`).
    None,
    /// Signed (`auth-int`).
    Integrity,
    /// Signed and encrypted (`auth-conf`).
    Confidential(Cipher),
}

impl Protection {
    /// All, the stronger ones first.
    pub const ALL: [Self; 4] = [
        Self::Confidential(Cipher::Rc4),
        Self::Confidential(Cipher::TripleDes),
        Self::Integrity,
        Self::None,
    ];

    /// The strength that SASL says of it: bits of the key, 1 where it is only signed.
    #[must_use]
    pub const fn strength(self) -> u32 {
        match self {
            Self::None => 0,
            Self::Integrity => 1,
            Self::Confidential(Cipher::TripleDes) => 112,
            Self::Confidential(Cipher::Rc4) => 128,
        }
    }

    /// Those within a range of strengths.
    pub fn within(strengths: &RangeInclusive<u32>) -> impl Iterator<Item = Self> + '_ {
        Self::ALL.into_iter().filter(|protection| strengths.contains(&protection.strength()))
    }

    const fn qop(self) -> &'static str {
        match self {
            Self::None => "auth",
            Self::Integrity => "auth-int",
            Self::Confidential(_) => "auth-conf",
        }
    }

    const fn cipher(self) -> Option<&'static str> {
        match self {
            Self::Confidential(cipher) => Some(cipher.name()),
            _ => None,
        }
    }
}

impl Cipher {
    const fn name(self) -> &'static str {
        match self {
            Self::Rc4 => "rc4",
            Self::TripleDes => "3des",
        }
    }
}

/// What a digest is made of, beside the password.
#[derive(Clone, Copy, Debug)]
struct Exchange<'a> {
    nonce: &'a str,
    cnonce: &'a str,
    qop: &'a str,
    uri: &'a str,
    authzid: Option<&'a str>,
}

/// The hash of name, realm and password.
fn secret(user: &[u8], realm: &[u8], password: &[u8]) -> Md5 {
    Md5::of(&[user, realm, password].join(&b':'))
}

/// The text in ISO 8859-1, where it can be written so: names and passwords are hashed in that form.
fn latin1(text: &[u8]) -> Vec<u8> {
    let as_latin1 = |text: &[u8]| {
        let text = str::from_utf8(text).ok()?;
        text.chars().map(|c| u8::try_from(u32::from(c)).ok()).collect::<Option<Vec<u8>>>()
    };
    as_latin1(text).unwrap_or_else(|| text.to_vec())
}

impl Exchange<'_> {
    /// H(A1): the key of this login.
    fn session_key(&self, secret: Md5) -> Md5 {
        let mut text = secret.0.to_vec();
        for part in [Some(self.nonce), Some(self.cnonce), self.authzid].into_iter().flatten() {
            text.push(b':');
            text.extend_from_slice(part.as_bytes());
        }
        Md5::of(&text)
    }

    /// What the client says.
    fn response(&self, session_key: Md5) -> String {
        self.digest(session_key, "AUTHENTICATE")
    }

    /// What the server says in return.
    fn proof(&self, session_key: Md5) -> String {
        self.digest(session_key, "")
    }

    fn digest(&self, session_key: Md5, method: &str) -> String {
        let body = if self.qop == "auth" { "" } else { ":00000000000000000000000000000000" };
        let a2 = Md5::of(format!("{method}:{}{body}", self.uri).as_bytes()).to_hex();
        let Self { nonce, cnonce, qop, .. } = self;
        let key = session_key.to_hex();
        Md5::of(format!("{key}:{nonce}:00000001:{cnonce}:{qop}:{a2}").as_bytes()).to_hex()
    }
}

#[cfg(test)]
mod tests;
