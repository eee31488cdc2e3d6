//! What stands for the log in builds without the feature.

use std::sync::Arc;

use sapwood_objects::Store;

use crate::Settings;
use crate::address::Address;
use crate::error::{Error, Result};

/// A database that cannot be reached: there is none of these.
#[derive(Clone, Debug)]
pub struct Connection(());

impl Connection {
    /// Says that this program has no such logs.
    ///
    /// # Errors
    /// [`Error::NotBuiltIn`]
    pub fn open(address: &Address, _: &Settings) -> Result<Self> {
        Err(Error::NotBuiltIn(address.to_string()))
    }

    /// The same.
    ///
    /// # Errors
    /// [`Error::NotBuiltIn`]
    pub fn store(&self, address: &Address, _: Arc<dyn Store>) -> Result<Arc<dyn Store>> {
        Err(Error::NotBuiltIn(address.to_string()))
    }
}
