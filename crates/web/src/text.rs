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

/// The lines of a text, endings included. `\n` alone ends a line, as browsers show it.
pub(crate) fn lines(bytes: &[u8]) -> impl Iterator<Item = &[u8]> {
    bytes.split_inclusive(|byte| *byte == b'\n')
}

/// A length in readable form.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if bytes < 1024 {
        return format!("{bytes} B");
    }
    let (mut whole, mut tenths, mut at) = (bytes / 1024, (bytes % 1024).times(10) / 1024, 0usize);
    while whole >= 1024 && at < 3 {
        (whole, tenths) = (whole / 1024, (whole % 1024).times(10) / 1024);
        at = at.plus(1);
    }
    format!("{whole}.{tenths} {}", UNITS.get(at).copied().unwrap_or(""))
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
        assert_eq!(lines(b"a\nb").count(), 2);
    }

    #[test]
    fn sizes() {
        assert_eq!(size(0), "0 B");
        assert_eq!(size(1536), "1.5 KiB");
        assert_eq!(size(5 << 30), "5.0 GiB");
        assert_eq!(size(u64::MAX), "16777215.9 TiB");
    }
}
