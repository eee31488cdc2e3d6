//! Setting aside what two texts have in common at both ends, before lines are compared at all.
//!
//! The ends are compared byte by byte and then cut back to whole lines, whatever the options
//! ignore. Of the common end, the first [`KEPT_LINES`] lines stay with the middle: among equally
//! short alignments the reference prefers those that match early, and this leaves it the room to.

use sapwood_core::common::common_prefix;
use sapwood_core::{Cut, Exact};

/// How many lines of the common end are compared all the same.
pub(crate) const KEPT_LINES: u32 = 50;

/// What two texts have in common at both ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ends {
    /// Length of the common start in bytes.
    pub(crate) prefix: usize,
    /// Lines of the common start.
    pub(crate) prefix_lines: usize,
    /// Where the common end starts in the old and the new text; their lengths if there is none.
    pub(crate) suffix: (usize, usize),
    /// Lines of the common end.
    pub(crate) suffix_lines: usize,
}

const fn is_eol(byte: Option<&u8>) -> bool {
    matches!(byte, Some(b'\n' | b'\r'))
}

/// Finds the common ends of two texts.
pub(crate) fn scan(old: &[u8], new: &[u8]) -> Ends {
    let ends = scan_all(&[old, new]);
    let suffix = (start(&ends, 0, old), start(&ends, 1, new));
    Ends {
        prefix: ends.prefix,
        prefix_lines: ends.prefix_lines,
        suffix,
        suffix_lines: ends.suffix_lines,
    }
}

/// Where the common end begins in the text of number `at`.
pub(crate) fn start(ends: &EndsOfAll, at: usize, text: &[u8]) -> usize {
    ends.suffix.get(at).copied().unwrap_or(text.len())
}

/// What several texts have in common at both ends.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct EndsOfAll {
    /// Length of the common start in bytes.
    pub(crate) prefix: usize,
    /// Lines of the common start.
    pub(crate) prefix_lines: usize,
    /// Where the common end starts in each text; their lengths if there is none.
    pub(crate) suffix: Vec<usize>,
    /// Lines of the common end.
    pub(crate) suffix_lines: usize,
}

/// Finds the common ends of two or more texts.
pub(crate) fn scan_all(texts: &[&[u8]]) -> EndsOfAll {
    let lengths = || texts.iter().map(|t| t.len()).collect();
    if texts.iter().any(|t| t.is_empty()) {
        return EndsOfAll { suffix: lengths(), ..EndsOfAll::default() };
    }
    let (prefix, prefix_lines, reached_end) = prefix(texts);
    if reached_end {
        return EndsOfAll { prefix, prefix_lines, suffix: lengths(), suffix_lines: 0 };
    }
    let (suffix, suffix_lines) = suffix(texts, prefix);
    EndsOfAll { prefix, prefix_lines, suffix, suffix_lines }
}

/// Length and lines of the common start, and whether one text has nothing else.
fn prefix(texts: &[&[u8]]) -> (usize, usize, bool) {
    let Some((first, others)) = texts.split_first() else { return (0, 0, true) };
    let text = others.iter().fold(*first, |text, other| text.head(common_prefix(text, other)));
    let common = text.len();
    let reached_end = texts.iter().any(|t| t.len() == common);
    let mut lines = crate::lines::lines(text).filter(|l| crate::lines::has_ending(l)).count();
    let mut end = common;
    // A carriage return of which only one text goes on with a newline does not end a line yet.
    if text.last() == Some(&b'\r') && texts.iter().any(|t| t.get(common) == Some(&b'\n')) {
        lines = lines.minus(1);
        end = end.minus(1);
    }
    let end =
        text.get(..end).and_then(|t| memchr::memrchr2(b'\n', b'\r', t)).map_or(0, |at| at.plus(1));
    (end, lines, reached_end)
}

