//! Properties of a transaction that say how it is to be committed, and that no revision has; and the date that a
//! revision gets.

use std::time::{SystemTime, UNIX_EPOCH};

use sapwood_core::date::Timestamp;

/// Changes were checked against later revisions as they were made.
pub const CHECK_OOD: &str = "svn:check-ood";
/// Changes were checked against locks as they were made.
pub const CHECK_LOCKS: &str = "svn:check-locks";
/// `0`: the client may set the date; `1`: it did, and the commit keeps it.
pub const CLIENT_DATE: &str = "svn:client-date";

/// The present time.
pub(super) fn now() -> Timestamp {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(now.as_micros()).unwrap_or_default())
}
