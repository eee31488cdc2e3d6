//! Sizes as people write them: `500`, `64K`, `100M`, `4G`, in units of 1024.

use serde::{Deserialize as _, Deserializer, de};

/// Reads a size: a number of bytes, or a text with a unit.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    #[derive(serde::Deserialize)]
    #[serde(untagged)]
    enum Size {
        Bytes(u64),
        Text(String),
    }
    let wrong = "expected a size, such as 500 or \"100M\"";
    match Size::deserialize(from).map_err(|_| de::Error::custom(wrong))? {
        Size::Bytes(bytes) => Ok(Some(bytes)),
        Size::Text(text) => parse(&text).map(Some).ok_or_else(|| de::Error::custom(wrong)),
    }
}

fn parse(text: &str) -> Option<u64> {
    let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
    let shift = match text.get(digits.len()..)? {
        "" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        "T" => 40,
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(1 << shift)
}

/// A size as [`parse`] reads it, in the largest unit that is exact.
pub(crate) fn shown(bytes: u64) -> String {
    let units = [(40, "T"), (30, "G"), (20, "M"), (10, "K")];
    let exact = |(shift, _): &&(u32, &str)| bytes > 0 && bytes.trailing_zeros() >= *shift;
    match units.iter().find(exact) {
        Some((shift, unit)) => format!("{}{unit}", bytes >> shift),
        None => format!("{bytes} bytes"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        let sizes = [("500", 500), ("64K", 65_536), ("100M", 104_857_600), ("4G", 4 << 30)];
        for (text, bytes) in sizes {
            assert_eq!(parse(text), Some(bytes), "{text}");
        }
        for bad in ["", "M", "1 M", "1m", "1.5M", "-1", "99999999999999999999", "99999999999T"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
        assert_eq!(
            (shown(104_857_600), shown(0), shown(1500)),
            ("100M".into(), "0 bytes".into(), "1500 bytes".into())
        );
    }
}
