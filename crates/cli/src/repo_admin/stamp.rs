//! The names in a bin: a repository's name and when it was moved there, `game-20261127T090214Z`.

use sapwood_core::SvnResult;
use sapwood_core::date::{MICROS_PER_SEC, Timestamp};

use crate::command::usage_error;

/// The name for what is moved at a time. A part of a second is left out.
pub(super) fn stamped(name: &str, time: Timestamp) -> String {
    let text = time.to_string();
    let seconds = text.split('.').next().unwrap_or(&text);
    let digits: String = seconds.chars().filter(|c| !matches!(c, '-' | ':' | 'Z')).collect();
    format!("{name}-{digits}Z")
}

/// The name of the repository, and the time; `None` for what is no such name.
pub(super) fn parsed(stamped: &str) -> Option<(&str, Timestamp)> {
    let (name, stamp) = stamped.rsplit_once('-')?;
    let (date, time) = stamp.strip_suffix('Z')?.split_once('T')?;
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if name.is_empty() || date.len() != 8 || time.len() != 6 {
        return None;
    }
    if !is_number(date) || !is_number(time) {
        return None;
    }
    let (year, month, day) = (date.get(..4)?, date.get(4..6)?, date.get(6..)?);
    let (hour, minute, second) = (time.get(..2)?, time.get(2..4)?, time.get(4..)?);
    let text = format!("{year}-{month}-{day}T{hour}:{minute}:{second}.000000Z");
    Some((name, Timestamp::parse(text.as_bytes()).ok()?))
}

/// The time so many days ago, as a command line has them.
pub(super) fn days_before(now: Timestamp, days: &str) -> SvnResult<Timestamp> {
    let number = days.parse::<i64>().ok().filter(|days| (0..=36_500).contains(days));
    let micros = number.and_then(|days| days.checked_mul(24 * 60 * 60 * MICROS_PER_SEC));
    let time = micros.and_then(|micros| now.0.checked_sub(micros)).map(Timestamp);
    time.ok_or_else(|| usage_error(format!("'{days}' is no number of days from 0 to 36500")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_made_and_parsed() {
        let time = Timestamp::parse(b"2026-11-27T09:02:14.000000Z").unwrap();
        let name = stamped("my-game", Timestamp(time.0 + 999_999));
        assert_eq!(name, "my-game-20261127T090214Z");
        assert_eq!(parsed(&name), Some(("my-game", time)));
        for wrong in [
            "game",
            "-20261127T090214Z",
            "game-20261127T090214",
            "game-20261127T09021Z",
            "game-20261327T090214Z",
            "game-2026112xT090214Z",
            "game-2026é27T090214Z",
        ] {
            assert_eq!(parsed(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn days_are_counted_back() {
        let now = Timestamp(86_400_000_001);
        assert_eq!(days_before(now, "1").unwrap(), Timestamp(1));
        assert_eq!(days_before(now, "0").unwrap(), now);
        for wrong in ["-1", "36501", "x", "", "9223372036854775808"] {
            assert!(days_before(now, wrong).is_err(), "{wrong}");
        }
    }
}
