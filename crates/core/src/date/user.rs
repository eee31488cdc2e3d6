//! Dates as people write them: `2026-11-21`, `20261121T2026Z`, `20:26`, `3 days ago`.

use jiff::tz::TimeZone;

use super::civil::Civil;
use super::{MICROS_PER_SEC, Timestamp};

/// Parses a date as it may stand in `-r {`...`}`; `None` when it is in no known form or not a date
/// of the calendar.
///
/// Known are the extended and basic forms of ISO 8601 with or without time and zone, the form that
/// `svn log` prints, a time of today, and `N years|months|weeks|days|hours|minutes ago`. A text
/// without a zone is in `zone`; where a clock change makes it ambiguous, the offset of `now`
/// decides, as in the reference.
#[must_use]
pub fn parse_user(text: &str, now: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
    let today = Civil::of(now, now.offset(zone));
    let bytes = text.as_bytes();
    let parsed = FORMS
        .iter()
        .find_map(|form| scan(bytes, form))
        .or_else(|| {
            // Only a time: today.
            let mut parsed = scan(bytes, &Form { date: Date::None, ..FORMS[0] })?;
            parsed.civil.year = today.year;
            parsed.civil.month = today.month;
            parsed.civil.day = today.day;
            Some(parsed)
        })
        .or_else(|| {
            let at = words(text, now)?;
            Some(CivilDate { civil: Civil::of(at, at.offset(zone)), local: true })
        })?;
    let CivilDate { mut civil, local } = parsed;
    if civil.day < 1
        || civil.day > civil.days_in_month()
        || civil.hour > 23
        || civil.minute > 59
        || civil.second > 60
    {
        return None;
    }
    if local {
        civil.offset = now.offset(zone);
        civil.offset = civil.timestamp().ok()?.offset(zone);
    }
    civil.timestamp().ok()
}

/// How the date part is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Date {
    /// There is none.
    None,
    /// `2026-11-21`, months and days of one or two digits.
    Extended,
    /// `20261121`.
    Basic,
}

/// How the zone is written after the time.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Zone {
    /// Nothing, or `Z`.
    Utc,
    /// `+05` or `+05:30`.
    Colon,
    /// `+05` or `+0530`.
    Plain,
    /// A space and `+05` or `+0530`, or nothing.
    Spaced,
}

/// One of the known forms.
#[derive(Clone, Copy)]
struct Form {
    date: Date,
    /// What separates the time from the date; `None` when there is no time.
    time: Option<u8>,
    zone: Zone,
}

const FORMS: [Form; 8] = {
    const fn form(date: Date, time: Option<u8>, zone: Zone) -> Form {
        Form { date, time, zone }
    }
    [
        form(Date::Extended, None, Zone::Utc),
        form(Date::Extended, Some(b'T'), Zone::Utc),
        form(Date::Extended, Some(b'T'), Zone::Colon),
        form(Date::Extended, Some(b'T'), Zone::Plain),
        form(Date::Extended, Some(b' '), Zone::Spaced),
        form(Date::Basic, None, Zone::Utc),
        form(Date::Basic, Some(b'T'), Zone::Utc),
        form(Date::Basic, Some(b'T'), Zone::Plain),
    ]
};

/// A date and time; `local` when no zone was written.
struct CivilDate {
    civil: Civil,
    local: bool,
}

/// Reads one form. A text may also end early wherever something optional could follow: `2026-11-2`
/// for one, but also (with a day of 0, refused later) `2026-1`, and `9` as nine o'clock.
struct Scan<'a> {
    rest: &'a [u8],
    civil: Civil,
    zone: Option<u8>,
    offset: (i64, i64),
}

/// What a step says: go on, or the text ended where it may.
enum Step {
    Go,
    End,
}

