//! Colours for texts: comments, strings, numbers, keywords, by tables of languages.
//!
//! A line costs time that grows with its length and no faster, whatever is in it, and a text the state of one line. Colours are
//! a help to the eye, not a parser: what a table does not know stays plain.
//!
//! Invariant: colours are ranges of bytes of the line, in order, at the boundaries of characters, that do not overlap.

mod language;
mod lexer;
mod tables;

use std::ops::Range;

use sapwood_core::FsPath;

use crate::budget;
use language::Language;
use lexer::State;

/// What a part of a text is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    Comment,
    Text,
    Number,
    Keyword,
    Call,
    /// Names of fields, attributes, directives.
    Name,
    Added,
    Deleted,
}

impl Class {
    /// As the style sheet calls it.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Comment => "t-c",
            Self::Text => "t-s",
            Self::Number => "t-n",
            Self::Keyword => "t-k",
            Self::Call => "t-f",
            Self::Name => "t-m",
            Self::Added => "t-a",
            Self::Deleted => "t-d",
        }
    }
}

/// The colours of one line.
pub(crate) type Colours = Vec<(Range<usize>, Class)>;

/// Colours the lines of one text, one after the other.
#[derive(Debug)]
pub(crate) struct Highlighter {
    /// Of texts that stay plain there is none.
    language: Option<&'static Language>,
    state: State,
    /// Bytes that may still be coloured.
    left: usize,
    is_cut: bool,
}

impl Highlighter {
    /// For the text of a file with this name and first line.
    pub(crate) fn new(path: &FsPath, first_line: &[u8]) -> Self {
        let language = language::of(path.name(), first_line);
        Self { language, state: State::default(), left: budget::COLOURED, is_cut: false }
    }

    /// Whether lines are coloured at all.
    pub(crate) const fn is_on(&self) -> bool {
        self.language.is_some()
    }

    /// Whether lines stayed plain because the text is too long.
    pub(crate) const fn is_cut(&self) -> bool {
        self.is_cut
    }

    /// The colours of the next line, as it is shown.
    pub(crate) fn line(&mut self, line: &str) -> Colours {
        let Some(language) = self.language.filter(|_| !self.is_cut) else { return Vec::new() };
        let Some(left) = self.left.checked_sub(line.len()) else {
            self.is_cut = true;
            return Vec::new();
        };
        self.left = left;
        lexer::line(language, &mut self.state, line)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The parts of a text that have a colour.
    fn coloured(name: &str, text: &str) -> Vec<(String, &'static str)> {
        let mut all = Vec::new();
        let first = text.lines().next().unwrap_or("").as_bytes();
        let mut highlighter = Highlighter::new(FsPath::trusted(name), first);
        for line in text.lines() {
            let mut end = 0;
            for (range, class) in highlighter.line(line) {
                assert!(range.start >= end && range.start < range.end, "{range:?} in {line}");
                end = range.end;
                all.push((line[range].to_owned(), class.as_str()));
            }
        }
        all
    }

    fn is(name: &str, text: &str, expected: &[(&str, &str)]) {
        let got = coloured(name, text);
        let got: Vec<(&str, &str)> = got.iter().map(|(text, class)| (&**text, *class)).collect();
        assert_eq!(got, expected, "{name}: {text}");
    }

    #[test]
    fn languages_have_their_colours() {
        is(
            "/a.c",
            "int f(x) { return 0x1F; } // \"no\"\n#include <a>\n/* one\nif */ 'c' \"a\\\"b\"",
            &[
                ("int", "t-k"),
                ("f", "t-f"),
                ("return", "t-k"),
                ("0x1F", "t-n"),
                ("// \"no\"", "t-c"),
                ("#include", "t-m"),
                ("/* one", "t-c"),
                ("if */", "t-c"),
                ("'c'", "t-s"),
                ("\"a\\\"b\"", "t-s"),
            ],
        );
        is(
            "/a.rs",
            "fn f<'a>(x: &'a str) { '\\'' }",
            &[("fn", "t-k"), ("str", "t-k"), ("'\\''", "t-s")],
        );
        is(
            "/x.py",
            "s = '''a\nif b''' # c",
            &[("'''a", "t-s"), ("if b'''", "t-s"), ("# c", "t-c")],
        );
        is(
            "/x.sql",
            "SELECT 'it''s' -- x",
            &[("SELECT", "t-k"), ("'it''s'", "t-s"), ("-- x", "t-c")],
        );
        is("/a.json", "{\"a\": [1, true]}", &[("\"a\"", "t-m"), ("1", "t-n"), ("true", "t-k")]);
        is("/a.yml", "a-b: x#y # z", &[("a-b", "t-m"), ("# z", "t-c")]);
        is(
            "/a.html",
            "<a href=\"x\">if</a><!-- b\n-->",
            &[
                ("a", "t-k"),
                ("href", "t-m"),
                ("\"x\"", "t-s"),
                ("a", "t-k"),
                ("<!-- b", "t-c"),
                ("-->", "t-c"),
            ],
        );
        is(
            "/a.diff",
            "@@ -1 +1 @@\n-a\n+b\n c",
            &[("@@ -1 +1 @@", "t-m"), ("-a", "t-d"), ("+b", "t-a")],
        );
        is(
            "/run",
            "#!/bin/sh\necho $# 'a",
            &[("#!/bin/sh", "t-c"), ("echo", "t-k"), ("'a", "t-s")],
        );
        is("/Makefile", "all: # x", &[("all", "t-m"), ("# x", "t-c")]);
        is("/unknown", "if (x) \"y\"", &[]);
    }

    /// Whatever is in a text, all parts are parts of its lines, and the time does not run away.
    #[test]
    fn any_text_has_colours_within_its_lines() {
        let pieces = [
            "/*", "*/", "\"", "'", "\\", "<!--", "-->", "<", ">", "ü", "#", "r#\"", "0x", "if",
            "\t", "@", "`", "'''",
        ];
        let mut seed = 7u32;
        for language in [
            "a.c", "a.rs", "a.py", "a.html", "a.yml", "a.sh", "a.tex", "a.lua", "a.sql", "a.hs",
            "a.css",
        ] {
            for _ in 0..200 {
                let mut text = String::new();
                for _ in 0..60 {
                    seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    let at = usize::try_from(seed >> 16).unwrap();
                    text.push_str(pieces[at % pieces.len()]);
                    if at % 11 == 0 {
                        text.push('\n');
                    }
                }
                coloured(&format!("/{language}"), &text);
            }
        }
        let long = "/*\"'<a ".repeat(20_000);
        coloured("/a.c", &long);
    }

    #[test]
    fn long_texts_stay_plain_from_some_line_on() {
        let mut highlighter = Highlighter::new(FsPath::trusted("/a.c"), b"");
        let line = format!("int {}", "x".repeat(996));
        let mut coloured = 0;
        for _ in 0..budget::COLOURED / 500 {
            coloured += usize::from(!highlighter.line(&line).is_empty());
        }
        assert_eq!(coloured, budget::COLOURED / 1000);
        assert!(highlighter.is_cut());
    }
}
