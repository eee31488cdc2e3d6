//! Base64, as XML output and WebDAV bodies carry what is no text: of a value at once, and of a stream in pieces.
//!
//! `base64-simd` encodes and decodes; what is added is lines, white space between digits, and pieces that end inside of a
//! group. Bits after the last whole byte do not count, as for Subversion.

use crate::exact::{Cut as _, Exact as _};

/// Bytes in a line of [`encode_lines`]: 76 digits.
const LINE: usize = 57;

/// Encodes in one line, without a newline.
#[must_use]
pub fn encode(bytes: &[u8]) -> String {
    base64_simd::STANDARD.encode_to_string(bytes)
}

/// Encodes in lines of 76 digits, each with a newline, also the last.
#[must_use]
pub fn encode_lines(bytes: &[u8]) -> String {
    let digits = bytes.len().div_ceil(3).times(4);
    let mut out = String::with_capacity(digits.plus(bytes.len().div_ceil(LINE)));
    for line in bytes.chunks(LINE) {
        base64_simd::STANDARD.encode_append(line, &mut out);
        out.push('\n');
    }
    out
}

/// Decodes; white space does not count. `None` for what is no base64.
#[must_use]
pub fn decode(text: &[u8]) -> Option<Vec<u8>> {
    let (mut decoder, mut out) = (Decoder::default(), Vec::new());
    (decoder.write(text, &mut out) && decoder.finish()).then_some(out)
}

/// Encodes pieces; bytes that do not fill a group are kept for the next piece.
#[derive(Debug, Default)]
pub struct Encoder {
    waiting: [u8; 3],
    /// How many bytes are kept: fewer than three.
    count: usize,
}

impl Encoder {
    /// Appends the digits of all whole groups.
    pub fn write(&mut self, mut bytes: &[u8], out: &mut Vec<u8>) {
        while self.count > 0 {
            let Some((first, rest)) = bytes.split_first() else { return };
            bytes = rest;
            self.wait(*first);
            if self.count == self.waiting.len() {
                append_groups(&self.waiting, out);
                self.count = 0;
            }
        }
        let whole = bytes.len().minus(bytes.len() % 3);
        append_groups(bytes.head(whole), out);
        bytes.tail(whole).iter().for_each(|byte| self.wait(*byte));
    }

    fn wait(&mut self, byte: u8) {
        if let Some(place) = self.waiting.get_mut(self.count) {
            *place = byte;
            self.count = self.count.plus(1);
        }
    }

    /// Appends the digits of the kept bytes, with padding.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        base64_simd::STANDARD.encode_append(self.waiting.head(self.count), out);
        self.count = 0;
    }
}

/// Appends the digits of whole groups.
fn append_groups(groups: &[u8], out: &mut Vec<u8>) {
    // The library makes just the room that it needs.
    out.reserve(groups.len().div_ceil(3).times(4));
    base64_simd::STANDARD.encode_append(groups, out);
}

/// Decodes pieces; the digits of a group that is not whole are kept for the next piece.
#[derive(Debug, Default)]
pub struct Decoder {
    /// Digits that were not decoded: fewer than four between two pieces.
    digits: Vec<u8>,
    /// A padded group was decoded, which is the last one.
    ended: bool,
}

impl Decoder {
    /// Appends the bytes of the whole groups; false for invalid base64.
    #[must_use]
    pub fn write(&mut self, text: &[u8], out: &mut Vec<u8>) -> bool {
        for line in text.split(|byte| matches!(byte, b' ' | b'\n' | b'\r' | b'\t')) {
            self.digits.extend_from_slice(line);
        }
        let whole = self.digits.len().minus(self.digits.len() % 4);
        if whole == 0 {
            return true;
        }
        let groups = self.digits.head(whole);
        let padded = if groups.ends_with(b"=") { 4 } else { 0 };
        let (plain, last) = (groups.head(whole.minus(padded)), groups.tail(whole.minus(padded)));
        let good = !self.ended
            && base64_simd::STANDARD_NO_PAD.decode_append(plain, out).is_ok()
            && base64_simd::forgiving_decode_to_vec(last).is_ok_and(|bytes| {
                out.extend_from_slice(&bytes);
                true
            });
        self.ended |= padded > 0;
        self.digits.drain(..whole);
        good
    }

