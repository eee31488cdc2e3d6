//! A revision as a series of editor calls, as it was committed.

use sapwood_core::Revnum;
use sapwood_delta::Editor;
use sapwood_fsfs::Root;

use crate::authorizer::PathAuthorizer;
use crate::error::Result;

/// What to replay, and how.
#[derive(Clone, Copy, Debug)]
pub struct ReplayRequest<'a> {
    /// Only what is at and below this relpath; empty for everything.
    pub base_path: &'a str,
    /// Copies from before this revision are sent as full additions; `None` for no limit.
    pub low_water_mark: Option<Revnum>,
    /// Whether to send text deltas and property values (else empty stand-ins).
    pub send_deltas: bool,
}

/// Drives `editor` with what the revision or transaction of `root` changed.
///
/// # Errors
/// What the editor returns; corruption and system errors.
#[allow(unused_variables)]
pub fn replay(
    root: &Root,
    request: &ReplayRequest<'_>,
    authorizer: &dyn PathAuthorizer,
    editor: &mut dyn Editor,
) -> Result<()> {
    todo!()
}
