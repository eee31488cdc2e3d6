//! What engines call, and who uses them gives.

use std::sync::Arc;

use sapwood_core::{PropList, SvnResult};

use crate::error::Result;

/// Reads the properties of a node that is shown.
pub type ReadProps<'a> = &'a dyn Fn() -> Result<Arc<PropList>>;

/// What makes the new properties of a revision out of those it has; `None` leaves them.
pub type ChangeProps<'a> = dyn FnMut(&PropList) -> SvnResult<Option<PropList>> + 'a;
