//! Actions as they are written.

use sapwood_client::url_changes::Action;
use sapwood_core::paths::{Url, UrlBuf};
use sapwood_core::{Revnum, SvnResult, path};

use super::source::Contents;
use super::wrong;
use crate::input;
use crate::pegs::{Of, Part};
use crate::remote::revprops;
use crate::remote::target::any_canonical_url;
use crate::repo;

/// Takes arguments one by one.
struct Words<'a> {
    left: std::slice::Iter<'a, String>,
    root_url: Option<&'a Url>,
}

impl<'a> Words<'a> {
    fn next(&mut self) -> SvnResult<&'a str> {
        self.left.next().map(String::as_str).ok_or_else(|| wrong("insufficient arguments"))
    }

    fn url(&mut self) -> SvnResult<UrlBuf> {
        let word = self.next()?;
        let word = &Of::all("svnmucc", Part::Target).whole(word)?;
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

fn property(name: &str, value: Vec<u8>, url: UrlBuf) -> SvnResult<Action> {
    let value = if name.starts_with("svn:") {
        revprops::normalized(&value, "Error normalizing property value")?
    } else {
        value
    };
    Ok(Action::Property { name: name.to_owned(), value: Some(value), url })
}

/// The actions that arguments stand for.
pub(super) fn parse(arguments: &[String], root_url: Option<&Url>) -> SvnResult<Vec<Action>> {
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
                    "-" => Contents::Stdin,
                    file => Contents::File(file.to_owned()),
                };
                Action::Put { source: Box::new(source), url: words.url()? }
            }
            "propset" => {
                let (name, value) = (words.next()?, words.next()?.as_bytes().to_vec());
                property(name, value, words.url()?)?
            }
            "propsetf" => {
                let (name, file) = (words.next()?, words.next()?);
                let left = words.left.clone();
                // A missing URL is reported before a missing file.
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

#[cfg(test)]
mod tests {
    use sapwood_client::url_changes::anchor;

    use super::*;

    fn parsed(words: &[&str], root: Option<&str>) -> SvnResult<Vec<Action>> {
        let words: Vec<String> = words.iter().map(|w| (*w).to_owned()).collect();
        parse(&words, root.map(|root| Url::new(root).unwrap()))
    }

    #[test]
    fn actions_and_anchors() {
        let actions =
            parsed(&["cp", "r5", "a", "b/c d", "mkdir", "svn://h/r/b/e"], Some("svn://h/r"))
                .unwrap();
        let Action::Copy { from, revision, to } = &actions[0] else { panic!("{actions:?}") };
        assert_eq!((from.as_str(), to.as_str()), ("svn://h/r/a", "svn://h/r/b/c%20d"));
        assert_eq!(*revision, Some(Revnum(5)));
        assert_eq!(anchor(&actions).unwrap().as_ref().map(|url| url.as_str()), Some("svn://h/r"));
        let one = parsed(&["rm", "svn://h/r/a/b"], None).unwrap();
        assert_eq!(anchor(&one).unwrap().as_ref().map(|url| url.as_str()), Some("svn://h/r/a"));
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
