//! The user of a connection, and what they may do.

use sapwood_core::FsPath;
use sapwood_core::{Revnum, SvnResult};
use sapwood_repos::authz::{Access as Rights, Authz, UserAuthz};
use sapwood_repos::{CommitAuthorizer, Hooks, PathAuthorizer, Repository, RulesId, SubtreeAccess};

use crate::common::config::{AccessConfig, Blanket};
use crate::common::operation_log::{Operation, Subject};
use crate::common::principal::{Principal, granted};
use crate::common::request_number::RequestNumber;
use crate::common::state::ServerState;

/// What is to be done with a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Read it.
    Read,
    /// Write it.
    Write,
}

impl Action {
    /// The blanket access that it takes.
    #[must_use]
    pub const fn blanket(self) -> Blanket {
        match self {
            Self::Read => Blanket::Read,
            Self::Write => Blanket::Write,
        }
    }
}

/// The result of an access check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It may be done.
    Allow,
    /// Not without a name: the client is asked for one, and then access is checked again.
    AskWho,
    /// It may not be done.
    Deny,
}

/// The user of a connection and their rights: the authorizer of all its requests.
#[derive(Debug)]
pub struct UserAccess<'s> {
    shared: &'s ServerState,
    remote_host: Option<String>,
    repository_name: String,
    authz_name: String,
    authz: Option<Authz>,
    config: AccessConfig,
    user: Option<Principal>,
    rules: Option<UserAuthz>,
    request: Option<RequestNumber>,
}

impl<'s> UserAccess<'s> {
    /// A user without a name so far.
    #[must_use]
    pub fn new(
        shared: &'s ServerState,
        remote_host: Option<&str>,
        repository_name: &str,
        authz_name: &str,
        authz: Option<Authz>,
        config: AccessConfig,
    ) -> Self {
        let mut access = Self {
            shared,
            remote_host: remote_host.map(str::to_owned),
            repository_name: repository_name.to_owned(),
            authz_name: authz_name.to_owned(),
            authz,
            config,
            user: None,
            rules: None,
            request: None,
        };
        access.set_user(None);
        access
    }

    /// The authenticated user's name.
    #[must_use]
    pub fn user(&self) -> Option<&str> {
        self.user.as_ref().map(Principal::name)
    }

    /// The authenticated user.
    #[must_use]
    pub const fn principal(&self) -> Option<&Principal> {
        self.user.as_ref()
    }

    /// Notes the authenticated user.
    pub(crate) fn set_user(&mut self, user: Option<Principal>) {
        let name = user.as_ref().map(|u| self.config.username_case.apply(u.name()));
        let groups = user.as_ref().map_or(&[][..], Principal::groups);
        let rules =
            |authz: &Authz| authz.for_user_in_groups(&self.authz_name, name.as_deref(), groups);
        self.rules = self.authz.as_ref().map(rules);
        self.user = user;
    }

    /// What the configuration grants to the user at present.
    #[must_use]
    pub fn blanket(&self) -> Blanket {
        let granted = granted(&self.config, self.user.as_ref());
        match &self.user {
            Some(user) => user.limit(granted, &self.authz_name),
            None => granted,
        }
    }

    /// Notes the number of the request that is answered, for the log.
    pub(crate) const fn set_request(&mut self, request: RequestNumber) {
        self.request = Some(request);
    }

    /// The configuration.
    #[must_use]
    pub fn config(&self) -> &AccessConfig {
        &self.config
    }

    /// The repository's hooks, run as the configuration says.
    #[must_use]
    pub fn hooks(&self, repository: &Repository) -> Hooks {
        let config = self.config();
        let rules = [&self.shared.settings.rules, &config.rules].into_iter().flatten().cloned();
        let groups = self.user.as_ref().map_or(&[][..], Principal::groups);
        Hooks::new(repository, config.hooks_env.as_deref())
            .with_time_limit(config.hook_time_limit)
            .with_rules(rules.collect(), &self.authz_name, groups)
    }

