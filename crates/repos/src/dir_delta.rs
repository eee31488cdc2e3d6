//! The difference between two trees as editor calls.

use sapwood_core::Depth;
use sapwood_delta::Editor;
use sapwood_fsfs::Root;

use crate::authorizer::PathAuthorizer;
use crate::error::Result;

/// Which trees, and how.
#[derive(Clone, Copy, Debug)]
pub struct DirDelta<'a> {
    /// The tree to start from.
    pub source: &'a Root,
    /// The fspath of the directory there.
    pub source_parent: &'a str,
    /// One name below it, or empty for the directory itself.
    pub source_entry: &'a str,
    /// The tree to arrive at.
    pub target: &'a Root,
    /// The fspath there.
    pub target_path: &'a str,
    /// Whether to send text deltas (else empty stand-ins).
    pub text_deltas: bool,
    /// How deep.
    pub depth: Depth,
    /// Whether to send `svn:entry:` properties.
    pub entry_props: bool,
    /// Whether unrelated nodes count as changes of one another.
    pub ignore_ancestry: bool,
}

/// Drives `editor` to turn one tree into another.
///
/// # Errors
/// E160004 and kin for bad arguments; what the editor returns; corruption and system errors.
#[allow(unused_variables)]
pub fn dir_delta(
    request: &DirDelta<'_>,
    authorizer: &dyn PathAuthorizer,
    editor: &mut dyn Editor,
) -> Result<()> {
    todo!()
}
