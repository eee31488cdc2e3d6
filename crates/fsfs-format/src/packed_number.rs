//! Numbers in indexes: seven bits a byte, lowest first, the top bit set when more follow.

use crate::error::Result;

/// Reads packed numbers one after the other.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

#[allow(clippy::missing_errors_doc)]
impl<'a> Reader<'a> {
    /// Starts at the first of `bytes`.
    #[must_use]
    pub const fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }
    /// How many bytes have been read.
    #[must_use]
    pub const fn position(&self) -> usize {
        self.at
    }
    /// The next unsigned number.
    pub fn unsigned(&mut self) -> Result<u64> {
        let _ = self.bytes;
        todo!()
    }
    /// The next signed number.
    pub fn signed(&mut self) -> Result<i64> {
        todo!()
    }
}

/// Appends an unsigned number.
pub fn write_unsigned(value: u64, out: &mut Vec<u8>) {
    let _ = (value, out);
    todo!()
}

/// Appends a signed number.
pub fn write_signed(value: i64, out: &mut Vec<u8>) {
    let _ = (value, out);
    todo!()
}
