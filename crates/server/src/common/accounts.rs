//! A file of accounts as the server uses it: passwords that were verified a short time ago, tokens, and when each token was
//! used.

use std::sync::Arc;

use sapwood_accounts::{Accounts, TokenUses, decoy, is_token, verify_password};
use sapwood_core::date::Timestamp;

use crate::common::htpasswd::VerifiedPasswords;
use crate::common::principal::Principal;

/// A file of accounts.
#[derive(Debug)]
pub struct OpenAccounts {
    /// What it says.
    pub accounts: Accounts,
    /// When its tokens were used last.
    pub uses: Arc<TokenUses>,
}

impl OpenAccounts {
    /// The user, if this is the user's password or token. Takes long, and as long for a user who is unknown, disabled or
    /// has no password; `proved` caches verified passwords.
    #[must_use]
    pub fn know(&self, proved: &VerifiedPasswords, user: &str, secret: &str) -> Option<Principal> {
        if is_token(secret) {
            return self.know_token(user, secret, Timestamp::now());
        }
        let Some(hash) = self.accounts.password_hash(user) else {
            std::hint::black_box(verify_password(decoy(), secret));
            return None;
        };
        proved.again(hash, secret, || verify_password(hash, secret)).then_some(())?;
        self.accounts.identity(user).map(|identity| Principal::of_accounts(user, identity))
    }

    /// Whether a user is one of the accounts alone: with a password here, or known by a provider of OpenID Connect.
    #[must_use]
    pub(crate) fn is_alone(&self, user: &str) -> bool {
        let is_known = self.accounts.users().get(user).is_some_and(|user| user.known.is_some());
        is_known || self.accounts.password_hash(user).is_some()
    }

    fn know_token(&self, user: &str, token: &str, now: Timestamp) -> Option<Principal> {
        let identity = self.accounts.identity_by_token(user, token, now)?;
        if let Some(id) = &identity.token {
            // A disk that is full keeps no user out.
            let _ = self.uses.note(id, now);
        }
        Some(Principal::of_accounts(user, identity))
    }

    /// The same, without waiting: for a password that is in the cache, and for a token whose use need not be written.
    #[must_use]
    pub fn has_proved(
        &self,
        proved: &VerifiedPasswords,
        user: &str,
        secret: &str,
    ) -> Option<Principal> {
        let identity = if is_token(secret) {
            let now = Timestamp::now();
            let identity = self.accounts.identity_by_token(user, secret, now)?;
            let is_due = identity.token.as_ref().is_some_and(|id| self.uses.is_due(id, now));
            (!is_due).then_some(identity)?
        } else {
            let hash = self.accounts.password_hash(user)?;
            proved.has(hash, secret).then_some(())?;
            self.accounts.identity(user)?
        };
        Some(Principal::of_accounts(user, identity))
    }
}

#[cfg(test)]
mod tests {
    use sapwood_accounts::{AccountsFile, Token, TokenScope};

    use super::*;

    #[test]
    fn passwords_and_tokens_are_cached_and_revoked_at_once() {
        let folder = std::env::temp_dir().join(format!("sapwood-accounts-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let file = AccountsFile::at(&folder.join("accounts.toml"));
        let (token, text) = Token::make(TokenScope::default(), Timestamp::now(), None).unwrap();
        file.change(|accounts| {
            accounts.add("ada", Some("secret"), &["devs".to_owned()])?;
            accounts.add_token("ada", "t", token)
        })
        .unwrap();
        let uses = Arc::new(TokenUses::of(&file));
        let open = || OpenAccounts { accounts: file.read().unwrap(), uses: Arc::clone(&uses) };
        let proved = VerifiedPasswords::default();
        let before = open();
        for secret in ["secret", text.as_str()] {
            assert!(before.has_proved(&proved, "ada", secret).is_none(), "nothing is cached yet");
            let known = before.know(&proved, "ada", secret).unwrap();
            assert_eq!((known.name(), known.groups()), ("ada", &["group:devs".to_owned()][..]));
            assert_eq!(before.has_proved(&proved, "ada", secret), Some(known));
            assert!(before.know(&proved, "bob", secret).is_none());
        }
        for wrong in ["", "Secret", "sapwood_"] {
            assert!(before.know(&proved, "ada", wrong).is_none(), "{wrong:?}");
        }
        assert_eq!(uses.read().len(), 1);
        file.change(|accounts| accounts.revoke_token("ada", "t")).unwrap();
        assert!(open().has_proved(&proved, "ada", &text).is_none());
        assert!(open().has_proved(&proved, "ada", "secret").is_some());
        file.change(|accounts| accounts.set_disabled("ada", true)).unwrap();
        assert!(open().has_proved(&proved, "ada", "secret").is_none());
        assert!(open().know(&proved, "ada", "secret").is_none());
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
