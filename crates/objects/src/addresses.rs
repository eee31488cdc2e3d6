//! Stores by their addresses.
//!
//! Folders (`file:///FOLDER`) are opened here. What speaks with others stands above this crate,
//! and says so when the program begins: [`register`].
//!
//! Invariant: an address that no store was registered for is an error; nothing is opened in its place.

use std::path::Path;
use std::sync::Arc;

use parking_lot::RwLock;

use crate::error::{Error, Result};
use crate::folder::Folder;
use crate::store::Store;

/// Opens the store at an address of its scheme.
pub type Open = fn(&str) -> Result<Arc<dyn Store>>;

/// What addresses of folders begin with.
const FOLDER: &str = "file://";

/// Schemes, and what opens their stores.
static REGISTERED: RwLock<Vec<(&'static str, Open)>> = RwLock::new(Vec::new());

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
    if let Some(path) = address.strip_prefix(FOLDER).filter(|path| path.starts_with('/')) {
        return Ok(Arc::new(Folder::new(Path::new(path))));
    }
    let scheme = address.split_once("://").map_or("", |(scheme, _)| scheme);
    let open = REGISTERED.read().iter().find(|(known, _)| *known == scheme).map(|(_, open)| *open);
    open.ok_or_else(|| Error::NoAddress(address.into()))?(address)
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
}
