//! Listing a tree.

use sapwood_core::{CancelToken, Depth, SvnResult};
use sapwood_fsfs::Root;

use crate::authorizer::PathAuthorizer;
use crate::dirent::Dirent;
use crate::error::Result;

/// What to list.
#[derive(Clone, Copy, Debug)]
pub struct ListRequest<'a> {
    /// Where to start, an fspath.
    pub path: &'a str,
    /// Glob patterns; a node is told when its last name matches one of them. `None`: all nodes.
    pub patterns: Option<&'a [&'a str]>,
    /// How deep.
    pub depth: Depth,
    /// Only path and kind are wanted: the receiver gets no [`Dirent`] details beyond `kind`.
    pub path_info_only: bool,
}

/// One listed node.
#[derive(Clone, Copy, Debug)]
pub struct ListEntry<'a> {
    /// Its fspath.
    pub path: &'a str,
    /// File or directory.
    pub kind: sapwood_core::NodeKind,
    /// The rest, unless [`ListRequest::path_info_only`].
    pub dirent: Option<&'a Dirent>,
}

/// Tells `receiver` the nodes at and below a path, in the reference's order.
///
/// # Errors
/// E160013 when there is nothing at the path, E170001 when it may not be read; what the receiver
/// returns; corruption and system errors.
#[allow(unused_variables)]
pub fn list(
    root: &Root,
    request: &ListRequest<'_>,
    authorizer: &dyn PathAuthorizer,
    cancel: &CancelToken,
    receiver: &mut dyn FnMut(&ListEntry<'_>) -> SvnResult<()>,
) -> Result<()> {
    todo!()
}
