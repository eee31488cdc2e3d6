//! A user who has logged in: the name, the groups that the accounts know, and the limits of the token that was used.
//!
//! Invariant: no other source of names (a header, a certificate, a password file) gives a user the name under which authz
//! files know a group.

use std::sync::Arc;

use sapwood_accounts::{GROUP_PREFIX, Identity};

use crate::common::config::Blanket;

/// A user who has logged in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Principal {
    name: String,
    identity: Option<Arc<Identity>>,
}

impl Principal {
    /// One of whom only the name is known.
    #[must_use]
    pub const fn named(name: String) -> Self {
        Self { name, identity: None }
    }

    /// One whom the accounts of the server know.
    #[must_use]
    pub fn of_accounts(name: &str, identity: Identity) -> Self {
        Self { name: name.to_owned(), identity: Some(Arc::new(identity)) }
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The groups, by their names in authz files.
    #[must_use]
    pub fn groups(&self) -> &[String] {
        self.identity.as_ref().map_or(&[], |identity| &identity.groups)
    }

    /// What is left of `granted` in the repository of this name in authz files.
    #[must_use]
    pub fn limit(&self, granted: Blanket, repository: &str) -> Blanket {
        if self.name.starts_with(GROUP_PREFIX) {
            return Blanket::None;
        }
        match self.identity.as_ref().and_then(|identity| identity.scope.as_ref()) {
            Some(scope) if !scope.has_repository(repository) => Blanket::None,
            Some(scope) if scope.read_only => granted.min(Blanket::Read),
            _ => granted,
        }
    }
}

#[cfg(test)]
mod tests {
    use sapwood_accounts::TokenScope;

    use super::*;

    #[test]
    fn a_token_can_do_less_than_its_user_and_never_more() {
        let all = [Blanket::None, Blanket::Read, Blanket::Write];
        let user = Principal::named("ada".to_owned());
        let token = |read_only, repositories: &[&str]| {
            let repositories = repositories.iter().map(|name| (*name).to_owned()).collect();
            let scope = Some(TokenScope { read_only, repositories });
            Principal::of_accounts("ada", Identity { scope, ..Identity::default() })
        };
        for granted in all {
            assert_eq!(user.limit(granted, "game"), granted);
            assert_eq!(token(false, &[]).limit(granted, "game"), granted);
            assert_eq!(token(true, &[]).limit(granted, "game"), granted.min(Blanket::Read));
            assert_eq!(token(false, &["game"]).limit(granted, "game"), granted);
            assert_eq!(token(false, &["game"]).limit(granted, "other"), Blanket::None);
            assert_eq!(token(true, &["other"]).limit(granted, "game"), Blanket::None);
            // No header and no certificate makes a user a group.
            let group = Principal::named("group:devs".to_owned());
            assert_eq!(group.limit(granted, "game"), Blanket::None);
        }
    }
}
