//! Base64, as XML output and WebDAV bodies carry what is no text.

use crate::Exact;

const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Digits in a line of [`encode_lines`].
const LINE: usize = 76;

fn digit(value: u32) -> char {
    let at = usize::try_from(value & 63).unwrap_or(0);
    char::from(DIGITS.get(at).copied().unwrap_or(b'A'))
}

/// Encodes in one line, without a newline.
#[must_use]
pub fn encode(bytes: &[u8]) -> String {
    let mut out = String::with_capacity(bytes.len().div_ceil(3).times(4));
    for chunk in bytes.chunks(3) {
        let mut group = [0_u8; 4];
        for (slot, byte) in group.iter_mut().skip(1).zip(chunk) {
            *slot = *byte;
        }
        let bits = u32::from_be_bytes(group);
        out.push(digit(bits >> 18));
        out.push(digit(bits >> 12));
        out.push(if chunk.len() > 1 { digit(bits >> 6) } else { '=' });
        out.push(if chunk.len() > 2 { digit(bits) } else { '=' });
    }
    out
}

/// Encodes in lines of 76 digits, each with a newline, also the last.
#[must_use]
pub fn encode_lines(bytes: &[u8]) -> String {
    let all = encode(bytes);
    let mut out = String::with_capacity(all.len().plus(all.len().div_ceil(LINE)));
    let mut rest = all.as_str();
    while !rest.is_empty() {
        let (line, after) = rest.split_at_checked(LINE.min(rest.len())).unwrap_or((rest, ""));
        out.push_str(line);
        out.push('\n');
        rest = after;
    }
    out
}

/// Decodes; white space does not count. `None` for what is no base64.
#[must_use]
pub fn decode(text: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    // The bits of digits that are not out yet, and how many digits of a group of four there were.
    let (mut bits, mut digits, mut padding) = (0_u32, 0_u32, 0_u32);
    for byte in text.iter().filter(|b| !b.is_ascii_whitespace()) {
        if *byte == b'=' {
            padding += 1;
            continue;
        }
        let value = DIGITS.iter().position(|d| d == byte)?;
        if padding > 0 {
            return None;
        }
        bits = (bits << 6) | u32::try_from(value).ok()?;
        digits = digits.wrapping_add(1) % 4;
        if digits == 0 {
            out.extend(bits.to_be_bytes().iter().skip(1));
            bits = 0;
        }
    }
    let left = match (digits, padding) {
        (0, 0) => 0,
        (2, 2) => 1,
        (3, 1) => 2,
        _ => return None,
    };
    bits <<= (4_u32.minus(digits) % 4).times(6);
    out.extend(bits.to_be_bytes().iter().skip(1).take(left));
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_texts() {
        for (text, want) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foobar", "Zm9vYmFy")]
        {
            assert_eq!(encode(text.as_bytes()), want);
        }
        assert_eq!(encode(&[0xff, 0xfe, 0xfd]), "//79");
    }

    #[test]
    fn there_and_back() {
        for len in 0..100_u8 {
            let bytes: Vec<u8> = (0..len).map(|n| n.wrapping_mul(37) ^ 0xa5).collect();
            assert_eq!(decode(encode(&bytes).as_bytes()), Some(bytes.clone()));
            assert_eq!(decode(encode_lines(&bytes).as_bytes()), Some(bytes));
        }
        for bad in ["Z", "Zg", "Zg=", "Zg===", "=", "Zm9v=", "Zg==Zg==", "Zm9*", "Zm=v"] {
            assert_eq!(decode(bad.as_bytes()), None, "{bad}");
        }
    }

    #[test]
    fn lines() {
        let lines = encode_lines(&[0; 100]);
        let lengths: Vec<usize> = lines.lines().map(str::len).collect();
        assert_eq!(lengths, [76, 60]);
        assert!(lines.ends_with('\n'));
        assert_eq!(encode_lines(b""), "");
    }
}
