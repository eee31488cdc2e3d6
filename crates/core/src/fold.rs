//! Text folded for searching: what differs only in case or accents becomes equal.
//!
//! Both ends of the protocol fold: a client folds the patterns of `svn ls --search`, the server
//! the names that they are matched with.

use unicode_normalization::UnicodeNormalization as _;
use unicode_normalization::char::is_combining_mark;

/// `text` without differences of case, without combining marks, in composed form.
#[must_use]
pub fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    text.nfd().flat_map(fold_char).nfd().filter(|c| !is_combining_mark(*c)).nfc().collect()
}

/// `text` without differences of case, in composed form: two names that are one for a file system that ignores case, or
/// the form in which accents are stored.
#[must_use]
pub fn same_name(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    text.nfd().flat_map(fold_char).nfc().collect()
}

/// Full case folding of one character. By way of the upper case, so that characters with several
/// lower-case forms, or none of one character, meet (final sigma, sharp s).
fn fold_char(c: char) -> impl Iterator<Item = char> {
    // The dotless i is a letter of its own and folds to itself.
    let upper = (c != '\u{131}').then(|| c.to_uppercase().flat_map(char::to_lowercase));
    let kept = upper.is_none().then_some(c);
    upper.into_iter().flatten().chain(kept)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_one_for_some_file_systems() {
        for (a, b) in [("README", "readme"), ("e\u{301}", "\u{c9}"), ("STRASSE", "straße")] {
            assert_eq!(same_name(a), same_name(b), "{a} {b}");
        }
        assert_ne!(same_name("e"), same_name("\u{e9}"));
    }

    #[test]
    fn case_and_accents_vanish() {
        for (text, want) in [
            ("README", "readme"),
            ("Überstraße", "uberstrasse"),
            ("e\u{301}te\u{301}", "ete"),
            ("ΣΊΣΥΦΟΣ", "σισυφοσ"),
            ("σίσυφος", "σισυφοσ"),
            ("ı", "ı"),
            ("日本", "日本"),
        ] {
            assert_eq!(fold(text), want);
        }
    }
}
