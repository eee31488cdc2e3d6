//! Variable-length numbers: seven bits a byte, most significant first, the high bit set on all
//! bytes but the last.

use sapwood_core::Exact;
use sapwood_core::len64;

/// The most bytes that a number takes.
pub const MAX_LEN: usize = 10;

/// What [`decode`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Varint<'a> {
    /// A number and the bytes after it.
    Number(u64, &'a [u8]),
    /// The input ends within the number.
    Incomplete,
    /// More than [`MAX_LEN`] bytes.
    TooLong,
}

/// Takes a number off the front of `bytes`. Bits beyond 64 are lost, as in the reference; users
/// check ranges.
#[must_use]
pub fn decode(bytes: &[u8]) -> Varint<'_> {
    let mut value = 0u64;
    let mut rest = bytes;
    for _ in 0..MAX_LEN {
        let Some((byte, after)) = rest.split_first() else { return Varint::Incomplete };
        rest = after;
        value = (value << 7) | u64::from(byte & 0x7f);
        if byte & 0x80 == 0 {
            return Varint::Number(value, rest);
        }
    }
    Varint::TooLong
}

/// As [`decode`], `None` unless there is a number that fits.
pub(crate) fn take(bytes: &[u8]) -> Option<(usize, &[u8])> {
    match decode(bytes) {
        Varint::Number(value, rest) => Some((usize::try_from(value).ok()?, rest)),
        Varint::Incomplete | Varint::TooLong => None,
    }
}

/// Appends a number.
pub fn encode(out: &mut Vec<u8>, value: u64) {
    let significant = 64u32.minus((value | 1).leading_zeros());
    let mut shift = significant.minus(1) / 7 * 7;
    loop {
        let bits = (value >> shift).to_le_bytes().first().copied().unwrap_or_default() & 0x7f;
        if shift == 0 {
            out.push(bits);
            return;
        }
        out.push(bits | 0x80);
        shift = shift.saturating_sub(7);
    }
}

/// Appends a length.
pub(crate) fn encode_len(out: &mut Vec<u8>, len: usize) {
    encode(out, len64(len));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_forms() {
        for (value, form) in [
            (0, &[0][..]),
            (127, &[0x7f]),
            (128, &[0x81, 0]),
            (130, &[0x81, 2]),
            (16_383, &[0xff, 0x7f]),
            (16_384, &[0x81, 0x80, 0]),
            (u64::MAX, &[0x81, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]),
        ] {
            let mut out = Vec::new();
            encode(&mut out, value);
            assert_eq!(out, form, "{value}");
            assert_eq!(decode(form), Varint::Number(value, &[]));
            assert_eq!(decode(&form[..form.len() - 1]), Varint::Incomplete);
        }
        assert_eq!(decode(&[0x80; 10]), Varint::TooLong);
        assert_eq!(decode(&[0x80, 0x81, 0, 9]), Varint::Number(128, &[9]));
    }
}
