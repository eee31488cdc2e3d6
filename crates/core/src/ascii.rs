//! Text for those who know only ASCII: what it can express, and `{U+00E9}` or `?\E9` for the rest.

use std::borrow::Cow;

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

/// What ASCII can express of bytes that should be UTF-8.
#[must_use]
pub fn of_bytes(bytes: &[u8]) -> String {
    let mut out = String::new();
    for chunk in bytes.utf8_chunks() {
        out.push_str(&of_text(chunk.valid()));
        for byte in chunk.invalid() {
            out.push_str(&format!("?\\{byte:02X}"));
        }
    }
    out
}

/// Text from somewhere else, which should be UTF-8, for a person: as it is, or, where it is not UTF-8,
/// what ASCII can express of it, with the codes of the bytes that are wrong. Nothing gets lost silently.
#[must_use]
pub fn readable(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => Cow::Owned(of_bytes(bytes)),
    }
}

/// What ASCII can express of `text`.
#[must_use]
pub fn of_text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.nfkd().filter(|c| !is_combining_mark(*c)) {
        match lumped(c) {
            Some(ascii) => out.push(ascii),
            None => out.push_str(&format!("{{U+{:04X}}}", u32::from(c))),
        }
    }
    out
}

/// The ASCII character that stands for `c` and its like.
fn lumped(c: char) -> Option<char> {
    Some(match c {
        c if c.is_ascii() => c,
        '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => ' ',
        '\u{2018}' | '\u{2019}' | '\u{2bc}' | '\u{2c8}' => '\'',
        '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{58a}' | '\u{5be}' | '\u{301c}' => '-',
        '\u{2044}' | '\u{2215}' => '/',
        '\u{2236}' => ':',
        '\u{2039}' | '\u{2329}' | '\u{3008}' => '<',
        '\u{203a}' | '\u{232a}' | '\u{3009}' => '>',
        '\u{2216}' => '\\',
        '\u{2c4}' | '\u{2c6}' | '\u{2038}' | '\u{2303}' => '^',
        '\u{203f}' | '\u{2040}' | '\u{2054}' | '\u{2cd}' => '_',
        '\u{2cb}' => '`',
        '\u{2223}' => '|',
        '\u{223c}' => '~',
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ascii_can_say() {
        assert_eq!(of_text("\u{e9} \u{2014} \u{263a}"), "e - {U+263A}");
        assert_eq!(of_bytes(b"a\xe9b"), "a?\\E9b");
        assert_eq!(readable("b\u{e9}".as_bytes()), "b\u{e9}");
        assert_eq!(readable(b"bl\xe5\xc3\xa9"), "bl?\\E5e");
    }
}
