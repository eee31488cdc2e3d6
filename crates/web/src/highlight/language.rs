//! What is known of a language, and which language a file is in.

use super::tables::ALL;

/// A language, as far as colours need it.
#[derive(Debug)]
pub(super) struct Language {
    /// Endings of names (behind the last dot) and whole names, in lower case.
    pub(super) names: &'static [&'static str],
    /// Programs of a first line `#!...`.
    pub(super) programs: &'static [&'static str],
    /// What begins a comment that ends with the line.
    pub(super) line: &'static [&'static str],
    /// Comments that begin and end with something.
    pub(super) block: &'static [(&'static str, &'static str)],
    pub(super) strings: &'static [Quotes],
    pub(super) keywords: &'static [&'static str],
    pub(super) special: Special,
}

/// How a text begins and ends.
#[derive(Debug)]
pub(super) struct Quotes {
    pub(super) open: &'static str,
    pub(super) close: &'static str,
    /// Whether `\` takes the meaning from what follows it.
    pub(super) escapes: bool,
    /// Whether it goes on in the next line.
    pub(super) goes_on: bool,
}

/// What some languages have beside that.
#[derive(Debug)]
pub(super) struct Special {
    /// Keywords in upper and lower case are the same.
    pub(super) any_case: bool,
    /// Comments begin at the beginning of a word only.
    pub(super) spaced_comments: bool,
    /// `-` is a part of names.
    pub(super) dashes: bool,
    /// `'` is one character, or no text: `'a` of Rust, `x'` of Haskell.
    pub(super) characters: bool,
    /// A name before `(` is called.
    pub(super) calls: bool,
    /// A name or text before this is that of a field.
    pub(super) field: Option<char>,
    /// What begins names with a meaning of their own (`@override`, `\section`, `#include`).
    pub(super) sigil: Option<char>,
    pub(super) form: Form,
}

/// What is no programming language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Code,
    /// Tags between `<` and `>`.
    Markup,
    /// The output of `diff`.
    Diff,
}

/// The language of a file.
pub(super) fn of(name: &str, first_line: &[u8]) -> Option<&'static Language> {
    let name = name.to_ascii_lowercase();
    let named = |wanted: &str| ALL.iter().find(|language| language.names.contains(&wanted));
    let ending = name.rsplit_once('.').map(|(_, ending)| ending);
    named(&name).or_else(|| named(ending?)).or_else(|| by_program(first_line))
}

fn by_program(first_line: &[u8]) -> Option<&'static Language> {
    let line = std::str::from_utf8(first_line.strip_prefix(b"#!")?).ok()?;
    let mut words = line.split_whitespace().map(|word| word.rsplit('/').next().unwrap_or(word));
    let program = words.find(|word| *word != "env" && !word.starts_with('-'))?;
    let program = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    ALL.iter().find(|language| language.programs.contains(&program))
}
