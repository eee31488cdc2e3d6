//! The server's first message.

use sapwood_core::exact::Cut as _;

use super::directives::{Directives, quoted, token};
use super::{Cipher, DigestError, Protection};
use crate::security_layer::MAX_PACKET;

/// A challenge has fewer bytes than this.
const MAX_CHALLENGE: usize = 2048;

/// What a server asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Challenge {
    /// The realms that a user may be of.
    pub realms: Vec<String>,
    /// What was never sent before.
    pub nonce: String,
    /// What may protect the connection afterwards.
    pub offered: Vec<Protection>,
    /// The largest packet that the server receives, in bytes.
    pub max_packet: u32,
    /// Whether names are in UTF-8.
    pub utf8: bool,
}

impl Challenge {
    /// Reads a challenge.
    ///
    /// # Errors
    /// [`DigestError::Malformed`].
    pub fn parse(message: &[u8]) -> Result<Self, DigestError> {
        let found = Directives::parse(message, MAX_CHALLENGE - 1)?;
        let nonce = found.needed("nonce")?;
        if !found.needed("algorithm")?.eq_ignore_ascii_case("md5-sess") || nonce.is_empty() {
            return Err(DigestError::Malformed);
        }
        // Words that we do not know are those of newer versions.
        let ciphers = found.one("cipher")?.unwrap_or("");
        let qops = found.one("qop")?.unwrap_or("auth");
        let lists = |list: &str, wanted: &str| {
            list.split(',').any(|word| word.trim().eq_ignore_ascii_case(wanted))
        };
        let is_offered = |protection: &Protection| {
            lists(qops, protection.qop())
                && protection.cipher().is_none_or(|cipher| lists(ciphers, cipher))
        };
        Ok(Self {
            realms: found.all("realm").map(str::to_owned).collect(),
            nonce: nonce.to_owned(),
            offered: Protection::ALL.into_iter().filter(is_offered).collect(),
            max_packet: found.max_packet()?,
            utf8: found.check_charset()?,
        })
    }

    /// Writes it.
    #[must_use]
    pub fn write(&self) -> String {
        let mut out = String::new();
        quoted(&mut out, "nonce", &self.nonce);
        for realm in &self.realms {
            quoted(&mut out, "realm", realm);
        }
        // The weakest first, and each word once.
        let mut qops: Vec<&str> = self.offered.iter().rev().map(|offered| offered.qop()).collect();
        qops.dedup();
        quoted(&mut out, "qop", &qops.join(","));
        let offers = |cipher| self.offered.contains(&Protection::Confidential(cipher));
        let ciphers = [Cipher::Rc4, Cipher::TripleDes].into_iter().filter(|cipher| offers(*cipher));
        let ciphers: Vec<&str> = ciphers.map(Cipher::name).collect();
        if !ciphers.is_empty() {
            quoted(&mut out, "cipher", &ciphers.join(","));
        }
        token(&mut out, "maxbuf", self.max_packet);
        if self.utf8 {
            token(&mut out, "charset", "utf-8");
        }
        token(&mut out, "algorithm", "md5-sess");
        out
    }

    /// The challenge of our server.
    pub(super) fn ours(realm: &str, nonce: String, offered: Vec<Protection>) -> Self {
        // The longest realm leaves room for the rest.
        let end =
            (0..=realm.len().min(MAX_CHALLENGE / 4)).rev().find(|at| realm.is_char_boundary(*at));
        let realm = realm.head(end.unwrap_or(0)).to_owned();
        let max_packet = MAX_PACKET;
        Self { realms: vec![realm], nonce, offered, max_packet, utf8: true }
    }
}
