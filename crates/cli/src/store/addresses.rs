//! Stores by their addresses, for this process: folders are known to [`sapwood_objects::addresses`], buckets are added here.
//!
//! Invariant: there is one connection to a bucket, and one set of connections to a database, whatever number of repositories it has.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use sapwood_core::{ErrorCode, Exact as _, SvnError, SvnResult};
use sapwood_objects::{Error, Store, addresses};
use sapwood_objects_postgres::Connection as Database;
use sapwood_objects_s3::{Address, Connection, Scheme};

use super::settings;
use crate::user_folders;

/// Connections, by scheme and bucket.
static CONNECTIONS: Mutex<BTreeMap<(Scheme, String), Connection>> = Mutex::new(BTreeMap::new());

/// Databases with logs.
static DATABASES: Mutex<Vec<(sapwood_objects_postgres::Address, Database)>> =
    Mutex::new(Vec::new());

/// The scheme of logs in databases.
pub(super) const POSTGRES: &str = "postgres";
/// The variable that names the folder in which blocks of stores are kept on this machine; `none` for no folder.
const CACHE: &str = "SAPWOOD_STORE_CACHE";
/// The variable that says how much may be kept, in megabytes.
const CACHE_SIZE: &str = "SAPWOOD_STORE_CACHE_SIZE";
/// How much may be kept where that does not say, in megabytes.
const DEFAULT_SIZE: u64 = 10_000;
/// The most that makes sense: an exabyte.
const MOST_SIZE: u64 = 1 << 40;
/// Bytes of a megabyte.
const MEGABYTE: u64 = 1 << 20;

/// Makes the stores known that this program can open, and where their blocks are kept.
///
/// # Errors
/// E125009 when a variable has a value that makes no sense.
pub(crate) fn register() -> SvnResult<()> {
    for scheme in Scheme::ALL {
        addresses::register(scheme.name(), open_bucket);
    }
    addresses::register(POSTGRES, open_database);
    let folder = std::env::var_os(CACHE).map(PathBuf::from);
    if folder.as_deref() != Some(Path::new("none")) {
        let limit = cache_size()?.times(MEGABYTE);
        let folder = folder.unwrap_or_else(|| user_folders::caches().join("store"));
        sapwood_block_cache::set_shared(folder, limit);
    }
    Ok(())
}

/// How much may be kept, in megabytes.
fn cache_size() -> SvnResult<u64> {
    let Some(text) = std::env::var_os(CACHE_SIZE) else { return Ok(DEFAULT_SIZE) };
    let size = text.to_str().and_then(|text| text.parse().ok());
    size.filter(|size| *size <= MOST_SIZE).ok_or_else(|| {
        let text = text.display();
        let message = format!("{CACHE_SIZE} is no number of megabytes up to {MOST_SIZE}: '{text}'");
        SvnError::new(ErrorCode::BAD_CONFIG_VALUE, message)
    })
}

fn open_bucket(address: &str) -> sapwood_objects::Result<Arc<dyn Store>> {
    let address = Address::parse(address).map_err(|e| Error::Open(e.into()))?;
    let mut connections = CONNECTIONS.lock();
    if let Some(known) = connections.get(&key(&address)) {
        return Ok(known.store(&address));
    }
    let settings = settings::settings().map_err(Error::Open)?;
    let connection = Connection::open(&address, &settings).map_err(|e| Error::Open(e.into()))?;
    let store = connection.store(&address);
    connections.insert(key(&address), connection);
    Ok(store)
}

/// A log in a database, and the store of its objects.
fn open_database(address: &str) -> sapwood_objects::Result<Arc<dyn Store>> {
    let address = sapwood_objects_postgres::Address::parse(address);
    let address = address.map_err(|e| Error::Open(e.into()))?;
    let objects = addresses::open(&address.store)?;
    // A database that does not answer keeps nothing else waiting: the lock is not held while it is asked.
    let database = database(&address).map_err(|e| Error::Open(e.into()))?;
    database.store(&address, objects).map_err(|e| Error::Open(e.into()))
}

/// The connections to the database of an address.
fn database(
    address: &sapwood_objects_postgres::Address,
) -> Result<Database, sapwood_objects_postgres::OpenError> {
    let mut databases = DATABASES.lock();
    if let Some((_, known)) = databases.iter().find(|(known, _)| known.has_database_of(address)) {
        return Ok(known.clone());
    }
    let opened = Database::open(address, &settings::of_postgres())?;
    databases.push((address.clone(), opened.clone()));
    Ok(opened)
}

fn key(address: &Address) -> (Scheme, String) {
    (address.scheme, address.bucket.clone())
}

/// How many requests were sent to the bucket of an address, by kind; none for a folder.
pub(super) fn requests(address: &str) -> Vec<(String, u64)> {
    let Ok(address) = Address::parse(address) else { return Vec::new() };
    let connections = CONNECTIONS.lock();
    let counts = connections.get(&key(&address)).map(Connection::requests);
    let counts = counts.into_iter().flatten();
    counts.map(|(kind, count)| (kind.to_string(), count)).collect()
}
