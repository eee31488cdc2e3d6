//! Which words of two lines differ.
//!
//! Invariant: marks are ranges of bytes of the line as it is shown, in order, at the boundaries of characters.

use std::ops::Range;

use sapwood_core::exact::Exact as _;
use sapwood_diff::{Options, compare};

use crate::budget::{self, Budget};

/// Ranges of bytes of a line.
pub(crate) type Marks = Vec<Range<usize>>;

/// The words of two lines that differ. Nothing is marked in lines that have little in common, or too many words.
pub(crate) fn of(old: &str, new: &str, ignores_space: bool, budget: &Budget) -> (Marks, Marks) {
    let (olds, news) = (words(old), words(new));
    if !budget.take_words(olds.len().times(news.len())) {
        return (Vec::new(), Vec::new());
    }
    let diff = compare(&Options::default(), &as_lines(old, &olds), &as_lines(new, &news));
    let (mut of_old, mut of_new, mut common) = (Marks::new(), Marks::new(), 0usize);
    let weight = |text: &str, range: &Range<usize>| {
        text.get(range.clone()).map_or(0, |word| word.trim().len())
    };
    for range in &diff.ranges {
        let of = olds.iter().skip(range.old_start).take(range.old_len);
        if range.common {
            common = common.plus(of.map(|word| weight(old, word)).sum());
            continue;
        }
        of.for_each(|word| add(&mut of_old, old, word, ignores_space));
        let of = news.iter().skip(range.new_start).take(range.new_len);
        of.for_each(|word| add(&mut of_new, new, word, ignores_space));
    }
    let longer = |text: &str, words: &[Range<usize>]| -> usize {
        words.iter().map(|word| weight(text, word)).sum()
    };
    if common.times(3) < longer(old, &olds).max(longer(new, &news)) {
        return (Vec::new(), Vec::new());
    }
    (of_old, of_new)
}

/// Adds a word, to the one before it where they touch.
fn add(marks: &mut Marks, text: &str, word: &Range<usize>, ignores_space: bool) {
    let is_space = text.get(word.clone()).is_some_and(|word| word.trim().is_empty());
    if is_space && ignores_space {
        return;
    }
    match marks.last_mut() {
        Some(last) if last.end == word.start => last.end = word.end,
        _ => marks.push(word.clone()),
    }
}

/// The words of a line: letters and digits together, white space together, each other character by itself.
fn words(text: &str) -> Vec<Range<usize>> {
    let kind = |c: char| match c {
        c if c.is_alphanumeric() || c == '_' => 1,
        c if c.is_whitespace() => 2,
        _ => 0,
    };
    let mut words: Vec<Range<usize>> = Vec::new();
    let mut last = 0;
    for (at, c) in text.char_indices() {
        let (of, end) = (kind(c), at.plus(c.len_utf8()));
        match words.last_mut() {
            Some(word) if of != 0 && of == last => word.end = end,
            _ => words.push(at..end),
        }
        last = of;
        if words.len() > budget::WORDS {
            break;
        }
    }
    words
}

/// Words as a text that has one in each line.
fn as_lines(text: &str, words: &[Range<usize>]) -> Vec<u8> {
    let mut lines = Vec::with_capacity(text.len().plus(words.len()));
    for word in words {
        lines.extend_from_slice(text.get(word.clone()).unwrap_or("").as_bytes());
        lines.push(b'\n');
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marked(old: &str, new: &str, ignores_space: bool) -> (Vec<String>, Vec<String>) {
        let (olds, news) = of(old, new, ignores_space, &Budget::new());
        let parts = |text: &str, marks: Marks| {
            marks.into_iter().map(|range| text[range].to_owned()).collect()
        };
        (parts(old, olds), parts(new, news))
    }

    #[test]
    fn words_that_differ_are_marked() {
        let (old, new) = marked("let größe = old_name(1);", "let größe = new_name(1, 2);", false);
        assert_eq!((old, new), (vec!["old_name".into()], vec!["new_name".into(), ", 2".into()]));
        let (old, new) = marked("if (a) b", "if  (a) b + 1", true);
        assert_eq!((old, new), (vec![], vec!["+".into(), "1".into()]));
        // Lines with little in common are other lines.
        assert_eq!(marked("one two three four", "five six seven two", false), (vec![], vec![]));
    }

    #[test]
    fn marks_have_a_limit() {
        let long = "a ".repeat(budget::WORDS);
        assert_eq!(marked(&long, &format!("{long}b"), false), (vec![], vec![]));
        let budget = Budget::new();
        while budget.take_words(100_000) || budget.take_words(1) {}
        assert_eq!(of("one two x", "one two y", false, &budget), (vec![], vec![]));
    }
}
