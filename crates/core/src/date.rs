//! Points in time, as microseconds since 1970 in UTC, and the forms they are written in:
//!
//! - the form of `svn:date`, `2026-11-21T20:26:00.123456Z` ([`Timestamp::parse`], `Display`),
//! - the form of Subversion's first years (parsed only),
//! - the form for people, `2026-11-21 20:26:00 +0000 (Sat, 21 Nov 2026)` ([`Timestamp::human`]),
//! - the forms that people may write after `-r {`...`}` ([`parse_user`]).

use std::fmt;

use jiff::tz::TimeZone;

mod civil;
mod user;

pub use user::parse_user;

use civil::{Civil, MONTHS};

use crate::error::{ErrorCode, SvnError};

/// Microseconds in a second.
pub const MICROS_PER_SEC: i64 = 1_000_000;

/// A point in time: microseconds since 1970-01-01 00:00 UTC, without leap seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(pub i64);

/// The text is not a date in a form that is expected there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Bogus date")]
pub struct BadDate;

impl From<BadDate> for SvnError {
    fn from(_: BadDate) -> Self {
        Self::new(ErrorCode::BAD_DATE, "")
    }
}

impl Timestamp {
    /// The time of this machine's clock; 1970 where that is set to a time before.
    #[must_use]
    pub fn now() -> Self {
        let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        let micros = since.ok().and_then(|time| i64::try_from(time.as_micros()).ok());
        Self(micros.unwrap_or(0))
    }

    /// Parses the form of `svn:date`, or the one of Subversion's first years
    /// (`Tue 3 Oct 2000 HH:MM:SS.UUU (day 277, dst 1, gmt_off -18000)`).
    ///
    /// As lenient as the reference: digits of any number, days and hours out of range carry over
    /// into the next unit.
    ///
    /// # Errors
    /// When it is neither, or names a time before 1970.
    pub fn parse(text: &[u8]) -> Result<Self, BadDate> {
        parse_new(text).unwrap_or_else(|| parse_old(text).ok_or(BadDate)?.timestamp())
    }

    /// The form for people, in their time zone: date, time, offset and, in words, the date.
    #[must_use]
    pub fn human(self, zone: &TimeZone) -> String {
        let offset = self.offset(zone);
        let civil = Civil::of(self, offset);
        let hours = offset.checked_div(3600).unwrap_or_default();
        let minutes = offset.unsigned_abs().checked_div(60).unwrap_or_default() % 60;
        format!(
            "{:04}-{:02}-{:02} {:02}:{:02}:{:02} {hours:+03}{minutes:02} ({}, {:02} {} {:04})",
            civil.year,
            civil.month,
            civil.day,
            civil.hour,
            civil.minute,
            civil.second,
            civil.weekday_name(),
            civil.day,
            civil.month_name(),
            civil.year,
        )
    }

    /// The offset of `zone` at this time, in seconds east of UTC.
    fn offset(self, zone: &TimeZone) -> i64 {
        jiff::Timestamp::from_microsecond(self.0)
            .map_or(0, |at| i64::from(zone.to_offset(at).seconds()))
    }
}

/// The form of `svn:date`.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let c = Civil::of(*self, 0);
        if !(0..=9999).contains(&c.year) {
            return write!(
                f,
                "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:06}Z",
                c.year, c.month, c.day, c.hour, c.minute, c.second, c.micros
            );
        }
        // Dates are written for each entry of a list: this takes a fifth of what the format takes.
        let mut text = *b"0000-00-00T00:00:00.000000Z";
        let fields = [
            (0..4, c.year),
            (5..7, c.month),
            (8..10, c.day),
            (11..13, c.hour),
            (14..16, c.minute),
            (17..19, c.second),
            (20..26, c.micros),
        ];
        for (place, value) in fields {
            put_digits(text.get_mut(place).unwrap_or(&mut []), value);
        }
        f.write_str(std::str::from_utf8(&text).map_err(|_| fmt::Error)?)
    }
}

/// Writes the last digits of a number, as many as there is room for.
fn put_digits(room: &mut [u8], mut value: i64) {
    for digit in room.iter_mut().rev() {
        *digit = b'0' | u8::try_from(value % 10).unwrap_or(0);
        value /= 10;
    }
}

/// `None` when the text is not of this form at all, so that the old form is tried.
fn parse_new(text: &[u8]) -> Option<Result<Timestamp, BadDate>> {
    let mut rest = text;
    let mut number = |end: u8| -> Option<i64> {
        let at = rest.iter().position(|b| !b.is_ascii_digit())?;
        let (digits, after) = rest.split_at_checked(at)?;
        rest = after.strip_prefix(&[end])?;
        // An absent number counts as 0, as it always did.
        let value = if digits.is_empty() { 0 } else { crate::revnum::parse_u64(digits)? };
        i32::try_from(value).ok().map(i64::from)
    };
    let civil = Civil {
        year: number(b'-')?,
        month: number(b'-')?,
        day: number(b'T')?,
        hour: number(b':')?,
        minute: number(b':')?,
        second: number(b'.')?,
        micros: number(b'Z')?,
        offset: 0,
    };
    Some(civil.timestamp())
}

