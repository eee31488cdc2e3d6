//! The secret that all servers have, and what proves that one knows it: codes (HMAC, SHA-256) over random numbers of both sides.
//!
//! Invariant: it is never sent and never shown, and codes are compared in a time that does not depend on what is wrong.

use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use crate::error::{Error, Result};
use crate::hex;

/// Bytes of the shortest secret.
pub const SHORTEST: usize = 16;

/// The secret.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Vec<u8>);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secret")
    }
}

impl Secret {
    /// What a file says.
    ///
    /// # Errors
    /// When it is shorter than [`SHORTEST`].
    pub fn new(bytes: Vec<u8>) -> Result<Self> {
        if bytes.len() < SHORTEST {
            return Err(Error::Setting(format!("it is shorter than {SHORTEST} bytes")));
        }
        Ok(Self(bytes))
    }

    fn mac(&self, of: &str, text: &str) -> Option<Hmac<Sha256>> {
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.0).ok()?;
        mac.update(format!("sapwood {of}\0{text}").as_bytes());
        Some(mac)
    }

    /// The code of a text, in hexadecimal digits. `of` says what it is for, so that one side's code is of no use to the other.
    pub(crate) fn code(&self, of: &str, text: &str) -> Option<String> {
        let bytes: [u8; 32] = self.mac(of, text)?.finalize().into_bytes().into();
        Some(hex::of(&bytes))
    }

    /// Whether it is the code of this text.
    pub(crate) fn proves(&self, of: &str, text: &str, code: &str) -> bool {
        let proof = self.mac(of, text).zip(hex::parse::<32>(code));
        proof.is_some_and(|(mac, code)| mac.verify_slice(&code).is_ok())
    }

    /// A key for something that all servers have in common.
    #[must_use]
    pub fn key(&self, of: &str) -> Option<[u8; 32]> {
        Some(self.mac("key", of)?.finalize().into_bytes().into())
    }
}
