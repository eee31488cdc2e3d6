//! The value of `svn:keywords`: which keywords a file has, and what they expand to.
//!
//! The list is separated by white space. An item is one of the names that Subversion knows, each
//! of which stands for all its aliases, or the definition of a custom keyword, `Name=format`.

use std::collections::BTreeMap;

use jiff::tz::TimeZone;
use sapwood_core::date::Timestamp;
use sapwood_core::exact::{Cut, Exact};
use sapwood_core::{Revnum, uri};

/// The data for keywords: facts about one file and the revision that it last changed in.
#[derive(Clone, Debug)]
pub struct KeywordSource<'a> {
    /// The revision of the last change. `None` shows as `-1`, as it does for a file that was
    /// never committed.
    pub revision: Option<Revnum>,
    /// Whether the file has local changes since then: the revision gets an `M`.
    pub modified: bool,
    /// The date of that change.
    pub date: Option<Timestamp>,
    /// Its author.
    pub author: Option<&'a str>,
    /// URL of the file, encoded.
    pub url: &'a str,
    /// URL of the repository's root, encoded.
    pub root: &'a str,
    /// Where the user lives: the long form of dates is in local time.
    pub zone: &'a TimeZone,
}

/// Names and values.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Keywords {
    values: BTreeMap<Vec<u8>, Vec<u8>>,
}

/// A keyword that Subversion knows.
struct KeywordSpec {
    /// Its names; the first `exact` of them are known in this letter case only.
    names: &'static [&'static str],
    exact: usize,
    format: &'static str,
}

const KNOWN: [KeywordSpec; 6] = [
    KeywordSpec { names: &["LastChangedRevision", "Revision", "Rev"], exact: 2, format: "%r" },
    KeywordSpec { names: &["LastChangedDate", "Date"], exact: 1, format: "%D" },
    KeywordSpec { names: &["LastChangedBy", "Author"], exact: 1, format: "%a" },
    KeywordSpec { names: &["HeadURL", "URL"], exact: 1, format: "%u" },
    KeywordSpec { names: &["Id"], exact: 0, format: "%b %r %d %a" },
    KeywordSpec { names: &["Header"], exact: 0, format: "%u %r %d %a" },
];

const fn is_separator(byte: &u8) -> bool {
    matches!(*byte, b' ' | b'\t' | 0x0b | b'\n' | 0x08 | b'\r' | 0x0c)
}

impl Keywords {
    /// The keywords of `list`, with values.
    #[must_use]
    pub fn build(list: &[u8], source: &KeywordSource<'_>) -> Self {
        Self::with(list, |format| expand(format, source))
    }

    /// The keywords of `list`, with empty values.
    #[must_use]
    pub fn names(list: &[u8]) -> Self {
        Self::with(list, |_| Vec::new())
    }

