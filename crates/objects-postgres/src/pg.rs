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

use self::entries::Entries;
use self::pool::Pool;
use self::store::Both;
use crate::Settings;
use crate::address::Address;

/// A database.
#[derive(Debug)]
pub enum Connection {}

impl Connection {
    /// The store at an address: entries of logs in the database, where a table is made for them if there is none, objects in `objects`.
    ///
    /// # Errors
    /// [`OpenError::BadAddress`], [`OpenError::Settings`]
    pub fn open(
        text: &str,
        settings: &Settings,
        objects: Arc<dyn Store>,
    ) -> Result<Arc<dyn Store>, OpenError> {
        let address = Address::parse(text)?;
        let fail = |reason| OpenError::Settings { address: text.to_owned(), reason };
        let pool = Pool::new(&address, settings).map_err(fail)?;
        let entries = Entries::open(pool, text, &address.store).map_err(|e| fail(e.into()))?;
        Ok(Arc::new(Both::new(entries, objects)))
    }
}
