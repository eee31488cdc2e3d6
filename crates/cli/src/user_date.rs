//! Dates as people write them, in their time zone.

use std::time::{SystemTime, UNIX_EPOCH};

use jiff::tz::TimeZone;
use sapwood_core::date::{Timestamp, parse_user};

/// Now, in microseconds since 1970.
pub(crate) fn now() -> Timestamp {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(elapsed.as_micros()).unwrap_or(i64::MAX))
}

/// The date that stands between the braces of `-r {...}`, in microseconds since 1970.
pub(crate) fn parse(text: &str) -> Option<i64> {
    parse_user(text, now(), &TimeZone::system()).map(|at| at.0)
}

/// A time in the form for people, in their time zone.
pub(crate) fn human(at: i64) -> String {
    Timestamp(at).human(&TimeZone::system())
}
