//! A file of rules.

use serde::Deserialize;

use crate::error::{Error, Result};
use crate::rule::{RevisionProperties, Rule};

/// The largest file that is read, in bytes.
pub const MAX_FILE: u64 = 1 << 20;

/// The newest format that is known.
const FORMAT: u32 = 1;

/// The rules of a file.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Rules {
    format: u32,
    #[serde(default)]
    pub(crate) rule: Vec<Rule>,
    #[serde(default)]
    pub(crate) revision_properties: Vec<RevisionProperties>,
}

#[derive(Deserialize)]
struct Head {
    format: u32,
}

impl Rules {
    /// Reads the text of a file, whose name is for messages.
    ///
    /// # Errors
    /// [`Error::Malformed`] with the line, [`Error::Newer`].
    pub fn parse(file: &str, text: &str) -> Result<Self> {
        let malformed = |line, why: String| Error::Malformed { file: file.to_owned(), line, why };
        if let Ok(Head { format }) = toml::from_str(text)
            && format > FORMAT
        {
            return Err(Error::Newer { file: file.to_owned(), format, known: FORMAT });
        }
        let rules: Self = toml::from_str(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            malformed(line_at(text, at), error.message().to_owned())
        })?;
        if rules.format == 0 {
            return Err(malformed(1, "'format' is 1".to_owned()));
        }
        // Where the rules begin, in their order.
        let mut lines = text.lines().enumerate().filter(|(_, line)| line.trim() == "[[rule]]");
        for rule in &rules.rule {
            let line = lines.next().map_or(0, |(at, _)| at).saturating_add(1);
            if let Some(why) = rule.problem() {
                return Err(malformed(line, format!("rule '{}': {why}", rule.name)));
            }
        }
        Ok(rules)
    }

    /// Whether a commit to this repository has to be checked.
    #[must_use]
    pub fn has_rules_for_commits(&self, repository: &str) -> bool {
        self.rule.iter().any(|rule| crate::rule::is_about(&rule.repositories, repository))
    }
}

/// The line of a byte, counted from 1.
fn line_at(text: &str, byte: usize) -> usize {
    text.get(..byte).unwrap_or(text).matches('\n').count().saturating_add(1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_not_understood_is_an_error_with_its_line() {
        assert!(Rules::parse("r", "format = 1").is_ok());
        for (text, line, word) in [
            ("", 1, "format"),
            ("format = 0", 1, "format"),
            ("format = 1\n[[rules]]", 2, "rules"),
            ("format = 1\n[[rule]]\nmessage = 'x'", 2, "name"),
            ("format = 1\n[[rule]]\nname = 'a'", 2, "asks for nothing"),
            ("format = 1\n\n[[rule]]\nname = 'a'\nmessage = '('", 5, "regular expression"),
            ("format = 1\n[[rule]]\nname = 'a'\nprotected = true", 2, "paths"),
            ("format = 1\n[[rule]]\nname = 'a'\nprotected = true\npaths = ['tags']", 5, "pattern"),
            ("format = 1\n[[rule]]\nname = 'a'\nfile-size = '1 MB'", 4, "size"),
            ("format = 1\n[[rule]]\nname = 'a'\nmesage = 'x'", 4, "mesage"),
            ("format = 1\n[[revision-properties]]\nnames = ['svn:log']", 2, "users"),
        ] {
            match Rules::parse("r", text).unwrap_err() {
                Error::Malformed { line: found, why, .. } => {
                    assert!(found == line && why.contains(word), "{text:?}: {found}: {why}");
                }
                Error::Newer { .. } => panic!("{text:?}"),
            }
        }
        assert!(matches!(
            Rules::parse("r", "format = 2\n[[other]]").unwrap_err(),
            Error::Newer { format: 2, .. }
        ));
    }

    #[test]
    fn the_example_of_the_page_is_understood() {
        let page = include_str!("../../../docs/formats/rules.md");
        let example = page.split("```").nth(1).unwrap().strip_prefix("toml").unwrap();
        let rules = Rules::parse("page", example).unwrap();
        assert_eq!((rules.rule.len(), rules.revision_properties.len()), (4, 1));
    }

    proptest! {
        #[test]
        fn any_text_is_read_or_refused(text in ".{0,200}") {
            let _ = Rules::parse("r", &text);
        }
    }
}
