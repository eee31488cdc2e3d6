//! Dates and ages for people.

use maud::{Markup, html};
use sapwood_core::date::Timestamp;

use crate::words;

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;

/// Seconds since 1970 of a date as it is stored.
#[must_use]
pub fn seconds(date: &str) -> Option<i64> {
    Timestamp::parse(date.as_bytes()).ok().map(|then| then.0.div_euclid(1_000_000))
}

/// An age in whole units of the largest kind, with the unit's word; `None` below a minute.
#[must_use]
pub fn rounded_age(seconds: i64) -> Option<(i64, &'static str)> {
    let (count, unit) = match seconds {
        ..MINUTE => return None,
        MINUTE..HOUR => (seconds / MINUTE, words::MINUTES),
        HOUR..DAY => (seconds / HOUR, words::HOURS),
        DAY..5_184_000 => (seconds / DAY, words::DAYS),
        5_184_000..63_072_000 => (seconds / (30 * DAY), words::MONTHS),
        _ => (seconds / (365 * DAY), words::YEARS),
    };
    Some((count, if count == 1 { unit.0 } else { unit.1 }))
}

/// An age in words.
fn age(seconds: i64) -> String {
    rounded_age(seconds).map_or(words::NOW.to_owned(), |(count, unit)| words::ago(count, unit))
}

/// A stored date: its age, with the date itself as its title.
pub(crate) fn ago(date: Option<&str>, now: i64) -> Markup {
    let Some((date, then)) = date.and_then(|date| Some((date, seconds(date)?))) else {
        return html! { span.dim { (words::NO_DATE) } };
    };
    html! { time datetime=(date) title=(full(date)) { (age(now.saturating_sub(then))) } }
}

/// A stored date itself; nothing for what is no date.
pub(crate) fn at(date: &str) -> Markup {
    match full(date) {
        text if text.is_empty() => html! {},
        text => html! { time.full datetime=(date) { (text) } },
    }
}

/// A stored date in readable form; empty for what is no date.
#[must_use]
pub fn full(date: &str) -> String {
    match (date.get(..10), date.get(11..16)) {
        (Some(day), Some(time)) => format!("{day} {time} UTC"),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages() {
        assert_eq!(age(59), "just now");
        assert_eq!(age(60), "1 minute ago");
        assert_eq!(age(7_300), "2 hours ago");
        assert_eq!(age(100 * DAY), "3 months ago");
        assert_eq!(age(-5), "just now");
        assert_eq!(full("2026-11-21T20:26:00.000000Z"), "2026-11-21 20:26 UTC");
        assert_eq!(full("<script>"), "");
    }
}
