//! Hashes, and bytes as hexadecimal digits.

use sha2::{Digest as _, Sha256};

/// The SHA-256 of bytes.
pub(crate) fn sha256(bytes: &[u8]) -> [u8; 32] {
    Sha256::digest(bytes).into()
}

/// Lower-case digits, two for each byte.
pub(crate) fn of(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Whether a text has such digits only.
pub(crate) fn is_hex(text: &str) -> bool {
    text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
}

/// The bytes of exactly so many digits.
pub(crate) fn parse<const N: usize>(text: &str) -> Option<[u8; N]> {
    let pairs = text.as_bytes().chunks(2);
    if !is_hex(text) || text.len() != N.checked_mul(2)? {
        return None;
    }
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(pairs) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(bytes)
}
