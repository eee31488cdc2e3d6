//! One rule, as the file says it.

use std::collections::BTreeMap;

use regex_lite::Regex;
use sapwood_core::glob;
use serde::{Deserialize, Deserializer, de};

use crate::path_pattern::PathPattern;
use crate::size;

/// A rule for commits: what it is about, and what it asks for.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct Rule {
    /// Its name, which the refused user sees.
    pub(crate) name: String,
    /// A sentence for the refused user.
    pub(crate) say: Option<String>,
    /// Names of repositories; all without one.
    #[serde(default)]
    pub(crate) repositories: Vec<String>,
    /// The commits that it is about change one of these paths; all without one.
    #[serde(default)]
    pub(crate) paths: Vec<PathPattern>,
    /// Users, and groups (`group:NAME`), whom it is not about.
    #[serde(default)]
    pub(crate) except: Vec<String>,
    /// What the log message must match, anywhere in it.
    #[serde(default, deserialize_with = "regex")]
    pub(crate) message: Option<Regex>,
    /// The fewest characters of a log message, without white space at its ends.
    pub(crate) message_length: Option<usize>,
    /// The most bytes of a file that was added or changed.
    #[serde(default, deserialize_with = "size::deserialize")]
    pub(crate) file_size: Option<u64>,
    /// The most bytes that the repository may have on disk, with the commit.
    #[serde(default, deserialize_with = "size::deserialize")]
    pub(crate) repository_size: Option<u64>,
    /// The most paths that a commit changes.
    pub(crate) changed_paths: Option<usize>,
    /// Patterns of names that no new file or directory may have.
    #[serde(default)]
    pub(crate) forbidden_names: Vec<String>,
    /// Whether a new name must differ from its neighbours by more than case and Unicode form.
    #[serde(default)]
    pub(crate) distinct_names: bool,
    /// Whether what is there already can be neither changed nor removed.
    #[serde(default)]
    pub(crate) protected: bool,
    /// Properties that new and changed files with such names need.
    #[serde(default)]
    pub(crate) required_properties: BTreeMap<String, Vec<String>>,
}

/// Who may change properties of revisions.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct RevisionProperties {
    /// Patterns of their names.
    pub(crate) names: Vec<String>,
    /// Names of repositories; all without one.
    #[serde(default)]
    pub(crate) repositories: Vec<String>,
    /// Users, groups (`group:NAME`), and `author` for the author of the revision.
    pub(crate) users: Vec<String>,
}

/// Whether a list of names of repositories is about this one.
pub(crate) fn is_about(repositories: &[String], repository: &str) -> bool {
    repositories.is_empty() || glob::matches_any(repositories, repository)
}

fn regex<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Regex>, D::Error> {
    let text = String::deserialize(from)?;
    let wrong = |e: regex_lite::Error| format!("'{text}' is no regular expression: {e}");
    Regex::new(&text).map(Some).map_err(|e| de::Error::custom(wrong(e)))
}

impl Rule {
    /// What is wrong with it beyond its form.
    pub(crate) fn problem(&self) -> Option<&'static str> {
        let asks = self.message.is_some()
            || self.message_length.is_some()
            || self.file_size.is_some()
            || self.repository_size.is_some()
            || self.changed_paths.is_some()
            || !self.forbidden_names.is_empty()
            || self.distinct_names
            || self.protected
            || !self.required_properties.is_empty();
        match () {
            () if self.name.trim().is_empty() => Some("a rule needs a name"),
            () if !asks => Some("the rule asks for nothing"),
            () if self.protected && self.paths.is_empty() => {
                Some("'protected' needs 'paths': without them nothing could be changed any more")
            }
            () if self.required_properties.values().any(Vec::is_empty) => {
                Some("'required-properties' has a pattern without properties")
            }
            () => None,
        }
    }
}
