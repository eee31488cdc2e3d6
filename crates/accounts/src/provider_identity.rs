//! Users whom a provider of identities knows: who a user is for it.

use sapwood_core::date::Timestamp;
use serde::{Deserialize, Serialize};

/// Who a user is for a provider of identities, and until when tokens count.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct ProviderIdentity {
    /// The provider.
    pub issuer: String,
    /// What it calls the user: never what it calls another one.
    pub subject: String,
    /// The end of the tokens, unless the user signs in again.
    #[serde(with = "crate::token::time")]
    pub until: Timestamp,
}

impl ProviderIdentity {
    pub(crate) fn is_same_person(&self, other: &Self) -> bool {
        (&self.issuer, &self.subject) == (&other.issuer, &other.subject)
    }
}