impl Scan<'_> {
    fn digit(&mut self) -> Option<i64> {
        let (first, rest) = self.rest.split_first()?;
        if !first.is_ascii_digit() {
            return None;
        }
        self.rest = rest;
        Some(i64::from(first.wrapping_sub(b'0')))
    }

    fn digits(&mut self, count: u32) -> Option<i64> {
        (0..count).try_fold(0i64, |n, _| Some(n.wrapping_mul(10).wrapping_add(self.digit()?)))
    }

    fn byte(&mut self, wanted: u8) -> Option<()> {
        self.rest = self.rest.strip_prefix(&[wanted])?;
        Some(())
    }

    fn at_end(&self) -> Step {
        if self.rest.is_empty() { Step::End } else { Step::Go }
    }

    /// A number of one or two digits, which may end the text after its first one.
    fn short(&mut self, store: fn(&mut Civil, i64)) -> Option<Step> {
        let mut n = self.digit()?;
        store(&mut self.civil, n);
        if self.rest.is_empty() {
            return Some(Step::End);
        }
        if self.rest.first().is_some_and(u8::is_ascii_digit) {
            n = n.wrapping_mul(10).wrapping_add(self.digit()?);
            store(&mut self.civil, n);
        }
        Some(Step::Go)
    }

    fn date(&mut self, date: Date) -> Option<Step> {
        match date {
            Date::None => {}
            Date::Basic => {
                self.civil.year = self.digits(4)?;
                self.civil.month = self.digits(2)?;
                self.civil.day = self.digits(2)?;
            }
            Date::Extended => {
                self.civil.year = self.digits(4)?;
                self.byte(b'-')?;
                if let Step::End = self.short(|c, n| c.month = n)? {
                    return Some(Step::End);
                }
                self.byte(b'-')?;
                return self.short(|c, n| c.day = n);
            }
        }
        Some(Step::Go)
    }

    fn time(&mut self, basic: bool) -> Option<Step> {
        if basic {
            self.civil.hour = self.digits(2)?;
        } else {
            if let Step::End = self.short(|c, n| c.hour = n)? {
                return Some(Step::End);
            }
            self.byte(b':')?;
        }
        self.civil.minute = self.digits(2)?;
        let seconds = match self.rest.first() {
            Some(byte) if basic => byte.is_ascii_digit(),
            Some(byte) => *byte == b':',
            None => return Some(Step::End),
        };
        if seconds {
            if !basic {
                self.byte(b':')?;
            }
            self.civil.second = self.digits(2)?;
            if matches!(self.rest.first(), Some(b'.' | b',')) {
                self.rest = self.rest.get(1..)?;
                let mut unit = 100_000;
                let mut micros = self.digit()?.wrapping_mul(unit);
                while unit > 1 && self.rest.first().is_some_and(u8::is_ascii_digit) {
                    unit /= 10;
                    micros = micros.wrapping_add(self.digit()?.wrapping_mul(unit));
                }
                self.civil.micros = micros;
            }
        }
        Some(self.at_end())
    }

    fn zone(&mut self, zone: Zone) -> Option<()> {
        match zone {
            Zone::Utc => {
                if self.byte(b'Z').is_some() {
                    self.zone = Some(b'Z');
                }
                return Some(());
            }
            Zone::Spaced if self.byte(b' ').is_none() => return Some(()),
            _ => {}
        }
        let sign = self.rest.first().copied().filter(|b| matches!(b, b'+' | b'-'))?;
        self.rest = self.rest.get(1..)?;
        self.zone = Some(sign);
        self.offset.0 = self.digits(2)?;
        if self.rest.is_empty() {
            return Some(());
        }
        if zone == Zone::Colon {
            self.byte(b':')?;
        }
        self.offset.1 = self.digits(2)?;
        Some(())
    }
}

fn scan(text: &[u8], form: &Form) -> Option<CivilDate> {
    let mut scan = Scan { rest: text, civil: Civil::default(), zone: None, offset: (0, 0) };
    let basic = form.date == Date::Basic;
    let mut step = scan.date(form.date)?;
    let time = form.time.is_some() || form.date == Date::None;
    if time && matches!(step, Step::Go) {
        if let Some(separator) = form.time {
            scan.byte(separator)?;
        }
        step = scan.time(basic)?;
        if matches!(step, Step::Go) && form.date != Date::None {
            scan.zone(form.zone)?;
        }
    }
    if !scan.rest.is_empty() || scan.offset.0 > 23 || scan.offset.1 > 59 {
        return None;
    }
    let offset = scan.offset.0.wrapping_mul(3600).wrapping_add(scan.offset.1.wrapping_mul(60));
    scan.civil.offset = if scan.zone == Some(b'-') { offset.wrapping_neg() } else { offset };
    Some(CivilDate { civil: scan.civil, local: scan.zone.is_none() })
}

