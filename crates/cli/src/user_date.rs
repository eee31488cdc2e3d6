//! Dates in the user's form, in the local time zone.

use std::path::{Component, Path};
use std::sync::OnceLock;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use jiff::tz::TimeZone;
use sapwood_core::date::{Timestamp, parse_user};

/// Now, in microseconds since 1970.
pub(crate) fn now() -> Timestamp {
    let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO);
    Timestamp(i64::try_from(elapsed.as_micros()).unwrap_or(i64::MAX))
}

/// Where the system keeps the rules of time zones.
const ZONES: &str = "/usr/share/zoneinfo";

/// The user's time zone: what `TZ` names, else the system's. One file is read; `TimeZone::system` alone
/// would list all zones that there are, a hundred system calls at every start.
pub(crate) fn zone() -> TimeZone {
    static ZONE: OnceLock<TimeZone> = OnceLock::new();
    ZONE.get_or_init(|| find_zone().unwrap_or_else(TimeZone::system)).clone()
}

fn find_zone() -> Option<TimeZone> {
    let file = match std::env::var_os("TZ") {
        None => Path::new("/etc/localtime").to_owned(),
        Some(name) => {
            let name = Path::new(&name);
            let plain = |part| matches!(part, Component::Normal(_));
            if name.as_os_str().is_empty() || !name.components().all(plain) {
                return None;
            }
            Path::new(ZONES).join(name)
        }
    };
    TimeZone::tzif("Local", &std::fs::read(file).ok()?).ok()
}

/// The date that stands between the braces of `-r {...}`, in microseconds since 1970.
pub(crate) fn parse(text: &str) -> Option<i64> {
    parse_user(text, now(), &zone()).map(|at| at.0)
}

/// Formats a time for the user, in the local time zone.
pub(crate) fn human(at: i64) -> String {
    Timestamp(at).human(&zone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_zone_is_the_one_that_the_whole_list_gives() {
        let at = jiff::Timestamp::new(1_700_000_000, 0).unwrap();
        let offset = |zone: TimeZone| at.to_zoned(zone).offset();
        assert_eq!(offset(zone()), offset(TimeZone::system()));
    }
}