    fn with(list: &[u8], value: impl Fn(&[u8]) -> Vec<u8>) -> Self {
        let mut values = BTreeMap::new();
        for item in list.split(is_separator).filter(|i| !i.is_empty()) {
            if let Some(at) = memchr::memchr(b'=', item) {
                let (name, format) = item.split_at(at);
                values.insert(name.to_vec(), value(format.tail(1)));
                continue;
            }
            let known = KNOWN.iter().find(|known| {
                known.names.iter().enumerate().any(|(at, name)| {
                    let any_case = at >= known.exact;
                    item == name.as_bytes()
                        || (any_case && item.eq_ignore_ascii_case(name.as_bytes()))
                })
            });
            if let Some(known) = known {
                let value = value(known.format.as_bytes());
                for name in known.names {
                    values.insert(name.as_bytes().to_vec(), value.clone());
                }
            }
        }
        Self { values }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The value of a keyword; `None` when the file has no such keyword.
    #[must_use]
    pub fn get(&self, name: &[u8]) -> Option<&[u8]> {
        self.values.get(name).map(Vec::as_slice)
    }

    /// Whether both have the same names. Values do not count.
    #[must_use]
    pub(crate) fn same_names(&self, other: &Self) -> bool {
        self.values.keys().eq(other.values.keys())
    }
}

/// Fills in a format. Codes that are not known stay as they are.
fn expand(format: &[u8], source: &KeywordSource<'_>) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = format;
    while let Some(at) = memchr::memchr(b'%', rest) {
        out.extend_from_slice(rest.head(at));
        rest = rest.tail(at.plus(1));
        let Some((code, after)) = rest.split_first() else {
            out.push(b'%');
            return out;
        };
        rest = after;
        expand_code(&mut out, *code, source);
    }
    out.extend_from_slice(rest);
    out
}

fn expand_code(out: &mut Vec<u8>, code: u8, source: &KeywordSource<'_>) {
    match code {
        b'a' => out.extend_from_slice(source.author.unwrap_or("").as_bytes()),
        b'b' => {
            if let Some((_, name)) = uri::split(source.url) {
                out.extend_from_slice(name.as_bytes());
            }
        }
        b'd' => {
            if let Some(date) = source.date {
                out.extend_from_slice(short_date(date).as_bytes());
            }
        }
        b'D' => {
            if let Some(date) = source.date {
                out.extend_from_slice(date.human(source.zone).as_bytes());
            }
        }
        b'P' => {
            if !source.root.is_empty()
                && !source.url.is_empty()
                && let Some(path) = uri::skip_ancestor(source.root, source.url)
            {
                out.extend_from_slice(path.as_bytes());
            }
        }
        b'R' => out.extend_from_slice(source.root.as_bytes()),
        b'r' => {
            match source.revision {
                Some(revision) => out.extend_from_slice(revision.to_string().as_bytes()),
                None => out.extend_from_slice(b"-1"),
            }
            if source.modified {
                out.push(b'M');
            }
        }
        b'u' => out.extend_from_slice(source.url.as_bytes()),
        b'_' => out.push(b' '),
        b'%' => out.push(b'%'),
        b'H' => out.extend(expand(b"%P%_%r%_%d%_%a", source)),
        b'I' => out.extend(expand(b"%b%_%r%_%d%_%a", source)),
        other => out.extend_from_slice(&[b'%', other]),
    }
}

/// `2026-11-21 20:26:00Z`.
fn short_date(date: Timestamp) -> String {
    // The long form without its letter and fractions of a second.
    let long = date.to_string();
    let day = long.head(10);
    let time = long.piece(11..19);
    format!("{day} {time}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn build(list: &str) -> Keywords {
        let source = KeywordSource {
            modified: false,
            revision: Some(Revnum(17)),
            date: Some(Timestamp::parse(b"2026-11-21T20:26:00.123456Z").unwrap()),
            author: Some("jo"),
            url: "svn://h/r/trunk/a%20b",
            root: "svn://h/r",
            zone: &TimeZone::UTC,
        };
        Keywords::build(list.as_bytes(), &source)
    }

    fn value(list: &str, name: &str) -> Option<String> {
        build(list).get(name.as_bytes()).map(|v| String::from_utf8(v.to_vec()).unwrap())
    }

    #[test]
    fn known_ones() {
        for (list, name, want) in [
            ("Rev", "LastChangedRevision", Some("17")),
            ("rEV", "Rev", Some("17")),
            ("revision", "Rev", None),
            ("\tDate\n", "LastChangedDate", Some("2026-11-21 20:26:00 +0000 (Sat, 21 Nov 2026)")),
            ("author", "LastChangedBy", Some("jo")),
            ("URL", "HeadURL", Some("svn://h/r/trunk/a%20b")),
            ("Id", "Id", Some("a b 17 2026-11-21 20:26:00Z jo")),
            ("header", "Header", Some("svn://h/r/trunk/a%20b 17 2026-11-21 20:26:00Z jo")),
            ("Nope", "Nope", None),
        ] {
            assert_eq!(value(list, name).as_deref(), want, "{list} {name}");
        }
        assert!(build("").is_empty());
    }

    #[test]
    fn custom_ones() {
        assert_eq!(value("My=%P%_%R%%%x%", "My").as_deref(), Some("trunk/a b svn://h/r%%x%"));
        assert_eq!(value("Id=%I", "Id").as_deref(), Some("a b 17 2026-11-21 20:26:00Z jo"));
        assert_eq!(value("H=%H", "H").as_deref(), Some("trunk/a b 17 2026-11-21 20:26:00Z jo"));
        assert!(build("Id=%I Rev").same_names(&Keywords::names(b"Rev Id")));
    }
}
