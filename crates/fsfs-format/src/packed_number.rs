//! Numbers in indexes: seven bits a byte, lowest first, the top bit set when more follow.

use crate::error::{Error, Result};

/// Reads packed numbers one after the other.
#[derive(Clone, Debug)]
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

#[allow(clippy::missing_errors_doc, reason = "all: `Error` says what is wrong with the bytes")]
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
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let mut value = 0u64;
        for (place, byte) in rest.iter().take(10).enumerate() {
            let bits = u64::from(byte & 0x7f);
            let shift = u32::try_from(place).unwrap_or(0).saturating_mul(7);
            // The tenth byte holds the topmost bit alone.
            if place == 9 && bits > 1 {
                break;
            }
            value |= bits << shift;
            if *byte < 0x80 {
                self.at = self.at.saturating_add(place).saturating_add(1);
                return Ok(value);
            }
        }
        Err(match rest.len() {
            0..10 => Error::UnexpectedEnd("index"),
            _ => Error::index("Corrupt index: number too large"),
        })
    }

    /// The next signed number.
    pub fn signed(&mut self) -> Result<i64> {
        let value = self.unsigned()?;
        let half = (value >> 1).cast_signed();
        Ok(if value & 1 == 0 { half } else { !half })
    }
}

/// Starts behind the prefix that an index begins with.
pub(crate) fn after_prefix<'a>(bytes: &'a [u8], prefix: &[u8]) -> Result<Reader<'a>> {
    let found = bytes.get(..prefix.len()).unwrap_or(bytes);
    if found == prefix {
        return Ok(Reader { bytes, at: prefix.len() });
    }
    if prefix.starts_with(found) {
        return Err(Error::UnexpectedEnd("index"));
    }
    Err(Error::index(format!(
        "Index stream header prefix mismatch.\n  expected: {}  found: {}",
        crate::text::printable(prefix),
        crate::text::printable(found)
    )))
}

/// Appends an unsigned number.
pub fn write_unsigned(mut value: u64, out: &mut Vec<u8>) {
    loop {
        let [low, ..] = value.to_le_bytes();
        value >>= 7;
        if value == 0 {
            return out.push(low & 0x7f);
        }
        out.push(low | 0x80);
    }
}

/// Appends a signed number.
pub(crate) fn write_signed(value: i64, out: &mut Vec<u8>) {
    write_unsigned(((value << 1) ^ (value >> 63)).cast_unsigned(), out);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_forms() {
        for (value, bytes) in [
            (0, &[0u8][..]),
            (0x7f, &[0x7f]),
            (0x80, &[0x80, 0x01]),
            (0xff, &[0xff, 0x01]),
            (0x3fff, &[0xff, 0x7f]),
            (0x1_0000_0000, &[0x80, 0x80, 0x80, 0x80, 0x10]),
            (u64::MAX, &[255, 255, 255, 255, 255, 255, 255, 255, 255, 1]),
        ] {
            let mut out = Vec::new();
            write_unsigned(value, &mut out);
            assert_eq!(out, bytes);
            let mut reader = Reader::new(&out);
            assert_eq!((reader.unsigned(), reader.position()), (Ok(value), bytes.len()));
        }
        for value in [0, 1, -1, 63, -64, 64, i64::MAX, i64::MIN] {
            let mut out = Vec::new();
            write_signed(value, &mut out);
            assert_eq!(Reader::new(&out).signed(), Ok(value));
        }
        let mut out = Vec::new();
        write_signed(-1, &mut out);
        assert_eq!(out, [1]);
    }

    #[test]
    fn refusals() {
        assert_eq!(Reader::new(&[]).unsigned(), Err(Error::UnexpectedEnd("index")));
        assert_eq!(Reader::new(&[0x80; 9]).unsigned(), Err(Error::UnexpectedEnd("index")));
        let too_large = Err(Error::index("Corrupt index: number too large"));
        assert_eq!(Reader::new(&[0x80; 10]).unsigned(), too_large);
        assert_eq!(
            Reader::new(&[0x80, 0x80, 128, 128, 128, 128, 128, 128, 128, 2]).unsigned(),
            too_large
        );
    }
}
