//! How much of a revision a user may see, and its properties accordingly.

use std::sync::Arc;

use sapwood_core::{PropList, Revnum};

use crate::authorizer::PathAuthorizer;
use crate::error::Result;
use crate::repository::Repository;

/// How much of a revision's changed paths may be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RevisionAccess {
    /// All of them, or there are none.
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
#[allow(unused_variables)]
pub fn revision_access(
    repository: &Repository,
    revision: Revnum,
    authorizer: &dyn PathAuthorizer,
) -> Result<RevisionAccess> {
    todo!()
}

/// The properties of `revision` that may be read.
///
/// # Errors
/// As [`revision_access`].
#[allow(unused_variables)]
pub fn revision_props(
    repository: &Repository,
    revision: Revnum,
    authorizer: &dyn PathAuthorizer,
) -> Result<Arc<PropList>> {
    todo!()
}

/// One property of `revision`, if it is set and may be read.
///
/// # Errors
/// As [`revision_access`].
#[allow(unused_variables)]
pub fn revision_prop(
    repository: &Repository,
    revision: Revnum,
    name: &str,
    authorizer: &dyn PathAuthorizer,
) -> Result<Option<Vec<u8>>> {
    todo!()
}
