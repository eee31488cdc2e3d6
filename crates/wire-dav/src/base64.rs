//! Base64 of a stream that comes in pieces.

use sapwood_core::base64;

/// Encodes pieces; what does not fill a group waits for the next piece.
#[derive(Debug, Default)]
pub struct Encoder {
    waiting: Vec<u8>,
}

/// Bytes that are encoded at a time: whole groups.
const CHUNK: usize = 3 * 1024;

impl Encoder {
    /// Appends the digits of what is whole.
    pub fn write(&mut self, mut bytes: &[u8], out: &mut Vec<u8>) {
        if !self.waiting.is_empty() {
            let missing = 3usize.saturating_sub(self.waiting.len()).min(bytes.len());
            let (head, rest) = bytes.split_at_checked(missing).unwrap_or((bytes, &[]));
            self.waiting.extend_from_slice(head);
            bytes = rest;
            if self.waiting.len() < 3 {
                return;
            }
            encode(&self.waiting, out);
            self.waiting.clear();
        }
        let whole = bytes.len().saturating_sub(bytes.len() % 3);
        let (whole, rest) = bytes.split_at_checked(whole).unwrap_or((&[], bytes));
        encode(whole, out);
        self.waiting.extend_from_slice(rest);
    }

    /// Appends the digits of what waits, and what fills them up.
    pub fn finish(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(base64::encode(&self.waiting).as_bytes());
        self.waiting.clear();
    }
}

const DIGITS: [u8; 64] = *b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Appends the digits of whole groups.
fn encode(bytes: &[u8], out: &mut Vec<u8>) {
    out.reserve(bytes.len().div_ceil(3).saturating_mul(4));
    let digit = |bits: u32| {
        let at = usize::try_from(bits & 63).unwrap_or(0);
        DIGITS.get(at).copied().unwrap_or(b'A')
    };
    let mut buffer = [0u8; CHUNK / 3 * 4];
    for chunk in bytes.chunks(CHUNK) {
        let groups = chunk.as_chunks::<3>().0;
        let places = buffer.as_chunks_mut::<4>().0;
        for ([a, b, c], place) in groups.iter().zip(places) {
            let bits = u32::from_be_bytes([0, *a, *b, *c]);
            *place = [digit(bits >> 18), digit(bits >> 12), digit(bits >> 6), digit(bits)];
        }
        let used = groups.len().saturating_mul(4);
        out.extend_from_slice(buffer.get(..used).unwrap_or_default());
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

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

    #[test]
    fn long_pieces() {
        let bytes: Vec<u8> = (0..10_000u32).map(|n| u8::try_from(n % 251).unwrap()).collect();
        let (mut encoder, mut out) = (Encoder::default(), Vec::new());
        encoder.write(&bytes, &mut out);
        encoder.finish(&mut out);
        assert_eq!(String::from_utf8(out).unwrap(), base64::encode(&bytes));
    }
}
