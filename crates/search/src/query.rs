//! A question as a user typed it, parsed.
//!
//! ```text
//! words "a phrase" re:"fn \w+_name" path:/trunk ext:rs author:ada rev:10-20 date:2024-01..2024-06
//! ```
//!
//! Invariant: a query has no more than [`MOST_WORDS`] words; what begins with an unknown name and a colon is a word.

use sapwood_core::FsPath;
use sapwood_core::exact::Exact as _;

use crate::error::{Error, Result};
use crate::pattern::Pattern;

/// Bytes of the longest query.
const LONGEST: usize = 1_000;
/// The limit of words.
const MOST_WORDS: usize = 16;

/// A question to an index.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Query {
    words: Vec<String>,
    patterns: Vec<Pattern>,
    path: Option<String>,
    extension: Option<String>,
    author: Option<String>,
    revisions: Option<(u64, u64)>,
    dates: Option<(String, String)>,
}

impl Query {
    /// Parses it.
    ///
    /// # Errors
    /// [`Error::Query`]: it is too long or empty, or a filter in it means nothing.
    pub fn parse(text: &str) -> Result<Self> {
        if text.len() > LONGEST {
            return Err(Error::Query("The question is too long"));
        }
        let mut query = Self::default();
        for (name, value) in pieces(text) {
            query.add(name, &value)?;
        }
        if query == Self::default() {
            return Err(Error::Query("The question is empty"));
        }
        if query.words.len().plus(query.patterns.len()) > MOST_WORDS {
            return Err(Error::Query("The question has too many words"));
        }
        Ok(query)
    }

    fn add(&mut self, name: &str, value: &str) -> Result<()> {
        let lower = value.to_lowercase();
        match name {
            "path" => self.path = Some(format!("/{}", lower.trim_matches('/'))),
            "ext" => self.extension = Some(lower.trim_start_matches('.').to_owned()),
            "author" => self.author = Some(lower),
            "re" => self.patterns.push(Pattern::parse(value)?),
            "rev" => {
                let bounds = bounds(value, "-");
                let number = |text: &str| text.trim_start_matches('r').parse();
                let (Ok(first), Ok(last)) = (number(bounds.0), number(bounds.1)) else {
                    return Err(Error::Query("'rev:' needs a number, or two with a '-' between"));
                };
                self.revisions = Some((first, last));
            }
            "date" => {
                let bounds = bounds(value, "..");
                let is_date = |text: &str| {
                    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit() || b == b'-')
                };
                if !is_date(bounds.0) || !is_date(bounds.1) {
                    return Err(Error::Query(
                        "'date:' needs a date, as 2024-05, or two with '..' between",
                    ));
                }
                self.dates = Some((bounds.0.to_owned(), bounds.1.to_owned()));
            }
            _ => self.words.push(lower),
        }
        Ok(())
    }

    pub(crate) fn words(&self) -> &[String] {
        &self.words
    }

    /// What all that is found must have: the words, and the letters that its patterns need.
    pub(crate) fn letters(&self) -> Vec<String> {
        let of_patterns = self.patterns.iter().flat_map(Pattern::letters);
        self.words.iter().chain(of_patterns).cloned().collect()
    }

    /// Whether a text has all words, and for each pattern a line that has it.
    #[must_use]
    pub fn is_in(&self, text: &str) -> bool {
        let lower = text.to_lowercase();
        self.words.iter().all(|word| lower.contains(word.as_str()))
            && self.patterns.iter().all(|pattern| pattern.is_in(text))
    }

    /// Whether a line of a text has one of the words or patterns.
    #[must_use]
    pub fn is_on_line(&self, line: &str) -> bool {
        let lower = line.to_lowercase();
        self.words.iter().any(|word| lower.contains(word.as_str()))
            || self.patterns.iter().any(|pattern| pattern.is_on_line(line))
    }

    /// Whether the filters `path:` and `ext:` let a path pass.
    #[must_use]
    pub fn allows_path(&self, path: &FsPath) -> bool {
        if !self.is_about_files() {
            return true;
        }
        let whole = path.as_str().to_lowercase();
        let is_below = self.path.as_deref().is_none_or(|wanted| {
            let rest = whole.strip_prefix(wanted.trim_end_matches('/'));
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        });
        let name = whole.rsplit('/').next().unwrap_or("");
        let has_extension = self.extension.as_deref().is_none_or(|wanted| {
            name.rsplit_once('.').is_some_and(|(_, extension)| extension == wanted)
        });
        is_below && has_extension
    }

    /// Whether the filters `author:` and `date:` let a revision pass, as far as the asker may see these.
    #[must_use]
    pub fn allows_change(&self, author: Option<&str>, date: Option<&str>) -> bool {
        let by = self.author.as_deref().is_none_or(|wanted| {
            author.is_some_and(|author| author.to_lowercase().contains(wanted))
        });
        let when = self.dates.as_ref().is_none_or(|(first, last)| {
            let date = date.unwrap_or("");
            let part = |length: usize| date.get(..length).unwrap_or(date);
            !date.is_empty()
                && part(first.len()) >= first.as_str()
                && part(last.len()) <= last.as_str()
        });
        by && when
    }

    /// The first and the last revision that may be found.
    #[must_use]
    pub fn revisions(&self) -> Option<(u64, u64)> {
        self.revisions
    }

    /// Whether it has words or patterns; without, every text would be found.
    #[must_use]
    pub fn has_words(&self) -> bool {
        !self.words.is_empty() || self.has_patterns()
    }

    /// Whether it has patterns.
    #[must_use]
    pub fn has_patterns(&self) -> bool {
        !self.patterns.is_empty()
    }

    /// Whether it asks for what only files have, or only revisions: what has not is not looked for then.
    #[must_use]
    pub fn is_about_files(&self) -> bool {
        self.path.is_some() || self.extension.is_some()
    }

    /// Whether it asks for what only revisions have.
    #[must_use]
    pub fn is_about_revisions(&self) -> bool {
        self.author.is_some() || self.revisions.is_some() || self.dates.is_some()
    }
}

