//! Revision numbers.

use std::fmt;

/// A valid revision number, 0 or more. The reference's "invalid revision" (-1) is `Option::None`
/// here.
///
/// On disk and on the wire revision numbers are signed decimal; values above `i64::MAX` are
/// refused by the parsers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Revnum(pub u64);

impl Revnum {
    /// Revision 0, the empty tree every repository starts with.
    pub const ZERO: Self = Self(0);

    /// Parses plain decimal digits; anything else, or a value that does not fit a signed 64-bit
    /// number, is `None`.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        parse_u64(bytes).filter(|n| i64::try_from(*n).is_ok()).map(Self)
    }

    /// The revision after this one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }

    /// The revision before this one, `None` for revision 0.
    #[must_use]
    pub const fn prev(self) -> Option<Self> {
        match self.0.checked_sub(1) {
            Some(n) => Some(Self(n)),
            None => None,
        }
    }
}

impl fmt::Display for Revnum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl From<u64> for Revnum {
    fn from(n: u64) -> Self {
        Self(n)
    }
}

/// Parses one or more ASCII digits as an unsigned number; `None` for anything else or overflow.
#[must_use]
pub fn parse_u64(bytes: &[u8]) -> Option<u64> {
    if bytes.is_empty() {
        return None;
    }
    bytes.iter().try_fold(0u64, |n, b| {
        if !b.is_ascii_digit() {
            return None;
        }
        n.checked_mul(10)?.checked_add(u64::from(b.wrapping_sub(b'0')))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_only_plain_decimal() {
        assert_eq!(Revnum::parse(b"0"), Some(Revnum(0)));
        assert_eq!(Revnum::parse(b"47191"), Some(Revnum(47191)));
        for bad in [&b""[..], b"-1", b"+1", b" 1", b"1 ", b"9223372036854775808", b"1x"] {
            assert_eq!(Revnum::parse(bad), None, "{bad:?}");
        }
    }
}
