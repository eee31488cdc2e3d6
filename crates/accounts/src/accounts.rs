//! What a file of accounts says, and who may log in by it.

use std::collections::{BTreeMap, BTreeSet};

use sapwood_core::date::Timestamp;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::names;
use crate::password::hash_password;
use crate::provider_identity::ProviderIdentity;
use crate::token::{Token, TokenScope, digest, is_token};

/// The newest format. What does not need it is written in the first one, which older versions read.
pub(crate) const FORMAT: u32 = 2;
/// The first format.
const FIRST: u32 = 1;

/// A user.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct User {
    /// The hash of the password; without one only tokens let the user in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) password: Option<String>,
    /// Whether neither the password nor a token lets the user in.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub disabled: bool,
    /// The groups that the user is in.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub groups: BTreeSet<String>,
    /// Who the user is for a provider of identities, if it is one who signs in there. (Format 2)
    #[serde(default, rename = "provider", skip_serializing_if = "Option::is_none")]
    pub known: Option<ProviderIdentity>,
    /// The user's tokens, by the names that the user gave them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub tokens: BTreeMap<String, Token>,
}

impl User {
    /// Whether the user can log in by a password.
    #[must_use]
    pub const fn has_password(&self) -> bool {
        self.password.is_some() && !self.disabled
    }
}

/// Who has logged in, and with what limits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Identity {
    /// The names under which authz files know the user's groups: `group:devs`.
    pub groups: Vec<String>,
    /// What the token may do; everything that the user may, where a password let the user in.
    pub scope: Option<TokenScope>,
    /// The token's name in [`crate::TokenUses`].
    pub token: Option<String>,
}

/// All accounts of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Accounts {
    pub(crate) format: u32,
    #[serde(default)]
    users: BTreeMap<String, User>,
}

impl Default for Accounts {
    fn default() -> Self {
        Self { format: FIRST, users: BTreeMap::new() }
    }
}

impl Accounts {
    /// All users, by name.
    #[must_use]
    pub const fn users(&self) -> &BTreeMap<String, User> {
        &self.users
    }

    /// The hash of the password by which a user can log in; `None` for unknown and disabled users, and those without a
    /// password.
    #[must_use]
    pub fn password_hash(&self, user: &str) -> Option<&str> {
        let user = self.users.get(user)?;
        user.password.as_deref().filter(|_| !user.disabled)
    }

    /// The identity of a user whose password was checked.
    #[must_use]
    pub fn identity(&self, user: &str) -> Option<Identity> {
        let user = self.users.get(user).filter(|user| !user.disabled)?;
        Some(Identity { groups: group_names(user), ..Identity::default() })
    }

    /// The identity that a token gives to its user; `None` for a wrong one, one that has ended, and those of others. Quick: it
    /// may be asked for each request.
    #[must_use]
    pub fn identity_by_token(&self, user: &str, text: &str, now: Timestamp) -> Option<Identity> {
        if !is_token(text) {
            return None;
        }
        let user = self.users.get(user).filter(|user| !user.disabled && !user.is_away(now))?;
        // What is compared are digests: how far two are the same says nothing about a token.
        let sum = digest(text);
        let token = user.tokens.values().find(|token| token.sha256 == sum)?;
        (!token.has_expired(now)).then(|| Identity {
            groups: group_names(user),
            scope: Some(token.scope.clone()),
            token: Some(token.id().to_owned()),
        })
    }

    pub(crate) const fn users_mut(&mut self) -> &mut BTreeMap<String, User> {
        &mut self.users
    }

    /// The same in the format that it needs.
    pub(crate) fn in_its_format(&self) -> Self {
        let is_first = self.users.values().all(|user| user.known.is_none());
        Self { format: if is_first { FIRST } else { FORMAT }, ..self.clone() }
    }

    fn user_mut(&mut self, name: &str) -> Result<&mut User> {
        self.users.get_mut(name).ok_or_else(|| Error::NoUser(name.to_owned()))
    }

    /// The user of a name.
    ///
    /// # Errors
    /// [`Error::NoUser`].
    pub fn user(&self, name: &str) -> Result<&User> {
        self.users.get(name).ok_or_else(|| Error::NoUser(name.to_owned()))
    }

    /// Adds a user; without a password, one who logs in by tokens only.
    ///
    /// # Errors
    /// For names that cannot be, an empty password, and where there is such a user.
    pub fn add(&mut self, name: &str, password: Option<&str>, groups: &[String]) -> Result<()> {
        names::check("user", name)?;
        if self.users.contains_key(name) {
            return Err(Error::UserExists(name.to_owned()));
        }
        let password = password.map(hash_password).transpose()?;
        let user = User { password, groups: checked_groups(groups)?, ..User::default() };
        self.users.insert(name.to_owned(), user);
        Ok(())
    }

    /// Changes a password.
    ///
    /// # Errors
    /// [`Error::NoUser`], [`Error::EmptyPassword`].
    pub fn set_password(&mut self, name: &str, password: &str) -> Result<()> {
        let user = self.user_mut(name)?;
        user.password = Some(hash_password(password)?);
        Ok(())
    }

    /// Shuts a user out, or lets the user in again, with the same password and tokens.
    ///
    /// # Errors
    /// [`Error::NoUser`].
    pub fn set_disabled(&mut self, name: &str, disabled: bool) -> Result<()> {
        self.user_mut(name)?.disabled = disabled;
        Ok(())
    }

