//! What stands for the store in builds without the feature.

use std::fmt;
use std::sync::Arc;

use sapwood_objects::{OpenError, Store};

use crate::Settings;
use crate::address::Address;

/// A bucket that cannot be reached.
#[derive(Debug)]
pub enum Connection {}

/// A kind of request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {}

impl fmt::Display for Kind {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {}
    }
}

impl Connection {
    /// Says that this program has no such stores.
    ///
    /// # Errors
    /// [`OpenError::NotBuiltIn`]
    pub fn open(address: &Address, _: &Settings) -> Result<Self, OpenError> {
        Err(OpenError::NotBuiltIn { address: address.to_string(), feature: "s3" })
    }

    /// The store at a prefix.
    #[must_use]
    pub fn store(&self, _: &Address) -> Arc<dyn Store> {
        match *self {}
    }

    /// How many requests were sent, by kind.
    #[must_use]
    pub fn requests(&self) -> Vec<(Kind, u64)> {
        match *self {}
    }
}