    /// Notes a commit of the user's.
    pub fn committed(&self, repository: &Repository, revision: Revnum) {
        self.shared.committed(self.subject(), repository, &self.authz_name, revision);
    }

    /// The repository's name in authz files.
    #[must_use]
    pub(crate) fn authz_name(&self) -> &str {
        &self.authz_name
    }

    /// What log lines are about.
    #[must_use]
    pub fn subject(&self) -> Subject<'_> {
        Subject {
            host: self.remote_host.as_deref(),
            user: self.user(),
            repository: Some(&self.repository_name),
            request: self.request,
        }
    }

    /// Whether the user may do what is required at `path` (anywhere, without one) at present, and
    /// has a name if one is needed.
    #[must_use]
    pub fn may(&self, required: Action, path: Option<&FsPath>, needs_username: bool) -> bool {
        self.rules_allow(required, path, false)
            && self.blanket() >= required.blanket()
            && !(needs_username && self.user.is_none())
    }

    /// Decides whether the user may do what is required at `path` (anywhere, without one).
    /// `can_authenticate`: whether the user can still authenticate.
    #[must_use]
    pub fn decide(
        &self,
        required: Action,
        path: Option<&FsPath>,
        needs_username: bool,
        can_authenticate: bool,
    ) -> Decision {
        if self.may(required, path, needs_username) {
            return Decision::Allow;
        }
        let is_nameless = self.user.is_none() && can_authenticate;
        if is_nameless && self.config.auth_access >= required.blanket() {
            Decision::AskWho
        } else {
            Decision::Deny
        }
    }

    /// The rules for paths of one who may read in the repository, apart from the request; without any, all may be read.
    #[must_use]
    pub(crate) fn path_rules(&self) -> Option<UserAuthz> {
        self.rules.clone()
    }

    /// The rules for the paths that a reply contains.
    fn inner_rules(&self) -> Option<&UserAuthz> {
        self.rules.as_ref().filter(|_| self.config.each_path)
    }

    fn rules_allow(&self, required: Action, path: Option<&FsPath>, recursive: bool) -> bool {
        let Some(rules) = &self.rules else { return true };
        let rights = match required {
            Action::Read => Rights::READ,
            Action::Write => Rights::WRITE,
        };
        let allowed = rules.allows(path, rights, recursive);
        if !allowed {
            self.log_denied(required, path);
        }
        allowed
    }

    fn log_denied(&self, required: Action, path: Option<&FsPath>) {
        if self.user.is_some() {
            let word = match required {
                Action::Read => "read",
                Action::Write => "write",
            };
            let path = path.unwrap_or(FsPath::ROOT);
            self.shared.note(self.subject(), &Operation::Refused { word, path });
        }
    }
}

impl PathAuthorizer for UserAccess<'_> {
    fn readable(&self, path: &FsPath) -> SvnResult<bool> {
        Ok(!self.config.each_path || self.rules_allow(Action::Read, Some(path), false))
    }

    fn everything_readable(&self) -> bool {
        self.inner_rules().is_none_or(PathAuthorizer::everything_readable)
    }

    fn subtree(&self, path: &FsPath) -> SvnResult<SubtreeAccess> {
        self.inner_rules().map_or(Ok(SubtreeAccess::Readable), |rules| rules.subtree(path))
    }

    fn rules(&self) -> Option<RulesId> {
        self.inner_rules().and_then(PathAuthorizer::rules)
    }

    fn notes_refusals(&self) -> bool {
        self.shared.log.is_some() && self.user.is_some()
    }

    fn refused(&self, path: &FsPath) {
        self.log_denied(Action::Read, Some(path));
    }
}

impl CommitAuthorizer for UserAccess<'_> {
    fn allows(&self, path: &FsPath, required: Rights, recursive: bool) -> bool {
        let required = if required.contains(Rights::WRITE) { Action::Write } else { Action::Read };
        self.rules_allow(required, Some(path), recursive)
    }
}
