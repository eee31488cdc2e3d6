//! One line of a language: its comments, texts, numbers and words.
//!
//! Invariant: each step goes on by a character at least, and looks at no more than the marks that the language has.

use sapwood_core::exact::Exact as _;

use super::language::{Form, Language, Quotes};
use super::{Class, Colours};

/// What a line begins within.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum State {
    #[default]
    Plain,
    /// A comment that ends with this.
    Comment(&'static str),
    String(&'static Quotes),
    /// A tag of a markup language.
    Tag,
}

/// A line that is being read.
struct Line<'l> {
    text: &'l str,
    at: usize,
    colours: Colours,
}

impl<'l> Line<'l> {
    fn rest(&self) -> &'l str {
        self.text.get(self.at..).unwrap_or("")
    }

    /// Goes on by so many bytes, which have a colour.
    fn take(&mut self, bytes: usize, class: Class) {
        let end = self.at.plus(bytes).min(self.text.len());
        match self.colours.last_mut() {
            Some((range, last)) if *last == class && range.end == self.at => range.end = end,
            _ if end > self.at => self.colours.push((self.at..end, class)),
            _ => {}
        }
        self.at = end;
    }

    fn skip(&mut self, bytes: usize) {
        self.at = self.at.plus(bytes);
    }
}

/// The colours of a line.
pub(super) fn line(language: &'static Language, state: &mut State, text: &str) -> Colours {
    if language.special.form == Form::Diff {
        return of_diff(text);
    }
    let is_markup = language.special.form == Form::Markup;
    let mut line = Line { text, at: 0, colours: Vec::new() };
    while !line.rest().is_empty() {
        *state = match *state {
            State::Comment(end) => in_comment(&mut line, end),
            State::String(quotes) => match in_string(&mut line, quotes) {
                State::Plain if is_markup => State::Tag,
                other => other,
            },
            State::Tag => in_tag(language, &mut line),
            State::Plain => plain(language, &mut line),
        };
    }
    if let State::String(Quotes { goes_on: false, .. }) = state {
        *state = State::Plain;
    }
    line.colours
}

fn of_diff(text: &str) -> Colours {
    let class = match text.as_bytes() {
        [b'@', b'@', ..] | [b'-', b'-', b'-', ..] | [b'+', b'+', b'+', ..] => Class::Name,
        [b'I', b'n', b'd', b'e', b'x', b':', ..] | [b'd', b'i', b'f', b'f', ..] => Class::Name,
        [b'+' | b'>', ..] => Class::Added,
        [b'-' | b'<', ..] => Class::Deleted,
        _ => return Vec::new(),
    };
    vec![(0..text.len(), class)]
}

fn in_comment(line: &mut Line<'_>, end: &'static str) -> State {
    match line.rest().find(end) {
        Some(at) => {
            line.take(at.plus(end.len()), Class::Comment);
            State::Plain
        }
        None => {
            line.take(line.rest().len(), Class::Comment);
            State::Comment(end)
        }
    }
}

fn in_string(line: &mut Line<'_>, quotes: &'static Quotes) -> State {
    let rest = line.rest();
    let mut chars = rest.char_indices();
    while let Some((start, c)) = chars.next() {
        if quotes.escapes && c == '\\' {
            // What follows is of the text, whatever it is.
            chars.next();
            continue;
        }
        if rest.get(start..).is_some_and(|rest| rest.starts_with(quotes.close)) {
            line.take(start.plus(quotes.close.len()), Class::Text);
            return State::Plain;
        }
    }
    line.take(rest.len(), Class::Text);
    State::String(quotes)
}

fn in_tag(language: &'static Language, line: &mut Line<'_>) -> State {
    let rest = line.rest();
    let Some(c) = rest.chars().next() else { return State::Tag };
    if let Some(quotes) = quotes_at(language, rest) {
        line.take(quotes.open.len(), Class::Text);
        return State::String(quotes);
    }
    match word_len(rest, true) {
        0 => line.skip(c.len_utf8()),
        length => line.take(length, Class::Name),
    }
    if c == '>' { State::Plain } else { State::Tag }
}

/// What a markup language has between its tags.
fn between_tags(language: &'static Language, line: &mut Line<'_>) -> State {
    let rest = line.rest();
    if let Some((open, close)) = language.block.iter().find(|(open, _)| rest.starts_with(open)) {
        line.take(open.len(), Class::Comment);
        return State::Comment(close);
    }
    if !rest.starts_with('<') {
        line.skip(rest.find('<').unwrap_or(rest.len()));
        return State::Plain;
    }
    let sign = rest.get(1..).and_then(|rest| rest.chars().next());
    let signs = if matches!(sign, Some('/' | '!' | '?')) { 2 } else { 1 };
    line.skip(signs);
    match word_len(line.rest(), true) {
        0 => State::Plain,
        length => {
            line.take(length, Class::Keyword);
            State::Tag
        }
    }
}

