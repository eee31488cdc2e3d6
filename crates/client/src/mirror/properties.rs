//! Properties of the source in the form that properties must have: UTF-8, lines that end in LF,
//! mergeinfo that knows no revision 0.

use sapwood_core::exact::{Cut, Exact};
use sapwood_core::{ErrorCode, PropList, SvnError, SvnResult};

/// How text of the source is encoded.
#[derive(Clone, Copy, Debug)]
pub enum Encoding {
    /// UTF-8, as it should be.
    Utf8,
    /// ISO 8859-1.
    Latin1,
    /// One without a table: what is ASCII will be the same in it.
    Unknown,
    /// Another one.
    Other(&'static encoding_rs::Encoding),
}

impl Encoding {
    /// The encoding of this name.
    #[must_use]
    pub fn named(name: &str) -> Self {
        match name.to_ascii_lowercase().as_str() {
            "utf-8" | "utf8" => Self::Utf8,
            "iso-8859-1" | "iso8859-1" | "latin1" => Self::Latin1,
            other => encoding_rs::Encoding::for_label(other.as_bytes())
                .map_or(Self::Unknown, Self::Other),
        }
    }

    /// A value as UTF-8. UTF-8 itself is not checked: the mirror decides.
    fn decode(self, value: &[u8]) -> SvnResult<Vec<u8>> {
        match self {
            Self::Utf8 => Ok(value.to_vec()),
            Self::Latin1 => {
                Ok(value.iter().map(|b| char::from(*b)).collect::<String>().into_bytes())
            }
            Self::Unknown => ascii(value).map(<[u8]>::to_vec),
            Self::Other(encoding) => encoding
                .decode_without_bom_handling_and_without_replacement(value)
                .map(|text| text.into_owned().into_bytes())
                .ok_or_else(|| {
                    SvnError::new(
                        ErrorCode::EINVAL,
                        "Can't convert string from native encoding to 'UTF-8'",
                    )
                }),
        }
    }

    /// A value in its proper form, and whether its line ends were not.
    pub(super) fn value(self, value: &[u8]) -> SvnResult<(Vec<u8>, bool)> {
        let text = self.decode(value)?;
        if !text.contains(&b'\r') {
            return Ok((text, false));
        }
        let mut proper = Vec::with_capacity(text.len());
        let mut bytes = text.into_iter().peekable();
        while let Some(byte) = bytes.next() {
            if byte == b'\r' {
                bytes.next_if_eq(&b'\n');
                proper.push(b'\n');
            } else {
                proper.push(byte);
            }
        }
        Ok((proper, true))
    }

    /// Brings all `svn:` properties of a list into their proper form; how many had other line
    /// ends.
    pub(super) fn normalize(self, props: &mut PropList) -> SvnResult<u64> {
        let mut count = 0u64;
        let mut changed = Vec::new();
        for (name, value) in props.iter().filter(|(name, _)| name.starts_with("svn:")) {
            let (proper, normalized) = self.value(value)?;
            if normalized {
                count = count.plus(1);
            }
            if proper != value {
                changed.push((name.to_owned(), proper));
            }
        }
        for (name, value) in changed {
            props.set(name, value);
        }
        Ok(count)
    }
}

/// Text that is ASCII and can be printed.
///
/// # Errors
/// E22 with the first byte that is not.
pub fn ascii(value: &[u8]) -> SvnResult<&[u8]> {
    let odd = |b: &u8| !b.is_ascii() || (b.is_ascii_control() && !b"\t\n\x0b\x0c\r".contains(b));
    let Some((at, byte)) = value.iter().enumerate().find(|(_, byte)| odd(byte)) else {
        return Ok(value);
    };
    let safe = value.head(at);
    let text = match String::from_utf8_lossy(safe) {
        safe if safe.is_empty() => format!(
            "Non-ASCII character (code {byte}) detected, and unable to convert to/from UTF-8"
        ),
        safe => format!(
            "Safe data '{safe}' was followed by non-ASCII byte {byte}: unable to convert to/from \
             UTF-8"
        ),
    };
    Err(SvnError::new(ErrorCode::EINVAL, text))
}

/// Mergeinfo without revision 0, which old programs wrote; `None` when there was none of it.
pub(super) fn without_revision_zero(value: &[u8]) -> SvnResult<Option<Vec<u8>>> {
    let text = String::from_utf8_lossy(value);
    let mut lines = Vec::new();
    for line in text.split('\n').filter(|line| !line.is_empty()) {
        let Some((path, ranges)) = line.rsplit_once(':') else {
            return Err(SvnError::new(
                ErrorCode::MERGEINFO_PARSE_ERROR,
                "Missing colon in svn:mergeinfo property",
            ));
        };
        let left: Vec<String> = ranges.split(',').filter_map(without_zero).collect();
        if !left.is_empty() {
            lines.push(format!("{path}:{}", left.join(",")));
        }
    }
    let joined = lines.join("\n");
    Ok(if joined.as_bytes() == value { None } else { Some(joined.into_bytes()) })
}

/// One range without revision 0.
fn without_zero(range: &str) -> Option<String> {
    match range {
        "0" | "0*" => None,
        "0-1" => Some("1".to_owned()),
        "0-1*" => Some("1*".to_owned()),
        _ => Some(match range.strip_prefix("0-") {
            Some(rest) => format!("1-{rest}"),
            None => range.to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_ends_and_encodings() {
        assert_eq!(Encoding::Utf8.value(b"a\r\nb\rc\n").unwrap(), (b"a\nb\nc\n".to_vec(), true));
        assert_eq!(Encoding::Latin1.value(b"\xe9").unwrap(), ("é".into(), false));
        assert_eq!(Encoding::Utf8.value(b"\xe9\r").unwrap(), (b"\xe9\n".to_vec(), true));
        let mut props: PropList =
            [("svn:log".to_owned(), b"a\r".to_vec()), ("other".to_owned(), b"a\r".to_vec())]
                .into_iter()
                .collect();
        assert_eq!(Encoding::Utf8.normalize(&mut props).unwrap(), 1);
        assert_eq!(props.get("svn:log"), Some(&b"a\n"[..]));
        assert_eq!(props.get("other"), Some(&b"a\r"[..]));
    }

    #[test]
    fn no_revision_zero() {
        for (value, want) in [
            ("/a:0", Some("")),
            ("/a:0-3,5", Some("/a:1-3,5")),
            ("/a:0,4*\n/b:0-1*", Some("/a:4*\n/b:1*")),
            ("/a:1-3", None),
        ] {
            let found = without_revision_zero(value.as_bytes()).unwrap();
            assert_eq!(found.as_deref(), want.map(str::as_bytes), "{value}");
        }
        assert!(without_revision_zero(b"nonsense").is_err());
    }
}
