//! Text in the encoding of the terminal.
//!
//! Sapwood speaks UTF-8. Where the environment says that the terminal does not (`LC_ALL=C`), the
//! reference's programs write what ASCII can express, and `{U+00E9}` for the rest; scripts that
//! run them so see the same from us.

use std::borrow::Cow;
use std::sync::OnceLock;

/// Whether output is UTF-8, by the first of `LC_ALL`, `LC_CTYPE` and `LANG` that is set.
pub(crate) fn is_utf8() -> bool {
    static UTF8: OnceLock<bool> = OnceLock::new();
    *UTF8.get_or_init(|| {
        let name = ["LC_ALL", "LC_CTYPE", "LANG"]
            .iter()
            .filter_map(|name| std::env::var(name).ok())
            .find(|value| !value.is_empty())
            .unwrap_or_default()
            .to_ascii_lowercase();
        name.contains("utf-8") || name.contains("utf8")
    })
}

/// `text` in the encoding of the terminal.
pub(crate) fn encode(text: &str) -> Cow<'_, [u8]> {
    if text.is_ascii() || is_utf8() {
        return Cow::Borrowed(text.as_bytes());
    }
    Cow::Owned(to_ascii(text).into_bytes())
}

/// What ASCII can express of `text`.
fn to_ascii(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if c.is_ascii() {
            out.push(c);
        } else {
            out.push_str(&format!("{{U+{:04X}}}", u32::from(c)));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ascii_fallback() {
        assert_eq!(to_ascii("a\u{2014}b"), "a{U+2014}b");
    }
}
