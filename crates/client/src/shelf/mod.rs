//! Shelves: local changes are put aside in the working copy's `.svn`, and brought back later. The two stores of
//! 1.14 do that in their own ways, [`mod@v2`] and [`mod@v3`]; this file has what both have in common.
//!
//! A version is complete in its store before anything is taken from the working copy, and a shelf goes only after
//! all of it is back: a program that is stopped anywhere leaves each change in one of both places.

mod replay;
mod v2;
mod v3;

use std::path::Path;

use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::{Depth, ErrorCode, SvnError, SvnResult};
use sapwood_wc::WorkingCopy;
pub use sapwood_wc::shelf::v2::letter;
pub use sapwood_wc::shelf::{Shelf, ShelfEntry, Store, Version};
use sapwood_wc::status::{State, Status};

use crate::context::Context;
use crate::diff::Sink;
use crate::diff::writer::LabelParts;
use crate::shelved;

/// A request to shelve changes.
#[derive(Clone, Copy, Debug)]
pub struct Save<'s> {
    /// Local paths.
    pub targets: &'s [String],
    /// How deep below each.
    pub depth: Depth,
    /// Only what is on one of these changelists; empty for everything.
    pub changelists: &'s [String],
    /// Says what would be done, and does nothing.
    pub dry_run: bool,
}

/// The outcome of shelving.
#[derive(Clone, Debug, Default)]
pub struct SaveResult {
    /// The new version; `None` in a dry run, and when nothing was put aside.
    pub version: Option<Version>,
    /// The number of shelved paths.
    pub shelved: usize,
    /// The number of paths with changes that cannot be shelved.
    pub refused: usize,
}

/// Called with each local change, and whether it is shelved.
pub(crate) type ShelveReceiver<'t> = dyn FnMut(&Status, bool) -> SvnResult<()> + 't;

/// The working copy that a local path is in.
///
/// # Errors
/// E155007 for a path in none.
pub fn working_copy(ctx: &Context, path: &str) -> SvnResult<WorkingCopy> {
    Ok(ctx.working_copy(&ctx.absolute(path))?.0)
}

/// The shelves of a working copy, the one that was changed first at the front.
///
/// # Errors
/// When they cannot be read.
pub fn list(wc: &WorkingCopy, store: Store) -> SvnResult<Vec<ShelfEntry>> {
    Ok(sapwood_wc::shelf::list(wc, store)?)
}

/// Puts local changes aside as a new version, and leaves the working copy as it is. Where some changes cannot be
/// put aside, none are.
///
/// # Errors
/// E200009 for targets of other working copies and URLs; what the working copy meets.
pub fn save(
    ctx: &Context,
    shelf: &mut Shelf,
    what: &Save<'_>,
    receiver: &mut ShelveReceiver<'_>,
) -> SvnResult<SaveResult> {
    let mut places = Vec::with_capacity(what.targets.len());
    for target in what.targets {
        let (wc, relpath) = ctx.working_copy(&ctx.absolute(target))?;
        if wc.root() != shelf.wc().root() {
            return Err(several_working_copies());
        }
        places.push(relpath);
    }
    match shelf.store() {
        Store::V2 => v2::save(ctx, shelf, &places, what, receiver),
        Store::V3 => v3::save(ctx, shelf, &places, what),
    }
}

/// E200009: targets of more than one working copy.
#[must_use]
pub fn several_working_copies() -> SvnError {
    SvnError::new(ErrorCode::ILLEGAL_TARGET, "All targets must be in the same WC")
}

/// Takes what is in a version out of the working copy.
///
/// # Errors
/// Errors of the working copy.
pub fn take_out(ctx: &Context, shelf: &Shelf, version: &Version) -> SvnResult<()> {
    match shelf.store() {
        Store::V2 => v2::take_out(ctx, shelf, version),
        Store::V3 => v3::take_out(ctx, shelf, version),
    }
}

/// The paths that are changed in a version, below the root of the working copy, in order.
///
/// # Errors
/// When it cannot be read.
pub fn paths(ctx: &Context, shelf: &Shelf, version: &Version) -> SvnResult<Vec<RelPathBuf>> {
    match shelf.store() {
        Store::V2 => v2::paths(version),
        Store::V3 => {
            let statuses = shelved::statuses(ctx, version, RelPath::ROOT)?;
            Ok(statuses.into_iter().map(|status| status.relpath).collect())
        }
    }
}

