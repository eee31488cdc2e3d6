//! The listing of everything below a directory, as a receiver encodes it.
//!
//! A directory's text names node-revisions, which never change: the listing of all that is below
//! stays the same as long as the directory's representation does. Dates and authors may change, so
//! they have no place here. Names in listings are whole paths, so the path is part of the
//! cache key.

use sapwood_core::Exact;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;

use sapwood_core::{FormKey, NodeKind};
use sapwood_fsfs_format::RepLocation;
use sapwood_store::{Key, Kind};

use crate::cache_kinds::Number;
use crate::node::Node;

/// The encoded listing of everything below a directory.
#[derive(Debug)]
pub struct Listing {
    path: Box<str>,
    form: FormKey,
    bytes: Box<[u8]>,
}

/// Encoded listings by the directory's representation: revision, item, path and form mixed.
const LISTING: Kind<Listing> = Number::Listing.kind(Listing::weight);

impl Listing {
    /// The entries, one after the other.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(crate) fn weight(&self) -> usize {
        self.path.len().plus(self.bytes.len()).plus(size_of::<Self>())
    }
}

impl Node {
    fn listing_key(&self, form: FormKey) -> Option<Key<Listing>> {
        let rep = self.rev.text.filter(|_| self.rev.kind == NodeKind::Dir)?;
        let RepLocation::Rev { revision, item } = rep.location else { return None };
        let mut hasher = DefaultHasher::new();
        (&*self.path, form).hash(&mut hasher);
        Some(LISTING.key(self.fs.fs.id, revision.0, item, hasher.finish()))
    }

    /// The listing of everything below this directory in the form `form`, if it is cached.
    #[must_use]
    pub fn cached_listing(&self, form: FormKey) -> Option<Arc<Listing>> {
        let found = self.fs.fs.caches.get(self.listing_key(form)?)?;
        Some(found).filter(|found| *found.path == *self.path && found.form == form)
    }

    /// Caches such a listing, which must hold everything below the directory, and neither dates nor
    /// authors.
    pub fn cache_listing(&self, form: FormKey, bytes: &[u8]) {
        if let Some(key) = self.listing_key(form) {
            let listing = Listing { path: (&*self.path).into(), form, bytes: bytes.into() };
            self.fs.fs.caches.put(key, listing);
        }
    }
}
