//! Properties of revisions on command lines (`NAME[=VALUE]`), and text in the form in which properties are kept.

use sapwood_core::props::names;
use sapwood_core::{ErrorCode, PropList, SvnError, SvnResult};

use crate::locale;
use crate::usage::usage_error;

fn bad_name(text: String) -> SvnError {
    SvnError::new(ErrorCode::CLIENT_PROPERTY_NAME, text)
}

/// Takes a `--with-revprop`.
pub(crate) fn take(props: &mut PropList, text: &str) -> SvnResult<()> {
    if text.is_empty() {
        return Err(usage_error("Revision property pair is empty"));
    }
    let (name, value) = text.split_once('=').unwrap_or((text, ""));
    take_bytes(props, name, value.as_bytes())
}

/// The same, already parsed.
pub(crate) fn take_bytes(props: &mut PropList, name: &str, value: &[u8]) -> SvnResult<()> {
    if name.is_empty() && value.is_empty() {
        return Err(usage_error("Revision property pair is empty"));
    }
    if !names::is_valid(name) {
        return Err(bad_name(format!("'{name}' is not a valid Subversion property name")));
    }
    // The value as typed: only log messages get uniform line ends, and not here.
    props.set(name, value);
    Ok(())
}

/// Text with line ends of one kind, as log messages and `svn:` properties are kept.
pub(crate) fn normalized(text: &[u8], otherwise: &str) -> SvnResult<Vec<u8>> {
    let text = match std::str::from_utf8(text) {
        Ok(text) => Ok(text.to_owned()),
        // Says what is wrong with it, in the words of the terminal's encoding.
        Err(_) => locale::decode(text.to_vec()),
    };
    let text = text.and_then(locale::with_newlines).map_err(|e| match otherwise {
        "" => e,
        _ => e.context(otherwise),
    })?;
    Ok(text.into_bytes())
}

/// The same of text in another encoding, for `--encoding`.
pub(crate) fn translated(
    text: &[u8],
    encoding: Option<&str>,
    otherwise: &str,
) -> SvnResult<Vec<u8>> {
    let Some(name) = encoding else { return normalized(text, otherwise) };
    let wrap = |error: SvnError| match otherwise {
        "" => error,
        _ => error.context(otherwise),
    };
    if ["UTF-8", "UTF8"].iter().any(|own| name.eq_ignore_ascii_case(own)) {
        // Nothing is converted, and so nothing is checked here: the repository checks it.
        return Ok(with_newlines(text));
    }
    if ["ISO-8859-1", "ISO8859-1", "ISO_8859-1", "LATIN1", "L1"]
        .iter()
        .any(|latin| name.eq_ignore_ascii_case(latin))
    {
        let decoded: String = text.iter().copied().map(char::from).collect();
        return normalized(decoded.as_bytes(), otherwise);
    }
    let Some(known) = encoding_rs::Encoding::for_label(name.as_bytes()) else {
        // Text in an unknown encoding must be ASCII.
        return normalized(sapwood_client::mirror::ascii(text).map_err(wrap)?, otherwise);
    };
    let (decoded, wrong) = known.decode_without_bom_handling(text);
    if wrong {
        let text = format!("Can't convert string from '{name}' to 'UTF-8':");
        return Err(wrap(SvnError::new(ErrorCode::EINVAL, text)));
    }
    normalized(decoded.as_bytes(), otherwise)
}

/// Bytes with line ends of one kind.
fn with_newlines(text: &[u8]) -> Vec<u8> {
    let mut made = Vec::with_capacity(text.len());
    let mut bytes = text.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        if byte == b'\r' {
            let _pair = bytes.next_if_eq(&b'\n');
            made.push(b'\n');
        } else {
            made.push(byte);
        }
    }
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn on_the_command_line() {
        let mut props = PropList::new();
        take(&mut props, "a:b=c\r\nd=e").unwrap();
        take(&mut props, "empty").unwrap();
        assert_eq!(props.get("a:b"), Some(&b"c\r\nd=e"[..]));
        assert_eq!(props.get("empty"), Some(&b""[..]));
        assert!(take(&mut props, "").is_err() && take(&mut props, "-x=1").is_err());
    }
}
