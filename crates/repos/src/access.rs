//! How much of a revision a user may see, and the properties that follow from that.

use std::sync::Arc;

use sapwood_core::FsPath;
use sapwood_core::props::names;
use sapwood_core::{PropList, Revnum};

use crate::authorizer::PathAuthorizer;
use crate::error::Result;
use crate::repository::Repository;

/// How much of a revision's changed paths may be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RevisionAccess {
    /// All of them, or none were changed.
    Full,
    /// Some: only author and date are shown.
    Partial,
    /// None: nothing is shown.
    None,
}

/// How much of `revision` may be read: looks at changed paths and the sources of copies.
///
/// # Errors
/// E160006 when there is no such revision; corruption and system errors.
pub fn revision_access(
    repository: &Repository,
    revision: Revnum,
    authorizer: &dyn PathAuthorizer,
) -> Result<RevisionAccess> {
    if authorizer.everything_readable() {
        return Ok(RevisionAccess::Full);
    }
    let (mut found_readable, mut found_unreadable) = (false, false);
    let changes = repository.fs().changed_paths(revision)?;
    for change in changes.iter() {
        let mut see = |path: &FsPath| -> Result<()> {
            if authorizer.readable(path)? {
                found_readable = true;
            } else {
                found_unreadable = true;
            }
            Ok(())
        };
        see(change.path)?;
        if let Some((_, source)) = change.copy_from
            && !authorizer.readable(source)?
        {
            // A readable source alone makes nothing readable.
            found_unreadable = true;
        }
        if found_readable && found_unreadable {
            return Ok(RevisionAccess::Partial);
        }
    }
    Ok(if found_unreadable && !found_readable {
        RevisionAccess::None
    } else {
        RevisionAccess::Full
    })
}

/// The properties of `revision` that may be read, as they are now.
///
/// # Errors
/// As [`revision_access`].
pub fn revision_props(
    repository: &Repository,
    revision: Revnum,
    authorizer: &dyn PathAuthorizer,
) -> Result<Arc<PropList>> {
    // Where other servers share the store of the repository, they are asked about here.
    repository.fs().youngest()?;
    seen_revision_props(repository, revision, authorizer)
}

/// The same for one revision of many: what other servers of a store have changed since the youngest revision was last asked for may
/// be missing.
///
/// # Errors
/// As [`revision_access`].
pub fn seen_revision_props(
    repository: &Repository,
    revision: Revnum,
    authorizer: &dyn PathAuthorizer,
) -> Result<Arc<PropList>> {
    let access = revision_access(repository, revision, authorizer)?;
    if access == RevisionAccess::None {
        return Ok(Arc::new(PropList::new()));
    }
    let all = repository.fs().revprops(revision)?;
    Ok(restrict(all, access))
}

/// What `access` leaves of a revision's properties.
pub(crate) fn restrict(all: Arc<PropList>, access: RevisionAccess) -> Arc<PropList> {
    match access {
        RevisionAccess::Full => all,
        RevisionAccess::Partial => Arc::new(
            [names::AUTHOR, names::DATE]
                .into_iter()
                .filter_map(|name| Some((name.to_owned(), all.get(name)?.to_vec())))
                .collect(),
        ),
        RevisionAccess::None => Arc::new(PropList::new()),
    }
}

/// One property of `revision`, if it is set and may be read.
///
/// # Errors
/// As [`revision_access`].
pub fn revision_prop(
    repository: &Repository,
    revision: Revnum,
    name: &str,
    authorizer: &dyn PathAuthorizer,
) -> Result<Option<Vec<u8>>> {
    let props = revision_props(repository, revision, authorizer)?;
    Ok(props.get(name).map(<[u8]>::to_vec))
}
