//! `svn cleanup`: mends working copies, and removes what is not wanted in them.

use std::fs;
use std::path::Path;

use sapwood_core::notify::{Action, Notify};
use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::{Depth, ErrorCode, SvnError, SvnResult};
use sapwood_wc::WorkingCopy;
use sapwood_wc::cleanup::Cleanup as Mend;
use sapwood_wc::db::{Kind, Presence};
use sapwood_wc::status::{Options, State};

use crate::context::Context;

/// What is cleaned up.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cleanup {
    /// Whether locks are broken and the queue is run: cleanup proper.
    pub mend: bool,
    /// Whether unversioned files and directories go.
    pub remove_unversioned: bool,
    /// Whether ignored ones go.
    pub remove_ignored: bool,
    /// Whether pristine texts that nothing refers to go.
    pub vacuum_pristines: bool,
    /// Whether externals are cleaned up too.
    pub include_externals: bool,
}

/// Cleans a directory up.
///
/// # Errors
/// E155007 when it is in no working copy; E155004 when it is locked and not to be mended.
pub fn cleanup(ctx: &Context, path: &str, how: &Cleanup) -> SvnResult<()> {
    clean(ctx, &ctx.absolute(path), how)
}

fn clean(ctx: &Context, abspath: &Path, how: &Cleanup) -> SvnResult<()> {
    let (wc, relpath) = versioned_directory(ctx, abspath)?;
    let mend = Mend {
        break_locks: how.mend,
        clear_dav_cache: how.mend,
        vacuum_pristines: how.vacuum_pristines,
    };
    wc.cleanup(&relpath, &mend, ctx.cancel())?;
    ctx.wait_for_clock();
    if !(how.remove_unversioned || how.remove_ignored || how.include_externals) {
        return Ok(());
    }
    let lock = wc.lock(&relpath, -1)?;
    for (relpath, state) in unversioned_nodes(ctx, &wc, &relpath, how)? {
        ctx.check_cancel()?;
        let path = wc.abspath(&relpath);
        if state != State::External {
            remove(ctx, &path)?;
            continue;
        }
        if path.is_dir() {
            ctx.notify(&Notify::new(Action::CleanupExternal, &path.to_string_lossy()));
            match clean(ctx, &path, how) {
                Err(error) if error.is_no_working_copy() => {}
                other => other?,
            }
        }
    }
    lock.release()?;
    Ok(())
}

/// The working copy of a directory, and its path there.
fn versioned_directory(ctx: &Context, abspath: &Path) -> SvnResult<(WorkingCopy, RelPathBuf)> {
    let there = fs::symlink_metadata(abspath).is_ok();
    let shown = abspath.display();
    let not_one = || {
        let message = format!("'{shown}' is not a working copy directory");
        SvnError::new(ErrorCode::WC_NOT_WORKING_COPY, message)
    };
    let (wc, relpath) = ctx.working_copy(abspath).map_err(|error| match error.code() {
        ErrorCode::WC_NOT_WORKING_COPY if there => not_one(),
        ErrorCode::WC_NOT_WORKING_COPY => {
            SvnError::new(ErrorCode(2), format!("'{shown}' does not exist"))
        }
        _ => error,
    })?;
    if !abspath.is_dir() || !is_versioned_directory(&wc, &relpath)? {
        return Err(not_one());
    }
    Ok((wc, relpath))
}

/// What a cleanup is to remove or to enter, at and below a path.
fn unversioned_nodes(
    ctx: &Context,
    wc: &WorkingCopy,
    relpath: &RelPath,
    how: &Cleanup,
) -> SvnResult<Vec<(RelPathBuf, State)>> {
    let mut found = Vec::new();
    let options = Options {
        depth: Depth::Infinity,
        all: false,
        layers: false,
        no_ignore: how.remove_ignored,
        unversioned: true,
        // No change of a versioned file matters here.
        kinds_only: true,
        ignores: ctx.ignores(),
        cancel: ctx.cancel().clone(),
    };
    wc.status(relpath, &options, &mut |status| {
        let wanted = match status.node {
            State::External => how.include_externals,
            State::Ignored => how.remove_ignored,
            State::Unversioned => how.remove_unversioned,
            _ => false,
        };
        if wanted {
            found.push((status.relpath, status.node));
        }
        Ok(())
    })?;
    Ok(found)
}

/// Whether a working copy has a directory there.
fn is_versioned_directory(wc: &WorkingCopy, relpath: &RelPath) -> SvnResult<bool> {
    let top = wc.db().top(relpath)?;
    let gone = [Presence::NotPresent, Presence::ServerExcluded, Presence::Excluded];
    Ok(top.is_some_and(|row| row.kind == Kind::Dir && !gone.contains(&row.presence)))
}

/// Removes unversioned items and reports each one.
fn remove(ctx: &Context, path: &Path) -> SvnResult<()> {
    let Ok(found) = fs::symlink_metadata(path) else { return Ok(()) };
    let kind =
        if found.is_dir() { sapwood_core::NodeKind::Dir } else { sapwood_core::NodeKind::File };
    let removed = if found.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    removed.map_err(|e| SvnError::io(&e, format!("Can't remove '{}'", path.display())))?;
    let shown = path.to_string_lossy();
    ctx.notify(&Notify { kind: Some(kind), ..Notify::new(Action::Delete, &shown) });
    Ok(())
}
