//! Regular expressions in questions, and the letters that all they find must have.
//!
//! Invariants: a pattern takes time that grows with the text, with a bounded factor; the letters say no more than is certain,
//! so that the index leaves out nothing that the pattern finds.

use std::hash::{Hash, Hasher};

use regex_lite::{Regex, RegexBuilder};

use crate::error::{Error, Result};

/// Bytes of a compiled pattern.
const SIZE: usize = 8 << 10;
/// Bytes of a line in which it is looked for.
const LINE: usize = 4_000;
/// Letters in a row that the index needs.
const LETTERS: usize = 3;

/// A pattern for lines, in which upper and lower case are alike.
#[derive(Clone, Debug)]
pub(crate) struct Pattern {
    source: String,
    regex: Regex,
    /// What every line has that it finds, in lower case, each of three letters at least.
    letters: Vec<String>,
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.source == other.source
    }
}

impl Eq for Pattern {}

impl Hash for Pattern {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.source.hash(state);
    }
}

impl Pattern {
    /// Parses one.
    ///
    /// # Errors
    /// [`Error::Query`]: it is no regular expression, is too large, or finds lines that have no three letters in common.
    pub(crate) fn parse(source: &str) -> Result<Self> {
        let built = RegexBuilder::new(source).case_insensitive(true).size_limit(SIZE).build();
        let regex =
            built.map_err(|_| Error::Query("'re:' needs a regular expression, not too large"))?;
        let runs = letters(source).into_iter().flatten();
        let letters: Vec<String> = runs.filter(|run| run.chars().count() >= LETTERS).collect();
        if letters.is_empty() {
            return Err(Error::Query(
                "'re:' needs three letters in a row that all it finds must have",
            ));
        }
        Ok(Self { source: source.to_owned(), regex, letters })
    }

    pub(crate) fn letters(&self) -> &[String] {
        &self.letters
    }

    /// Whether a line has it, in its beginning.
    pub(crate) fn is_on_line(&self, line: &str) -> bool {
        let end = (0..=line.len().min(LINE)).rev().find(|end| line.is_char_boundary(*end));
        end.and_then(|end| line.get(..end)).is_some_and(|line| self.regex.is_match(line))
    }

    /// Whether a line of a text has it.
    pub(crate) fn is_in(&self, text: &str) -> bool {
        text.lines().any(|line| self.is_on_line(line))
    }
}

/// The runs of letters that all has what a pattern finds, in lower case; `None` where that is not certain.
fn letters(source: &str) -> Option<Vec<String>> {
    let mut runs = vec![String::new()];
    let mut rest = source.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '|' => return None,
            '(' => {
                group(&mut rest)?;
                runs.push(String::new());
            }
            '[' => {
                class(&mut rest)?;
                runs.push(String::new());
            }
            '\\' => match rest.next()? {
                // Characters by their numbers or classes: what follows belongs to them.
                'x' | 'u' | 'U' | 'p' | 'P' => return None,
                escaped if escaped.is_alphanumeric() => runs.push(String::new()),
                escaped => runs.last_mut()?.push(escaped),
            },
            '.' | '^' | '$' | '+' => runs.push(String::new()),
            // The letter before may be missing.
            '?' | '*' | '{' => {
                runs.last_mut()?.pop();
                runs.push(String::new());
                if c == '{' {
                    rest.find(|c| *c == '}')?;
                }
            }
            other => runs.last_mut()?.push(other),
        }
    }
    Some(runs.iter().map(|run| run.to_lowercase()).collect())
}

type Rest<'s> = std::iter::Peekable<std::str::Chars<'s>>;

/// Passes over a group, whose letters may be missing. `None` for one that changes what follows (`(?x)`).
fn group(rest: &mut Rest<'_>) -> Option<()> {
    if rest.next_if_eq(&'?').is_some() && !matches!(rest.peek(), Some(':' | 'P' | '<')) {
        return None;
    }
    let mut depth = 1usize;
    while depth > 0 {
        match rest.next()? {
            '\\' => drop(rest.next()?),
            '[' => class(rest)?,
            '(' => {
                if rest.peek() == Some(&'?') {
                    return None;
                }
                depth = depth.checked_add(1)?;
            }
            ')' => depth = depth.checked_sub(1)?,
            _ => {}
        }
    }
    Some(())
}

/// Passes over a class of characters. `None` for one with another in it.
fn class(rest: &mut Rest<'_>) -> Option<()> {
    rest.next_if_eq(&'^');
    // At the beginning it is a character.
    rest.next_if_eq(&']');
    loop {
        match rest.next()? {
            '\\' => drop(rest.next()?),
            '[' => return None,
            ']' => return Some(()),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn letters_are_certain() {
        let of = |source: &str| Pattern::parse(source).map(|pattern| pattern.letters).ok();
        let some = |runs: &[&str]| Some(runs.iter().map(|run| (*run).to_owned()).collect());
        assert_eq!(of("fn \\w+_name\\("), some(&["fn ", "_name("]));
        assert_eq!(of("Foo(bar|x)*Baz?"), some(&["foo"]));
        assert_eq!(of("abcd+efg[xyz]hij{2,3}klm"), some(&["abcd", "efg", "klm"]));
        for none in ["abc|def", "ab", "a.b.c", "(abc)", "\\x41bcd", "(?x)a b c", "[a[bc]def]"] {
            assert_eq!(of(none), None, "{none}");
        }
        for wrong in ["(abc", "abc[", "((abc{99}){99}){99}"] {
            assert!(matches!(Pattern::parse(wrong), Err(Error::Query(_))), "{wrong}");
        }
        let pattern = Pattern::parse("fn \\w+_name").unwrap();
        assert!(pattern.is_in("x\npub FN old_name()") && !pattern.is_in("fn \nold_name"));
    }

    proptest! {
        /// The index leaves out nothing that the pattern finds.
        #[test]
        fn all_that_is_found_has_the_letters(
            pattern in "([abAB]{1,4}|\\(a\\|b\\)|[.]|[ab][?*+]|\\[ab\\]|\\\\[.w]|[(]a[)][?]|a\\{0,2\\}|[|^$]){1,6}",
            lines in prop::collection::vec("[abAB.c]{0,12}", 1..20),
        ) {
            if let Ok(found) = Pattern::parse(&pattern) {
                for line in lines {
                    let lower = line.to_lowercase();
                    let has_all = found.letters().iter().all(|run| lower.contains(run.as_str()));
                    prop_assert!(has_all || !found.is_on_line(&line), "{pattern} {line}");
                }
            }
        }
    }
}
