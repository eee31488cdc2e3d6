//! `svn diff`: what differs between two trees, each of a working copy or of a repository.
//!
//! | left and right | how |
//! |---|---|
//! | BASE and working version of one path | [`mod@local`] |
//! | two locations of a repository | [`mod@repos`] |
//! | a location of a repository and a working copy | [`mod@against`] |
//! | what is on disk at two paths | [`mod@nodes`] |
//!
//! Each sends its changes to a [`sides::Processor`], which writes a diff or a summary.

mod against;
mod base_changes;
mod file_part;
mod git;
mod left;
pub(crate) mod local;
mod nodes;
mod regular;
mod remote;
mod repos;
pub mod sides;
mod sink;
mod spool;
mod steps;
pub mod summary;
pub mod writer;

use std::collections::HashSet;

use sapwood_core::paths::RelPath;
use sapwood_core::{Depth, ErrorCode, SvnError, SvnResult};
use sapwood_wc::shelf::Version;

pub(crate) use self::left::fetch_all;
pub(crate) use self::repos::compare_below;
pub(crate) use self::sides::{Difference, DirSide, FileSide, Processor, ReverseProcessor};
pub use self::sink::Sink;
use self::writer::LabelParts;
use crate::context::Context;
use crate::revision::Revision;
use crate::shelved;
use crate::target::is_url;
use crate::text_base::{TextNotices, with_text_bases};
use crate::working::Node;

/// The sides to compare.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// The left side: a URL or a local path.
    pub old: &'a str,
    /// Its revision.
    pub old_revision: Revision,
    /// The right side.
    pub new: &'a str,
    /// Its revision.
    pub new_revision: Revision,
    /// The revision in which the target is what it is called, when both sides are one node's
    /// history.
    pub peg: Revision,
    /// How deep.
    pub depth: Depth,
    /// Whether unrelated nodes of the same name count as one that changed.
    pub ignore_ancestry: bool,
    /// Only what is on one of these changelists, in a working copy; empty for all.
    pub changelists: &'a [String],
}

const fn is_local(revision: Revision) -> bool {
    matches!(revision, Revision::Base | Revision::Working)
}

/// Compares.
///
/// # Errors
/// `E195002` for revisions that are missing or make no sense; `E200004` for pairs that cannot be
/// compared; what sessions and working copies meet.
pub fn diff(ctx: &Context, request: &Request<'_>, sink: Sink<'_>) -> SvnResult<()> {
    if !request.old_revision.is_given() || !request.new_revision.is_given() {
        return Err(SvnError::new(
            ErrorCode::CLIENT_BAD_REVISION,
            "Not all required revisions are specified",
        ));
    }
    if request.peg.is_given() && is_local(request.old_revision) && is_local(request.new_revision) {
        return Err(SvnError::new(
            ErrorCode::CLIENT_BAD_REVISION,
            "At least one revision must be something other than BASE or WORKING when diffing a URL",
        ));
    }
    let remote = |path: &str, revision| !is_local(revision) || is_url(path);
    let old = remote(request.old, request.old_revision);
    let new = remote(request.new, request.new_revision);
    match (old, new) {
        (true, true) => repos::run(ctx, request, sink),
        (true, false) => with_base(ctx, request.new, || against::run(ctx, request, false, sink)),
        (false, true) => with_base(ctx, request.old, || against::run(ctx, request, true, sink)),
        (false, false) => {
            let working = Revision::Working;
            if request.old_revision == working && request.new_revision == working {
                return nodes::run(ctx, request, sink);
            }
            if request.old != request.new
                || request.old_revision != Revision::Base
                || request.new_revision != working
            {
                let inner = SvnError::new(
                    ErrorCode::INCORRECT_PARAMS,
                    "A non-URL diff at this time must be either from a path's base to the same \
                     path's working version or between the working versions of two paths",
                );
                return Err(inner.wrap(
                    ErrorCode::INCORRECT_PARAMS,
                    "Sorry, svn_client_diff7 was called in a way that is not yet supported",
                ));
            }
            of_working_copy(ctx, request, sink)
        }
    }
}

/// Compares with the text bases at and below a local path at hand.
fn with_base(ctx: &Context, local: &str, work: impl FnOnce() -> SvnResult<()>) -> SvnResult<()> {
    let node = Node::find(ctx, local)?;
    with_text_bases(ctx, (&node.wc, &node.relpath), TextNotices::No, work)
}

fn changelists(request: &Request<'_>) -> HashSet<String> {
    request.changelists.iter().cloned().collect()
}

/// BASE against the working version.
fn of_working_copy(ctx: &Context, request: &Request<'_>, sink: Sink<'_>) -> SvnResult<()> {
    let node = Node::find(ctx, request.old)?;
    let places = LabelParts {
        anchor: Some(request.old.to_owned()),
        originals: [request.old.to_owned(), request.new.to_owned()],
        session_relpath: None,
    };
    let changelists = changelists(request);
    sink.with(ctx, places, &mut |processor, _| {
        for name in request.changelists {
            if let Some(version) = shelved::of_changelist(&node.wc, name)? {
                let what = (node.relpath.as_path(), request.depth);
                of_version(ctx, &version, what, request.ignore_ancestry, processor)?;
            }
        }
        let mut local = local::Local {
            ctx,
            wc: &node.wc,
            target: &node.relpath,
            ignore_ancestry: request.ignore_ancestry,
            changelists: &changelists,
            processor,
        };
        with_text_bases(ctx, (&node.wc, &node.relpath), TextNotices::No, || {
            local.run(request.depth)
        })
    })
}

/// Compares before and after the changes in a shelved version, at and below a path.
pub(crate) fn of_version(
    ctx: &Context,
    version: &Version,
    (below, depth): (&RelPath, Depth),
    ignore_ancestry: bool,
    processor: &mut dyn Processor,
) -> SvnResult<()> {
    let wc = shelved::open(ctx, version)?;
    if !below.is_empty() && wc.view(below)?.is_none() {
        return Ok(());
    }
    let mut local = local::Local {
        ctx,
        wc: &wc,
        target: below,
        ignore_ancestry,
        changelists: &HashSet::new(),
        processor,
    };
    local.run(depth)
}
