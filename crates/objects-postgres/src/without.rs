//! What stands for the log in builds without the feature.

use std::sync::Arc;

use sapwood_objects::{OpenError, Store};

use crate::Settings;

/// A database that cannot be reached.
#[derive(Debug)]
pub enum Connection {}

impl Connection {
    /// Says that this program has no such logs.
    ///
    /// # Errors
    /// [`OpenError::NotBuiltIn`]
    pub fn open(
        address: &str,
        _: &Settings,
        _: Arc<dyn Store>,
    ) -> Result<Arc<dyn Store>, OpenError> {
        Err(OpenError::NotBuiltIn { address: address.to_owned(), feature: "postgres" })
    }
}
