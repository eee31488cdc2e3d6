//! What a reply says of a node beside its contents: its tag, dates, media type and revision.

use sapwood_core::date::Timestamp;
use sapwood_core::exact::Cut as _;
use sapwood_core::props::names as prop_names;
use sapwood_core::{NodeKind, Revnum, SvnError, SvnResult, uri};
use sapwood_fs::{Node, Root};

use super::fail::DavResult;

/// The tag of a node: the revision of its last change and its path.
///
/// # Errors
/// The node is in a transaction: the same tag would be used for different texts.
pub(super) fn etag(node: &Node) -> SvnResult<String> {
    let Some(created) = node.created_rev() else {
        return Err(SvnError::internal("a tag for a node of a transaction"));
    };
    let weak = if node.kind() == NodeKind::Dir { "W/" } else { "" };
    // Headers are ASCII: the path is written with escapes.
    Ok(format!("{weak}\"{created}/{}\"", uri::encode(node.path())))
}

/// The tags of a list. A path may have a comma, and so may a tag, between its quotation marks.
pub(super) fn tags(list: &str) -> impl Iterator<Item = &str> {
    let mut is_within = false;
    let between = list.split(move |letter| {
        is_within ^= letter == '"';
        letter == ',' && !is_within
    });
    between.map(str::trim)
}

/// Whether a tag from a client is `tag`, which is weak in a compressed reply.
pub(super) fn is_same(said: &str, tag: &str) -> bool {
    let plain = |tag: &str| tag.strip_prefix("W/").unwrap_or(tag).to_owned();
    said == "*" || plain(said) == plain(tag)
}

/// A date in the format of http headers.
pub(super) fn http_date(stored: &str) -> Option<String> {
    let time = Timestamp::parse(stored.as_bytes()).ok()?;
    let seconds = u64::try_from(time.0.checked_div(1_000_000)?).ok()?;
    Some(rfc1123(seconds))
}

/// The seconds since 1970 of a date in that format.
pub(super) fn date_seconds(text: &str) -> Option<u64> {
    let (_, date) = text.trim().strip_suffix(" GMT")?.split_once(", ")?;
    let [day, month, year, time]: [&str; 4] =
        date.split(' ').collect::<Vec<_>>().try_into().ok()?;
    let month = MONTHS.iter().position(|name| *name == month)?.checked_add(1)?;
    let stored = format!("{year}-{month:02}-{day}T{time}.000000Z");
    let micros = Timestamp::parse(stored.as_bytes()).ok()?.0;
    u64::try_from(micros.checked_div(1_000_000)?).ok()
}

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// The name of a month, whose number is given in two digits.
pub(super) fn month_name(digits: &str) -> &'static str {
    let name = digits.parse::<usize>().ok().and_then(|n| MONTHS.get(n.wrapping_sub(1)));
    name.copied().unwrap_or("Jan")
}

/// Seconds since 1970 in the format of http headers.
fn rfc1123(seconds: u64) -> String {
    let days = seconds / 86_400;
    let text = Timestamp(i64::try_from(seconds).unwrap_or(0).saturating_mul(1_000_000)).to_string();
    // 2026-11-21T20:26:00.000000Z
    let part = |from: usize, to: usize| text.piece(from..to);
    const DAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
    let day = usize::try_from(days % 7).ok().and_then(|n| DAYS.get(n)).unwrap_or(&"Thu");
    let month = month_name(part(5, 7));
    [day, ", ", part(8, 10), " ", month, " ", part(0, 4), " ", part(11, 19), " GMT"].concat()
}

/// The media type of a file: that of its property, if that is valid in a header.
pub(super) fn media_type(node: &Node) -> DavResult<String> {
    let props = node.props()?;
    let given = props.get_str(prop_names::MIME_TYPE).map(|t| t.trim().to_owned());
    let is_sound = |text: &String| {
        text.contains('/') && text.bytes().all(|b| matches!(b, b' '..=b'~')) && text.len() < 200
    };
    Ok(given.filter(is_sound).unwrap_or_else(|| "text/plain".to_owned()))
}

/// The revision of a tree that no transaction makes.
///
/// # Errors
/// The caller has the tree of a transaction in hand.
pub(super) fn revision_of(root: &Root) -> SvnResult<Revnum> {
    root.revision().ok_or_else(|| SvnError::internal("the tree of a transaction has no revision"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_in_tags() {
        let list = "\"1/a,b\" , W/\"2/c\",*,\"3/d\"";
        let all: Vec<_> = tags(list).collect();
        assert_eq!(all, ["\"1/a,b\"", "W/\"2/c\"", "*", "\"3/d\""]);
        assert_eq!(tags("\"4/no end,x").count(), 1);
    }

    #[test]
    fn dates() {
        assert_eq!(rfc1123(0), "Thu, 01 Jan 1970 00:00:00 GMT");
        assert_eq!(rfc1123(784_111_777), "Sun, 06 Nov 1994 08:49:37 GMT");
    }
}
