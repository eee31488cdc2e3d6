//! SHA-256 sums.

use std::fmt;

use sha2::{Digest as _, Sha256};

/// A SHA-256 sum.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Digest([u8; 32]);

impl Digest {
    /// The sum of bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// The sum that 64 hex digits say, in lower case.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut sum = [0; 32];
        let digits = text.len() == 64
            && text.bytes().all(|b| b.is_ascii_digit() || matches!(b, b'a'..=b'f'));
        if !digits {
            return None;
        }
        for (byte, pair) in sum.iter_mut().zip(text.as_bytes().chunks(2)) {
            *byte = u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok()?;
        }
        Some(Self(sum))
    }
}

impl Digest {
    /// Its bytes.
    pub(crate) const fn bytes(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A sum of bytes that come in pieces.
#[derive(Debug, Default)]
pub struct Hasher(Sha256);

impl Hasher {
    /// Of nothing so far.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Appends bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The sum.
    #[must_use]
    pub fn finish(self) -> Digest {
        Digest(self.0.finalize().into())
    }
}
