//! The modified FNV-1a checksum of items in the phys-to-log index.

use sapwood_core::Cut;

/// Four interleaved FNV-1a sums, folded into one; for bytes that come piece by piece.
#[derive(Clone, Debug)]
pub struct Fnv1a32x4 {
    lanes: [u32; 4],
    pending: [u8; 4],
    pending_len: usize,
}

impl Default for Fnv1a32x4 {
    fn default() -> Self {
        Self::new()
    }
}

impl Fnv1a32x4 {
    /// Nothing summed yet.
    #[must_use]
    pub const fn new() -> Self {
        Self { lanes: [BASE; 4], pending: [0; 4], pending_len: 0 }
    }
    /// The checksum of `bytes`.
    #[must_use]
    pub fn of(bytes: &[u8]) -> u32 {
        let mut sum = Self::new();
        sum.update(bytes);
        sum.finish()
    }
    /// Adds the next piece.
    pub fn update(&mut self, bytes: &[u8]) {
        let mut bytes = bytes;
        // Fill up what an earlier piece left over.
        while self.pending_len > 0 {
            let Some((byte, rest)) = bytes.split_first() else { return };
            bytes = rest;
            self.push(*byte);
        }
        let (words, rest) = bytes.as_chunks::<4>();
        let mut lanes = self.lanes;
        for word in words {
            lanes = step(lanes, *word);
        }
        self.lanes = lanes;
        rest.iter().for_each(|byte| self.push(*byte));
    }

    fn push(&mut self, byte: u8) {
        if let Some(slot) = self.pending.get_mut(self.pending_len) {
            *slot = byte;
        }
        self.pending_len += 1;
        if self.pending_len == self.pending.len() {
            self.lanes = step(self.lanes, self.pending);
            self.pending_len = 0;
        }
    }

    /// The checksum of all that was added.
    #[must_use]
    pub fn finish(self) -> u32 {
        let rest = self.pending.head(self.pending_len);
        let lanes = self.lanes.iter().flat_map(|lane| lane.to_be_bytes());
        lanes.chain(rest.iter().copied()).fold(BASE, fold)
    }
}

const BASE: u32 = 0x811c_9dc5;
const PRIME: u32 = 0x0100_0193;

fn fold(sum: u32, byte: u8) -> u32 {
    (sum ^ u32::from(byte)).wrapping_mul(PRIME)
}

fn step(lanes: [u32; 4], word: [u8; 4]) -> [u32; 4] {
    let [a, b, c, d] = lanes;
    let [w, x, y, z] = word;
    [fold(a, w), fold(b, x), fold(c, y), fold(d, z)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_do_not_matter() {
        let bytes: Vec<u8> = (0..=255).collect();
        for cut in 0..bytes.len() {
            let mut sum = Fnv1a32x4::new();
            sum.update(&bytes[..cut]);
            sum.update(&bytes[cut..cut.midpoint(bytes.len())]);
            sum.update(&bytes[cut.midpoint(bytes.len())..]);
            assert_eq!(sum.finish(), Fnv1a32x4::of(&bytes), "{cut}");
        }
    }

    #[test]
    fn differs_from_its_neighbours() {
        assert_ne!(Fnv1a32x4::of(b"abcd"), Fnv1a32x4::of(b"abdc"));
        assert_ne!(Fnv1a32x4::of(b"abcd"), Fnv1a32x4::of(b"abcde"));
    }
}
