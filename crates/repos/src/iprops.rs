//! Properties inherited from parents.

use std::sync::Arc;

use sapwood_core::PropList;
use sapwood_fsfs::Root;

use crate::authorizer::PathAuthorizer;
use crate::error::Result;

/// The properties of the parents of `path`, the root first: pairs of relpath (no leading slash)
/// and properties, for readable parents that have any. With `name`, only that property.
///
/// # Errors
/// Corruption and system errors.
#[allow(unused_variables)]
pub fn inherited_props(
    root: &Root,
    path: &str,
    name: Option<&str>,
    authorizer: &dyn PathAuthorizer,
) -> Result<Vec<(String, Arc<PropList>)>> {
    todo!()
}
