//! The form of both messages: `name=value` pairs with commas between them, a value is a token or a quoted string.
//!
//! Invariant: a message has at most [`MAX_PAIRS`] pairs, and is looked at only if it is as short as the caller says.

use std::fmt::Write as _;

use super::DigestError;

/// The most pairs in a message.
const MAX_PAIRS: usize = 64;

/// The pairs of a message: names in lower case, values without quotes.
#[derive(Debug)]
pub(super) struct Directives(Vec<(String, String)>);

impl Directives {
    /// Parses a message of at most `limit` bytes.
    pub(super) fn parse(message: &[u8], limit: usize) -> Result<Self, DigestError> {
        let malformed = DigestError::Malformed;
        if message.len() > limit {
            return Err(malformed);
        }
        let mut rest = str::from_utf8(message).map_err(|_| malformed)?.trim_matches(BLANK);
        let mut pairs = Vec::new();
        loop {
            // Commas with nothing between them are allowed.
            rest = rest.trim_start_matches([' ', '\t', '\r', '\n', ',']);
            if rest.is_empty() {
                return Ok(Self(pairs));
            }
            let (name, after) = rest.split_once('=').ok_or(malformed)?;
            let name = name.trim_end_matches(BLANK);
            let (value, after) = value(after.trim_start_matches(BLANK)).ok_or(malformed)?;
            if name.is_empty() || !name.bytes().all(is_token) || pairs.len() >= MAX_PAIRS {
                return Err(malformed);
            }
            pairs.push((name.to_ascii_lowercase(), value));
            rest = after.trim_start_matches(BLANK);
            if !rest.is_empty() && !rest.starts_with(',') {
                return Err(malformed);
            }
        }
    }

    /// All values of a name.
    pub(super) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(known, _)| known == name).map(|(_, value)| &**value)
    }

    /// The value of a name that is there once at most.
    pub(super) fn one(&self, name: &str) -> Result<Option<&str>, DigestError> {
        let mut all = self.0.iter().filter(|(known, _)| known == name).map(|(_, value)| &**value);
        let first = all.next();
        if all.next().is_some() { Err(DigestError::Malformed) } else { Ok(first) }
    }

    /// The value of a name that is there once.
    pub(super) fn needed(&self, name: &str) -> Result<&str, DigestError> {
        self.one(name)?.ok_or(DigestError::Malformed)
    }

    /// `charset=utf-8` is the only one that there is.
    pub(super) fn check_charset(&self) -> Result<bool, DigestError> {
        match self.one("charset")? {
            None => Ok(false),
            Some(name) if name.eq_ignore_ascii_case("utf-8") => Ok(true),
            Some(_) => Err(DigestError::Malformed),
        }
    }

    /// The largest packet that the other side receives, in bytes.
    pub(super) fn max_packet(&self) -> Result<u32, DigestError> {
        let Some(text) = self.one("maxbuf")? else { return Ok(1 << 16) };
        let digits = text.bytes().all(|byte| byte.is_ascii_digit());
        let number = text.parse().ok().filter(|number| digits && (17..1 << 24).contains(number));
        number.ok_or(DigestError::Malformed)
    }
}

const BLANK: [char; 4] = [' ', '\t', '\r', '\n'];

const fn is_token(byte: u8) -> bool {
    byte.is_ascii_graphic()
        && !matches!(
            byte,
            b'(' | b')'
                | b'<'
                | b'>'
                | b'@'
                | b','
                | b';'
                | b':'
                | b'\\'
                | b'"'
                | b'/'
                | b'['
                | b']'
                | b'?'
                | b'='
                | b'{'
                | b'}'
        )
}

/// A value at the beginning of a text, and what follows it.
fn value(text: &str) -> Option<(String, &str)> {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find(|c: char| c == ',' || BLANK.contains(&c)).unwrap_or(text.len());
        let (token, rest) = text.split_at_checked(end)?;
        let valid = !token.is_empty() && token.bytes().all(is_token);
        return valid.then(|| (token.to_owned(), rest));
    };
    let mut out = String::new();
    let mut chars = quoted.chars();
    loop {
        match chars.next()? {
            '"' => return Some((out, chars.as_str())),
            '\\' => out.push(chars.next()?),
            // Neither names nor nonces have these.
            '\0'..='\x08' | '\n'..='\x1f' | '\x7f' => return None,
            c => out.push(c),
        }
    }
}

/// Appends a pair whose value is quoted.
pub(super) fn quoted(out: &mut String, name: &str, value: &str) {
    let value = value.replace('\\', "\\\\").replace('"', "\\\"");
    let comma = if out.is_empty() { "" } else { "," };
    let _ = write!(out, "{comma}{name}=\"{value}\"");
}

/// Appends a pair whose value is a token.
pub(super) fn token(out: &mut String, name: &str, value: impl std::fmt::Display) {
    let comma = if out.is_empty() { "" } else { "," };
    let _ = write!(out, "{comma}{name}={value}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pairs(text: &str) -> Option<Vec<(String, String)>> {
        Directives::parse(text.as_bytes(), 4096).ok().map(|found| found.0)
    }

    #[test]
    fn forms() {
        let found = pairs(" ,, Realm = \"a \\\"b\\\\\" ,nc=00000001,,qop=\"\"\r\n, ").unwrap();
        let found: Vec<_> = found.iter().map(|(name, value)| (&**name, &**value)).collect();
        assert_eq!(found, [("realm", "a \"b\\"), ("nc", "00000001"), ("qop", "")]);
        assert_eq!(pairs(""), Some(vec![]));
        for wrong in [
            "a", "=b", "a=", "a=\"b", "a=\"b\\", "a=b c=d", "a=\"b\"c", "a b=c", "a=b\"c\"",
            "a=\"\n\"", "a=\"\0\"", "\u{e4}=b", "a=\u{e4}",
        ] {
            assert_eq!(pairs(wrong), None, "{wrong:?}");
        }
        assert_eq!(pairs(&"a=b,".repeat(MAX_PAIRS)).map(|found| found.len()), Some(MAX_PAIRS));
        assert_eq!(pairs(&"a=b,".repeat(MAX_PAIRS + 1)), None);
        assert!(Directives::parse(b"a=bcd", 4).is_err());
        assert!(Directives::parse(b"a=\"\xe4\"", 99).is_err());
    }

    #[test]
    fn sizes_of_packets() {
        let of = |text: &str| Directives::parse(text.as_bytes(), 99).unwrap().max_packet();
        assert_eq!(of(""), Ok(65536));
        assert_eq!(of("maxbuf=17"), Ok(17));
        assert_eq!(of("maxbuf=\"16777215\""), Ok(16_777_215));
        for wrong in ["16", "16777216", "+99", "\"\"", "99999999999", "99,maxbuf=99"] {
            assert!(of(&format!("maxbuf={wrong}")).is_err(), "{wrong}");
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(values in prop::collection::vec("[ -~\u{a0}-\u{ff}\u{4e00}]{0,20}", 0..8)) {
            let mut text = String::new();
            for value in &values {
                quoted(&mut text, "Name", value);
            }
            let found = pairs(&text).unwrap();
            prop_assert_eq!(found.into_iter().map(|(_, value)| value).collect::<Vec<_>>(), values);
        }

        #[test]
        fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = Directives::parse(&bytes, 4096);
        }
    }
}
