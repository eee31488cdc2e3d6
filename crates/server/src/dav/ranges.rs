//! The text of a file, or the range of it that a client asks for, sent piece by piece.
//!
//! Invariant: a whole text is read to its end, where its checksum is compared.

use sapwood_core::exact::Exact as _;
use sapwood_fs::Node;

use super::exchange::{CHUNK, Exchange};
use super::fail::{DavResult, Fail};
use super::session::Session;

/// The first and the last byte of a range that http calls satisfiable; the outer `None` for no
/// range, or one that may be passed over.
fn range(header: Option<&str>, length: u64) -> Option<Result<(u64, u64), ()>> {
    let spec = header?.strip_prefix("bytes=")?;
    if spec.contains(',') {
        return None;
    }
    let (first, last) = spec.trim().split_once('-')?;
    let end = length.checked_sub(1);
    let (first, last) = if first.is_empty() {
        let count: u64 = last.parse().ok()?;
        if count == 0 {
            return Some(Err(()));
        }
        (length.saturating_sub(count), end?)
    } else {
        let first: u64 = first.parse().ok()?;
        let last = if last.is_empty() { u64::MAX } else { last.parse().ok()? };
        if last < first {
            return None;
        }
        (first, last.min(end.unwrap_or(0)))
    };
    Some(if first < length { Ok((first, last)) } else { Err(()) })
}

/// Sends a file's text, or a part of it.
pub(super) fn send(
    session: &Session<'_>,
    exchange: &mut Exchange,
    node: &Node,
    tag: &str,
) -> DavResult {
    let length = node.length()?;
    let head = session.head;
    let same = head.header("if-range").is_none_or(|t| t.trim() == tag);
    let range = range(head.header("range").filter(|_| same), length);
    let (first, last) = match range {
        None => (0, length.saturating_sub(1)),
        Some(Ok(range)) => {
            exchange.status(206);
            exchange.header("content-range", &format!("bytes {}-{}/{length}", range.0, range.1));
            range
        }
        Some(Err(())) => {
            exchange.header("content-range", &format!("bytes */{length}"));
            exchange.status(416);
            return Ok(());
        }
    };
    let mut left = if length == 0 { 0 } else { last.minus(first).plus(1) };
    exchange.length(left);
    if head.method == "HEAD" {
        return exchange.flush().map_err(Fail::from);
    }
    let mut contents = node.contents()?;
    let (mut skip, is_whole) = (first, range.is_none());
    exchange.produce(Box::new(move |out| {
        // A whole text is read to its end: the checksum is compared there.
        if left == 0 && !is_whole {
            return Ok(false);
        }
        let begun = out.len();
        // Only one piece: data that waits for a client that does not read must be small.
        let wanted = sapwood_core::exact::clamped(left.plus(skip));
        let room = wanted.clamp(1, CHUNK.minus(begun.min(CHUNK)).max(1));
        out.resize(begun.plus(room), 0);
        let count = match out.get_mut(begun..) {
            Some(room) => contents.read_some(room)?,
            None => 0,
        };
        let skipped = sapwood_core::exact::clamped(skip).min(count);
        skip = skip.minus(sapwood_core::exact::len64(skipped));
        let taken = sapwood_core::exact::clamped(left).min(count.minus(skipped));
        left = left.minus(sapwood_core::exact::len64(taken));
        out.truncate(begun.plus(count));
        if skipped > 0 {
            drop(out.drain(begun..begun.plus(skipped)));
        }
        out.truncate(begun.plus(taken));
        Ok(count > 0)
    }))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges() {
        assert_eq!(range(None, 10), None);
        assert_eq!(range(Some("bytes=0-3"), 10), Some(Ok((0, 3))));
        assert_eq!(range(Some("bytes=5-"), 10), Some(Ok((5, 9))));
        assert_eq!(range(Some("bytes=-3"), 10), Some(Ok((7, 9))));
        assert_eq!(range(Some("bytes=-30"), 10), Some(Ok((0, 9))));
        assert_eq!(range(Some("bytes=0-99"), 10), Some(Ok((0, 9))));
        assert_eq!(range(Some("bytes=10-"), 10), Some(Err(())));
        assert_eq!(range(Some("bytes=0-"), 0), Some(Err(())));
        assert_eq!(range(Some("bytes=3-1"), 10), None);
        assert_eq!(range(Some("bytes=0-1,3-4"), 10), None);
        assert_eq!(range(Some("lines=0-1"), 10), None);
    }
}
