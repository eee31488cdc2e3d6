//! Deletions in working copies.

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;

use sapwood_core::paths::{RelPath, RelPathBuf};
use sapwood_core::{ErrorCode, SvnError, SvnResult};
use sapwood_wc::WorkingCopy;

use crate::context::Context;
use crate::locate::Locator;

/// Deletes local paths, each working copy's in turn.
///
/// # Errors
/// As [`WorkingCopy::delete`].
pub fn delete(ctx: &Context, targets: &[String], force: bool, keep_local: bool) -> SvnResult<()> {
    let mut roots: BTreeMap<PathBuf, (WorkingCopy, Vec<RelPathBuf>)> = BTreeMap::new();
    let mut locator = Locator::new(ctx);
    let mut seen = HashSet::new();
    for target in targets {
        let (wc, relpath) = locator.find(target)?;
        let (_, list) =
            roots.entry(wc.root().to_owned()).or_insert_with(|| (wc.clone(), Vec::new()));
        if seen.insert((wc.root().to_owned(), relpath.clone())) {
            list.push(relpath);
        }
    }
    for (wc, list) in roots.into_values() {
        let mut parents = list.iter().map(|relpath| relpath.parent());
        let Some(first) = parents.next().map(RelPath::to_owned) else { continue };
        let above = parents.fold(first, |a, b| a.common_ancestor(b).to_owned());
        let known = versioned_above(&wc, &above)?;
        if let (true, [alone]) = (known != above, list.as_slice()) {
            // Whether it exists or not, and whatever the options are.
            let message = format!("'{}' is not a working copy", wc.abspath(alone).display());
            return Err(SvnError::new(ErrorCode::WC_NOT_WORKING_COPY, message));
        }
        let lock = wc.lock(known, -1)?;
        wc.delete(&list, force, keep_local, ctx.cancel(), &|notice| ctx.notify(notice))?;
        lock.release()?;
    }
    Ok(())
}

/// The nearest directory at or above a path that the database knows.
fn versioned_above<'p>(wc: &WorkingCopy, relpath: &'p RelPath) -> SvnResult<&'p RelPath> {
    let mut at = relpath;
    while !at.is_empty() && wc.db().top(at)?.is_none() {
        at = at.parent();
    }
    Ok(at)
}
