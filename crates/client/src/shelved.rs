//! What a version of the shelves in store `v3` holds, read: it is a working copy of its own. A changelist
//! `svn:shelf:NAME` stands for the newest version of a shelf.

use sapwood_core::paths::RelPath;
use sapwood_core::{ErrorCode, SvnError, SvnResult};
use sapwood_wc::root::disk_kind;
use sapwood_wc::shelf::{Shelf, Store, Version};
use sapwood_wc::status::{Options, Status};
use sapwood_wc::{WorkingCopy, layout};

use crate::context::Context;

/// The shelf that a changelist stands for, and its newest version: `svn:shelf:NAME` is the shelf NAME of the store
/// that has working copies.
///
/// # Errors
/// E200009 when the shelf has no version; that it cannot be read.
pub(crate) fn of_changelist(wc: &WorkingCopy, changelist: &str) -> SvnResult<Option<Version>> {
    let Some(name) = changelist.strip_prefix("svn:shelf:") else { return Ok(None) };
    let Some(shelf) = Shelf::find(wc, Store::V3, name)? else { return Ok(None) };
    Ok(Some(shelf.version(shelf.newest())?))
}

/// The working copy that a version is.
pub(crate) fn open(ctx: &Context, version: &Version) -> SvnResult<WorkingCopy> {
    for (file, dir) in [(layout::adm(&version.path), true), (layout::db(&version.path), false)] {
        let fits = disk_kind(&file)?.is_some_and(|kind| kind.is_dir() == dir && !kind.is_symlink());
        if !fits {
            let message = format!("'{}' is not a working copy", version.path.display());
            return Err(SvnError::new(ErrorCode::WC_NOT_WORKING_COPY, message));
        }
    }
    Ok(ctx.working_copy(&version.path)?.0)
}

/// The changes in a version.
pub(crate) fn statuses(
    ctx: &Context,
    version: &Version,
    below: &RelPath,
) -> SvnResult<Vec<Status>> {
    let wc = open(ctx, version)?;
    let mut found = Vec::new();
    if !below.is_empty() && wc.view(below)?.is_none() {
        return Ok(found);
    }
    let options = Options {
        no_ignore: true,
        ignores: ctx.ignores(),
        cancel: ctx.cancel().clone(),
        ..Options::default()
    };
    wc.status(below, &options, &mut |status| {
        found.push(status);
        Ok(())
    })?;
    for status in &found {
        check_name(&status.relpath)?;
    }
    Ok(found)
}

/// E155000: a path that is not one of the working copy's.
pub(crate) fn outside(relpath: &RelPath) -> SvnError {
    let message = format!("Path '{relpath}' is not in the working copy");
    SvnError::new(ErrorCode::WC_OBSTRUCTED_UPDATE, message)
}

/// Sees that a path from a database can be one.
pub(crate) fn check_name(relpath: &RelPath) -> SvnResult<()> {
    let odd = |name: &str| matches!(name, "" | "." | "..") || name == layout::ADM;
    if !relpath.is_empty() && relpath.split('/').any(odd) {
        return Err(outside(relpath));
    }
    Ok(())
}