fn bounds<'t>(text: &'t str, between: &str) -> (&'t str, &'t str) {
    text.split_once(between).unwrap_or((text, text))
}

/// The names of filters.
const FILTERS: [&str; 6] = ["path", "ext", "author", "rev", "date", "re"];

/// The parts of a query: the name of a filter or nothing, and a word or phrase.
fn pieces(text: &str) -> Vec<(&str, String)> {
    let mut found = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let filter = rest.split_once(':').filter(|(name, _)| FILTERS.contains(name));
        let (name, value) = filter.unwrap_or(("", rest));
        let (value, after) = match value.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').unwrap_or((quoted, "")),
            None => value.split_at(value.find(char::is_whitespace).unwrap_or(value.len())),
        };
        if !value.trim().is_empty() {
            found.push((name, value.to_owned()));
        }
        rest = after.trim_start();
    }
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn path(path: &str) -> &FsPath {
        FsPath::new(path).unwrap()
    }

    #[test]
    fn words_and_filters() {
        let query = Query::parse("Foo \"a  Phrase\" path:trunk/Src ext:.RS http://x").unwrap();
        assert_eq!(query.words(), ["foo", "a  phrase", "http://x"]);
        assert!(query.allows_path(path("/trunk/src/a.rs")) && query.is_about_files());
        for other in ["/trunk/srcs/a.rs", "/trunk/src/a.rsx", "/trunk/src/rs", "/src/a.rs"] {
            assert!(!query.allows_path(path(other)), "{other}");
        }
        assert!(query.is_in("FOO http://X a  phrase") && !query.is_in("foo a phrase http://x"));
        assert!(query.is_on_line("a fool") && !query.is_on_line("nothing"));
    }

    #[test]
    fn patterns_are_words_too() {
        let query = Query::parse("re:\"fn \\w+_name\" zebra").unwrap();
        assert_eq!(query.letters(), ["zebra", "fn ", "_name"]);
        assert!(query.is_in("a Zebra\nfn Old_Name()") && query.has_words());
        assert!(!query.is_in("a zebra\nfn\nold_name()") && !query.is_in("fn old_name()"));
        assert!(query.is_on_line("fn x_name") && !query.is_on_line("fn xname"));
        assert_ne!(query, Query::parse("re:\"fn \\w*_name\" zebra").unwrap());
    }

    #[test]
    fn revisions_authors_and_dates() {
        let query = Query::parse("author:Ada date:2024-01..2024-06 rev:r3-9").unwrap();
        assert_eq!(query.revisions(), Some((3, 9)));
        assert!(!query.has_words() && query.is_about_revisions());
        let allows = |author, date| query.allows_change(author, date);
        assert!(allows(Some("ada l."), Some("2024-06-30T23:59:59.000000Z")));
        assert!(!allows(Some("ada"), Some("2024-07-01T00:00:00.000000Z")));
        assert!(!allows(Some("ada"), None) && !allows(None, Some("2024-02-01T00:00:00.000000Z")));
        assert!(Query::parse("date:2024").unwrap().allows_change(None, Some("2024-12-31T1")));
    }

    #[test]
    fn what_means_nothing() {
        let many = "w ".repeat(MOST_WORDS + 1);
        let long = "x".repeat(LONGEST + 1);
        for text in [
            "",
            "  ",
            "\"\"",
            "rev:x",
            "rev:1-",
            "date:today",
            "date:..",
            "re:ab",
            "re:(abc",
            &many,
            &long,
        ] {
            assert!(matches!(Query::parse(text), Err(Error::Query(_))), "{text}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_parsed_or_refused(text in "(path:|rev:|date:|\"|[a-z é\"-]){0,30}") {
            if let Ok(query) = Query::parse(&text) {
                prop_assert!(query.words().len() <= MOST_WORDS);
                prop_assert!(query.words().iter().all(|word| text.to_lowercase().contains(word.as_str())));
            }
        }
    }
}
