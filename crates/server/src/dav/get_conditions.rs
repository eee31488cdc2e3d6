//! The conditions of GET and HEAD: tags, and dates where there are no tags.
//!
//! Invariant: a date that is not understood is no condition.

use std::time::{SystemTime, UNIX_EPOCH};

use super::entity::{date_seconds, is_same, tags};
use super::exchange::Exchange;
use super::fail::{DavResult, Fail};
use super::head::Head;

/// Holds the conditions of a request against a text's tag and the date of its last change, if that was sent.
/// Whether the reply is complete: the client has that text.
///
/// # Errors
/// 412 when one does not hold.
pub(super) fn answers(
    head: &Head,
    exchange: &mut Exchange,
    tag: &str,
    modified: Option<&str>,
) -> DavResult<bool> {
    let holds = match head.header("if-match") {
        Some(list) => tags(list).any(|said| said == "*" || said == tag),
        None => !is_modified_since(head.header("if-unmodified-since"), modified).unwrap_or(false),
    };
    if !holds {
        return Err(Fail::status(412, "A condition of the request does not hold"));
    }
    let has_it = match head.header("if-none-match") {
        Some(list) => tags(list).any(|said| is_same(said, tag)),
        None => !is_modified_since(head.header("if-modified-since"), modified).unwrap_or(true),
    };
    if has_it {
        exchange.status(304);
    }
    Ok(has_it)
}

/// Whether the date of the last change is after the one that the client says; `None` where either is not known, or the
/// client's is in the future.
pub(super) fn is_modified_since(said: Option<&str>, modified: Option<&str>) -> Option<bool> {
    let (said, modified) = (date_seconds(said?)?, date_seconds(modified?)?);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
    (said <= now.as_secs()).then_some(modified > said)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates() {
        let after = |said| is_modified_since(Some(said), Some("Thu, 02 Jan 2020 00:00:00 GMT"));
        assert_eq!(after("Thu, 02 Jan 2020 00:00:00 GMT"), Some(false));
        assert_eq!(after("Wed, 01 Jan 2020 23:59:59 GMT"), Some(true));
        assert_eq!(after("Fri, 31 Jan 2020 00:00:01 GMT"), Some(false));
        for odd in
            ["", "yesterday", "Thu, 02 Jan 9020 00:00:00 GMT", "Thu, 02 Foo 2020 00:00:00 GMT"]
        {
            assert_eq!(after(odd), None, "{odd}");
        }
        assert_eq!(is_modified_since(None, Some("Thu, 02 Jan 2020 00:00:00 GMT")), None);
    }
}
