//! Changelists of files in working copies.

use std::collections::HashSet;

use sapwood_core::{Depth, ErrorCode, SvnError, SvnResult};

use crate::context::Context;

/// Puts files on a changelist, or takes them off theirs.
///
/// # Errors
/// E125014 for an empty name; E155010 for what is not versioned.
pub fn changelist(
    ctx: &Context,
    targets: &[String],
    name: Option<&str>,
    depth: Depth,
    filter: &HashSet<String>,
) -> SvnResult<()> {
    if name == Some("") {
        let message = "Target changelist name must not be empty";
        return Err(SvnError::new(ErrorCode::BAD_CHANGELIST_NAME, message));
    }
    for target in targets {
        ctx.check_cancel()?;
        let (wc, relpath) = ctx.working_copy(&ctx.absolute(target))?;
        let is_dir = wc.view(&relpath)?.is_some_and(|view| view.is_dir());
        let at = if is_dir { relpath.as_path() } else { relpath.parent() };
        if wc.view(&relpath)?.is_none() {
            return Err(sapwood_wc::Error::NodeNotFound(wc.abspath(&relpath)).into());
        }
        let lock = wc.lock(at, -1)?;
        wc.set_changelist(&relpath, name, depth, filter, ctx.cancel(), &|told| ctx.notify(told))?;
        lock.release()?;
    }
    Ok(())
}

/// The absolute paths of what is on one of the changelists, at and below local paths.
///
/// # Errors
/// E155010 for what is not versioned.
pub fn listed(
    ctx: &Context,
    targets: &[String],
    changelists: &[String],
    depth: Depth,
) -> SvnResult<Vec<String>> {
    let wanted: HashSet<String> = changelists.iter().cloned().collect();
    let mut found = Vec::new();
    for target in targets {
        let (wc, relpath) = ctx.working_copy(&ctx.absolute(target))?;
        wc.walk_nodes(&relpath, depth, &mut |view| {
            if view.changelist().is_some_and(|name| wanted.contains(name)) {
                let path = wc.abspath(view.relpath()).to_string_lossy().into_owned();
                if !found.contains(&path) {
                    found.push(path);
                }
            }
            Ok(())
        })?;
    }
    Ok(found)
}
