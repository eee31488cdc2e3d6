//! Text in the encoding of the terminal.
//!
//! Sapwood speaks UTF-8. Where the environment says that the terminal does not (`LC_ALL=C`), the
//! reference's programs write what ASCII can express, and `{U+00E9}` for the rest; scripts that
//! run them so see the same from us.

use std::borrow::Cow;
use std::io::Write as _;
use std::sync::OnceLock;

use sapwood_core::exact::Cut;
use sapwood_core::{ErrorCode, SvnError, SvnResult, ascii};

mod installed;

/// The variable that says what the terminal's encoding is: the first of three that is set.
fn variable() -> Option<(&'static str, String)> {
    ["LC_ALL", "LC_CTYPE", "LANG"]
        .into_iter()
        .filter_map(|name| Some((name, std::env::var_os(name)?.to_string_lossy().into_owned())))
        .find(|(_, value)| !value.is_empty())
}

/// Whether output is UTF-8, by the first of `LC_ALL`, `LC_CTYPE` and `LANG` that is set. What is no
/// locale of this machine is the `C` locale.
fn is_utf8() -> bool {
    static UTF8: OnceLock<bool> = OnceLock::new();
    *UTF8.get_or_init(|| {
        let Some((_, value)) = variable() else { return false };
        let name = value.to_ascii_lowercase();
        (name.contains("utf-8") || name.contains("utf8")) && installed::is_known(&value)
    })
}

/// Warns of an unknown locale, as the reference does at its start.
pub(crate) fn check(program: &str) {
    let Some((name, value)) = variable().filter(|(_, value)| !installed::is_known(value)) else {
        return;
    };
    let warning = format!(
        "{program}: warning: cannot set LC_CTYPE locale\n\
         {program}: warning: environment variable {name} is {value}\n\
         {program}: warning: please check that your locale name is correct\n"
    );
    let _ = std::io::stderr().write_all(warning.as_bytes());
}

/// `text` in the encoding of the terminal.
pub(crate) fn encode(text: &str) -> Cow<'_, [u8]> {
    if text.is_ascii() || is_utf8() {
        return Cow::Borrowed(text.as_bytes());
    }
    Cow::Owned(ascii::of_text(text).into_bytes())
}

/// Bytes that should be UTF-8, in the encoding of the terminal; what is not UTF-8 is written as
/// the codes of its bytes, like `?\\E9`.
pub(crate) fn encode_bytes(bytes: &[u8]) -> Cow<'_, [u8]> {
    if bytes.is_ascii() || (is_utf8() && std::str::from_utf8(bytes).is_ok()) {
        return Cow::Borrowed(bytes);
    }
    Cow::Owned(ascii::of_bytes(bytes).into_bytes())
}

/// Valid bytes that an error about invalid ones shows, and invalid ones.
const SHOWN: (usize, usize) = (24, 4);

/// Text in the encoding of the terminal as UTF-8.
///
/// # Errors
/// E22 for what that encoding does not have.
pub(crate) fn decode(bytes: Vec<u8>) -> SvnResult<String> {
    decode_from(bytes, is_utf8())
}

fn decode_from(bytes: Vec<u8>, utf8: bool) -> SvnResult<String> {
    if !utf8 && !bytes.is_ascii() {
        return Err(SvnError::new(ErrorCode::EINVAL, ascii::of_bytes(&bytes))
            .wrap(ErrorCode::EINVAL, "Can't convert string from native encoding to 'UTF-8':"));
    }
    String::from_utf8(bytes).map_err(|e| {
        let at = e.utf8_error().valid_up_to();
        let (valid, invalid) = (e.as_bytes().head(at), e.as_bytes().tail(at));
        let hex = |bytes: &[u8]| bytes.iter().map(|b| format!(" {b:02x}")).collect::<String>();
        let valid = valid.tail(valid.len().saturating_sub(SHOWN.0));
        let invalid = invalid.head(SHOWN.1.min(invalid.len()));
        SvnError::new(
            ErrorCode::EINVAL,
            format!(
                "Valid UTF-8 data\n(hex:{})\nfollowed by invalid UTF-8 sequence\n(hex:{})",
                hex(valid),
                hex(invalid)
            ),
        )
    })
}

/// The text with every line ending (`\r\n`, `\r`) made a newline; they must be all of one kind.
///
/// # Errors
/// E135000 when they are not.
pub(crate) fn with_newlines(text: String) -> SvnResult<String> {
    if !text.contains('\r') {
        return Ok(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut kind = None;
    let mut rest = text.as_str();
    while let Some(at) = rest.find(['\r', '\n']) {
        let (line, ending) = (rest.head(at), rest.tail(at));
        let this = if ending.starts_with("\r\n") { 2 } else { 1 };
        let (this, after) = (ending.head(this), ending.tail(this));
        if *kind.get_or_insert(this) != this {
            return Err(SvnError::new(ErrorCode::IO_INCONSISTENT_EOL, ""));
        }
        out.push_str(line);
        out.push('\n');
        rest = after;
    }
    out.push_str(rest);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_endings() {
        for (text, expected) in [
            ("", Some("")),
            ("a\nb", Some("a\nb")),
            ("a\r\nb\r\n", Some("a\nb\n")),
            ("a\rb\r", Some("a\nb\n")),
            ("a\r\nb\n", None),
            ("a\r\r\n", None),
            ("\n\r", None),
        ] {
            let made = with_newlines(text.to_owned());
            assert_eq!(made.ok().as_deref(), expected, "{text:?}");
        }
    }

    #[test]
    fn ascii_fallback() {
        assert_eq!(encode_bytes(b"a\xe9b").as_ref(), b"a?\\E9b");
    }

    #[test]
    fn text_that_comes_in() {
        assert_eq!(decode_from("\u{e9}".into(), true).unwrap(), "\u{e9}");
        assert_eq!(decode_from("e".into(), false).unwrap(), "e");
        let error = decode_from("\u{e9}".into(), false).unwrap_err();
        assert_eq!(error.chain().last().unwrap().message(), "e");
        let error = decode_from(b"ab\xe9\n12345".to_vec(), true).unwrap_err();
        assert_eq!(
            error.message(),
            "Valid UTF-8 data\n(hex: 61 62)\nfollowed by invalid UTF-8 sequence\n(hex: e9 0a 31 32)"
        );
    }
}
