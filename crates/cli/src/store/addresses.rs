//! Stores by their addresses, for this process: folders are known to [`sapwood_objects::addresses`], buckets are added here.
//!
//! Invariant: there is one connection to a bucket, whatever number of repositories it has.

use std::collections::BTreeMap;
use std::sync::Arc;

use parking_lot::Mutex;
use sapwood_objects::{Error, Store, addresses};
use sapwood_objects_s3::{Address, Connection};

use super::settings;

/// Connections, by bucket.
static CONNECTIONS: Mutex<BTreeMap<String, Connection>> = Mutex::new(BTreeMap::new());

/// Makes the stores known that this program can open.
pub(crate) fn register() {
    addresses::register("s3", open_s3);
}

fn open_s3(address: &str) -> sapwood_objects::Result<Arc<dyn Store>> {
    let address = Address::parse(address).map_err(|e| Error::Open(e.into()))?;
    let mut connections = CONNECTIONS.lock();
    if let Some(known) = connections.get(&address.bucket) {
        return Ok(known.store(&address));
    }
    let settings = settings::settings().map_err(Error::Open)?;
    let connection = Connection::open(&address, &settings).map_err(|e| Error::Open(e.into()))?;
    let store = connection.store(&address);
    connections.insert(address.bucket, connection);
    Ok(store)
}

/// How many requests were sent to the bucket of an address, by kind; none for a folder.
pub(super) fn requests(address: &str) -> Vec<(String, u64)> {
    let Ok(address) = Address::parse(address) else { return Vec::new() };
    let connections = CONNECTIONS.lock();
    let counts = connections.get(&address.bucket).map(Connection::requests);
    let counts = counts.into_iter().flatten();
    counts.map(|(kind, count)| (kind.to_string(), count)).collect()
}
