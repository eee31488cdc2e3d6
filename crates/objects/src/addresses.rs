//! Stores by their addresses.
//!
//! Folders (`file:///FOLDER`) are opened here. What speaks with others stands above this crate,
//! and says so when the program begins: [`register`].
//!
//! What they are asked for is counted, by scheme, for as long as the program runs: [`counts`].
//!
//! Invariant: an address that no store was registered for is an error; nothing is opened in its place.

use std::path::Path;
use std::sync::Arc;

use parking_lot::{Mutex, RwLock};

use crate::counted::{CountedStore, Requests};
use crate::error::{Error, Result};
use crate::folder::Folder;
use crate::store::Store;

/// Opens the store at an address of its scheme.
pub type Open = fn(&str) -> Result<Arc<dyn Store>>;

/// The scheme of folders.
const FOLDER: &str = "file";

/// What addresses of logs in databases begin with.
const POSTGRES: &str = "postgres://";

/// Schemes, and what opens their stores.
static REGISTERED: RwLock<Vec<(&'static str, Open)>> = RwLock::new(Vec::new());

/// One store of each scheme that was opened, which counts for all of them.
static COUNTED: Mutex<Vec<(&'static str, CountedStore)>> = Mutex::new(Vec::new());

/// Says how stores are opened whose addresses begin with `scheme` and `://`.
pub fn register(scheme: &'static str, open: Open) {
    let mut registered = REGISTERED.write();
    registered.retain(|(known, _)| *known != scheme);
    registered.push((scheme, open));
}

/// Opens the store at an address.
///
/// # Errors
/// [`Error::NoAddress`]; those of what opens it.
pub fn open(address: &str) -> Result<Arc<dyn Store>> {
    let (scheme, rest) = address.split_once("://").unwrap_or_default();
    if scheme == FOLDER && rest.starts_with('/') {
        return Ok(counted(FOLDER, Arc::new(Folder::new(Path::new(rest)))));
    }
    let registered = REGISTERED.read().iter().find(|(known, _)| *known == scheme).copied();
    let (scheme, open) = registered.ok_or_else(|| Error::NoAddress(address.into()))?;
    Ok(counted(scheme, open(address)?))
}

/// The part of an address that says who keeps the log, and what it promises: a bucket (`s3://BUCKET`) or a database (`postgres://HOST/DATABASE`).
#[must_use]
pub fn place(address: &str) -> &str {
    let (log, _) = address.split_once('+').unwrap_or((address, ""));
    if log.starts_with(POSTGRES) {
        return log;
    }
    let path = address.split_once("://").and_then(|(_, rest)| Some(rest.split_once('/')?.1));
    match path.and_then(|path| address.strip_suffix(path)?.strip_suffix('/')) {
        Some(place) => place,
        None => address,
    }
}

/// What the stores of each scheme that were opened have been asked for.
#[must_use]
pub fn counts() -> Vec<(&'static str, Requests)> {
    COUNTED.lock().iter().map(|(scheme, counted)| (*scheme, counted.requests())).collect()
}

/// A store whose requests are counted with those of the others of its scheme.
fn counted(scheme: &'static str, store: Arc<dyn Store>) -> Arc<dyn Store> {
    let mut all = COUNTED.lock();
    if let Some((_, first)) = all.iter().find(|(known, _)| *known == scheme) {
        return Arc::new(first.beside(store));
    }
    let first = CountedStore::new(store);
    all.push((scheme, first.clone()));
    Arc::new(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_address_opens_nothing() {
        assert_eq!(crate::store::Blobs::address(&*open("file:///a/b").unwrap()), "file:///a/b");
        for bad in ["", "a", "/a/b", "file://a/b", "other://a/b", "://"] {
            assert!(matches!(open(bad), Err(Error::NoAddress(_))), "{bad}");
        }
        register("made-for-this-test", |address| Ok(Arc::new(Folder::new(Path::new(address)))));
        let opened = open("made-for-this-test://x").unwrap();
        assert!(crate::store::Blobs::address(&*opened).ends_with("made-for-this-test://x"));
    }

    #[test]
    fn repositories_of_a_bucket_or_database_are_in_one_place() {
        for (address, expected) in [
            ("s3://bucket/svn/game", "s3://bucket"),
            ("s3://bucket", "s3://bucket"),
            ("az://c/a+b", "az://c"),
            ("postgres://u@h:1/db+s3://bucket/x", "postgres://u@h:1/db"),
            ("file:///a/b", "file://"),
            ("nothing", "nothing"),
        ] {
            assert_eq!(place(address), expected, "{address}");
        }
    }

    #[test]
    fn what_stores_of_a_scheme_are_asked_for_is_counted_together() {
        let folder = tempfile::tempdir().unwrap();
        register("counted", |address| Ok(Arc::new(Folder::new(Path::new(&address[10..])))));
        let key = crate::Key::new("a").unwrap();
        for name in ["one", "two"] {
            let address = format!("counted://{}/{name}", folder.path().display());
            let store = open(&address).unwrap();
            store.put(&key, b"12").unwrap();
            assert_eq!(store.get(&key, 0..1).unwrap().unwrap(), b"1");
        }
        let of = counts().into_iter().find(|(scheme, _)| *scheme == "counted").unwrap().1;
        assert_eq!((of.puts, of.gets, of.bytes_out, of.bytes_in), (2, 2, 4, 2));
    }
}
