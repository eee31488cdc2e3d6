//! Stored bytes as text for people.
//!
//! Invariant: what comes out holds no control character but tabs and line feeds, and nothing that turns the direction of
//! the text around it: a name or a line cannot pretend to be another.

use std::borrow::Cow;

use sapwood_core::exact::Exact as _;

use crate::budget;

/// Whether a character would hide itself or turn the text around it.
fn is_hidden(c: char) -> bool {
    (c.is_control() && !matches!(c, '\t' | '\n'))
        || matches!(c, '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// Text with its hidden characters spelt out.
pub(crate) fn shown(text: &str) -> Cow<'_, str> {
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match is_hidden(c) {
            true => out.push_str(&format!("\u{27e8}U+{:04X}\u{27e9}", u32::from(c))),
            false => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// The same of bytes: UTF-8, or else one character a byte.
pub(crate) fn of_bytes(bytes: &[u8]) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => shown(text).into_owned(),
        Err(_) => {
            shown(&bytes.iter().map(|byte| char::from(*byte)).collect::<String>()).into_owned()
        }
    }
}

/// At most so many characters of bytes, with a mark where that is not all.
pub(crate) fn part_of(bytes: &[u8], most: usize) -> String {
    // A character has four bytes at most; the last one of the piece may be cut.
    let piece = bytes.get(..most.times(4)).unwrap_or(bytes);
    let piece = match std::str::from_utf8(piece) {
        Err(error) if error.error_len().is_none() && piece.len() < bytes.len() => {
            piece.get(..error.valid_up_to()).unwrap_or(piece)
        }
        _ => piece,
    };
    let (text, is_cut) = cut(of_bytes(piece), most);
    if is_cut || piece.len() < bytes.len() { text + "\u{2026}" } else { text }
}

/// A line of a file, without its ending.
pub(crate) fn line(bytes: &[u8]) -> String {
    let bytes = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
    part_of(bytes, budget::LINE)
}

/// At most so many characters of a text, and whether that is not all.
pub(crate) fn cut(mut text: String, most: usize) -> (String, bool) {
    let end = text.char_indices().nth(most).map(|(at, _)| at);
    if let Some(end) = end {
        text.truncate(end);
    }
    (text, end.is_some())
}

/// The first line of a message that has anything on it.
pub(crate) fn first_line(message: &str) -> String {
    let line = message.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("");
    let (line, is_cut) = cut(shown(line).into_owned(), 120);
    if is_cut { line + "\u{2026}" } else { line }
}

/// Whether bytes are no text.
pub(crate) fn is_binary(bytes: &[u8]) -> bool {
    bytes.contains(&0)
}

/// The lines of a text, endings included: as Subversion counts them, `\n`, `\r\n` and `\r` end one.
pub(crate) fn lines(mut bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let end = match bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            Some(at) => {
                let after = at.plus(1);
                let is_pair = bytes.get(at) == Some(&b'\r') && bytes.get(after) == Some(&b'\n');
                if is_pair { after.plus(1) } else { after }
            }
            None => bytes.len(),
        };
        let (line, rest) = bytes.split_at_checked(end).filter(|(line, _)| !line.is_empty())?;
        bytes = rest;
        Some(line)
    })
}

/// Passes over lines of a text that comes in pieces.
#[derive(Debug)]
pub(crate) struct Skip {
    left: u64,
    /// Whether the last byte was a `\r`: a `\n` after it belongs to it.
    is_open: bool,
}

impl Skip {
    pub(crate) const fn new(lines: u64) -> Self {
        Self { left: lines, is_open: false }
    }

    /// What is left of the next piece.
    pub(crate) fn pass<'p>(&mut self, mut piece: &'p [u8]) -> &'p [u8] {
        loop {
            if std::mem::take(&mut self.is_open) {
                piece = piece.strip_prefix(b"\n").unwrap_or(piece);
            }
            if self.left == 0 {
                return piece;
            }
            let Some(at) = piece.iter().position(|byte| matches!(byte, b'\n' | b'\r')) else {
                return &[];
            };
            self.is_open = piece.get(at) == Some(&b'\r');
            self.left = self.left.minus(1);
            piece = piece.get(at.plus(1)..).unwrap_or(&[]);
            if piece.is_empty() {
                return &[];
            }
        }
    }
}

/// A length in readable form.
#[must_use]
pub fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let (mut tenths, mut at) = (u128::from(bytes).wrapping_mul(10) / 1024, 0usize);
    while tenths >= 10_240 && at < 3 {
        (tenths, at) = (tenths / 1024, at.plus(1));
    }
    format!("{}.{} {}", tenths / 10, tenths % 10, UNITS.get(at).copied().unwrap_or(""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_are_spelt_out() {
        assert_eq!(shown("a\u{202e}gpj.exe"), "a\u{27e8}U+202E\u{27e9}gpj.exe");
        assert_eq!(shown("\u{1b}[31m"), "\u{27e8}U+001B\u{27e9}[31m");
        assert_eq!(shown("plain\tte\u{301}xt ü"), "plain\tte\u{301}xt ü");
        assert_eq!(of_bytes(b"\xfcber"), "über");
    }

    #[test]
    fn lines_are_cut() {
        assert_eq!(line(b"abc\r\n"), "abc");
        let long = line(&vec![b'x'; 5_000]);
        assert_eq!(long.chars().count(), budget::LINE + 1);
        // A character that is cut is left out, and does not make another encoding of the rest.
        assert_eq!(part_of("a\u{1f332}\u{1f332}\u{1f332}".as_bytes(), 2), "a\u{1f332}\u{2026}");
        assert_eq!(part_of("aüü".as_bytes(), 1), "a\u{2026}");
        assert_eq!(first_line("\n\n  first  \nsecond"), "first");
        let cut: Vec<&[u8]> = lines(b"a\r\nb\rc\n\nd").collect();
        assert_eq!(cut, [&b"a\r\n"[..], b"b\r", b"c\n", b"\n", b"d"]);
        assert_eq!(lines(b"").count(), 0);
    }

    #[test]
    fn lines_are_passed_over_wherever_pieces_end() {
        let text = b"a\r\nb\rc\n\nd\re";
        for lines_passed in 0..8 {
            let rest: Vec<u8> = lines(text).skip(lines_passed).flatten().copied().collect();
            for cut in 0..=text.len() {
                let mut skip = Skip::new(lines_passed.try_into().unwrap());
                let (one, two) = text.split_at(cut);
                let got = [skip.pass(one), skip.pass(two)].concat();
                assert_eq!(got, rest, "{lines_passed} {cut}");
            }
        }
    }

    #[test]
    fn sizes() {
        assert_eq!(size(0), "0 B");
        assert_eq!(size(1536), "1.5 KiB");
        assert_eq!(size(5 << 30), "5.0 GiB");
        assert_eq!(size(u64::MAX), "16777215.9 TiB");
    }
}
