//! The modified FNV-1a checksum of items in the phys-to-log index.

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

#[allow(unused_variables)]
impl Fnv1a32x4 {
    /// Nothing summed yet.
    #[must_use]
    pub const fn new() -> Self {
        Self { lanes: [0x811c_9dc5; 4], pending: [0; 4], pending_len: 0 }
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
        let _ = (self.lanes, self.pending, self.pending_len);
        todo!()
    }
    /// The checksum of all that was added.
    #[must_use]
    pub fn finish(self) -> u32 {
        todo!()
    }
}
