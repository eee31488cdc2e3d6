//! Small text forms: dates, URLs, mergeinfo.

use sapwood_core::date::{Timestamp, parse_user};
use sapwood_core::mergeinfo::Mergeinfo;
use sapwood_core::uri;

/// Runs one input.
pub fn run(data: &[u8]) {
    if let Ok(at) = Timestamp::parse(data) {
        let text = at.to_string();
        // Years beyond 9999 take more digits; the form is the same.
        assert_eq!(Timestamp::parse(text.as_bytes()), Ok(at), "{text}");
    }
    if let Ok(mergeinfo) = Mergeinfo::parse(data) {
        let value = mergeinfo.to_value();
        assert_eq!(Mergeinfo::parse(value.as_bytes()).expect("own form").to_value(), value);
    }
    let Ok(text) = std::str::from_utf8(data) else { return };
    let now = Timestamp(1_795_000_000_000_000);
    let _ = parse_user(text, now, &jiff::tz::TimeZone::UTC);
    if let Ok(url) = uri::canonicalize(text) {
        assert_eq!(uri::canonicalize(&url).as_deref(), Ok(url.as_str()));
        let _ = uri::Parts::of(&url);
    }
    assert_eq!(uri::decode(&uri::encode(text).replace('+', "%2B")), data);
}
