//! Properties that added files get by their names: `[auto-props]` of the configuration, and
//! `svn:auto-props` of directories above.

use std::collections::BTreeMap;

use sapwood_core::exact::Exact;
use sapwood_core::{PropList, glob, props::names};

use crate::props::rules::{TRUE_VALUE, is_boolean};

/// Patterns, and the properties that each brings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AutoProps {
    patterns: BTreeMap<String, BTreeMap<String, Vec<u8>>>,
}

fn trim(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_ascii_whitespace() || c == '\x0b')
}

fn unquote(text: &str) -> &str {
    let quoted = |quote| text.strip_prefix(quote).and_then(|t| t.strip_suffix(quote));
    quoted('"').or_else(|| quoted('\'')).unwrap_or(text)
}

/// The parts between semicolons; two semicolons are an escaped one.
fn parts(value: &str) -> Vec<String> {
    let mut out = vec![String::new()];
    let mut chars = value.chars().peekable();
    while let Some(c) = chars.next() {
        if c == ';' && chars.next_if_eq(&';').is_none() {
            out.push(String::new());
        } else if let Some(last) = out.last_mut() {
            last.push(c);
        }
    }
    out
}

impl AutoProps {
    /// Adds an option of the configuration: a pattern and `name=value;name=value`.
    pub fn add(&mut self, pattern: &str, value: &str) {
        if value.is_empty() {
            return;
        }
        for part in parts(value) {
            let (name, value) = match part.split_once('=') {
                Some((name, value)) => (name, unquote(trim(value))),
                None => (part.as_str(), ""),
            };
            let name = trim(name);
            if name.is_empty() {
                continue;
            }
            let value = if is_boolean(name) { TRUE_VALUE } else { value.as_bytes() };
            let of_pattern = self.patterns.entry(pattern.to_owned()).or_default();
            of_pattern.insert(name.to_owned(), value.to_vec());
        }
    }

    /// Adds the lines of a value of `svn:auto-props`.
    pub fn add_value(&mut self, value: &[u8]) {
        for line in String::from_utf8_lossy(value).split('\n') {
            let (pattern, group) = line.split_once('=').unwrap_or((line, ""));
            self.add(trim(pattern), trim(group));
        }
    }

    /// The properties for a name.
    #[must_use]
    pub fn of(&self, name: &str) -> PropList {
        let name = name.to_ascii_lowercase();
        let mut props = PropList::new();
        for (pattern, values) in &self.patterns {
            if glob::matches(pattern.to_ascii_lowercase().as_bytes(), name.as_bytes()) {
                for (name, value) in values {
                    props.set(name, value);
                }
            }
        }
        props
    }
}

/// The media type by the name's extension (`mimetypes-files`) or by the first bytes of the text.
#[must_use]
pub fn media_type(name: &str, types: &BTreeMap<String, String>, start: &[u8]) -> Option<String> {
    let extension = name.rsplit_once('.').filter(|(stem, _)| !stem.is_empty()).map(|(_, e)| e);
    let known = extension.and_then(|e| types.get(&e.to_ascii_lowercase()));
    known.cloned().or_else(|| is_binary(start).then(|| "application/octet-stream".to_owned()))
}

/// Whether the first bytes of a file (up to 1024) show that it is not text.
#[must_use]
pub fn is_binary(start: &[u8]) -> bool {
    if start == b"\xef\xbb\xbf" || start.is_empty() {
        return false;
    }
    if start.contains(&0) {
        return true;
    }
    let odd = |b: &&u8| **b < 0x07 || (**b > 0x0d && **b < 0x20) || **b > 0x7f;
    let count = start.iter().filter(odd).count();
    count.times(1000).checked_div(start.len()).unwrap_or(0) > 850
}

/// Adds what the file itself asks for, unless a pattern did: media type, and `svn:executable`.
pub fn add_found(props: &mut PropList, media_type: Option<&str>, executable: bool) {
    if let Some(media_type) = media_type.filter(|_| props.get(names::MIME_TYPE).is_none()) {
        props.set(names::MIME_TYPE, media_type);
    }
    if executable && props.get(names::EXECUTABLE).is_none() {
        props.set(names::EXECUTABLE, TRUE_VALUE);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_and_values() {
        let mut auto = AutoProps::default();
        auto.add("*.c", "svn:eol-style=native;svn:executable=yes; x = \"a;;b\" ;y");
        auto.add_value(b"*.TXT = svn:keywords=Author Id\nbar = \n");
        let props = auto.of("main.C");
        assert_eq!(props.get_str("svn:eol-style"), Some("native"));
        assert_eq!(props.get_str("svn:executable"), Some("*"));
        assert_eq!(props.get_str("x"), Some("a;b"));
        assert_eq!(props.get_str("y"), Some(""));
        assert_eq!(auto.of("a.txt").get_str("svn:keywords"), Some("Author Id"));
        assert!(auto.of("bar").is_empty());
    }

    #[test]
    fn binary_texts() {
        assert!(is_binary(b"a\0") && !is_binary(b"text\n") && !is_binary(b""));
        assert!(is_binary(&[0xff; 10]) && !is_binary(b"\xef\xbb\xbf"));
        let types = [("png".to_owned(), "image/png".to_owned())].into_iter().collect();
        assert_eq!(media_type("a.PNG", &types, b"").as_deref(), Some("image/png"));
        assert_eq!(media_type(".png", &types, b"a"), None);
    }
}
