//! The numbers of the kinds of values that this crate keeps in the caches, of whatever engine they are made: engines have those
//! below 200.

/// Listings: see `listing`.
pub(crate) const LISTING: u8 = 200;
/// Deletions: see `deletion`.
pub(crate) const DELETION: u8 = 201;
/// What is made of the histories of files: see `of_history`.
pub(crate) const OF_HISTORY: u8 = 202;
