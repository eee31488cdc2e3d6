//! Actions as they are written, and entered into a [`Plan`].

use sapwood_core::{Revnum, SvnResult, path, uri};

use super::plan::{Plan, Source};
use super::wrong;
use crate::input;
use crate::remote::revprops;
use crate::remote::target::any_canonical_url;
use crate::repo;

/// One action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Action {
    Move { from: String, to: String },
    Copy { from: String, revision: Option<Revnum>, to: String },
    Mkdir(String),
    Remove(String),
    Put { source: Source, url: String },
    Property { name: String, value: Option<Vec<u8>>, url: String },
}

/// Takes arguments one by one.
struct Words<'a> {
    left: std::slice::Iter<'a, String>,
    root_url: Option<&'a str>,
}

impl<'a> Words<'a> {
    fn next(&mut self) -> SvnResult<&'a str> {
        self.left.next().map(String::as_str).ok_or_else(|| wrong("insufficient arguments"))
    }

    fn url(&mut self) -> SvnResult<String> {
        let word = self.next()?;
        if repo::is_url(word) {
            return any_canonical_url(word);
        }
        let Some(root) = self.root_url else {
            return Err(wrong(format!(
                "'{word}' is not a URL, and --root-url (-U) not provided\n"
            )));
        };
        any_canonical_url(&format!("{root}/{}", path::canonical_relpath(word)))
    }

    /// `HEAD` is `None`.
    fn revision(&mut self) -> SvnResult<Option<Revnum>> {
        let word = self.next()?;
        if matches!(word, "head" | "HEAD") {
            return Ok(None);
        }
        let digits = word.trim_start_matches('r');
        let number = digits.parse::<u64>().ok().filter(|n| i64::try_from(*n).is_ok());
        number
            .map(|n| Some(Revnum(n)))
            .ok_or_else(|| wrong(format!("'{digits}' is not a revision\n")))
    }
}

fn property(name: &str, value: Vec<u8>, url: String) -> SvnResult<Action> {
    let value = if name.starts_with("svn:") {
        revprops::normalized(&value, "Error normalizing property value")?
    } else {
        value
    };
    Ok(Action::Property { name: name.to_owned(), value: Some(value), url })
}

/// The actions that arguments stand for.
pub(super) fn parse(arguments: &[String], root_url: Option<&str>) -> SvnResult<Vec<Action>> {
    let mut words = Words { left: arguments.iter(), root_url };
    let mut actions = Vec::new();
    while let Some(word) = words.left.next() {
        actions.push(match word.as_str() {
            "mv" => Action::Move { from: words.url()?, to: words.url()? },
            "cp" => {
                Action::Copy { revision: words.revision()?, from: words.url()?, to: words.url()? }
            }
            "mkdir" => Action::Mkdir(words.url()?),
            "rm" => Action::Remove(words.url()?),
            "put" => {
                let source = match words.next()? {
                    "-" => Source::Stdin,
                    file => Source::File(file.to_owned()),
                };
                Action::Put { source, url: words.url()? }
            }
            "propset" => {
                let (name, value) = (words.next()?, words.next()?.as_bytes().to_vec());
                property(name, value, words.url()?)?
            }
            "propsetf" => {
                let (name, file) = (words.next()?, words.next()?);
                let left = words.left.clone();
                // A missing URL is told before a missing file.
                words.next()?;
                words.left = left;
                property(name, input::contents(file)?, words.url()?)?
            }
            "propdel" => {
                let name = words.next()?.to_owned();
                Action::Property { name, value: None, url: words.url()? }
            }
            other => return Err(wrong(format!("'{other}' is not an action\n"))),
        });
    }
    Ok(actions)
}

fn parent(url: &str) -> &str {
    uri::split(url).map_or(url, |(parent, _)| parent)
}

/// The URL that all actions are at or below: sources of copies and nodes whose properties change may be
/// it themselves, all others are below it.
pub(super) fn anchor(actions: &[Action]) -> SvnResult<Option<String>> {
    let mut anchor: Option<&str> = None;
    for action in actions {
        let urls: [Option<&str>; 2] = match action {
            Action::Move { from, to } => [Some(parent(from)), Some(parent(to))],
            Action::Copy { from, to, .. } => [Some(from), Some(parent(to))],
            Action::Mkdir(url) | Action::Remove(url) | Action::Put { url, .. } => {
                [Some(parent(url)), None]
            }
            Action::Property { url, .. } => [Some(url), None],
        };
        for url in urls.into_iter().flatten() {
            anchor = Some(match anchor {
                None => url,
                Some(so_far) => uri::common_ancestor(so_far, url).ok_or_else(|| {
                    wrong("URLs in the action list do not share a common ancestor")
                })?,
            });
        }
    }
    Ok(anchor.map(str::to_owned))
}

impl Action {
    /// Enters the action into a plan.
    pub(super) fn enter(
        self,
        plan: &mut Plan<'_>,
        relative: &dyn Fn(&str) -> String,
    ) -> SvnResult<()> {
        match self {
            Self::Move { from, to } => plan.add_move(&relative(&from), &relative(&to)),
            Self::Copy { from, revision, to } => {
                plan.copy(&relative(&from), revision, &relative(&to))
            }
            Self::Mkdir(url) => plan.mkdir(&relative(&url)),
            Self::Remove(url) => plan.delete(&relative(&url), false),
            Self::Put { source, url } => plan.put(&relative(&url), source),
            Self::Property { name, value, url } => plan.set_property(&relative(&url), &name, value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(words: &[&str], root: Option<&str>) -> SvnResult<Vec<Action>> {
        let words: Vec<String> = words.iter().map(|w| (*w).to_owned()).collect();
        parse(&words, root)
    }

    #[test]
    fn actions_and_anchors() {
        let actions =
            parsed(&["cp", "r5", "a", "b/c d", "mkdir", "svn://h/r/b/e"], Some("svn://h/r"))
                .unwrap();
        assert_eq!(
            actions[0],
            Action::Copy {
                from: "svn://h/r/a".to_owned(),
                revision: Some(Revnum(5)),
                to: "svn://h/r/b/c%20d".to_owned()
            }
        );
        assert_eq!(anchor(&actions).unwrap().as_deref(), Some("svn://h/r"));
        let one = parsed(&["rm", "svn://h/r/a/b"], None).unwrap();
        assert_eq!(anchor(&one).unwrap().as_deref(), Some("svn://h/r/a"));
        let both = parsed(&["rm", "svn://h/r/a", "rm", "svn://g/r/a"], None).unwrap();
        assert!(anchor(&both).is_err());
    }

    #[test]
    fn wrong_words() {
        for (words, text) in [
            (&["fly", "x"][..], "'fly' is not an action\n"),
            (&["mv", "svn://h/a"], "insufficient arguments"),
            (&["cp", "x", "svn://h/a", "svn://h/b"], "'x' is not a revision\n"),
            (&["rm", "a"], "'a' is not a URL, and --root-url (-U) not provided\n"),
            (&["propsetf", "a", "/no/such"], "insufficient arguments"),
        ] {
            assert_eq!(parsed(words, None).unwrap_err().message(), text);
        }
    }
}
