//! What stands for the log in builds without the feature.

use std::sync::Arc;

use sapwood_objects::{OpenError, Store};

use crate::Settings;
use crate::address::Address;

/// A database that cannot be reached: there is none of these.
#[derive(Clone, Debug)]
pub struct Connection(());

impl Connection {
    /// Says that this program has no such logs.
    ///
    /// # Errors
    /// [`OpenError::NotBuiltIn`]
    pub fn open(address: &Address, _: &Settings) -> Result<Self, OpenError> {
        Err(OpenError::NotBuiltIn { address: address.to_string(), feature: "postgres" })
    }

    /// The same.
    ///
    /// # Errors
    /// [`OpenError::NotBuiltIn`]
    pub fn store(&self, address: &Address, _: Arc<dyn Store>) -> Result<Arc<dyn Store>, OpenError> {
        Err(OpenError::NotBuiltIn { address: address.to_string(), feature: "postgres" })
    }
}
