//! Cutting lines and words out of bytes.

use sapwood_core::FsPath;
use sapwood_core::revnum::parse_u64;
use sapwood_core::{Cut, Exact};

/// The line that `bytes` begin with, without its newline, and what follows it. `None` when there
/// is no newline.
pub(crate) fn line(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = memchr::memchr(b'\n', bytes)?;
    let (line, rest) = bytes.split_at_checked(at)?;
    Some((line, rest.get(1..)?))
}

/// Takes the next word off the front of `rest`, and the one space that ends it. `None` when
/// nothing is left.
pub(crate) fn word<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    if rest.is_empty() {
        return None;
    }
    let (word, after) = match memchr::memchr(b' ', rest) {
        Some(at) => (rest.get(..at)?, rest.get(at.plus(1)..)?),
        None => (*rest, <&[u8]>::default()),
    };
    *rest = after;
    Some(word)
}

/// The bytes as a canonical fspath in UTF-8.
pub(crate) fn fspath(bytes: &[u8]) -> Option<&FsPath> {
    FsPath::new(std::str::from_utf8(bytes).ok()?).ok()
}

/// A non-negative number that fits the reference's signed 64-bit integers.
pub(crate) fn number(bytes: &[u8]) -> Option<u64> {
    // 18 digits cannot overflow: the usual case without checks.
    if bytes.is_empty() || bytes.len() > 18 {
        return parse_u64(bytes).filter(|n| i64::try_from(*n).is_ok());
    }
    let mut value = 0u64;
    for byte in bytes {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value.wrapping_mul(10).wrapping_add(u64::from(digit));
    }
    Some(value)
}

/// Appends a decimal number.
pub(crate) fn push_number(value: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(itoa::Buffer::new().format(value).as_bytes());
}

/// Bytes that are made digits of at once: a SHA-1.
const HEX_AT_ONCE: usize = 20;

/// Appends bytes as hexadecimal digits.
pub(crate) fn push_hex(bytes: &[u8], out: &mut Vec<u8>) {
    let digit = |n: u8| if n < 10 { b'0'.wrapping_add(n) } else { b'a'.wrapping_add(n - 10) };
    for some in bytes.chunks(HEX_AT_ONCE) {
        let mut text = [0; HEX_AT_ONCE * 2];
        for (pair, byte) in text.as_chunks_mut().0.iter_mut().zip(some) {
            *pair = [digit(byte >> 4), digit(byte & 15)];
        }
        let len = some.len().times(2);
        out.extend_from_slice(text.head(len));
    }
}

/// Appends anything that can be displayed.
pub(crate) fn push_display(value: impl std::fmt::Display, out: &mut Vec<u8>) {
    use std::io::Write as _;
    // Writing to a vector cannot fail.
    let _ = write!(out, "{value}");
}

/// Bytes for an error sentence: what is not UTF-8 is replaced, and little is shown.
pub(crate) fn printable(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes.get(..200).unwrap_or(bytes)).into_owned()
}
