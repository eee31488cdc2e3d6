//! Base64 with the digits that URLs may have, without padding (RFC 4648, section 5).

use sapwood_core::base64;

/// Encodes in one line.
pub(crate) fn encode(bytes: &[u8]) -> String {
    let digits = base64::encode(bytes);
    digits.trim_end_matches('=').replace('+', "-").replace('/', "_")
}

/// Decodes; `None` for what is no such text.
pub(crate) fn decode(text: &str) -> Option<Vec<u8>> {
    let is_digit = |b: u8| b.is_ascii_alphanumeric() || b == b'-' || b == b'_';
    if !text.bytes().all(is_digit) || text.len() % 4 == 1 {
        return None;
    }
    let mut digits = text.replace('-', "+").replace('_', "/");
    while !digits.len().is_multiple_of(4) {
        digits.push('=');
    }
    base64::decode(digits.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_encoded_is_decoded() {
        for bytes in [&b""[..], b"f", b"fo", b"foo", b"\xff\xfe\xfd", b"\xfb\xff"] {
            let text = encode(bytes);
            assert!(!text.contains(['+', '/', '=']), "{text}");
            assert_eq!(decode(&text).as_deref(), Some(bytes));
        }
        for wrong in ["a", "ab+c", "ab/c", "YQ==", "Y Q", "Y\nQ", "é"] {
            assert_eq!(decode(wrong), None, "{wrong:?}");
        }
    }
}
