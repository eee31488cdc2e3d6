//! The report: how a client describes to the other side of an edit what it has already.
//!
//! A working copy makes the calls, a session takes them; when the report is finished, the other side
//! drives an [`crate::Editor`] that brings what was reported to what was asked for.

use sapwood_core::paths::{RelPath, Url};
use sapwood_core::{Depth, Revnum, SvnResult};

/// A node that the client has.
#[derive(Clone, Copy, Debug)]
pub struct ReportEntry<'e> {
    /// Its path below the anchor of the report.
    pub path: &'e RelPath,
    /// What it is, if that does not follow from its parent.
    pub link: Option<&'e Url>,
    /// Its revision.
    pub revision: Revnum,
    /// How deep the client has it.
    pub depth: Depth,
    /// Whether the client has none of its children.
    pub start_empty: bool,
    /// The token of its lock.
    pub lock_token: Option<&'e str>,
}

impl<'e> ReportEntry<'e> {
    /// A whole node, where its parent says that it is.
    #[must_use]
    pub const fn new(path: &'e RelPath, revision: Revnum, depth: Depth) -> Self {
        Self { path, link: None, revision, depth, start_empty: false, lock_token: None }
    }

    /// The same, as something without children.
    #[must_use]
    pub const fn starting_empty(self) -> Self {
        Self { start_empty: true, ..self }
    }
}

/// Sends the other side what the client has; then the other side drives the editor. Entries come depth
/// first, parents before children; the first is the target itself.
#[allow(clippy::missing_errors_doc, reason = "all: what the connection or the repository says")]
pub trait Report {
    /// There is this node.
    fn entry(&mut self, entry: &ReportEntry<'_>) -> SvnResult<()>;

    /// There is no `path`, although its parent says so.
    fn delete_path(&mut self, path: &RelPath) -> SvnResult<()>;

    /// The report is complete: drives the editor to its end.
    fn finish(self: Box<Self>) -> SvnResult<()>;

    /// The report is given up.
    fn abort(self: Box<Self>) -> SvnResult<()>;
}
