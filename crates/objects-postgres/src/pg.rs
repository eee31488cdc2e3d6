//! A log in a database, and the store of its objects.
//!
//! - `pool`: connections, which come back after the database was away;
//! - `entries`: the table, and what is asked of it;
//! - `store`: entries and objects as one store;
//! - `tls`: TLS by the packages that the rest of the program uses.
//!
//! Invariant: a claim is sent once and never repeated here: [`sapwood_objects::claim()`] decides about that.

mod entries;
mod pool;
mod store;
mod tls;

use std::sync::Arc;

use sapwood_objects::{OpenError, Store};

use self::entries::{Entries, Table};
use self::pool::Pool;
use self::store::Both;
use crate::Settings;
use crate::address::Address;

/// A database. The logs of all repositories in it share its connections.
#[derive(Clone, Debug)]
pub struct Connection {
    table: Arc<Table>,
}

impl Connection {
    /// Prepares to reach the database of an address. Nothing is sent yet.
    ///
    /// # Errors
    /// [`OpenError::Settings`]
    pub fn open(address: &Address, settings: &Settings) -> Result<Self, OpenError> {
        let fail = |reason| OpenError::Settings { address: address.to_string(), reason };
        let pool = Pool::new(address, settings).map_err(fail)?;
        Ok(Self { table: Arc::new(Table::new(pool)) })
    }

    /// The store at an address in this database: entries of logs in its table, which is made if there is none, objects in `objects`.
    ///
    /// # Errors
    /// [`OpenError::Settings`] when the database cannot be used.
    pub fn store(
        &self,
        address: &Address,
        objects: Arc<dyn Store>,
    ) -> Result<Arc<dyn Store>, OpenError> {
        let fail = |reason| OpenError::Settings { address: address.to_string(), reason };
        self.table.ready().map_err(|e| fail(e.into()))?;
        let entries = Entries::new(Arc::clone(&self.table), address);
        Ok(Arc::new(Both::new(entries, objects)))
    }
}
