//! Cutting texts into lines.

use sapwood_core::Exact;

/// Takes the first line, its ending included (`\n`, `\r\n` or `\r`; the last line may have none).
/// `None` when nothing is left.
pub(crate) fn take_line<'a>(text: &mut &'a [u8]) -> Option<&'a [u8]> {
    if text.is_empty() {
        return None;
    }
    let end = match memchr::memchr2(b'\n', b'\r', text) {
        None => text.len(),
        Some(at) => {
            let after = at.plus(1);
            let crlf = text.get(at) == Some(&b'\r') && text.get(after) == Some(&b'\n');
            if crlf { after.plus(1) } else { after }
        }
    };
    let (line, rest) = text.split_at_checked(end)?;
    *text = rest;
    Some(line)
}

/// The lines of a text.
pub(crate) fn lines(mut text: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || take_line(&mut text))
}

/// Whether a line has an ending.
pub(crate) fn has_ending(line: &[u8]) -> bool {
    matches!(line.last(), Some(b'\n' | b'\r'))
}

/// How many lines whole lines are.
pub(crate) fn count_lines(bytes: &[u8]) -> usize {
    if memchr::memchr(b'\r', bytes).is_some() {
        return lines(bytes).count();
    }
    let open = bytes.last().is_some_and(|last| *last != b'\n');
    memchr::memchr_iter(b'\n', bytes).count().plus(usize::from(open))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn endings() {
        let cut = |text: &'static [u8]| lines(text).collect::<Vec<_>>();
        assert_eq!(cut(b"a\nb\r\nc\rd"), [&b"a\n"[..], b"b\r\n", b"c\r", b"d"]);
        assert_eq!(cut(b"\r\r\n\n"), [&b"\r"[..], b"\r\n", b"\n"]);
        assert_eq!(cut(b""), [b""; 0]);
    }
}