/// `Tue 3 Oct 2000 05:06:07.000008 (day 277, dst 1, gmt_off -18000)`.
fn parse_old(text: &[u8]) -> Option<Civil> {
    let text = std::str::from_utf8(text).ok()?;
    let (stamp, rest) = text.split_once(" (day ")?;
    let mut words = stamp.split_ascii_whitespace();
    let _weekday = words.next().filter(|w| w.len() <= 3)?;
    let day = words.next()?.parse::<i32>().ok()?;
    let month = words.next()?;
    let month = MONTHS.iter().zip(1..).find(|(name, _)| **name == month)?.1;
    let year = words.next()?.parse::<i32>().ok()?;
    let mut clock = words.next()?.splitn(3, ':');
    if words.next().is_some() {
        return None;
    }
    let hour = clock.next()?.parse::<u8>().ok()?;
    let minute = clock.next()?.parse::<u8>().ok()?;
    let (second, micros) = clock.next()?.split_once('.')?;
    let (_yearday, rest) = rest.split_once(", dst ")?;
    let (_dst, offset) = rest.split_once(", gmt_off ")?;
    let offset = offset.split_once(')').map_or(offset, |(number, _)| number);
    Some(Civil {
        year: i64::from(year),
        month,
        day: i64::from(day),
        hour: i64::from(hour),
        minute: i64::from(minute),
        second: i64::from(second.parse::<u8>().ok()?),
        micros: i64::from(micros.parse::<u32>().ok()?),
        offset: i64::from(offset.trim().parse::<i32>().ok()?),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Option<i64> {
        Timestamp::parse(text.as_bytes()).ok().map(|t| t.0)
    }

    #[test]
    fn svn_date_round_trip() {
        for text in [
            "1970-01-01T00:00:00.000000Z",
            "1999-12-31T23:59:59.999999Z",
            "2000-02-29T12:00:00.000001Z",
            "2026-11-21T20:26:00.123456Z",
            "2100-03-01T00:00:00.000000Z",
            "9999-12-31T23:59:59.999999Z",
        ] {
            let at = Timestamp::parse(text.as_bytes()).unwrap();
            assert_eq!(at.to_string(), text);
        }
        assert_eq!(parse("2001-09-09T01:46:40.000000Z"), Some(1_000_000_000_000_000));
    }

    #[test]
    fn lenient_like_the_reference() {
        // Digits of any number; units carry over.
        assert_eq!(parse("2001-9-9T1:46:40.0Z"), Some(1_000_000_000_000_000));
        assert_eq!(parse("1970-01-01T24:00:00.0Z"), parse("1970-01-02T00:00:00.0Z"));
        assert_eq!(parse("1970-01-01T00:00:00.2000000Z"), Some(2_000_000));
        // The rest of the line does not matter.
        assert_eq!(parse("1970-01-01T00:00:01.0Zjunk"), Some(1_000_000));
        for bad in [
            "",
            "1970-01-01",
            "1970-01-01T00:00:00Z",
            "1970-13-01T00:00:00.0Z",
            "1970-00-01T00:00:00.0Z",
            "1969-12-31T23:59:59.0Z",
            "99999999999-01-01T00:00:00.0Z",
            "now",
        ] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn the_oldest_form() {
        assert_eq!(
            parse("Tue 3 Oct 2000 05:06:07.000008 (day 277, dst 1, gmt_off -18000)"),
            parse("2000-10-03T10:06:07.000008Z")
        );
        assert_eq!(parse("Tue 3 Foo 2000 05:06:07.000008 (day 277, dst 1, gmt_off 0)"), None);
    }

    #[test]
    fn for_people() {
        let at = Timestamp::parse(b"2026-11-21T20:26:00.123456Z").unwrap();
        assert_eq!(at.human(&TimeZone::UTC), "2026-11-21 20:26:00 +0000 (Sat, 21 Nov 2026)");
        let zone = |seconds| TimeZone::fixed(jiff::tz::Offset::from_seconds(seconds).unwrap());
        assert_eq!(at.human(&zone(19800)), "2026-11-22 01:56:00 +0530 (Sun, 22 Nov 2026)");
        assert_eq!(at.human(&zone(-12600)), "2026-11-21 16:56:00 -0330 (Sat, 21 Nov 2026)");
    }
}
