//! A position in bytes, and the two forms of numbers that FSX uses: seven bits a byte, the lowest first (indexes and
//! packed data) or the highest first (directories and property lists). The top bit of a byte says that more follow.

use crate::error::{Error, Result};

/// Reads numbers and byte strings one after the other.
#[derive(Clone, Debug)]
pub struct Cursor<'a> {
    rest: &'a [u8],
    /// The kind of item, for errors.
    what: &'static str,
}

/// The most bytes that a number takes.
const MAX_LEN: usize = 10;

#[allow(clippy::missing_errors_doc, reason = "all: `Error` says what is wrong with the bytes")]
impl<'a> Cursor<'a> {
    /// Starts at the first of `bytes`; `what` names the kind of item in errors.
    #[must_use]
    pub const fn new(bytes: &'a [u8], what: &'static str) -> Self {
        Self { rest: bytes, what }
    }

    /// The bytes that were not read.
    #[must_use]
    pub const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// Whether everything was read.
    #[must_use]
    pub const fn is_at_end(&self) -> bool {
        self.rest.is_empty()
    }

    /// That everything was read; an error otherwise.
    pub fn finish(&self) -> Result<()> {
        match self.rest.len() {
            0 => Ok(()),
            left => Err(Error::corrupt(format!("{left} bytes left over in {}", self.what))),
        }
    }

    fn byte(&mut self) -> Result<u8> {
        let (byte, rest) = self.rest.split_first().ok_or(Error::UnexpectedEnd(self.what))?;
        self.rest = rest;
        Ok(*byte)
    }

    /// The next `len` bytes.
    pub fn take(&mut self, len: u64) -> Result<&'a [u8]> {
        let len = usize::try_from(len).map_err(|_| Error::UnexpectedEnd(self.what))?;
        let (taken, rest) =
            self.rest.split_at_checked(len).ok_or(Error::UnexpectedEnd(self.what))?;
        self.rest = rest;
        Ok(taken)
    }

    /// The bytes up to the next NUL, which is read too.
    pub(crate) fn until_nul(&mut self) -> Result<&'a [u8]> {
        let len = memchr::memchr(0, self.rest).ok_or(Error::UnexpectedEnd(self.what))?;
        let (taken, rest) = self.rest.split_at_checked(len).unwrap_or_default();
        self.rest = rest.get(1..).unwrap_or_default();
        Ok(taken)
    }

    /// The next number, lowest bits first.
    pub fn little(&mut self) -> Result<u64> {
        let mut value = 0u64;
        for shift in (0..70).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            // The tenth byte has room for the topmost bit only.
            if shift == 63 && bits > 1 {
                break;
            }
            value |= bits << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(self.too_long())
    }

    /// The next number, highest bits first.
    pub fn big(&mut self) -> Result<u64> {
        let mut value = 0u64;
        for _ in 0..MAX_LEN {
            let byte = self.byte()?;
            if value >> 57 != 0 {
                break;
            }
            value = (value << 7) | u64::from(byte & 0x7f);
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(self.too_long())
    }

    /// The next signed number, highest bits first.
    pub(crate) fn big_signed(&mut self) -> Result<i64> {
        Ok(unzigzag(self.big()?))
    }

    fn too_long(&self) -> Error {
        Error::corrupt(format!("Number too large in {}", self.what))
    }
}

/// Even numbers stand for themselves halved, odd ones for negative numbers.
#[must_use]
pub(crate) const fn unzigzag(value: u64) -> i64 {
    let half = (value >> 1).cast_signed();
    if value & 1 == 0 { half } else { !half }
}

/// The inverse of [`unzigzag`].
#[must_use]
pub(crate) const fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)).cast_unsigned()
}

/// Appends a number, lowest bits first.
pub(crate) fn put_little(out: &mut Vec<u8>, value: u64) {
    sapwood_fsfs_format::packed_number::write_unsigned(value, out);
}

/// Appends a number, highest bits first.
pub(crate) fn put_big(out: &mut Vec<u8>, value: u64) {
    let groups = (64 - (value | 1).leading_zeros()).div_ceil(7);
    for group in (0..groups).rev() {
        let [low, ..] = (value >> (group * 7)).to_le_bytes();
        out.push(if group == 0 { low & 0x7f } else { low | 0x80 });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_both_ways() {
        for value in [0, 1, 127, 128, 16_383, 16_384, u64::MAX >> 1, u64::MAX] {
            let (mut little, mut big) = (Vec::new(), Vec::new());
            put_little(&mut little, value);
            put_big(&mut big, value);
            assert_eq!(Cursor::new(&little, "test").little(), Ok(value));
            assert_eq!(Cursor::new(&big, "test").big(), Ok(value), "{big:?}");
        }
        assert_eq!([0, 1, 2, 3].map(unzigzag), [0, -1, 1, -2]);
        assert_eq!(
            [i64::MIN, -1, 0, i64::MAX].map(|v| unzigzag(zigzag(v))),
            [i64::MIN, -1, 0, i64::MAX]
        );
        let mut out = Vec::new();
        put_big(&mut out, 130);
        assert_eq!(out, [0x81, 2]);
    }

    #[test]
    fn numbers_that_do_not_fit_are_refused() {
        for bytes in [&[0xff_u8; 11][..], &[0x80; 10]] {
            assert!(Cursor::new(bytes, "test").little().is_err());
        }
        assert!(Cursor::new(&[0xff; 11], "test").big().is_err());
        assert_eq!(Cursor::new(&[0x80], "test").big(), Err(Error::UnexpectedEnd("test")));
    }
}
