//! Externals that are no longer wanted, or in the way of others.

use std::fs;
use std::path::{Path, PathBuf};

use sapwood_core::exact::Exact;
use sapwood_core::notify::{Action, Notify};
use sapwood_core::paths::RelPath;
use sapwood_core::{ErrorCode, SvnError, SvnResult};
use sapwood_wc::WorkingCopy;
use sapwood_wc::db::{ExternalRow, Kind};
use sapwood_wc::externals::Dismantling;

use crate::context::Context;
use crate::target::name_of;

/// The working copy whose root is a path.
pub(super) fn inner_root(ctx: &Context, at: &Path) -> Option<WorkingCopy> {
    let (inner, below) = ctx.working_copy(at).ok()?;
    below.is_empty().then_some(inner)
}

/// Removes an external that is no longer wanted.
pub(super) fn remove(ctx: &Context, wc: &WorkingCopy, row: &ExternalRow) -> SvnResult<()> {
    let at = wc.abspath(&row.relpath);
    let mut left = None;
    if row.kind == Kind::Dir {
        if let Some(inner) = inner_root(ctx, &at) {
            left = left_in(&inner, &remove_working_copy(ctx, &inner)?);
        }
    } else {
        let lock = wc.lock(row.relpath.parent(), 0)?;
        wc.remove_file_external(&row.relpath, ctx.cancel())?;
        lock.release()?;
    }
    wc.db().remove_external(&row.relpath)?;
    let shown = at.to_string_lossy();
    let value = Notify {
        kind: row.kind.node_kind(),
        error: left.as_ref(),
        ..Notify::new(Action::UpdateExternalRemoved, &shown)
    };
    ctx.notify(&value);
    if left.is_some() {
        ctx.notify_path(&at, Action::LeftLocalModifications, None);
    }
    Ok(())
}

/// The error that says why something is left of a working copy.
fn left_in(inner: &WorkingCopy, done: &Dismantling) -> Option<SvnError> {
    let message = match done {
        Dismantling::Gone => return None,
        Dismantling::Left => String::new(),
        Dismantling::Modified(file) => {
            format!("File '{}' has local modifications", inner.abspath(file).display())
        }
    };
    Some(SvnError::new(ErrorCode::WC_LEFT_LOCAL_MOD, message))
}

/// Takes a working copy apart, unless a file in it has local changes.
fn remove_working_copy(ctx: &Context, inner: &WorkingCopy) -> SvnResult<Dismantling> {
    let lock = inner.lock(RelPath::ROOT, -1)?;
    let done = inner.dismantle()?;
    match done {
        Dismantling::Modified(_) => lock.release()?,
        // The lock went with the database.
        Dismantling::Gone | Dismantling::Left => drop(lock),
    }
    ctx.forget(inner.root());
    Ok(done)
}

/// Puts a working copy of something else aside.
pub(super) fn relegate(ctx: &Context, inner: &WorkingCopy) -> SvnResult<()> {
    let at = inner.root().to_owned();
    if remove_working_copy(ctx, inner)? == Dismantling::Gone {
        return Ok(());
    }
    let mut number = 1u32;
    let backup = loop {
        let suffix = if number == 1 { ".OLD".to_owned() } else { format!(".{number}.OLD") };
        let name = name_of(&at);
        let path: PathBuf = at.with_file_name(format!("{name}{suffix}"));
        if path.symlink_metadata().is_err() {
            break path;
        }
        number = number.plus(1);
    };
    fs::rename(&at, &backup)
        .map_err(|e| SvnError::io(&e, format!("Can't move '{}'", at.display())))?;
    ctx.notify_path(&backup, Action::LeftLocalModifications, None);
    Ok(())
}
