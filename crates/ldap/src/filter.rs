//! Filters of searches (RFC 4515) with words in braces, which stand for values.
//!
//! Invariant: a value is one value whatever bytes it has, since each byte that could mean something is escaped.

/// A filter with words in braces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Template {
    parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Word(String),
}

impl Template {
    /// Reads a filter.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            let (word, after) =
                after.split_once('}').ok_or_else(|| format!("'{text}' has '{{' without '}}'"))?;
            let is_word = |c: char| c.is_ascii_alphanumeric() || c == '-';
            if word.is_empty() || !word.chars().all(is_word) {
                return Err(format!("'{{{word}}}' is no name of an attribute"));
            }
            parts.push(Part::Text(before.to_owned()));
            parts.push(Part::Word(word.to_owned()));
            rest = after;
        }
        parts.push(Part::Text(rest.to_owned()));
        let template = Self { parts };
        let example = template.fill(&|_| Some(b"x".to_vec()));
        if example.is_none_or(|filter| ldap3::parse_filter(filter).is_err()) {
            return Err(format!("'{text}' is no filter, such as '(uid={{user}})'"));
        }
        Ok(template)
    }

    /// The words in braces.
    pub(crate) fn attributes(&self) -> impl Iterator<Item = &str> {
        self.parts.iter().filter_map(|part| match part {
            Part::Word(word) => Some(word.as_str()),
            Part::Text(_) => None,
        })
    }

    /// The filter for these values; `None` if one of them is missing.
    pub(crate) fn fill(&self, value: &dyn Fn(&str) -> Option<Vec<u8>>) -> Option<String> {
        let mut filter = String::new();
        for part in &self.parts {
            match part {
                Part::Text(text) => filter.push_str(text),
                Part::Word(word) => filter.push_str(&escape(&value(word)?)),
            }
        }
        Some(filter)
    }
}

/// A value within a filter: letters, digits and a few marks as they are, everything else as `\XX`.
pub(crate) fn escape(value: &[u8]) -> String {
    use std::fmt::Write as _;
    let mut escaped = String::with_capacity(value.len());
    for byte in value {
        if byte.is_ascii_alphanumeric() || b"-_.@ ".contains(byte) {
            escaped.push(char::from(*byte));
        } else {
            // Writing to a string does not fail.
            let _ = write!(escaped, "\\{byte:02x}");
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn templates() {
        let template = Template::parse("(&(uid={user})(|(a={b-c})(d=*)))").unwrap();
        assert_eq!(template.attributes().collect::<Vec<_>>(), ["user", "b-c"]);
        let fill = |user: &str| template.fill(&|_| Some(user.as_bytes().to_vec())).unwrap();
        assert_eq!(fill("ada"), "(&(uid=ada)(|(a=ada)(d=*)))");
        assert_eq!(fill("*)(uid=*"), r"(&(uid=\2a\29\28uid\3d\2a)(|(a=\2a\29\28uid\3d\2a)(d=*)))");
        assert_eq!(template.fill(&|_| None), None);
        for bad in ["", "uid={user}(", "(uid={user)", "(uid={})", "(uid={a b})", "(uid={user}))"] {
            assert!(Template::parse(bad).is_err(), "{bad}");
        }
    }

    proptest! {
        /// Whatever a client sends, it stays one value of the filter.
        #[test]
        fn a_value_stays_a_value(value in any::<Vec<u8>>()) {
            let template = Template::parse("(uid={user})").unwrap();
            let filter = template.fill(&|_| Some(value.clone())).unwrap();
            let inner = &filter["(uid=".len()..filter.len() - 1];
            prop_assert!(!inner.contains(['(', ')', '*', '\0', '=']));
            let mut bytes = Vec::new();
            let mut rest = inner.as_bytes().iter();
            while let Some(byte) = rest.next() {
                if *byte == b'\\' {
                    let digits = [*rest.next().unwrap(), *rest.next().unwrap()];
                    let digits = std::str::from_utf8(&digits).unwrap();
                    bytes.push(u8::from_str_radix(digits, 16).unwrap());
                } else {
                    bytes.push(*byte);
                }
            }
            prop_assert_eq!(&bytes, &value);
            prop_assert_eq!(ldap3::parse_filter(&filter).is_ok(), true);
        }
    }
}
