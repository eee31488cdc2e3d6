//! What stands for the store in builds without the feature.

use std::fmt;
use std::sync::Arc;

use sapwood_objects::Store;

use crate::Settings;
use crate::address::Address;
use crate::error::{Error, Result};

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
    /// [`Error::NotBuiltIn`]
    pub fn open(address: &Address, _: &Settings) -> Result<Self> {
        Err(Error::NotBuiltIn(address.to_string()))
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
