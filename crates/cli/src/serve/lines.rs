//! Where settings stand in the configuration file, and what is wrong with them.

use std::collections::HashMap;
use std::path::Path;

use sapwood_core::exact::Exact as _;
use sapwood_core::{ErrorCode, SvnError};
use toml::de::{DeTable, DeValue};

/// Something that is wrong with a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Problem {
    /// The setting, as [`Lines`] names it.
    pub(super) setting: String,
    pub(super) why: String,
    /// Whether the server can do without: what may come later, or a setting that has no effect.
    pub(super) is_warning: bool,
}

impl Problem {
    /// One that the server does not start with.
    pub(super) fn error(setting: impl Into<String>, why: impl Into<String>) -> Self {
        Self { setting: setting.into(), why: why.into(), is_warning: false }
    }

    /// A problem that is only reported.
    pub(super) fn warning(setting: impl Into<String>, why: impl Into<String>) -> Self {
        Self { is_warning: true, ..Self::error(setting, why) }
    }

    /// The sentence, with the file and the line of the setting.
    pub(super) fn text(&self, file: &Path, lines: &Lines) -> String {
        match lines.of(&self.setting) {
            Some(line) => format!("{}:{line}: {}", file.display(), self.why),
            None => format!("{}: {}", file.display(), self.why),
        }
    }
}

/// The lines of settings, by their names: `listen`, `location.0.users` for one of the first `[[location]]`,
/// `location.0` for its heading, `users.accounts` for one of `[users]`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Lines(HashMap<String, usize>);

impl Lines {
    /// Those of a file's text, as far as it is TOML.
    pub(super) fn of_text(text: &str) -> Self {
        let (table, _) = DeTable::parse_recoverable(text);
        let mut lines = Self::default();
        lines.add("", table.get_ref(), text);
        lines
    }

    fn add(&mut self, above: &str, table: &DeTable<'_>, text: &str) {
        for (key, value) in table {
            let name = format!("{above}{}", key.get_ref());
            match value.get_ref() {
                DeValue::Array(values) if values.iter().any(|v| v.get_ref().is_table()) => {
                    for (at, value) in values.iter().enumerate() {
                        let name = format!("{name}.{at}");
                        if let DeValue::Table(inner) = value.get_ref() {
                            self.add(&format!("{name}."), inner, text);
                        }
                        self.0.insert(name, line_at(text, value.span().start));
                    }
                }
                value => {
                    if let DeValue::Table(inner) = value {
                        self.add(&format!("{name}."), inner, text);
                    }
                    self.0.insert(name, line_at(text, key.span().start));
                }
            }
        }
    }

    /// The line of a setting, or else of what it stands in, counted from 1.
    pub(super) fn of(&self, setting: &str) -> Option<usize> {
        let above = || setting.rsplit_once('.').and_then(|(above, _)| self.0.get(above));
        self.0.get(setting).or_else(above).copied()
    }
}

/// The line of a byte, counted from 1.
fn line_at(text: &str, byte: usize) -> usize {
    text.get(..byte).unwrap_or(text).matches('\n').count().plus(1)
}

/// Rust's words for what was expected, and plain ones.
const WORDS: [(&str, &str); 9] = [
    ("expected u8", "expected a number from 0 to 255"),
    ("expected u16", "expected a number from 0 to 65535"),
    ("expected u64", "expected a number that is not negative"),
    ("expected usize", "expected a number that is not negative"),
    ("expected a boolean", "expected true or false"),
    ("expected path string", "expected the name of a file or folder in quotes"),
    ("expected a string", "expected a text in quotes"),
    ("expected a sequence", "expected a list, as [\"a\", \"b\"]"),
    ("expected string or table", "expected a text in quotes"),
];

/// What is wrong with a file that is no TOML, or not of these settings, with its line.
pub(super) fn malformed(file: &Path, text: &str, error: &toml::de::Error) -> SvnError {
    let mut words = error.message().replace('\n', " ");
    for (theirs, plain) in WORDS {
        words = words.replace(theirs, plain);
    }
    let line = error.span().map_or(String::new(), |span| format!("{}:", line_at(text, span.start)));
    let message = format!("{}:{line} {words}", file.display());
    SvnError::new(ErrorCode::BAD_CONFIG_VALUE, message)
}

/// The section of `docs/serve.md` whose heading begins so.
#[cfg(test)]
pub(super) fn page_section(heading: &str) -> &'static str {
    let page = include_str!("../../../../docs/serve.md");
    let (_, section) = page.split_once(&format!("\n## {heading}")).unwrap();
    section.split_once("\n## ").unwrap().0
}

/// Checks that the tables of a part of `docs/serve.md` name each setting of a table of the file, and no others.
#[cfg(test)]
pub(super) fn assert_page_names_settings<T: serde::de::DeserializeOwned + std::fmt::Debug>(
    page: &str,
) {
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `")?.split(" | ").next());
    let words = rows.flat_map(|cell| cell.split('`'));
    let mut named: Vec<&str> = words.filter(|word| !word.is_empty() && *word != ", ").collect();
    let error = toml::from_str::<T>("unknown = 1").unwrap_err().to_string();
    let (_, known) = error.split_once("expected one of ").unwrap();
    let known = known.trim().split(", ");
    let mut known: Vec<&str> = known.map(|name| name.trim_matches('`')).collect();
    named.sort_unstable();
    known.sort_unstable();
    assert_eq!(named, known);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_settings() {
        let text = "listen = 'x'\n\n[[location]]\nurl = '/a'\n[[location]]\n# b\nurl = '/b'\ntrusted = []\n[users]\naccounts = '/c'\n";
        let lines = Lines::of_text(text);
        for (setting, line) in [
            ("listen", Some(1)),
            ("location.0", Some(3)),
            ("location.0.url", Some(4)),
            ("location.1", Some(5)),
            ("location.1.url", Some(7)),
            ("location.1.users", Some(5)),
            ("users", Some(9)),
            ("users.accounts", Some(10)),
            ("http-port", None),
        ] {
            assert_eq!(lines.of(setting), line, "{setting}");
        }
        let problem = Problem::error("location.1.users", "why");
        assert_eq!(problem.text(Path::new("f"), &lines), "f:5: why");
    }
}