/// `N unit ago`; units are of fixed length, and any word that begins like one will do.
fn words(text: &str, now: Timestamp) -> Option<Timestamp> {
    const NUMBERS: [&str; 13] = [
        "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
        "eleven", "twelve",
    ];
    const UNITS: [(&str, i64); 7] = [
        ("year", 365 * 86_400),
        ("month", 30 * 86_400),
        ("week", 7 * 86_400),
        ("day", 86_400),
        ("hour", 3_600),
        ("minute", 60),
        ("min", 60),
    ];
    let mut words = text.split(' ').map(str::trim_ascii).filter(|w| !w.is_empty());
    let (number, unit, ago) = (words.next()?, words.next()?, words.next()?);
    if words.next().is_some() || ago != "ago" {
        return None;
    }
    let count = match NUMBERS.iter().zip(0i64..).find(|(word, _)| **word == number) {
        Some((_, n)) => n,
        None => i64::from(number.parse::<i32>().ok().filter(|n| *n >= 0)?),
    };
    let (_, seconds) = UNITS.iter().find(|(word, _)| unit.starts_with(word))?;
    let span = count.checked_mul(*seconds)?.checked_mul(MICROS_PER_SEC)?;
    now.0.checked_sub(span).filter(|t| *t >= 0).map(Timestamp)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: &[u8] = b"2026-11-21T20:26:00.123456Z";

    fn user(text: &str) -> Option<String> {
        let now = Timestamp::parse(NOW).unwrap();
        parse_user(text, now, &TimeZone::UTC).map(|t| t.to_string())
    }

    #[test]
    fn known_forms() {
        for (text, want) in [
            ("2026-11-21", "2026-11-21T00:00:00.000000Z"),
            ("2026-1-2", "2026-01-02T00:00:00.000000Z"),
            ("2026-11-21T20:26", "2026-11-21T20:26:00.000000Z"),
            ("2026-11-21T20:26Z", "2026-11-21T20:26:00.000000Z"),
            ("2026-11-21T2:26:01.5Z", "2026-11-21T02:26:01.500000Z"),
            ("2026-11-21T20:26:01,123456Z", "2026-11-21T20:26:01.123456Z"),
            ("2026-11-21T20:26:01+05:30", "2026-11-21T14:56:01.000000Z"),
            ("2026-11-21T20:26:01-0530", "2026-11-22T01:56:01.000000Z"),
            ("2026-11-21T20:26:01-05", "2026-11-22T01:26:01.000000Z"),
            ("20261121", "2026-11-21T00:00:00.000000Z"),
            ("20261121T2026", "2026-11-21T20:26:00.000000Z"),
            ("20261121T202601.25Z", "2026-11-21T20:26:01.250000Z"),
            ("20261121T2026-0100", "2026-11-21T21:26:00.000000Z"),
            ("2026-11-21 20:26", "2026-11-21T20:26:00.000000Z"),
            ("2026-11-21 20:26:01 +0200", "2026-11-21T18:26:01.000000Z"),
            ("9:15", "2026-11-21T09:15:00.000000Z"),
            ("09:15:07.5", "2026-11-21T09:15:07.500000Z"),
            ("1", "2026-11-21T01:00:00.000000Z"),
            ("3 days ago", "2026-11-18T20:26:00.123456Z"),
            ("one year ago", "2025-11-21T20:26:00.123456Z"),
            ("2 mins ago", "2026-11-21T20:24:00.123456Z"),
            ("2024-02-29", "2024-02-29T00:00:00.000000Z"),
        ] {
            assert_eq!(user(text).as_deref(), Some(want), "{text}");
        }
    }

    #[test]
    fn refused() {
        for text in [
            "",
            "now",
            "2026",
            "2026-1",
            "2026-11-31",
            "2026-02-29",
            "1900-02-29",
            "2026-13-01",
            "2026-11-21T24:00",
            "2026-11-21T20:60",
            "2026-11-21T20:26:01.",
            "2026-11-21T",
            "12",
            "2026-11-21T20:26+24:00",
            "2026-11-21Z",
            "1969-12-31",
            "-1 days ago",
            "3 days",
            "3 days before",
            "3 days ago today",
            "2026-11-21T20:26:01.1234567Z",
            "09:15Z",
        ] {
            assert_eq!(user(text), None, "{text}");
        }
    }

    #[test]
    fn local_zone_and_daylight_saving() {
        let now = Timestamp::parse(b"2026-11-21T20:26:00.0Z").unwrap();
        let zone = TimeZone::posix("CET-1CEST,M3.5.0,M10.5.0/3").unwrap();
        let at = |text| parse_user(text, now, &zone).map(|t| t.to_string());
        assert_eq!(at("2026-07-01").as_deref(), Some("2026-06-30T22:00:00.000000Z"));
        assert_eq!(at("2026-12-01").as_deref(), Some("2026-11-30T23:00:00.000000Z"));
        assert_eq!(at("12:00").as_deref(), Some("2026-11-21T11:00:00.000000Z"));
        assert_eq!(at("3 hours ago").as_deref(), Some("2026-11-21T17:26:00.000000Z"));
        assert_eq!(at("2026-07-01T00:00Z").as_deref(), Some("2026-07-01T00:00:00.000000Z"));
    }
}
