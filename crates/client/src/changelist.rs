//! Changelists of files in working copies.

use std::collections::HashSet;

use sapwood_core::{Depth, ErrorCode, SvnError, SvnResult};

use crate::context::Context;
use crate::gathered::each_target;

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
    each_target(ctx, targets, &mut |gathered, _, relpath| {
        let wc = gathered.wc();
        let view = wc.require_view(relpath)?;
        gathered.lock(if view.is_dir() { relpath } else { relpath.parent() })?;
        Ok(wc.set_changelist(relpath, name, depth, filter, gathered)?)
    })
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
