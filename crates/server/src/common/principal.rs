//! A user who has logged in: the name, the groups that accounts and directories know, and the limits of the token that was
//! used.
//!
//! Invariant: no other source of names (a header, a certificate, a password file) gives a user the name under which authz
//! files know a group.

use std::sync::Arc;

use sapwood_accounts::{GROUP_PREFIX, Identity};
use sapwood_ldap::Member;
use sapwood_oidc::Person;

use crate::common::config::{AccessConfig, Blanket};

/// A user who has logged in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Principal {
    name: String,
    identity: Option<Arc<Identity>>,
    /// What a provider of OpenID Connect calls the user, if that let the user in.
    subject: Option<Arc<str>>,
}

impl Principal {
    /// One of whom only the name is known.
    #[must_use]
    pub const fn named(name: String) -> Self {
        Self { name, identity: None, subject: None }
    }

    /// One whom the accounts of the server know.
    #[must_use]
    pub fn of_accounts(name: &str, identity: Identity) -> Self {
        Self { identity: Some(Arc::new(identity)), ..Self::named(name.to_owned()) }
    }

    /// One whom a directory knows.
    #[must_use]
    pub fn of_directory(member: &Member) -> Self {
        Self::of_accounts(
            &member.name,
            Identity { groups: groups(&member.groups), ..Identity::default() },
        )
    }

    /// One whom a provider of OpenID Connect knows; `None` where no user can have such a name.
    #[must_use]
    pub(crate) fn of_person(person: &Person) -> Option<Self> {
        let identity = Identity { groups: groups(&person.groups), ..Identity::default() };
        let user = Self {
            subject: Some(Arc::from(&*person.subject)),
            ..Self::of_accounts(&person.name, identity)
        };
        sapwood_accounts::can_be_named(&person.name).then_some(user)
    }

    /// Whether a provider of OpenID Connect let the user in.
    #[must_use]
    pub(crate) const fn has_signed_in(&self) -> bool {
        self.subject.is_some()
    }

    /// What the provider calls the user.
    #[must_use]
    pub fn subject(&self) -> Option<&str> {
        self.subject.as_deref()
    }

    /// The groups, as accounts call them.
    #[must_use]
    pub(crate) fn plain_groups(&self) -> Vec<String> {
        let plain = |name: &String| name.strip_prefix(GROUP_PREFIX).map(str::to_owned);
        self.groups().iter().filter_map(plain).collect()
    }

    /// The same user, as a directory spells the name, with the directory's groups besides.
    #[must_use]
    pub(crate) fn known_to(&self, member: &Member) -> Self {
        let mut identity = self.identity.as_deref().cloned().unwrap_or_else(Identity::default);
        identity.groups.extend(groups(&member.groups));
        identity.groups.sort_unstable();
        identity.groups.dedup();
        Self::of_accounts(&member.name, identity)
    }

    /// Whether the user proved the name by a token.
    #[must_use]
    pub(crate) fn has_token(&self) -> bool {
        self.identity.as_ref().is_some_and(|identity| identity.token.is_some())
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

    /// Whether the user, or a group of the user, is in a list of names.
    #[must_use]
    pub(crate) fn is_one_of(&self, names: &[String]) -> bool {
        names.iter().any(|name| *name == self.name || self.groups().contains(name))
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

/// What the configuration grants to a user; without one, to anonymous users.
#[must_use]
pub fn granted(access: &AccessConfig, user: Option<&Principal>) -> Blanket {
    match user {
        None => access.anon_access,
        Some(user) if access.members.is_empty() || user.is_one_of(&access.members) => {
            access.auth_access
        }
        Some(_) => Blanket::None,
    }
}

/// The names under which authz files know groups. A name that no list in an authz file can have is left
/// out.
fn groups(all: &[String]) -> Vec<String> {
    let can_be_named = |name: &&String| sapwood_accounts::can_be_named(name);
    all.iter().filter(can_be_named).map(|name| format!("{GROUP_PREFIX}{name}")).collect()
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

    #[test]
    fn a_provider_names_no_group_and_nothing_that_authz_files_mean_otherwise() {
        let person = |name: &str, groups: &[&str]| Person {
            subject: "1".to_owned(),
            name: name.to_owned(),
            groups: groups.iter().map(|group| (*group).to_owned()).collect(),
        };
        let ada = Principal::of_person(&person("ada@h", &["devs", "group:x", "a,b", "*"])).unwrap();
        assert_eq!((ada.name(), ada.groups()), ("ada@h", &["group:devs".to_owned()][..]));
        assert!(ada.has_signed_in() && !ada.has_token());
        for name in ["group:devs", "@devs", "&x", "$authenticated", "*", "", "a\nb", "a=b", " a"] {
            assert_eq!(Principal::of_person(&person(name, &[])), None, "{name:?}");
        }
    }

    #[test]
    fn groups_of_a_directory_are_groups_of_authz_files() {
        let member = |groups: &[&str]| Member {
            name: "ada".to_owned(),
            groups: groups.iter().map(|group| (*group).to_owned()).collect(),
        };
        let ada = Principal::of_directory(&member(&["devs", "a,b", "x=y", "@all", "Domain Users"]));
        assert_eq!(ada.groups(), ["group:devs", "group:Domain Users"]);
        let all = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        assert!(ada.is_one_of(&all(&["bob", "group:devs"])) && ada.is_one_of(&all(&["ada"])));
        assert!(!ada.is_one_of(&all(&["devs", "group:dev", "Ada", "group:ada"])));
        let scope = Some(TokenScope { read_only: true, repositories: Vec::new() });
        let groups = vec!["group:qa".to_owned()];
        let token = Some("id".to_owned());
        let token = Principal::of_accounts("Ada", Identity { groups, scope, token });
        let known = token.known_to(&member(&["devs", "qa"]));
        assert_eq!((known.name(), known.groups()), ("ada", &all(&["group:devs", "group:qa"])[..]));
        assert!(known.has_token() && !ada.has_token() && !ada.has_signed_in());
        assert_eq!(known.limit(Blanket::Write, "game"), Blanket::Read, "the token's limits stay");
    }
}
