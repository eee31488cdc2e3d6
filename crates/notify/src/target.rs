//! A target: what gets messages, and about which commits.

use sapwood_core::{FsPath, glob};
use sapwood_rules::PathPattern;

use crate::commit::Commit;
use crate::error::Result;
use crate::mail::Mail;
use crate::webhook::Webhook;
use sapwood_core::WrongSetting;

/// The longest name of a target, in bytes: it is the name of a folder.
const MOST_NAME: usize = 100;

/// Which commits a target gets messages of.
#[derive(Clone, Debug, Default)]
pub struct Filter {
    repositories: Vec<String>,
    paths: Vec<PathPattern>,
}

impl Filter {
    /// Patterns of names of repositories, and of paths; without any, all.
    ///
    /// # Errors
    /// A pattern of paths that is none.
    pub fn new(repositories: Vec<String>, paths: &[String]) -> Result<Self, WrongSetting> {
        let parse = |text: &String| {
            PathPattern::parse(text).ok_or_else(|| {
                let why = format!("'{text}' is no pattern of paths, as '/trunk/**' is");
                WrongSetting::new("paths", why)
            })
        };
        Ok(Self { repositories, paths: paths.iter().map(parse).collect::<Result<_, _>>()? })
    }

    /// Whether commits to a repository may concern the target.
    pub(crate) fn has_repository(&self, name: &str) -> bool {
        self.repositories.is_empty() || glob::matches_any(&self.repositories, name)
    }

    /// Whether the change of a path concerns the target.
    pub(crate) fn has_path(&self, path: &FsPath) -> bool {
        self.paths.is_empty() || self.paths.iter().any(|pattern| pattern.matches(path))
    }
}

/// How messages go to a target.
#[derive(Debug)]
pub enum Carrier {
    /// By an http request.
    Webhook(Webhook),
    /// By mail.
    Mail(Box<Mail>),
}

/// A target.
#[derive(Debug)]
pub struct Target {
    name: String,
    pub(crate) filter: Filter,
    carrier: Carrier,
}

impl Target {
    /// A target of this name, which is also that of its folder in the queue.
    ///
    /// # Errors
    /// A name with other characters than letters, digits, `-`, `_` and `.`, or one that begins with a dot.
    pub fn new(name: &str, filter: Filter, carrier: Carrier) -> Result<Self, WrongSetting> {
        let is_allowed = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        let is_sound = (1..=MOST_NAME).contains(&name.len())
            && !name.starts_with('.')
            && name.chars().all(is_allowed);
        if !is_sound {
            let why = format!("'{name}' is no name: letters, digits, '-', '_' and '.'");
            return Err(WrongSetting::new("name", why));
        }
        Ok(Self { name: name.to_owned(), filter, carrier })
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Sends a message.
    ///
    /// # Errors
    /// When the target has not taken it.
    pub(crate) async fn send(&self, commit: &Commit) -> Result<()> {
        match &self.carrier {
            Carrier::Webhook(webhook) => webhook.send(&self.name, commit).await,
            Carrier::Mail(mail) => mail.send(&self.name, commit).await,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters() {
        let own = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
        let filter = Filter::new(own(&["game*"]), &own(&["/trunk/**"])).unwrap();
        assert!(filter.has_repository("game-2") && !filter.has_repository("tools"));
        let has = |path| filter.has_path(FsPath::new(path).unwrap());
        assert!(has("/trunk/a/b") && !has("/tags/a"));
        let all = Filter::default();
        assert!(all.has_repository("x") && all.has_path(FsPath::ROOT));
        assert_eq!(Filter::new(Vec::new(), &own(&["trunk"])).unwrap_err().setting, "paths");
    }

    #[test]
    fn names_are_names_of_folders() {
        let settings =
            crate::WebhookSettings { url: "http://h/x".to_owned(), ..Default::default() };
        for (name, is_sound) in [
            ("ci", true),
            ("a-B_c.1", true),
            ("", false),
            ("..", false),
            ("a/b", false),
            ("ä", false),
        ] {
            let webhook = Carrier::Webhook(Webhook::new(settings.clone()).unwrap());
            assert_eq!(Target::new(name, Filter::default(), webhook).is_ok(), is_sound, "{name}");
        }
    }
}
