//! Names of shelves as parts of file names: each byte as two hexadecimal digits.

use sapwood_core::ErrorCode;

use crate::error::{Error, Result};

/// The file name's part for a shelf.
///
/// # Errors
/// E125014 for the empty name.
pub(super) fn encode(name: &str) -> Result<String> {
    if name.is_empty() {
        let message = "Shelf name cannot be the empty string";
        return Err(Error::new(ErrorCode::BAD_CHANGELIST_NAME, message));
    }
    Ok(name.bytes().map(|byte| format!("{byte:02x}")).collect())
}

/// The shelf that a part of a file name means; `None` when it is no encoded name.
pub(super) fn decode(code: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(code.len() / 2);
    for pair in code.as_bytes().chunks(2) {
        let pair = std::str::from_utf8(pair).ok().filter(|pair| pair.len() == 2)?;
        let digits = pair.bytes().all(|b| b.is_ascii_hexdigit());
        bytes.push(u8::from_str_radix(pair, 16).ok().filter(|_| digits)?);
    }
    String::from_utf8(bytes).ok().filter(|name| !name.is_empty())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        assert_eq!(encode("foo").unwrap(), "666f6f");
        assert_eq!(encode("../é").unwrap(), "2e2e2fc3a9");
        for name in ["foo", "../é", "a b", "\n"] {
            assert_eq!(decode(&encode(name).unwrap()).as_deref(), Some(name));
        }
        assert!(encode("").is_err());
        // Odd lengths, other characters, invalid UTF-8.
        for code in ["", "6", "666", "+6", "zz", " 6", "ff"] {
            assert_eq!(decode(code), None, "{code}");
        }
    }
}
