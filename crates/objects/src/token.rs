//! Names that are used once.

use std::fmt;

use crate::error::{Error, Result};

/// 128 random bits: what is named by them has no other name, and nothing else has theirs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token([u8; 16]);

impl Token {
    /// How many bytes it has.
    pub const LEN: usize = 16;

    /// A new one.
    ///
    /// # Errors
    /// [`Error::Random`]
    pub fn new() -> Result<Self> {
        let mut bytes = [0; Self::LEN];
        getrandom::fill(&mut bytes).map_err(|e| Error::Random(e.to_string()))?;
        Ok(Self(bytes))
    }

    /// One that is known.
    #[must_use]
    pub const fn from_bytes(bytes: [u8; 16]) -> Self {
        Self(bytes)
    }

    /// The one that 32 hex digits say, in lower case.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut bytes = [0; Self::LEN];
        let digits = |b: u8| b.is_ascii_digit() || matches!(b, b'a'..=b'f');
        if text.len() != 2 * Self::LEN || !text.bytes().all(digits) {
            return None;
        }
        for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
            *byte = u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok()?;
        }
        Some(Self(bytes))
    }

    /// Half of it, as a number.
    #[must_use]
    pub fn number(&self) -> u64 {
        let [a, b, c, d, e, f, g, h, ..] = self.0;
        u64::from_be_bytes([a, b, c, d, e, f, g, h])
    }

    /// Its bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 16] {
        &self.0
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
