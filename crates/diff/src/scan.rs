//! Setting aside what two texts have in common at both ends, before lines are compared at all.
//!
//! The ends are compared byte by byte and then cut back to whole lines, whatever the options
//! ignore. Of the common end, the first [`KEPT_LINES`] lines stay with the middle: among equally
//! short alignments the reference prefers those that match early, and this leaves it the room to.

use sapwood_core::common::common_prefix;

/// How many lines of the common end are compared all the same.
const KEPT_LINES: u32 = 50;

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

/// Finds the common ends.
pub(crate) fn scan(old: &[u8], new: &[u8]) -> Ends {
    let none = Ends { suffix: (old.len(), new.len()), ..Ends::default() };
    if old.is_empty() || new.is_empty() {
        return none;
    }
    let (prefix, prefix_lines, reached_end) = prefix(old, new);
    if reached_end {
        return Ends { prefix, prefix_lines, ..none };
    }
    let (suffix, suffix_lines) = suffix(old, new, prefix);
    Ends { prefix, prefix_lines, suffix, suffix_lines }
}

/// Length and lines of the common start, and whether one text has nothing else.
fn prefix(old: &[u8], new: &[u8]) -> (usize, usize, bool) {
    let common = common_prefix(old, new);
    let text = old.get(..common).unwrap_or_default();
    let reached_end = common == old.len().min(new.len());
    let mut lines = crate::lines::lines(text).filter(|l| crate::lines::has_ending(l)).count();
    let mut end = common;
    // A carriage return of which only one text goes on with a newline does not end a line yet.
    if text.last() == Some(&b'\r')
        && (old.get(common) == Some(&b'\n') || new.get(common) == Some(&b'\n'))
    {
        lines = lines.saturating_sub(1);
        end = end.saturating_sub(1);
    }
    let end = text
        .get(..end)
        .and_then(|t| memchr::memrchr2(b'\n', b'\r', t))
        .map_or(0, |at| at.saturating_add(1));
    (end, lines, reached_end)
}

/// Where the common end starts in both texts, and its lines.
fn suffix(old: &[u8], new: &[u8], prefix: usize) -> ((usize, usize), usize) {
    // The byte after the common start is never part of the common end, even if it could be. (When
    // there is nothing but that byte the reference looks at it all the same, goes on into the
    // common start, and may lose lines of the longer text. We do not.)
    let shorter = old.len().min(new.len());
    let room = shorter.saturating_sub(prefix).saturating_sub(1);
    let tail = |text: &[u8], len: usize| text.len().saturating_sub(len);
    let old_room = old.get(tail(old, room)..).unwrap_or_default();
    let new_room = new.get(tail(new, room)..).unwrap_or_default();
    let common =
        old_room.iter().rev().zip(new_room.iter().rev()).take_while(|(x, y)| x == y).count();
    if common == 0 {
        return ((old.len(), new.len()), 0);
    }
    let mut lines = end_lines(old.get(tail(old, common)..).unwrap_or_default());
    let (mut old_at, mut new_at) = (tail(old, common), tail(new, common));
    let at_end = |a: usize, b: usize| a >= old.len() || b >= new.len();
    let mut keep = KEPT_LINES;
    loop {
        let step = |a: &mut usize, b: &mut usize| {
            *a = a.saturating_add(1);
            *b = b.saturating_add(1);
        };
        while !at_end(old_at, new_at) && !is_eol(old.get(old_at)) {
            step(&mut old_at, &mut new_at);
        }
        let mut had_cr = false;
        if !at_end(old_at, new_at) && old.get(old_at) == Some(&b'\r') {
            lines = lines.wrapping_sub(1);
            had_cr = true;
            step(&mut old_at, &mut new_at);
        }
        if !at_end(old_at, new_at) && old.get(old_at) == Some(&b'\n') {
            if !had_cr {
                lines = lines.wrapping_sub(1);
            }
            step(&mut old_at, &mut new_at);
        }
        if at_end(old_at, new_at) {
            return ((old.len(), new.len()), 0);
        }
        if keep == 0 {
            return ((old_at, new_at), lines);
        }
        keep = keep.saturating_sub(1);
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
                lines = lines.saturating_add(1);
                before_newline = true;
            }
            b'\r' if !before_newline => lines = lines.saturating_add(1),
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
            assert_eq!(prefix(old, new), want, "{old:?} {new:?}");
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
