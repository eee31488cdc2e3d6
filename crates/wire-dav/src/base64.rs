//! Base64 of a stream that comes in pieces: encoder and decoder.

use sapwood_core::exact::{Cut as _, Exact as _};

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
                encode(&self.waiting, out);
                self.count = 0;
            }
        }
        let whole = bytes.len().minus(bytes.len() % 3);
        encode(bytes.head(whole), out);
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
fn encode(groups: &[u8], out: &mut Vec<u8>) {
    // The library makes just the room that it needs.
    out.reserve(groups.len().div_ceil(3).times(4));
    base64_simd::STANDARD.encode_append(groups, out);
}

/// Decodes pieces; the digits of an incomplete group are kept for the next piece.
#[derive(Debug, Default)]
pub struct Decoder {
    /// The bits of the digits of a group, and how many digits there were.
    bits: u32,
    digits: u8,
    padding: u8,
}

const SPACE: u8 = 64;
const PADDING: u8 = 65;
const OTHER: u8 = 66;

/// The value of each byte as a digit.
static VALUES: [u8; 256] = {
    let mut values = [OTHER; 256];
    let mut byte = 0;
    while byte < 256 {
        #[allow(clippy::indexing_slicing, clippy::as_conversions)]
        #[allow(clippy::arithmetic_side_effects, clippy::cast_possible_truncation)]
        {
            // This is evaluated at compile time.
            values[byte] = digit_value(byte as u8);
            byte += 1;
        }
    }
    values
};

/// The value of a digit; [`SPACE`], [`PADDING`] or [`OTHER`] for other bytes: these have a bit that no
/// digit has.
const fn digit_value(byte: u8) -> u8 {
    match byte {
        b'A'..=b'Z' => byte.wrapping_sub(b'A'),
        b'a'..=b'z' => byte.wrapping_sub(b'a').wrapping_add(26),
        b'0'..=b'9' => byte.wrapping_sub(b'0').wrapping_add(52),
        b'+' => 62,
        b'/' => 63,
        b' ' | b'\n' | b'\r' | b'\t' => SPACE,
        b'=' => PADDING,
        _ => OTHER,
    }
}

/// Digits that are decoded at a time: whole groups.
const DIGITS_AT_ONCE: usize = 4 * 1024;

/// Appends the bytes of groups up to the first invalid one. Returns how many digits they were.
fn decode(text: &[u8], out: &mut Vec<u8>) -> usize {
    let value = |byte: u8| VALUES.get(usize::from(byte)).copied().unwrap_or(OTHER);
    let mut buffer = [[0u8; 3]; DIGITS_AT_ONCE / 4];
    let mut used = 0usize;
    for piece in text.as_chunks::<4>().0.chunks(buffer.len()) {
        let mut good = 0usize;
        for ([a, b, c, d], place) in piece.iter().zip(&mut buffer) {
            let values = [value(*a), value(*b), value(*c), value(*d)];
            let [a, b, c, d] = values;
            if (a | b | c | d) & SPACE != 0 {
                break;
            }
            let bits = [a, b, c, d].iter().fold(0, |bits, value| (bits << 6) | u32::from(*value));
            let [_, a, b, c] = bits.to_be_bytes();
            *place = [a, b, c];
            good = good.plus(1);
        }
        out.extend_from_slice(buffer.piece(..good).as_flattened());
        used = used.plus(good.times(4));
        if good < piece.len() {
            break;
        }
    }
    used
}

impl Decoder {
    /// Appends the bytes of the whole groups; false for invalid base64.
    #[must_use]
    pub fn write(&mut self, mut text: &[u8], out: &mut Vec<u8>) -> bool {
        out.reserve(text.len() / 4 * 3);
        loop {
            if self.digits == 0 && self.padding == 0 {
                let used = decode(text, out);
                text = text.tail(used);
            }
            // A line's end, or a group that is not whole.
            let Some((byte, rest)) = text.split_first() else { return true };
            if !self.digit(*byte, out) {
                return false;
            }
            text = rest;
        }
    }

    fn digit(&mut self, byte: u8, out: &mut Vec<u8>) -> bool {
        match digit_value(byte) {
            SPACE => {}
            PADDING => self.padding.tally(1),
            OTHER => return false,
            _ if self.padding > 0 => return false,
            value => {
                self.bits = (self.bits << 6) | u32::from(value);
                self.digits = self.digits.plus(1);
                if self.digits == 4 {
                    let [_, a, b, c] = self.bits.to_be_bytes();
                    out.extend_from_slice(&[a, b, c]);
                    (self.bits, self.digits) = (0, 0);
                }
            }
        }
        true
    }

    /// Appends the bytes of the last, padded group; false for invalid base64.
    #[must_use]
    pub fn finish(&mut self, out: &mut Vec<u8>) -> bool {
        let ended = std::mem::take(self);
        match (ended.digits, ended.padding) {
            (0, 0) => true,
            (2, 2) => {
                let [_, a, _, _] = (ended.bits << 12).to_be_bytes();
                out.push(a);
                true
            }
            (3, 1) => {
                let [_, a, b, _] = (ended.bits << 6).to_be_bytes();
                out.extend_from_slice(&[a, b]);
                true
            }
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use sapwood_core::base64;

    use super::*;

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
            prop_assert_eq!(String::from_utf8(out).unwrap(), base64::encode(&pieces.concat()));
        }
    }

    proptest! {
        #[test]
        fn what_was_encoded_is_decoded(bytes in proptest::collection::vec(any::<u8>(), 0..200), at in 0usize..300) {
            let text = base64::encode_lines(&bytes);
            let (head, tail) = text.as_bytes().split_at(at.min(text.len()));
            let (mut decoder, mut out) = (Decoder::default(), Vec::new());
            prop_assert!(decoder.write(head, &mut out) && decoder.write(tail, &mut out) && decoder.finish(&mut out));
            prop_assert_eq!(out, bytes);
        }

        #[test]
        fn both_decoders_agree(text in "[A-Da=\n*]{0,12}") {
            let (mut decoder, mut out) = (Decoder::default(), Vec::new());
            let good = decoder.write(text.as_bytes(), &mut out) && decoder.finish(&mut out);
            prop_assert_eq!(good.then_some(out), base64::decode(text.as_bytes()));
        }
    }

    #[test]
    fn long_lines_and_short_ones() {
        let bytes: Vec<u8> = (0..20_000u32).map(|n| u8::try_from(n % 253).unwrap()).collect();
        let text = base64::encode(&bytes);
        for length in [text.len(), 76, 5, 1] {
            let lines: Vec<&[u8]> = text.as_bytes().chunks(length).collect();
            let lines = lines.join(&b'\n');
            let (mut decoder, mut out) = (Decoder::default(), Vec::new());
            for piece in lines.chunks(8191) {
                assert!(decoder.write(piece, &mut out));
            }
            assert!(decoder.finish(&mut out) && out == bytes, "lines of {length}");
        }
    }

    #[test]
    fn long_pieces() {
        let bytes: Vec<u8> = (0..10_000u32).map(|n| u8::try_from(n % 251).unwrap()).collect();
        let (mut encoder, mut out) = (Encoder::default(), Vec::new());
        encoder.write(&bytes, &mut out);
        encoder.finish(&mut out);
        assert_eq!(String::from_utf8(out).unwrap(), base64::encode(&bytes));
    }
}
