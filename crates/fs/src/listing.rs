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
use sapwood_store::{Caches, Key, Kind};

use crate::backend::{self, Backend};
use crate::kinds;
use crate::node::Node;
use crate::of::each;

/// The encoded listing of everything below a directory.
#[derive(Debug)]
pub struct Listing {
    path: Box<str>,
    form: FormKey,
    bytes: Box<[u8]>,
}

/// Encoded listings by the directory's representation: revision, item, path and form mixed.
const LISTING: Kind<Listing> = Kind::new(kinds::LISTING, Listing::weight);

impl Listing {
    /// The entries, one after the other.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    fn weight(&self) -> usize {
        self.path.len().plus(self.bytes.len()).plus(size_of::<Self>())
    }
}

impl Node {
    fn listing_key(&self, form: FormKey) -> Option<(&Caches, Key<Listing>)> {
        if self.kind() != NodeKind::Dir {
            return None;
        }
        let (revision, item) = each!(&self.0, node => backend::Node::text_key(node))?;
        let (caches, fs) = each!(&self.0, node => Backend::caches(backend::Node::fs(node)));
        let mut hasher = DefaultHasher::new();
        (self.path(), form).hash(&mut hasher);
        Some((caches, LISTING.key(fs, revision.0, item, hasher.finish())))
    }

    /// The listing of everything below this directory in the form `form`, if it is cached.
    #[must_use]
    pub fn cached_listing(&self, form: FormKey) -> Option<Arc<Listing>> {
        let (caches, key) = self.listing_key(form)?;
        let path = self.path().as_str();
        caches.get(key).filter(|found| *found.path == *path && found.form == form)
    }

    /// Caches such a listing, which must hold everything below the directory, and neither dates nor
    /// authors.
    pub fn cache_listing(&self, form: FormKey, bytes: &[u8]) {
        if let Some((caches, key)) = self.listing_key(form) {
            let path = self.path().as_str().into();
            caches.put(key, Listing { path, form, bytes: bytes.into() });
        }
    }
}
