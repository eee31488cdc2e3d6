//! Properties inherited from parents.

use std::sync::Arc;

use sapwood_core::FsPath;
use sapwood_core::{CancelToken, PropList, path};
use sapwood_fs::Root;

use crate::authorizer::PathAuthorizer;
use crate::error::Result;

/// The properties of the parents of `path`, the root first: pairs of relpath (no leading slash)
/// and properties, for readable parents that have any. With `name`, only that property.
///
/// # Errors
/// E200015 when cancelled; corruption and system errors.
pub fn inherited_props(
    root: &Root,
    path: &FsPath,
    name: Option<&str>,
    authorizer: &dyn PathAuthorizer,
    cancel: &CancelToken,
) -> Result<Vec<(String, Arc<PropList>)>> {
    let mut out = Vec::new();
    let everything = authorizer.everything_readable();
    // One walk for all parents: each may be as far down as a request is long.
    root.parents(path, &mut |parent, props| {
        cancel.check()?;
        if !everything && !authorizer.readable(parent)? {
            return Ok(());
        }
        let mut props = props()?;
        if let Some(name) = name {
            props = Arc::new(
                props
                    .get(name)
                    .map(|value| (name.to_owned(), value.to_vec()))
                    .into_iter()
                    .collect(),
            );
        }
        if !props.is_empty() {
            out.push((path::to_relpath(parent).to_owned(), props));
        }
        Ok(())
    })?;
    out.reverse();
    Ok(out)
}
