//! What an authz file says, with groups and aliases resolved, for all users and repositories.
//!
//! Invariant: `acls` is sorted by [`Rule::compare`] and starts with a rule for the root of every
//! repository, so that every user has defined rights everywhere.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::{BitAnd, BitAndAssign, BitOr, BitOrAssign};
use std::sync::Arc;

use super::rule::Rule;

/// A set of access rights.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Access(u8);

impl Access {
    /// Nothing.
    pub const NONE: Self = Self(0);
    /// Reading.
    pub const READ: Self = Self(1);
    /// The right to write alone; no rule gives it without [`Access::READ`].
    pub const WRITE: Self = Self(2);
    /// Reading and writing.
    const READ_WRITE: Self = Self(3);

    /// Whether all of `required` is in this set.
    #[must_use]
    pub const fn contains(self, required: Self) -> bool {
        self.0 & required.0 == required.0
    }
}

impl BitOr for Access {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for Access {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

impl BitAnd for Access {
    type Output = Self;
    fn bitand(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }
}

impl BitAndAssign for Access {
    fn bitand_assign(&mut self, other: Self) {
        self.0 &= other.0;
    }
}

/// The least and the most that a user may do anywhere in a part of the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Range {
    pub(super) min: Access,
    pub(super) max: Access,
}

impl Range {
    /// The neutral element of [`Range::join`].
    pub(super) const EMPTY: Self = Self { min: Access::READ_WRITE, max: Access::NONE };

    pub(super) const fn of(access: Access) -> Self {
        Self { min: access, max: access }
    }

    pub(super) fn join(&mut self, other: Self) {
        self.min &= other.min;
        self.max |= other.max;
    }
}

/// The user that rules are asked about.
#[derive(Clone, Copy, Debug)]
pub(super) struct Asker<'a> {
    /// The name; empty for an anonymous user.
    pub(super) name: &'a [u8],
    /// Names that count as the user's where they are members of a group: those of the groups that the user is in outside
    /// of the authz file.
    pub(super) groups: &'a [String],
}

impl<'a> Asker<'a> {
    const fn is_anonymous(self) -> bool {
        self.name.is_empty()
    }

    /// The names that may be members of a group.
    fn names(self) -> impl Iterator<Item = &'a [u8]> {
        std::iter::once(self.name).chain(self.groups.iter().map(String::as_bytes))
    }
}

/// The users in a group.
pub(super) type Members = Arc<BTreeSet<Arc<[u8]>>>;

/// The users that an access entry applies to.
#[derive(Clone, Debug)]
pub(super) enum Who {
    /// One user.
    User(Arc<[u8]>),
    /// A group.
    Group(Members),
}

/// One line of a rule section that names a user or a group.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) who: Who,
    /// `~`: all but these.
    pub(super) inverted: bool,
    pub(super) access: Access,
}

/// One rule section.
#[derive(Clone, Debug)]
pub(super) struct Acl {
    /// Place among the sections, from 1; 0 for the built-in rule that denies everything.
    pub(super) sequence: usize,
    pub(super) rule: Rule,
    pub(super) anonymous: Option<Access>,
    pub(super) authenticated: Option<Access>,
    /// The rights from inverted entries, for any user.
    pub(super) inverted: Option<Access>,
    pub(super) entries: Vec<Entry>,
}

impl Acl {
    /// Whether the rule applies to `repos`.
    pub(super) fn applies_to(&self, repos: &[u8]) -> bool {
        self.rule.repos.is_empty() || *self.rule.repos == *repos
    }

    /// The rights that the rule gives `user`, `None` when it does not mention the user.
    pub(super) fn access(&self, user: Asker<'_>) -> Option<Access> {
        if user.is_anonymous() {
            return self.anonymous;
        }
        let mut access = self.authenticated;
        for entry in &self.entries {
            let named = match &entry.who {
                Who::User(name) => **name == *user.name,
                Who::Group(members) => user.names().any(|name| members.contains(name)),
            };
            if named != entry.inverted {
                access = Some(access.unwrap_or_default() | entry.access);
            }
        }
        access
    }
}

/// The rights of one kind of user over whole repositories.
#[derive(Clone, Debug)]
pub(super) struct GlobalRights {
    general: Range,
    per_repos: HashMap<Box<[u8]>, Range>,
}

impl GlobalRights {
    pub(super) fn new() -> Self {
        Self { general: Range::EMPTY, per_repos: HashMap::new() }
    }

    pub(super) fn add(&mut self, repos: &[u8], access: Access) {
        let range = if repos.is_empty() {
            &mut self.general
        } else {
            self.per_repos.entry(repos.into()).or_insert(Range::EMPTY)
        };
        range.join(Range::of(access));
    }

    fn resolve(&self, repos: &[u8]) -> Range {
        let mut range = self.general;
        if !repos.is_empty()
            && let Some(own) = self.per_repos.get(repos)
        {
            range.join(*own);
        }
        range
    }
}

/// The whole authz file.
#[derive(Clone, Debug)]
pub(super) struct Model {
    pub(super) acls: Vec<Acl>,
    pub(super) anonymous: Option<GlobalRights>,
    pub(super) authenticated: Option<GlobalRights>,
    pub(super) inverted: Option<GlobalRights>,
    /// Every user that is named anywhere: in a rule, in a group or by an alias.
    pub(super) users: BTreeSet<Arc<[u8]>>,
}

impl Model {
    /// The range of rights that `user` has in `repos`.
    pub(super) fn global_range(&self, user: Asker<'_>, repos: &[u8]) -> Range {
        if user.is_anonymous() {
            return match &self.anonymous {
                Some(rights) => rights.resolve(repos),
                None => Range::of(Access::NONE),
            };
        }
        let mut range = if user.names().any(|name| self.users.contains(name)) {
            // Needed once per user and repository, so it is computed here and not cached for
            // every user that a group may name.
            let mut rights = GlobalRights::new();
            for acl in &self.acls {
                if let Some(access) = acl.access(user) {
                    rights.add(&acl.rule.repos, access);
                }
            }
            rights.resolve(repos)
        } else if let Some(rights) = &self.inverted {
            rights.resolve(repos)
        } else {
            Range::EMPTY
        };
        if let Some(rights) = &self.authenticated {
            range.join(rights.resolve(repos));
        }
        range
    }
}

/// Adds up rights in an optional slot.
pub(super) fn add_access(slot: &mut Option<Access>, access: Access) {
    *slot = Some(slot.unwrap_or_default() | access);
}

/// The group names that are defined, each with its members.
pub(super) type Groups = BTreeMap<Box<[u8]>, Members>;