/// Sees that nothing in the working copy is in the way of a version.
///
/// # Errors
/// E200009 with the first path that has a status of its own; that the version cannot be read.
pub fn check(ctx: &Context, shelf: &Shelf, version: &Version) -> SvnResult<()> {
    let wc = shelf.wc();
    if shelf.store() == Store::V2 {
        v2::check_whole(version)?;
    }
    for path in paths(ctx, shelf, version)? {
        let status = match wc.status_of(&path) {
            // Nothing is known above it: it comes with the folder that it is in.
            Err(sapwood_wc::Error::NodeNotFound(_)) => continue,
            other => other?,
        };
        if !matches!(status.node, State::Normal | State::None) {
            return Err(SvnError::new(
                ErrorCode::ILLEGAL_TARGET,
                format!(
                    "Shelved path '{path}' already has status '{}' in the working copy",
                    letter(status.node)
                ),
            ));
        }
    }
    Ok(())
}

/// Applies a version to the working copy again; returns whether that left conflicts. A dry run only reports.
///
/// # Errors
/// E155000 where a path leads out of the working copy; what the working copy meets.
pub fn bring_back(
    ctx: &Context,
    shelf: &Shelf,
    version: &Version,
    dry_run: bool,
) -> SvnResult<bool> {
    let result = match shelf.store() {
        Store::V2 => v2::bring_back(ctx, shelf, version, dry_run),
        Store::V3 => v3::bring_back(ctx, shelf, version, dry_run),
    };
    if !dry_run {
        ctx.wait_for_clock();
    }
    result
}

/// Shows what a version changes.
///
/// # Errors
/// When it cannot be read; those of the output.
pub fn diff(ctx: &Context, shelf: &Shelf, version: &Version, sink: Sink<'_>) -> SvnResult<()> {
    let places = LabelParts {
        anchor: None,
        originals: [String::new(), String::new()],
        session_relpath: Some(RelPathBuf::default()),
    };
    let summary = sink.is_summary();
    sink.with(ctx, places, &mut |processor, _| match shelf.store() {
        Store::V2 => v2::diff(version, processor, summary),
        Store::V3 => crate::diff::of_version(
            ctx,
            version,
            (RelPath::ROOT, Depth::Infinity),
            false,
            processor,
        ),
    })
}

/// Does in one working copy, at and below a path, what was done in another: whether that left conflicts.
///
/// # Errors
/// E200009 for working copies of two repositories; those of a commit of the one, and of the other.
pub fn copy_changes(ctx: &Context, from: &str, to: &str) -> SvnResult<bool> {
    let (from, from_root) = ctx.working_copy(&ctx.absolute(from))?;
    let (to, to_root) = ctx.working_copy(&ctx.absolute(to))?;
    let result = v3::copy_changes(ctx, (&from, &from_root), (&to, &to_root), false);
    ctx.wait_for_clock();
    result
}

/// Refuses to put a shelved file where something lies already, whatever `--force` says: it is nowhere else.
fn check_free(wc: &WorkingCopy, relpath: &RelPath) -> SvnResult<()> {
    if sapwood_wc::root::disk_kind(&wc.abspath(relpath))?.is_none() {
        return Ok(());
    }
    let message = format!("'{}' already exists", wc.abspath(relpath).display());
    Err(SvnError::new(ErrorCode::ENTRY_EXISTS, message))
}

/// Deletes a node. What is not under version control stays.
fn delete(ctx: &Context, wc: &WorkingCopy, relpath: &RelPath) -> SvnResult<()> {
    if wc.view(relpath)?.is_none() {
        return check_free(wc, relpath);
    }
    Ok(wc.delete_versioned(relpath, &[], ctx.cancel(), &|_| {})?)
}

/// A path of a working copy, absolute, as it is reported.
fn display_path(wc: &WorkingCopy, relpath: &RelPath) -> String {
    let path: &Path = &wc.abspath(relpath);
    path.to_string_lossy().into_owned()
}