fn plain(language: &'static Language, line: &mut Line<'_>) -> State {
    let special = &language.special;
    if special.form == Form::Markup {
        return between_tags(language, line);
    }
    let rest = line.rest();
    let Some(c) = rest.chars().next() else { return State::Plain };
    if c.is_whitespace() {
        line.skip(c.len_utf8());
        return State::Plain;
    }
    let before = line.text.get(..line.at).and_then(|text| text.chars().next_back());
    if let Some(state) = comment(language, line, before) {
        return state;
    }
    if special.characters && c == '\'' {
        match character_len(rest) {
            Some(length) => line.take(length, Class::Text),
            // A lifetime, or a name that ends so.
            None => line.skip(1),
        }
        return State::Plain;
    }
    if let Some(quotes) = quotes_at(language, rest) {
        return string(language, line, quotes);
    }
    if c.is_ascii_digit() {
        line.take(number_len(rest), Class::Number);
    } else if special.sigil == Some(c) {
        match word_len(rest.get(1..).unwrap_or(""), special.dashes) {
            0 => line.skip(1),
            length => line.take(length.plus(1), Class::Name),
        }
    } else {
        word(language, line, c);
    }
    State::Plain
}

/// Begins a comment, if there is one.
fn comment(
    language: &'static Language,
    line: &mut Line<'_>,
    before: Option<char>,
) -> Option<State> {
    let rest = line.rest();
    let may_begin = !language.special.spaced_comments
        || before.is_none_or(|c| c.is_whitespace() || matches!(c, ';' | '(' | '{' | '&' | '|'));
    if let Some((open, close)) = language.block.iter().find(|(open, _)| rest.starts_with(open)) {
        line.take(open.len(), Class::Comment);
        return Some(State::Comment(close));
    }
    if may_begin && language.line.iter().any(|mark| rest.starts_with(mark)) {
        line.take(rest.len(), Class::Comment);
        return Some(State::Plain);
    }
    None
}

fn quotes_at(language: &'static Language, rest: &str) -> Option<&'static Quotes> {
    language.strings.iter().find(|quotes| rest.starts_with(quotes.open))
}

/// Begins a text. One that is whole and stands before the mark of fields is the name of a field.
fn string(language: &'static Language, line: &mut Line<'_>, quotes: &'static Quotes) -> State {
    let begun = line.colours.len();
    line.take(quotes.open.len(), Class::Text);
    let state = in_string(line, quotes);
    let is_field = matches!(state, State::Plain) && is_before_field(language, line.rest());
    if is_field && let Some((_, class)) = line.colours.get_mut(begun) {
        *class = Class::Name;
    }
    state
}

fn is_before_field(language: &Language, rest: &str) -> bool {
    language.special.field.is_some_and(|mark| rest.trim_start().starts_with(mark))
}

fn word(language: &Language, line: &mut Line<'_>, first: char) {
    let special = &language.special;
    let rest = line.rest();
    let length = word_len(rest, special.dashes);
    let Some(word) = rest.get(..length).filter(|word| !word.is_empty()) else {
        line.skip(first.len_utf8());
        return;
    };
    let after = rest.get(length..).unwrap_or("");
    let is_same = |known: &&str| match special.any_case {
        true => known.eq_ignore_ascii_case(word),
        false => *known == word,
    };
    if language.keywords.iter().any(is_same) {
        line.take(length, Class::Keyword);
    } else if is_before_field(language, after) {
        line.take(length, Class::Name);
    } else if special.calls && after.starts_with('(') {
        line.take(length, Class::Call);
    } else {
        line.skip(length);
    }
}

/// The length of the name at the beginning of a text.
fn word_len(text: &str, dashes: bool) -> usize {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || (dashes && matches!(c, '-' | ':'));
    let is_first = |c: char| c.is_alphabetic() || c == '_';
    if !text.starts_with(is_first) {
        return 0;
    }
    let word = text.find(|c| !is_part(c)).and_then(|end| text.get(..end)).unwrap_or(text);
    // The mark of a field is no part of its name.
    word.trim_end_matches([':', '-']).len()
}

fn number_len(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = 0usize;
    while let Some(byte) = bytes.get(at) {
        let next = bytes.get(at.plus(1));
        let is_part = byte.is_ascii_alphanumeric()
            || *byte == b'_'
            || (*byte == b'.' && next.is_some_and(u8::is_ascii_digit));
        if !is_part {
            break;
        }
        at = at.plus(1);
    }
    at
}

/// The length of one character in quotes, if that is what a text begins with.
fn character_len(text: &str) -> Option<usize> {
    let mut chars = text.char_indices().skip(1);
    let (_, first) = chars.next()?;
    if first != '\\' {
        let (at, close) = chars.next()?;
        return (close == '\'' && first != '\'').then_some(at.plus(1));
    }
    // What is escaped is short: `\u{10ffff}`.
    let end = chars.skip(1).take(10).find(|(_, c)| *c == '\'').map(|(at, _)| at);
    end.map(|at| at.plus(1))
}
