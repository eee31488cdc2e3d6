//! Where a node was in other revisions.

use sapwood_core::{Revnum, SvnResult};

use crate::authorizer::PathAuthorizer;
use crate::error::Result;
use crate::repository::Repository;

/// A range of revisions in which a node was at one path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// First revision.
    pub start: Revnum,
    /// Last revision.
    pub end: Revnum,
    /// The path there as a relpath (no leading slash); `None` for a gap in the history.
    pub path: Option<String>,
}

/// Where the node at `path` in `peg` was in each of `revisions`: pairs of revision and fspath,
/// for those revisions in which it existed; youngest first.
///
/// # Errors
/// E160013 when nothing is there in `peg`; E170001 when it may not be read.
#[allow(unused_variables)]
pub fn locations(
    repository: &Repository,
    path: &str,
    peg: Revnum,
    revisions: &[Revnum],
    authorizer: &dyn PathAuthorizer,
) -> Result<Vec<(Revnum, String)>> {
    todo!()
}

/// Tells `receiver` the history of the node at `path` in `peg` (`None`: youngest) as segments,
/// youngest first, from `start` (`None`: `peg`) back to `end` (`None`: 0).
///
/// # Errors
/// As [`locations`]; what the receiver returns.
#[allow(unused_variables)]
pub fn location_segments(
    repository: &Repository,
    path: &str,
    peg: Option<Revnum>,
    start: Option<Revnum>,
    end: Option<Revnum>,
    authorizer: &dyn PathAuthorizer,
    receiver: &mut dyn FnMut(&Segment) -> SvnResult<()>,
) -> Result<()> {
    todo!()
}

/// The revision after `start` and up to `end` in which `path` was first deleted or replaced;
/// `None` when it was not, or does not exist in `start`.
///
/// # Errors
/// E160006 for bad revisions.
#[allow(unused_variables)]
pub fn deleted_rev(
    repository: &Repository,
    path: &str,
    start: Revnum,
    end: Revnum,
) -> Result<Option<Revnum>> {
    todo!()
}
