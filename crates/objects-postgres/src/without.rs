//! What stands for the log in builds without the feature.

use std::sync::Arc;

use sapwood_objects::Store;

use crate::Settings;
use crate::error::{Error, Result};

/// A database that cannot be reached.
#[derive(Debug)]
pub enum Connection {}

impl Connection {
    /// Says that this program has no such logs.
    ///
    /// # Errors
    /// [`Error::NotBuiltIn`]
    pub fn open(address: &str, _: &Settings, _: Arc<dyn Store>) -> Result<Arc<dyn Store>> {
        Err(Error::NotBuiltIn(address.to_owned()))
    }
}
