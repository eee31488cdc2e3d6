//! The report: how a client describes to the other side of an edit what it has already.
//!
//! A working copy makes the calls, a session takes them; when the report is finished, the other side
//! drives an [`crate::Editor`] that brings what was reported to what was asked for.

use sapwood_core::paths::{RelPath, Url};
use sapwood_core::{Depth, Revnum, SvnResult};

/// Sends the other side what the client has; then the other side drives the editor. Entries come depth
/// first, parents before children; the first is the target itself.
#[allow(clippy::missing_errors_doc)] // All: what the connection or the repository says.
pub trait Report {
    /// There is `path` at `revision`, as deep as `depth`; with `start_empty` without its children.
    fn set_path(
        &mut self,
        path: &RelPath,
        revision: Revnum,
        depth: Depth,
        start_empty: bool,
        lock_token: Option<&str>,
    ) -> SvnResult<()>;

    /// There is, at `path`, what `url` has at `revision`.
    fn link_path(
        &mut self,
        path: &RelPath,
        url: &Url,
        revision: Revnum,
        depth: Depth,
        start_empty: bool,
        lock_token: Option<&str>,
    ) -> SvnResult<()>;

    /// There is no `path`, although its parent says so.
    fn delete_path(&mut self, path: &RelPath) -> SvnResult<()>;

    /// The report is complete: drives the editor to its end.
    fn finish(self: Box<Self>) -> SvnResult<()>;

    /// The report is given up.
    fn abort(self: Box<Self>) -> SvnResult<()>;
}
