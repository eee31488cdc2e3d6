//! Checksums of file contents and of metadata.

use std::fmt;
use std::io::{self, Read};

use sha1::Digest as _;

use crate::exact::Cut;

/// The hexadecimal digit of a number below sixteen.
const fn digit(number: u8) -> u8 {
    if number < 10 { b'0' | number } else { (b'a' - 10).wrapping_add(number) }
}

macro_rules! digest_type {
    ($(#[$doc:meta])* $name:ident, $hasher:ident, $engine:ty, $len:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub [u8; $len]);

        impl $name {
            /// The digest of `bytes`.
            #[must_use]
            pub fn of(bytes: &[u8]) -> Self {
                Self(<$engine>::digest(bytes).into())
            }

            /// Parses exactly the right number of hexadecimal digits, of either case.
            #[must_use]
            pub fn parse(hex: &[u8]) -> Option<Self> {
                let mut out = [0; $len];
                parse_hex(hex, &mut out)?;
                Some(Self(out))
            }

            /// Parses the checksum that a text is said to have. As for the reference, zeros alone say
            /// nothing: `Some(None)`.
            #[must_use]
            pub fn parse_expected(hex: &[u8]) -> Option<Option<Self>> {
                Self::parse(hex).map(|sum| Some(sum).filter(|sum| sum.0 != [0; $len]))
            }

            /// The lower-case hexadecimal digits of each byte.
            #[must_use]
            pub fn hex_digits(&self) -> [[u8; 2]; $len] {
                self.0.map(|byte| [digit(byte >> 4), digit(byte & 15)])
            }

            /// The lower-case hexadecimal form.
            #[must_use]
            pub fn to_hex(&self) -> String {
                self.hex_digits().as_flattened().iter().copied().map(char::from).collect()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.to_hex())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        /// The digest of bytes that come piece by piece.
        #[derive(Clone, Default)]
        pub struct $hasher($engine);

        impl $hasher {
            /// Nothing hashed yet.
            #[must_use]
            pub fn new() -> Self {
                Self::default()
            }

            /// Adds the next piece.
            pub fn update(&mut self, bytes: &[u8]) {
                self.0.update(bytes);
            }

            /// The digest of all that was added.
            #[must_use]
            pub fn finish(self) -> $name {
                $name(self.0.finalize().into())
            }
        }

        impl fmt::Debug for $hasher {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(stringify!($hasher))
            }
        }
    };
}

digest_type! {
    /// An MD5 digest: the checksum of file contents everywhere in Subversion.
    Md5, Md5Hasher, crate::md5::Engine, 16
}
digest_type! {
    /// A SHA-1 digest: the key of representation sharing, and a second checksum of contents.
    Sha1, Sha1Hasher, sha1::Sha1, 20
}

/// A reader that keeps the MD5 of what was read from it.
#[derive(Debug)]
pub struct Md5Reader<R> {
    inner: R,
    sum: Md5Hasher,
}

impl<R: Read> Md5Reader<R> {
    /// Reads from `inner`.
    pub fn new(inner: R) -> Self {
        Self { inner, sum: Md5Hasher::new() }
    }

    /// The checksum of what was read.
    #[must_use]
    pub fn finish(self) -> Md5 {
        self.sum.finish()
    }

    /// The checksum of the whole text, of which the rest is read.
    ///
    /// # Errors
    /// Those of reading.
    pub fn finish_whole(mut self) -> io::Result<Md5> {
        io::copy(&mut self, &mut io::sink())?;
        Ok(self.sum.finish())
    }
}

impl<R: Read> Read for Md5Reader<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let len = self.inner.read(buffer)?;
        self.sum.update(buffer.head(len));
        Ok(len)
    }
}

fn parse_hex(hex: &[u8], out: &mut [u8]) -> Option<()> {
    if hex.len() != out.len().checked_mul(2)? {
        return None;
    }
    for (pair, slot) in hex.chunks_exact(2).zip(out) {
        let [high, low] = pair else { return None };
        let (high, low) = (DIGITS.get(usize::from(*high))?, DIGITS.get(usize::from(*low))?);
        // Digits are less than 16: higher bits are set where there is none.
        if (high | low) > 15 {
            return None;
        }
        *slot = high << 4 | low;
    }
    Some(())
}

/// The values of all bytes as digits; [`NO_DIGIT`] for what is none. Checksums are read by the
/// million.
static DIGITS: [u8; 256] = {
    let mut table = [NO_DIGIT; 256];
    let mut rest: &mut [u8] = &mut table;
    let mut byte = 0u8;
    while let Some((slot, others)) = rest.split_first_mut() {
        if let Some(digit) = hex_digit(byte) {
            *slot = digit;
        }
        byte = byte.wrapping_add(1);
        rest = others;
    }
    table
};

const NO_DIGIT: u8 = 0xff;

/// The value of one hexadecimal digit of either case.
#[must_use]
pub(crate) const fn hex_digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte.wrapping_sub(b'0')),
        b'a'..=b'f' => Some(byte.wrapping_sub(b'a').wrapping_add(10)),
        b'A'..=b'F' => Some(byte.wrapping_sub(b'A').wrapping_add(10)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_digests() {
        assert_eq!(Md5::of(b"").to_hex(), "d41d8cd98f00b204e9800998ecf8427e");
        assert_eq!(Sha1::of(b"abc").to_hex(), "a9993e364706816aba3e25717850c26c9cd0d89d");
    }

    #[test]
    fn hex_round_trip_and_refusal() {
        let sum = Md5::of(b"x");
        assert_eq!(Md5::parse(sum.to_hex().as_bytes()), Some(sum));
        assert_eq!(Md5::parse_expected(sum.to_hex().as_bytes()), Some(Some(sum)));
        assert_eq!(Md5::parse_expected(&[b'0'; 32]), Some(None));
        assert_eq!(Md5::parse_expected(b"d41d8cd98f00b204e9800998ecf8427"), None);
        assert_eq!(Md5::parse(b"d41d8cd98f00b204e9800998ecf8427"), None);
        assert_eq!(Md5::parse(b"g41d8cd98f00b204e9800998ecf8427e"), None);
    }
}
