//! Properties inherited from parents. A path that is not there inherits nothing: that is an error, for
//! clients take the answer for a sign that the path is there (a switch would remove what it switches).

use std::sync::Arc;

use sapwood_core::FsPath;
use sapwood_core::{CancelToken, ErrorCode, PropList, SvnError, path};
use sapwood_fs::Root;

use crate::authorizer::PathAuthorizer;
use crate::error::Result;

/// The properties of the parents of `path`, the root first: pairs of relpath (no leading slash)
/// and properties, for readable parents that have any. With `name`, only that property.
///
/// # Errors
/// E160013 when nothing is at `path`; E200015 when cancelled; corruption and system errors.
pub fn inherited_props(
    root: &Root,
    path: &FsPath,
    name: Option<&str>,
    authorizer: &dyn PathAuthorizer,
    cancel: &CancelToken,
) -> Result<Vec<(String, Arc<PropList>)>> {
    if root.kind(path)?.is_none() {
        let message = format!("'{path}' path not found");
        return Err(SvnError::new(ErrorCode::FS_NOT_FOUND, message).into());
    }
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
