//! Patterns of paths: `/tags/*`, `/branches/*/docs/**`.
//!
//! Each part between slashes is a pattern of a name, as `svn:ignore` has them; `**` stands for any number of parts.

use sapwood_core::{FsPath, glob};
use serde::{Deserialize, Deserializer, de};

/// A pattern of paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathPattern {
    text: String,
}

impl PathPattern {
    /// A pattern; `None` if it does not begin with a slash, or ends with one.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let parts = text.strip_prefix('/')?;
        let is_sound = text == "/" || parts.split('/').all(|part| !part.is_empty());
        is_sound.then(|| Self { text: text.to_owned() })
    }

    /// Whether it is about this path.
    #[must_use]
    pub fn matches(&self, path: &FsPath) -> bool {
        is_match(&parts(&self.text), &names(path))
    }

    /// The highest path that it is about, of this one and those above it.
    pub(crate) fn highest_match<'p>(&self, path: &'p FsPath) -> Option<&'p FsPath> {
        let above = |path: &&'p FsPath| (!path.is_root()).then(|| path.parent());
        std::iter::successors(Some(path), above).filter(|path| self.matches(path)).last()
    }

    /// Whether it may be about a path below this one.
    pub(crate) fn may_match_below(&self, path: &FsPath) -> bool {
        could_continue(&parts(&self.text), &names(path))
    }
}

fn names(path: &FsPath) -> Vec<&str> {
    path.names().collect()
}

fn parts(path: &str) -> Vec<&str> {
    path.split('/').filter(|part| !part.is_empty()).collect()
}

/// Whether the parts of a pattern stand for these. Time grows with their product: the parts of the pattern that are `**`
/// are tried at each place once.
fn is_match(pattern: &[&str], path: &[&str]) -> bool {
    // How far of the path each beginning of the pattern can reach.
    let mut reached = vec![false; path.len().saturating_add(1)];
    if let Some(first) = reached.first_mut() {
        *first = true;
    }
    for part in pattern {
        let mut next = vec![false; reached.len()];
        let mut before = false;
        for (at, slot) in next.iter_mut().enumerate() {
            let here = reached.get(at).is_some_and(|here| *here);
            *slot = if *part == "**" {
                before |= here;
                before
            } else {
                let name = at.checked_sub(1).and_then(|at| path.get(at));
                let can = at.checked_sub(1).and_then(|at| reached.get(at)).is_some_and(|r| *r);
                can && name.is_some_and(|name| glob::matches(part.as_bytes(), name.as_bytes()))
            };
        }
        reached = next;
    }
    reached.last().is_some_and(|reached| *reached)
}

/// Whether some path below this one matches.
fn could_continue(pattern: &[&str], path: &[&str]) -> bool {
    match (pattern.split_first(), path.split_first()) {
        (None, _) => false,
        (Some((&"**", _)), _) | (Some(_), None) => true,
        (Some((part, pattern)), Some((name, path))) => {
            glob::matches(part.as_bytes(), name.as_bytes()) && could_continue(pattern, path)
        }
    }
}

impl<'de> Deserialize<'de> for PathPattern {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let wrong = || format!("'{text}' is no pattern of paths, such as /tags/* or /trunk/**");
        Self::parse(&text).ok_or_else(|| de::Error::custom(wrong()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> &FsPath {
        FsPath::new(text).unwrap()
    }

    #[test]
    fn patterns() {
        for (pattern, yes, no) in [
            (
                "/tags/*",
                &["/tags/1.0"][..],
                &["/tags", "/tags/1.0/a", "/tag/1.0", "/x/tags/1.0"][..],
            ),
            ("/**", &["/", "/a", "/a/b/c"], &[]),
            ("/trunk/**", &["/trunk", "/trunk/a", "/trunk/a/b"], &["/trunk2", "/"]),
            ("/**/*.psd", &["/a.psd", "/x/y/a.psd"], &["/a.psd/x", "/a.ps"]),
            ("/b/*/docs/**", &["/b/x/docs", "/b/x/docs/a/b"], &["/b/docs", "/b/x/y/docs"]),
            ("/**/a/**/b", &["/a/b", "/x/a/y/z/b", "/a/a/b/b"], &["/b/a", "/a/b/c"]),
            ("/", &["/"], &["/a"]),
        ] {
            let pattern = PathPattern::parse(pattern).unwrap();
            for text in yes {
                assert!(pattern.matches(path(text)), "{pattern:?} {text}");
            }
            for text in no {
                assert!(!pattern.matches(path(text)), "{pattern:?} {text}");
            }
        }
        for bad in ["", "tags", "/tags/", "//", "/a//b"] {
            assert_eq!(PathPattern::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn what_is_above_and_below() {
        let tags = PathPattern::parse("/*/tags/*").unwrap();
        assert_eq!(tags.highest_match(path("/p/tags/1/a/b")), Some(path("/p/tags/1")));
        assert_eq!(tags.highest_match(path("/p/tags")), None);
        for (text, may) in [("/", true), ("/p", true), ("/p/tags", true), ("/p/x", false)] {
            assert_eq!(tags.may_match_below(path(text)), may, "{text}");
        }
        assert!(!tags.may_match_below(path("/p/tags/1")));
        assert!(PathPattern::parse("/**/x").unwrap().may_match_below(path("/a/b")));
    }

    #[test]
    fn many_stars_take_no_long_time() {
        let pattern = PathPattern::parse(&"/**/a".repeat(200)).unwrap();
        let long = "/a".repeat(199);
        assert!(!pattern.matches(path(&long)));
    }
}
