//! `/.well-known/security.txt` (RFC 9116): whom to write to about a fault of security, where the configuration says so.
//!
//! Invariant: it has what the administrator has written, and nothing of what is served.

use sapwood_core::date::{MICROS_PER_SEC, Timestamp};

use super::exchange::Exchange;
use super::head::Head;
use super::state::HttpState;

const PATH: &str = "/.well-known/security.txt";
/// Microseconds of a day.
const DAY: i64 = 86_400 * MICROS_PER_SEC;
/// Days that an answer counts: those who keep it ask again after that.
const DAYS: i64 = 90;

/// Writes it, if the request is for it, and there is one.
pub(super) fn write(shared: &HttpState, head: &Head, exchange: &mut Exchange) -> bool {
    let contacts = &shared.settings.security_contacts;
    if contacts.is_empty() || head.path != PATH || !head.looks() {
        return false;
    }
    exchange.header("content-type", "text/plain; charset=utf-8");
    exchange.header("cache-control", "max-age=86400");
    exchange.out().extend_from_slice(text(contacts, Timestamp::now()).as_bytes());
    true
}

/// The text, which counts from now on until the end of a day.
fn text(contacts: &[String], now: Timestamp) -> String {
    let end = (now.0.div_euclid(DAY) + DAYS) * DAY;
    let contacts: String = contacts.iter().map(|to| format!("Contact: {to}\n")).collect();
    format!("{contacts}Expires: {}\n", Timestamp(end))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_contact_has_a_line_and_the_end_is_a_day() {
        let contacts = ["mailto:a@example.com", "https://example.com/s"].map(str::to_owned);
        let now = Timestamp::parse(b"2026-11-27T23:05:00.000001Z").unwrap();
        assert_eq!(
            text(&contacts, now),
            "Contact: mailto:a@example.com\nContact: https://example.com/s\n\
             Expires: 2027-02-25T00:00:00.000000Z\n"
        );
    }
}
