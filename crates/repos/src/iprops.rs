//! Properties inherited from parents.

use std::sync::Arc;

use sapwood_core::{PropList, path};
use sapwood_fsfs::Root;

use crate::authorizer::PathAuthorizer;
use crate::error::Result;

/// The properties of the parents of `path`, the root first: pairs of relpath (no leading slash)
/// and properties, for readable parents that have any. With `name`, only that property.
///
/// # Errors
/// Corruption and system errors.
pub fn inherited_props(
    root: &Root,
    path: &str,
    name: Option<&str>,
    authorizer: &dyn PathAuthorizer,
) -> Result<Vec<(String, Arc<PropList>)>> {
    let mut out = Vec::new();
    let mut parent = path;
    while parent != "/" {
        parent = path::dirname(parent);
        if !authorizer.readable(parent)? {
            continue;
        }
        let mut props = root.node(parent)?.props()?;
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
    }
    out.reverse();
    Ok(out)
}