    /// Puts a user into these groups, and into no others.
    ///
    /// # Errors
    /// [`Error::NoUser`], and for names that cannot be.
    pub fn set_groups(&mut self, name: &str, groups: &[String]) -> Result<()> {
        let groups = checked_groups(groups)?;
        self.user_mut(name)?.groups = groups;
        Ok(())
    }

    /// Removes a user with all tokens.
    ///
    /// # Errors
    /// [`Error::NoUser`].
    pub fn remove(&mut self, name: &str) -> Result<()> {
        self.users.remove(name).map(drop).ok_or_else(|| Error::NoUser(name.to_owned()))
    }

    /// Adds a token to a user's.
    ///
    /// # Errors
    /// [`Error::NoUser`], [`Error::TokenExists`], and for names that cannot be.
    pub fn add_token(&mut self, user: &str, name: &str, token: Token) -> Result<()> {
        names::check("token", name)?;
        let tokens = &mut self.user_mut(user)?.tokens;
        if tokens.contains_key(name) {
            return Err(Error::TokenExists(user.to_owned(), name.to_owned()));
        }
        tokens.insert(name.to_owned(), token);
        Ok(())
    }

    /// Removes a token: it lets its user in no more.
    ///
    /// # Errors
    /// [`Error::NoUser`], [`Error::NoToken`].
    pub fn revoke_token(&mut self, user: &str, name: &str) -> Result<()> {
        let removed = self.user_mut(user)?.tokens.remove(name);
        removed.map(drop).ok_or_else(|| Error::NoToken(user.to_owned(), name.to_owned()))
    }

    /// Checks the names in a file that an administrator may have edited.
    pub(crate) fn check_names(&self) -> Result<()> {
        for (name, user) in &self.users {
            names::check("user", name)?;
            user.groups.iter().try_for_each(|group| names::check("group", group))?;
            user.tokens.keys().try_for_each(|token| names::check("token", token))?;
        }
        Ok(())
    }
}

fn group_names(user: &User) -> Vec<String> {
    user.groups.iter().map(|group| format!("{}{group}", names::GROUP_PREFIX)).collect()
}

fn checked_groups(groups: &[String]) -> Result<BTreeSet<String>> {
    groups.iter().try_for_each(|group| names::check("group", group))?;
    Ok(groups.iter().cloned().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::password::verify_password;

    const NOW: Timestamp = Timestamp(5_000_000);

    fn with_ada() -> Accounts {
        let mut accounts = Accounts::default();
        accounts.add("ada", Some("secret"), &["devs".to_owned()]).unwrap();
        accounts
    }

    #[test]
    fn users_come_change_and_go() {
        let mut accounts = with_ada();
        assert!(matches!(accounts.add("ada", None, &[]), Err(Error::UserExists(_))));
        assert!(accounts.add("a:b", None, &[]).is_err());
        assert!(accounts.add("bob", None, &["a,b".to_owned()]).is_err());
        assert!(accounts.add("bob", Some(""), &[]).is_err() && accounts.user("bob").is_err());
        assert!(verify_password(accounts.password_hash("ada").unwrap(), "secret"));
        accounts.set_password("ada", "new").unwrap();
        assert!(verify_password(accounts.password_hash("ada").unwrap(), "new"));
        assert_eq!(accounts.identity("ada").unwrap().groups, ["group:devs"]);
        accounts.set_groups("ada", &["qa".to_owned(), "art".to_owned()]).unwrap();
        assert_eq!(accounts.identity("ada").unwrap().groups, ["group:art", "group:qa"]);
        accounts.set_disabled("ada", true).unwrap();
        assert_eq!((accounts.password_hash("ada"), accounts.identity("ada")), (None, None));
        accounts.set_disabled("ada", false).unwrap();
        assert!(accounts.password_hash("ada").is_some());
        accounts.remove("ada").unwrap();
        assert!(matches!(accounts.remove("ada"), Err(Error::NoUser(_))));
        assert_eq!(accounts.identity("ada"), None);
    }

    #[test]
    fn a_token_lets_in_its_user_within_its_scope_until_it_ends() {
        let mut accounts = with_ada();
        accounts.add("bob", None, &[]).unwrap();
        let scope = TokenScope { read_only: true, repositories: vec!["game".to_owned()] };
        let (token, text) = Token::make(scope.clone(), NOW, Some(Timestamp(6_000_000))).unwrap();
        accounts.add_token("ada", "laptop", token.clone()).unwrap();
        assert!(accounts.add_token("ada", "laptop", token).is_err());
        let found = accounts.identity_by_token("ada", &text, NOW).unwrap();
        assert_eq!((found.scope, found.groups), (Some(scope), vec!["group:devs".to_owned()]));
        assert!(accounts.identity_by_token("bob", &text, NOW).is_none());
        assert!(accounts.identity_by_token("ada", &text, Timestamp(6_000_000)).is_none());
        let mut other = text.clone();
        let last = if other.pop() == Some('0') { '1' } else { '0' };
        other.push(last);
        assert!(accounts.identity_by_token("ada", &other, NOW).is_none());
        // The digest that is stored is no token.
        let stored = accounts.user("ada").unwrap().tokens["laptop"].sha256.clone();
        assert!(accounts.identity_by_token("ada", &stored, NOW).is_none());
        accounts.set_disabled("ada", true).unwrap();
        assert!(accounts.identity_by_token("ada", &text, NOW).is_none());
        accounts.set_disabled("ada", false).unwrap();
        accounts.revoke_token("ada", "laptop").unwrap();
        assert!(accounts.identity_by_token("ada", &text, NOW).is_none());
        assert!(accounts.revoke_token("ada", "laptop").is_err());
    }
}
