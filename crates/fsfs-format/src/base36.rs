//! Base-36 numbers (`0`-`9`, `a`-`z`), which ids and counters are written in.

use sapwood_core::{Cut, Exact};

/// Takes base-36 digits from the start of `bytes`: the value, and how many digits there were.
/// `None` when there is no digit or the value does not fit.
#[must_use]
pub fn take(bytes: &[u8]) -> Option<(u64, usize)> {
    let mut value = 0u64;
    let mut len = 0usize;
    for byte in bytes {
        let digit = match byte {
            b'0'..=b'9' => byte.wrapping_sub(b'0'),
            b'a'..=b'z' => byte.wrapping_sub(b'a').wrapping_add(10),
            _ => break,
        };
        value = value.checked_mul(36)?.checked_add(u64::from(digit))?;
        len += 1;
    }
    (len > 0).then_some((value, len))
}

/// Parses a whole slice of base-36 digits.
#[must_use]
pub fn parse(bytes: &[u8]) -> Option<u64> {
    take(bytes).filter(|(_, len)| *len == bytes.len()).map(|(value, _)| value)
}

/// Formats a number, for `Display` implementations.
#[derive(Clone, Copy, Debug)]
pub struct Base36(pub u64);

/// Calls `with` with the digits of a number.
fn digits<T>(number: u64, with: impl FnOnce(&[u8]) -> T) -> T {
    // 36^13 > 2^64
    let mut digits = [b'0'; 13];
    let mut rest = number;
    let mut used = 0usize;
    for slot in digits.iter_mut().rev() {
        let digit = u8::try_from(rest % 36).unwrap_or(0);
        *slot = if digit < 10 { b'0' + digit } else { b'a' + (digit - 10) };
        rest /= 36;
        used += 1;
        if rest == 0 {
            break;
        }
    }
    with(digits.tail(13usize.minus(used)))
}

/// Appends a number.
pub fn push(number: u64, out: &mut Vec<u8>) {
    digits(number, |digits| out.extend_from_slice(digits));
}

impl std::fmt::Display for Base36 {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        digits(self.0, |digits| f.write_str(std::str::from_utf8(digits).unwrap_or_default()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn round_trips() {
        for n in [0, 1, 9, 10, 35, 36, 37, 1295, 1296, u64::MAX - 1, u64::MAX] {
            assert_eq!(parse(Base36(n).to_string().as_bytes()), Some(n), "{n}");
            let mut out = b"_".to_vec();
            push(n, &mut out);
            assert_eq!(String::from_utf8(out).unwrap(), format!("_{}", Base36(n)));
        }
        assert_eq!(Base36(35).to_string(), "z");
        assert_eq!(Base36(36).to_string(), "10");
    }

    #[test]
    fn refuses() {
        for bad in [&b""[..], b"A", b"1-", b"zzzzzzzzzzzzzz", b" 1"] {
            assert_eq!(parse(bad), None, "{bad:?}");
        }
        assert_eq!(take(b"1z-5"), Some((71, 2)));
    }
}
