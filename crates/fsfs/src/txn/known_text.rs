//! What is known of a text before it is written.

use sapwood_core::{Md5, Revnum, Sha1};
use sapwood_fsfs_format::{RepHeader, RepLocation, Representation};

/// A delta that was computed ahead.
#[derive(Debug)]
pub struct DeltaAhead {
    pub(super) base: Option<Representation>,
    pub(super) svndiff: Vec<u8>,
    /// Bytes of the text.
    pub(super) len: u64,
}

/// What is known of a text before it is written.
#[derive(Debug)]
pub struct KnownText {
    /// Its MD5.
    pub md5: Md5,
    /// Its SHA-1.
    pub sha1: Sha1,
    /// A guess how it will be stored.
    pub delta: Option<DeltaAhead>,
}

/// How a representation that is a delta to `base` begins.
pub(super) fn header(base: Option<Representation>) -> RepHeader {
    match base.map(|rep| (rep.location, rep.size)) {
        Some((RepLocation::Rev { revision, item }, length)) => {
            RepHeader::Delta { revision, item, length }
        }
        _ => RepHeader::SelfDelta,
    }
}

/// The place and length of a base: what a delta to it depends on.
fn place(base: Option<&Representation>) -> Option<(Revnum, u64, u64)> {
    match base.map(|rep| (rep.location, rep.size)) {
        Some((RepLocation::Rev { revision, item }, size)) => Some((revision, item, size)),
        _ => None,
    }
}

impl DeltaAhead {
    /// Whether it is a delta to `base`.
    pub(super) fn is_to(&self, base: Option<&Representation>) -> bool {
        place(self.base.as_ref()) == place(base)
    }
}
