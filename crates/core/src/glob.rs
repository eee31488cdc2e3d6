//! Shell-style patterns, as `--pattern`, `--search`, authz globs over names and auto-props use
//! them: `*` and `?` match any bytes, `/` included; `[a-z]`, `[!x]` and `[^x]` match one byte of a
//! set; a backslash takes the next byte literally; a `[` without its `]` stands for itself.
//!
//! Matching is bytewise and takes time in proportion to pattern times text at worst.

use crate::Exact;
use std::collections::HashSet;

/// Whether the whole of `text` matches `pattern`.
#[must_use]
pub fn matches(pattern: &[u8], text: &[u8]) -> bool {
    let (mut pattern, mut text) = (pattern, text);
    // Where to go on when the rest does not match: after the last star, one byte further on.
    let mut retry: Option<(&[u8], &[u8])> = None;
    loop {
        if let Some(rest) = pattern.strip_prefix(b"*") {
            pattern = rest;
            retry = Some((rest, text));
            continue;
        }
        if text.is_empty() && pattern.is_empty() {
            return true;
        }
        match text.split_first().zip(match_one(pattern, text.first().copied())) {
            Some(((_, text_rest), pattern_rest)) => {
                pattern = pattern_rest;
                text = text_rest;
            }
            None => match retry {
                Some((after_star, from)) => {
                    let Some((_, from)) = from.split_first() else { return false };
                    pattern = after_star;
                    text = from;
                    retry = Some((after_star, from));
                }
                None => return false,
            },
        }
    }
}

/// Whether any of `patterns` matches `text`.
pub fn matches_any<P: AsRef<[u8]>>(
    patterns: impl IntoIterator<Item = P>,
    text: impl AsRef<[u8]>,
) -> bool {
    patterns.into_iter().any(|p| matches(p.as_ref(), text.as_ref()))
}

/// Many patterns that are asked again and again: those without anything special are looked up, so
/// that only the others cost something each.
#[derive(Clone, Debug)]
pub struct PatternSet<'a> {
    literal: HashSet<&'a [u8]>,
    globs: Vec<&'a [u8]>,
}

impl<'a> PatternSet<'a> {
    /// A set of patterns; one that comes twice counts once.
    pub fn new(patterns: impl IntoIterator<Item = &'a [u8]>) -> Self {
        let all: HashSet<&[u8]> = patterns.into_iter().collect();
        let special = |pattern: &&[u8]| pattern.iter().any(|b| b"*?[\\".contains(b));
        let (globs, literal): (HashSet<_>, HashSet<_>) = all.into_iter().partition(special);
        Self { literal, globs: globs.into_iter().collect() }
    }

    /// Whether matching takes long, because many patterns have to be tried.
    #[must_use]
    pub fn is_slow(&self) -> bool {
        /// Bytes of patterns that take some ten microseconds.
        const MANY: usize = 4096;
        self.globs.iter().map(|pattern| pattern.len().plus(1)).sum::<usize>() > MANY
    }

    /// Whether any of the patterns matches `text`.
    #[must_use]
    pub fn matches(&self, text: &[u8]) -> bool {
        self.literal.contains(text) || matches_any(&self.globs, text)
    }
}

/// Matches the first item of `pattern`, which is not a star, against one byte; the rest of the
/// pattern when it matches.
fn match_one(pattern: &[u8], byte: Option<u8>) -> Option<&[u8]> {
    let byte = byte?;
    let (first, rest) = pattern.split_first()?;
    match first {
        b'?' => Some(rest),
        b'[' => match match_set(rest, byte) {
            Some((true, rest)) => Some(rest),
            Some((false, _)) => None,
            None => (byte == b'[').then_some(rest),
        },
        b'\\' if !rest.is_empty() => {
            rest.split_first().and_then(|(literal, rest)| (*literal == byte).then_some(rest))
        }
        literal => (*literal == byte).then_some(rest),
    }
}

/// Matches a set, `pattern` starting after its `[`: whether `byte` is in it, and the rest of the
/// pattern. `None` when the set is not closed.
fn match_set(mut pattern: &[u8], byte: u8) -> Option<(bool, &[u8])> {
    let negated = matches!(pattern.first(), Some(b'!' | b'^'));
    if negated {
        pattern = pattern.get(1..)?;
    }
    let mut found = false;
    let mut at_start = true;
    loop {
        let (mut low, mut rest) = pattern.split_first()?;
        if *low == b']' && !at_start {
            return Some((found != negated, rest));
        }
        if *low == b'\\' {
            (low, rest) = rest.split_first()?;
        }
        at_start = false;
        match rest {
            [b'-', high, after @ ..] if *high != b']' => {
                let (high, after) =
                    if *high == b'\\' { after.split_first()? } else { (high, after) };
                found |= (*low..=*high).contains(&byte);
                pattern = after;
            }
            _ => {
                found |= *low == byte;
                pattern = rest;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_matches_what_any_of_its_patterns_does() {
        let patterns = ["a*", "b", "\\*", "c?", "b", "[x", ""];
        let set = PatternSet::new(patterns.iter().map(|p| p.as_bytes()));
        for text in ["", "a", "abc", "b", "bb", "*", "\\*", "cd", "c", "[x", "x"] {
            assert_eq!(set.matches(text.as_bytes()), matches_any(patterns, text), "{text}");
        }
    }

    #[test]
    fn stars_and_question_marks_cross_slashes() {
        assert!(matches(b"/*/foo", b"/a/foo"));
        assert!(matches(b"/*/foo", b"/a/b/foo"));
        assert!(!matches(b"/*/foo", b"/foo"));
        assert!(matches(b"*", b""));
        assert!(matches(b"a?c", b"a/c"));
        assert!(!matches(b"a?c", b"ac"));
        assert!(matches(b"*a*b*c", b"xxaxxbxxbc"));
        assert!(!matches(b"*a*b*c", b"xxaxxbxxbcx"));
        assert!(!matches(b"", b"a"));
    }

    #[test]
    fn sets() {
        assert!(matches(b"[a-c]x", b"bx"));
        assert!(!matches(b"[a-c]x", b"dx"));
        assert!(matches(b"[!a-c]x", b"dx"));
        assert!(matches(b"[^a-c]x", b"dx"));
        assert!(matches(b"[]a]", b"]"));
        assert!(matches(b"[a-]", b"-"));
        assert!(matches(b"[\\]]", b"]"));
        assert!(matches(b"[a-\\z]", b"q"));
        assert!(!matches(b"[!a]", b""));
    }

    #[test]
    fn open_sets_and_backslashes_are_literal() {
        assert!(matches(b"[ab", b"[ab"));
        assert!(matches(b"\\*", b"*"));
        assert!(!matches(b"\\*", b"a"));
        assert!(matches(b"a\\", b"a\\"));
    }

    #[test]
    fn many_stars_do_not_explode() {
        let pattern = b"*a".repeat(64);
        let text = b"a".repeat(5000);
        assert!(matches(&pattern, &text));
        assert!(!matches(&[&pattern[..], b"b"].concat(), &text));
    }
}
