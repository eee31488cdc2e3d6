//! Path-based access rules: authz files.
//!
//! [`Authz`] is one authz file (with its global groups file), read and checked. [`UserAuthz`] is
//! what it says about one user in one repository, compiled into a tree of path components
//! ([`tree`]), and is the [`PathAuthorizer`] that the rest of this crate asks.
//!
//! Rules are those of Subversion 1.14. For one path, the rule with the deepest path counts; with
//! glob rules several rules may match the same path, and the one that stands last in the file
//! counts. Between a rule for all repositories and one for this repository with the same path,
//! the repository's own counts when it mentions the user.
//!
//! Invariant: answers come from the file as parsed, nothing here looks at the disk again, so one
//! request sees one set of rules.

mod known;
mod model;
mod parse;
mod rule;
mod source;
mod tree;

use std::collections::{HashMap, HashSet};
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use parking_lot::Mutex;
use sapwood_core::FsPath;
use sapwood_core::{SvnError, SvnResult};

pub use known::KnownAuthz;
pub use model::Access;
use model::{Asker, Model, Range};
pub use source::ConfigSource;
use tree::Tree;

use crate::authorizer::{PathAuthorizer, RulesId, SubtreeAccess};

/// How many compiled (repository, user) pairs one [`Authz`] caches; beyond that they are compiled again.
const MAX_COMPILED: usize = 4096;

/// The rules of one authz file. Clones share everything.
#[derive(Clone, Debug)]
pub struct Authz {
    inner: Arc<Inner>,
}

/// A user's name and a repository's.
type UserAndRepository = (Box<str>, Box<str>);

#[derive(Debug)]
struct Inner {
    model: Model,
    compiled: Mutex<CompiledRules>,
}

#[derive(Debug, Default)]
struct CompiledRules {
    users: HashMap<UserAndRepository, UserAuthz>,
    /// The distinct rules among them: most users of a company are in the same few groups.
    distinct: HashSet<Arc<UserRules>>,
}

/// What the rules say about one user in one repository. Clones share everything.
#[derive(Clone, Debug)]
pub struct UserAuthz {
    user: Arc<str>,
    rules: Arc<UserRules>,
}

/// Rules are equal when their answers are; the number is not compared.
#[derive(Debug)]
struct UserRules {
    /// The number of these rules in cache keys of replies.
    id: Option<RulesId>,
    /// The range of rights over the whole repository.
    range: Range,
    /// Present only when the range does not decide everything, which it does for most users.
    tree: Option<Tree>,
}

impl PartialEq for UserRules {
    fn eq(&self, other: &Self) -> bool {
        self.range == other.range && self.tree == other.tree
    }
}

impl Eq for UserRules {}

impl Hash for UserRules {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.range, &self.tree).hash(state);
    }
}

impl Authz {
    /// Reads the rules out of the contents of an authz file, with the groups out of the global
    /// groups file when there is one. `warn` receives suspicious lines that are no errors.
    ///
    /// # Errors
    /// E220003 for invalid rules, E200002 for a syntax error.
    pub fn parse(
        rules: &[u8],
        groups: Option<&[u8]>,
        warn: &mut dyn FnMut(SvnError),
    ) -> SvnResult<Self> {
        let model = parse::parse(rules, groups, warn)?;
        Ok(Self { inner: Arc::new(Inner { model, compiled: Mutex::default() }) })
    }

    /// The rules for `user` (`None` for an anonymous one) in the repository called `repos`; the
    /// empty name stands for no repository in particular, for which only general rules count.
    #[must_use]
    pub fn for_user(&self, repos: &str, user: Option<&str>) -> UserAuthz {
        self.for_user_in_groups(repos, user, &[])
    }

    /// The same for a user who is in groups outside of the authz file: a group of the file that has one of these names as
    /// a member has the user as a member. (`devs = group:devs`)
    #[must_use]
    pub fn for_user_in_groups(
        &self,
        repos: &str,
        user: Option<&str>,
        groups: &[String],
    ) -> UserAuthz {
        let user = user.unwrap_or("");
        let groups = if user.is_empty() { &[] } else { groups };
        // No name has this separator.
        let names = std::iter::once(user).chain(groups.iter().map(String::as_str));
        let key = (Box::from(repos), names.collect::<Vec<_>>().join("\0").into());
        if let Some(found) = self.inner.compiled.lock().users.get(&key) {
            return found.clone();
        }
        let asker = Asker { name: user.as_bytes(), groups };
        let range = self.inner.model.global_range(asker, repos.as_bytes());
        let tree =
            (range.min != range.max).then(|| Tree::new(&self.inner.model, repos.as_bytes(), asker));
        let mut rules = Arc::new(UserRules { id: RulesId::fresh(), range, tree });
        let mut compiled = self.inner.compiled.lock();
        if compiled.users.len() >= MAX_COMPILED {
            *compiled = CompiledRules::default();
        }
        match compiled.distinct.get(&rules) {
            Some(known) => rules = Arc::clone(known),
            None => drop(compiled.distinct.insert(Arc::clone(&rules))),
        }
        let made = UserAuthz { user: user.into(), rules };
        compiled.users.insert(key, made.clone());
        made
    }
}

impl UserAuthz {
    /// Whether the user has all of `required` at `path`, and at everything below it when
    /// `recursive`. Without a path: whether they have it anywhere in the repository.
    #[must_use]
    pub fn allows(&self, path: Option<&FsPath>, required: Access, recursive: bool) -> bool {
        let range = self.rules.range;
        if range.min.contains(required) {
            return true;
        }
        if !range.max.contains(required) {
            return false;
        }
        let Some(path) = path else { return true };
        self.rules.tree.as_ref().is_some_and(|t| t.allows(path.as_bytes(), required, recursive))
    }

    /// The user's name, `None` for an anonymous one.
    #[must_use]
    pub fn user(&self) -> Option<&str> {
        Some(&*self.user).filter(|u| !u.is_empty())
    }
}

impl PathAuthorizer for UserAuthz {
    fn readable(&self, path: &FsPath) -> SvnResult<bool> {
        Ok(self.allows(Some(path), Access::READ, false))
    }

    fn everything_readable(&self) -> bool {
        self.rules.range.min.contains(Access::READ)
    }

    fn subtree(&self, path: &FsPath) -> SvnResult<SubtreeAccess> {
        let mut range = self.rules.range;
        if !range.min.contains(Access::READ)
            && range.max.contains(Access::READ)
            && let Some(tree) = &self.rules.tree
        {
            range = tree.range(path.as_bytes());
        }
        Ok(if range.min.contains(Access::READ) {
            SubtreeAccess::Readable
        } else if range.max.contains(Access::READ) {
            SubtreeAccess::Mixed
        } else {
            SubtreeAccess::Unreadable
        })
    }

    fn rules(&self) -> Option<RulesId> {
        self.rules.id
    }
}
