//! Personal access tokens: random texts that a client sends in place of its user's password. What a token may do can be
//! less than what its user may, never more.
//!
//! A token has 256 random bits, so its SHA-256 is enough to check it against: nothing can be tried out.

use std::fmt::Write as _;

use sapwood_core::date::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::error::{Error, Result};

/// What tokens begin with: programs that look for secrets in texts find them by it.
const PREFIX: &str = "sapwood_";

/// What a token may do.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct TokenScope {
    /// Reading only.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub read_only: bool,
    /// The repositories, by the names that authz files have for them; all if there are none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub repositories: Vec<String>,
}

impl TokenScope {
    /// Whether the repository of this name may be used.
    #[must_use]
    pub fn has_repository(&self, name: &str) -> bool {
        self.repositories.is_empty() || self.repositories.iter().any(|known| known == name)
    }
}

/// What is stored of a token.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Token {
    /// SHA-256 of its text, in hexadecimal digits.
    pub(crate) sha256: String,
    /// When it was made.
    #[serde(with = "time")]
    pub created: Timestamp,
    /// When it ends; never if there is no such time.
    #[serde(default, with = "time::optional", skip_serializing_if = "Option::is_none")]
    pub expires: Option<Timestamp>,
    /// What it may do.
    #[serde(default, skip_serializing_if = "is_everything")]
    pub scope: TokenScope,
}

fn is_everything(scope: &TokenScope) -> bool {
    *scope == TokenScope::default()
}

impl Token {
    /// A new token, and its text, which is shown to its user and kept nowhere.
    ///
    /// # Errors
    /// When the system has no random bytes.
    pub fn make(
        scope: TokenScope,
        created: Timestamp,
        expires: Option<Timestamp>,
    ) -> Result<(Self, String)> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).map_err(|e| Error::Secret(e.to_string()))?;
        let text = format!("{PREFIX}{}", hex(&bytes));
        Ok((Self { sha256: digest(&text), created, expires, scope }, text))
    }

    /// Whether it has ended.
    #[must_use]
    pub fn has_expired(&self, now: Timestamp) -> bool {
        self.expires.is_some_and(|end| end <= now)
    }

    /// Names the token in [`crate::TokenUses`]: a part of its digest, from which the token does not follow.
    #[must_use]
    pub fn id(&self) -> &str {
        self.sha256.get(..16).unwrap_or(&self.sha256)
    }
}

/// Whether what a client sends as a password is a token by its form.
#[must_use]
pub fn is_token(text: &str) -> bool {
    text.strip_prefix(PREFIX)
        .is_some_and(|digits| digits.len() == 64 && digits.bytes().all(|b| b.is_ascii_hexdigit()))
}

/// What a token is stored as.
pub(crate) fn digest(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a String does not fail.
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// Times as `svn:date` has them: `2026-11-27T05:00:00.000000Z`.
pub(crate) mod time {
    use super::Timestamp;
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

    pub(crate) fn serialize<S: Serializer>(time: &Timestamp, out: S) -> Result<S::Ok, S::Error> {
        out.collect_str(time)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Timestamp, D::Error> {
        let text = String::deserialize(from)?;
        let bad = |_| D::Error::custom(format!("'{text}' is no time"));
        Timestamp::parse(text.as_bytes()).map_err(bad)
    }

    pub(super) mod optional {
        use super::{Deserializer, Serializer, Timestamp};

        #[allow(clippy::ref_option, reason = "serde calls it so")]
        pub(in super::super) fn serialize<S: Serializer>(
            time: &Option<Timestamp>,
            out: S,
        ) -> Result<S::Ok, S::Error> {
            match time {
                Some(time) => super::serialize(time, out),
                None => out.serialize_none(),
            }
        }

        pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
            from: D,
        ) -> Result<Option<Timestamp>, D::Error> {
            super::deserialize(from).map(Some)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_known_by_its_form_and_ends() {
        let (at, end) = (Timestamp(1_000_000), Timestamp(2_000_000));
        let (token, text) = Token::make(TokenScope::default(), at, Some(end)).unwrap();
        assert!(is_token(&text) && !is_token(&text[1..]) && !is_token("sapwood_x"));
        assert_eq!(token.sha256, digest(&text));
        assert!(!token.has_expired(Timestamp(1_999_999)) && token.has_expired(end));
        let (other, other_text) = Token::make(TokenScope::default(), at, None).unwrap();
        assert!(other_text != text && other.id() != token.id());
        assert!(!other.has_expired(Timestamp(i64::MAX)));
    }

    #[test]
    fn scopes_name_repositories() {
        let all = TokenScope::default();
        let one = TokenScope { repositories: vec!["game".to_owned()], ..TokenScope::default() };
        assert!(all.has_repository("game") && all.has_repository(""));
        assert!(one.has_repository("game") && !one.has_repository("games"));
        assert!(!one.has_repository("") && !one.has_repository("game/x"));
    }
}
