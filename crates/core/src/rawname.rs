//! Names that are not UTF-8. Programs before 1.6 let them into repositories, and a user that has such a
//! repository must be able to dump it.
//!
//! Everywhere inside, paths are text. A name from disk that is not UTF-8 becomes text by putting a
//! NUL and two hexadecimal digits in the place of each byte that does not fit; no other path holds
//! a NUL, so [`to_bytes`] can give back exactly the bytes that were there. Whatever writes paths
//! for others to read (to disk, into dumps, to the wire) goes through it.

use crate::Exact;
use std::borrow::Cow;

/// Bytes from disk as text; `None` when they hold a NUL, which no name does.
#[must_use]
pub fn from_bytes(bytes: &[u8]) -> Option<Cow<'_, str>> {
    if memchr::memchr(0, bytes).is_some() {
        return None;
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        return Some(Cow::Borrowed(text));
    }
    let mut text = String::with_capacity(bytes.len().plus(16));
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            text.push_str(&format!("\0{byte:02X}"));
        }
    }
    Some(Cow::Owned(text))
}

/// Whether the text stands for bytes that are not UTF-8.
#[must_use]
pub fn is_raw(text: &str) -> bool {
    memchr::memchr(0, text.as_bytes()).is_some()
}

/// The bytes that [`from_bytes`] made the text from.
#[must_use]
pub fn to_bytes(text: &str) -> Cow<'_, [u8]> {
    if !is_raw(text) {
        return Cow::Borrowed(text.as_bytes());
    }
    let mut bytes = Vec::with_capacity(text.len());
    let mut parts = text.split('\0');
    bytes.extend_from_slice(parts.next().unwrap_or("").as_bytes());
    for part in parts {
        let byte = part.get(..2).and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.extend(byte);
        bytes.extend_from_slice(part.get(2..).unwrap_or("").as_bytes());
    }
    Cow::Owned(bytes)
}

/// The text for people: `?\E6` for a byte that is not UTF-8.
#[must_use]
pub fn printable(text: &str) -> Cow<'_, str> {
    if is_raw(text) { Cow::Owned(text.replace('\0', "?\\")) } else { Cow::Borrowed(text) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn latin_1() {
        let text = from_bytes(b"/caf\xE9/\xC3\xA9").unwrap();
        assert_eq!(text, "/caf\0E9/é");
        assert_eq!(printable(&text), "/caf?\\E9/é");
        assert_eq!(*to_bytes(&text), *b"/caf\xE9/\xC3\xA9");
        assert!(from_bytes(b"a\0b").is_none());
        assert!(matches!(to_bytes("é"), Cow::Borrowed(_)));
    }

    proptest! {
        #[test]
        fn there_and_back(bytes in prop::collection::vec(1u8.., 0..30)) {
            let text = from_bytes(&bytes).unwrap();
            prop_assert_eq!(to_bytes(&text), &*bytes);
        }
        #[test]
        fn any_text_is_harmless(text in "[\0a-zA-Z0-9é]{0,12}") {
            let _ = to_bytes(&text);
        }
    }
}
