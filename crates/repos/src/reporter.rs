//! Update reports: what a working copy has, and the edit that brings it to a revision.

use sapwood_core::{CancelToken, Depth, Revnum};
use sapwood_delta::Editor;

use crate::authorizer::PathAuthorizer;
use crate::error::Result;
use crate::repository::Repository;

/// What the client wants.
#[derive(Clone, Copy, Debug)]
pub struct ReportRequest<'a> {
    /// The revision to bring the working copy to.
    pub revision: Revnum,
    /// The fspath of the directory that the report's paths are relative to (the anchor).
    pub anchor: &'a str,
    /// One name below it that is meant, or empty for the anchor itself.
    pub target: &'a str,
    /// The fspath to switch to or to compare with, `None` to stay.
    pub switch_to: Option<&'a str>,
    /// Whether to send text deltas (else empty stand-ins).
    pub text_deltas: bool,
    /// The requested depth; [`Depth::Unknown`] to keep what the working copy has.
    pub depth: Depth,
    /// Whether unrelated nodes count as changes of one another.
    pub ignore_ancestry: bool,
    /// Whether additions may be sent as copies.
    pub send_copyfrom_args: bool,
}

/// A report that is being taken in.
pub struct Reporter<'a> {
    _request: std::marker::PhantomData<&'a ()>,
}

#[allow(unused_variables)]
impl<'a> Reporter<'a> {
    /// Begins a report.
    ///
    /// # Errors
    /// None yet; kept for limits.
    pub fn new(
        repository: &Repository,
        request: &ReportRequest<'_>,
        authorizer: &'a dyn PathAuthorizer,
        cancel: &CancelToken,
    ) -> Result<Self> {
        todo!()
    }

    /// The working copy has `path` (a relpath below the anchor) at `revision`, as deep as `depth`.
    ///
    /// # Errors
    /// When the report is too large or out of order.
    pub fn set_path(
        &mut self,
        path: &str,
        revision: Option<Revnum>,
        depth: Depth,
        start_empty: bool,
        lock_token: Option<&str>,
    ) -> Result<()> {
        todo!()
    }

    /// The working copy has at `path` what is at the fspath `link` in `revision`.
    ///
    /// # Errors
    /// As [`Reporter::set_path`].
    pub fn link_path(
        &mut self,
        path: &str,
        link: &str,
        revision: Revnum,
        depth: Depth,
        start_empty: bool,
        lock_token: Option<&str>,
    ) -> Result<()> {
        todo!()
    }

    /// The working copy has nothing at `path`.
    ///
    /// # Errors
    /// As [`Reporter::set_path`].
    pub fn delete_path(&mut self, path: &str) -> Result<()> {
        todo!()
    }

    /// The report is complete: drives `editor` to the end (`close_edit`). When that fails the
    /// caller aborts the edit.
    ///
    /// # Errors
    /// What the report's content deserves; what the editor returns; corruption and system errors.
    pub fn finish(self, editor: &mut dyn Editor) -> Result<()> {
        todo!()
    }
}