    /// Whether the stream ends here: false inside of a group.
    #[must_use]
    pub fn finish(&mut self) -> bool {
        std::mem::take(self).digits.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn known_texts() {
        for (text, want) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")]
        {
            assert_eq!(encode(text.as_bytes()), want);
        }
        assert_eq!(encode(&[0xff, 0xfe, 0xfd]), "//79");
        assert_eq!(decode(b"Zh=="), Some(b"f".to_vec()), "bits after the last byte");
    }

    #[test]
    fn there_and_back() {
        for len in 0..100_u8 {
            let bytes: Vec<u8> = (0..len).map(|n| n.wrapping_mul(37) ^ 0xa5).collect();
            assert_eq!(decode(encode(&bytes).as_bytes()), Some(bytes.clone()));
            assert_eq!(decode(encode_lines(&bytes).as_bytes()), Some(bytes));
        }
        for bad in ["Z", "Zg", "Zg=", "Zg===", "=", "Zm9v=", "Zg==Zg==", "Zm9*", "Zm=v"] {
            assert_eq!(decode(bad.as_bytes()), None, "{bad}");
        }
    }

    #[test]
    fn lines() {
        let lines = encode_lines(&[0; 100]);
        let lengths: Vec<usize> = lines.lines().map(str::len).collect();
        assert_eq!(lengths, [76, 60]);
        assert!(lines.ends_with('\n'));
        assert_eq!(encode_lines(b""), "");
    }

    proptest! {
        #[test]
        fn pieces_are_one_stream(pieces in proptest::collection::vec(
            proptest::collection::vec(any::<u8>(), 0..20), 0..20)) {
            let mut encoder = Encoder::default();
            let mut out = Vec::new();
            for piece in &pieces {
                encoder.write(piece, &mut out);
            }
            encoder.finish(&mut out);
            prop_assert_eq!(String::from_utf8(out).unwrap(), encode(&pieces.concat()));
        }
    }

    proptest! {
        #[test]
        fn what_was_encoded_is_decoded(bytes in proptest::collection::vec(any::<u8>(), 0..200), at in 0usize..300) {
            let text = encode_lines(&bytes);
            let (head, tail) = text.as_bytes().split_at(at.min(text.len()));
            let (mut decoder, mut out) = (Decoder::default(), Vec::new());
            prop_assert!(decoder.write(head, &mut out) && decoder.write(tail, &mut out) && decoder.finish());
            prop_assert_eq!(out, bytes);
        }
    }

    #[test]
    fn long_lines_and_short_ones() {
        let bytes: Vec<u8> = (0..20_000u32).map(|n| u8::try_from(n % 253).unwrap()).collect();
        let text = encode(&bytes);
        for length in [text.len(), 76, 5, 1] {
            let lines: Vec<&[u8]> = text.as_bytes().chunks(length).collect();
            let lines = lines.join(&b'\n');
            let (mut decoder, mut out) = (Decoder::default(), Vec::new());
            for piece in lines.chunks(8191) {
                assert!(decoder.write(piece, &mut out));
            }
            assert!(decoder.finish() && out == bytes, "lines of {length}");
        }
    }

    #[test]
    fn long_pieces() {
        let bytes: Vec<u8> = (0..10_000u32).map(|n| u8::try_from(n % 251).unwrap()).collect();
        let (mut encoder, mut out) = (Encoder::default(), Vec::new());
        encoder.write(&bytes, &mut out);
        encoder.finish(&mut out);
        assert_eq!(String::from_utf8(out).unwrap(), encode(&bytes));
    }
}
