//! Changing a property of a revision, with the hooks that guard it.

use sapwood_core::{ErrorCode, Revnum, SvnError, SvnResult};
use sapwood_fs::txn::{WriteOptions, Writer};

use crate::access::{RevisionAccess, revision_access};
use crate::authorizer::PathAuthorizer;
use crate::hooks::{Hooks, RevpropChange};
use crate::prop_rules;
use crate::repository::Repository;

/// A change of a revision's property that is wanted.
#[derive(Clone, Copy, Debug)]
pub struct RevpropRequest<'a> {
    /// The revision.
    pub revision: Revnum,
    /// The property.
    pub name: &'a str,
    /// What it must be until the moment of the change; `Some(None)` is absence, `None` is no
    /// demand.
    pub expected: Option<Option<&'a [u8]>>,
    /// What it shall be, `None` to delete it.
    pub value: Option<&'a [u8]>,
    /// The user.
    pub user: Option<&'a str>,
    /// Which hooks are run.
    pub hooks: RevpropHooks,
}

/// Which hooks a change of a revision's property runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RevpropHooks {
    /// `pre-revprop-change`, without which there is no change.
    pub pre: bool,
    /// `post-revprop-change`.
    pub post: bool,
}

impl RevpropHooks {
    /// Both, as for all users but administrators.
    pub const ALL: Self = Self { pre: true, post: true };
}

/// Changes a property of a revision.
///
/// # Errors
/// E220001 when the user may not read all of the revision; E160049 when the property has another
/// value; what the hooks refuse; system errors. E165001 of a `post-revprop-change` hook comes after
/// the change was made.
pub fn change_revision_prop(
    repository: &Repository,
    hooks: &Hooks,
    request: &RevpropRequest<'_>,
    authorizer: &dyn PathAuthorizer,
) -> SvnResult<()> {
    let RevpropRequest { revision, name, expected, value, user, hooks: run } = *request;
    if revision_access(repository, revision, authorizer)? != RevisionAccess::Full {
        return Err(SvnError::new(
            ErrorCode::AUTHZ_UNREADABLE,
            format!("Write denied:  not authorized to read all of revision {revision}"),
        ));
    }
    if let Some(value) = value {
        prop_rules::check(name, value)?;
    }
    let present = match expected {
        Some(_) => None,
        None => Some(repository.fs().revprops(revision)?),
    };
    let old = expected.unwrap_or_else(|| present.as_ref()?.get(name));
    let action = match (old, value) {
        (_, None) => 'D',
        (None, Some(_)) => 'A',
        (Some(_), Some(_)) => 'M',
    };
    let change = RevpropChange { revision, user, name, action };
    if run.pre {
        hooks.pre_revprop_change(&change, value)?;
    }
    let writer = Writer::new(repository.fs(), WriteOptions::default())?;
    writer.change_revision_prop(revision, name, old, value)?;
    if run.post { hooks.post_revprop_change(&change, old) } else { Ok(()) }
}

/// Changes a property of a transaction that is on disk, `None` deleting it. No hooks are run, and
/// values are not checked, as in the reference.
///
/// # Errors
/// E160007 when there is no such transaction; corruption and system errors.
pub fn change_txn_prop(
    repository: &Repository,
    txn: &str,
    name: &str,
    value: Option<&[u8]>,
) -> SvnResult<()> {
    repository.fs().txn_root(txn)?;
    let writer = Writer::new(repository.fs(), WriteOptions::default())?;
    Ok(writer.change_txn_props(txn, &[(name, value)])?)
}