/// Where the common end starts in each text, and its lines.
fn suffix(texts: &[&[u8]], prefix: usize) -> (Vec<usize>, usize) {
    let none = || texts.iter().map(|t| t.len()).collect();
    let Some((first, others)) = texts.split_first() else { return (Vec::new(), 0) };
    // The byte after the common start is never part of the common end, even if it could be. (When
    // there is nothing but that byte the reference looks at it all the same, goes on into the
    // common start, and may lose lines of the longer text. We do not.)
    let shortest = texts.iter().map(|t| t.len()).min().unwrap_or(0);
    let room = shortest.saturating_sub(prefix).saturating_sub(1);
    let tail = |text: &[u8], len: usize| text.len().minus(len);
    let first_end = first.tail(tail(first, room));
    let common = others.iter().fold(room, |common, other| {
        let other_end = other.tail(tail(other, common));
        let pairs = first_end.iter().rev().zip(other_end.iter().rev());
        pairs.take_while(|(x, y)| x == y).count().min(common)
    });
    if common == 0 {
        return (none(), 0);
    }
    // All texts are the same from here on, so the first one speaks for all.
    let text = first.tail(tail(first, common));
    let mut lines = end_lines(text);
    let mut at = 0usize;
    let mut keep = KEPT_LINES;
    loop {
        let rest = text.tail(at);
        at = at.plus(rest.iter().take_while(|b| !is_eol(Some(b))).count());
        let mut had_cr = false;
        if text.get(at) == Some(&b'\r') {
            lines = lines.wrapping_sub(1);
            had_cr = true;
            at += 1;
        }
        if text.get(at) == Some(&b'\n') {
            if !had_cr {
                lines = lines.wrapping_sub(1);
            }
            at += 1;
        }
        if at >= text.len() {
            return (none(), 0);
        }
        if keep == 0 {
            let left = common.minus(at);
            return (texts.iter().map(|t| tail(t, left)).collect(), lines);
        }
        keep = keep.minus(1);
    }
}

/// Line endings in a common end, and one more if its last line has none.
fn end_lines(text: &[u8]) -> usize {
    let mut lines = 0usize;
    let mut before_newline = false;
    if text.last().is_some_and(|b| !is_eol(Some(b))) {
        lines = 1;
    }
    for byte in text.iter().rev() {
        match byte {
            b'\n' => {
                lines += 1;
                before_newline = true;
            }
            b'\r' if !before_newline => lines = lines.plus(1),
            _ => before_newline = false,
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbered(range: std::ops::Range<u32>) -> Vec<u8> {
        range.flat_map(|n| format!("line {n}\n").into_bytes()).collect()
    }

    #[test]
    fn starts() {
        for (old, new, want) in [
            (&b"a\nb\n"[..], &b"a\nc\n"[..], (2, 1, false)),
            (b"a\nb", b"a\nbc", (2, 1, true)),
            (b"x\r", b"x\r\n", (0, 0, true)),
            (b"a\r\nb", b"a\r\nc", (3, 1, false)),
            (b"a\rb", b"a\rc", (2, 1, false)),
            (b"a", b"b", (0, 0, false)),
        ] {
            assert_eq!(prefix(&[old, new]), want, "{old:?} {new:?}");
        }
    }

    #[test]
    fn ends_keep_fifty_lines() {
        let old = [&b"x\n"[..], &numbered(0..100)].concat();
        let new = [&b"y\n"[..], &numbered(0..100)].concat();
        let ends = scan(&old, &new);
        // The end of the first line is common too; that line and fifty more stay.
        assert_eq!(ends.suffix_lines, 50);
        assert_eq!(&old[ends.suffix.0..], numbered(50..100));
        assert_eq!(&new[ends.suffix.1..], numbered(50..100));
        let ends = scan(&numbered(0..60), &numbered(10..60));
        assert_eq!((ends.prefix, ends.suffix_lines), (0, 0));
        assert_eq!(scan(b"", b"x"), Ends { suffix: (0, 1), ..Ends::default() });
    }
}
