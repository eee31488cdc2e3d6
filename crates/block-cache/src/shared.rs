//! The cache that all of a program shares: where it is, is said when the program begins; it is opened when it is first needed.
//!
//! Invariant: a folder that cannot be made costs speed, and nothing else: there is no cache then.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

use crate::cache::BlockCache;

/// Where it is, and the most bytes of its files.
static PLACE: Mutex<Option<(PathBuf, u64)>> = Mutex::new(None);
/// The cache, once it was needed.
static OPENED: OnceLock<Option<Arc<BlockCache>>> = OnceLock::new();

/// Says where the program's cache is, and the most bytes of its files. It counts until the cache is first needed.
pub fn set_shared(folder: PathBuf, limit: u64) {
    *PLACE.lock() = Some((folder, limit));
}

/// The program's cache; `None` where there is none.
pub fn shared() -> Option<Arc<BlockCache>> {
    let open = || {
        let (folder, limit) = PLACE.lock().clone()?;
        BlockCache::open(&folder, limit).ok()
    };
    OPENED.get_or_init(open).clone()
}

/// The program's cache, if it was needed so far.
pub fn opened() -> Option<Arc<BlockCache>> {
    OPENED.get().cloned().flatten()
}
