//! Base64, as XML output and WebDAV bodies carry what is no text.

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
    let mut out = String::with_capacity(bytes.len().div_ceil(3).saturating_mul(4));
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
    let mut out = String::with_capacity(all.len().saturating_add(all.len().div_ceil(LINE)));
    let mut rest = all.as_str();
    while !rest.is_empty() {
        let (line, after) = rest.split_at_checked(LINE.min(rest.len())).unwrap_or((rest, ""));
        out.push_str(line);
        out.push('\n');
        rest = after;
    }
    out
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
    fn lines() {
        let lines = encode_lines(&[0; 100]);
        let lengths: Vec<usize> = lines.lines().map(str::len).collect();
        assert_eq!(lengths, [76, 60]);
        assert!(lines.ends_with('\n'));
        assert_eq!(encode_lines(b""), "");
    }
}
