//! Unified diffs, byte for byte as the reference prints them.

use std::io::{self, Write};

use crate::compare::{Diff, Range, compare};
use crate::lines::{has_ending, take_line};
use crate::options::Options;
use crate::window::Window;
use sapwood_core::{Cut, Exact};

/// What the hunks of a diff look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    /// `@@` hunks of a file.
    File,
    /// `##` hunks of a property, which `patch` programs leave alone.
    Property,
}

impl Style {
    const fn mark(self) -> &'static str {
        match self {
            Self::File => "@@",
            Self::Property => "##",
        }
    }

    /// What follows a line without ending.
    const fn no_newline(self) -> &'static [u8] {
        match self {
            Self::File => NO_NEWLINE,
            Self::Property => b"\n\\ No newline at end of property\n",
        }
    }
}

/// What follows a file's last line when it has no ending.
pub(crate) const NO_NEWLINE: &[u8] = b"\n\\ No newline at end of file\n";
/// The longest function name that a hunk header shows, in bytes.
const MAX_FUNCTION: usize = 50;

/// Appends the two lines that name the texts.
pub fn write_header(out: &mut Vec<u8>, old_label: &str, new_label: &str) {
    for (mark, label) in [("--- ", old_label), ("+++ ", new_label)] {
        out.extend_from_slice(mark.as_bytes());
        out.extend_from_slice(label.as_bytes());
        out.push(b'\n');
    }
}

/// Compares two files and appends the hunks, without a header. Says whether there are any.
pub fn unified(options: &Options, old: &[u8], new: &[u8], out: &mut Vec<u8>) -> bool {
    let diff = compare(options, old, new);
    write_hunks(&diff, options, Style::File, old, new, out);
    diff.has_changes()
}

/// Appends the hunks of a diff of `old` and `new`.
pub(crate) fn write_hunks(
    diff: &Diff,
    options: &Options,
    style: Style,
    old: &[u8],
    new: &[u8],
    out: &mut Vec<u8>,
) {
    write_hunks_from(Start::default(), diff, options, style, (old, new), out);
}

/// Common lines before the texts that a diff was made of.
#[derive(Debug, Default)]
pub(crate) struct Start {
    /// How many.
    pub(crate) line: usize,
    /// The last of them that may be the start of a function.
    pub(crate) function: Vec<u8>,
}

/// As [`write_hunks`], where the texts (old and new) lack a common start.
fn write_hunks_from(
    start: Start,
    diff: &Diff,
    options: &Options,
    style: Style,
    (old, new): (&[u8], &[u8]),
    out: &mut Vec<u8>,
) {
    let line = start.line;
    let old = Text { source: Source::Memory(old), line };
    let new = Text { source: Source::Memory(new), line };
    let mut writer = Writer::new(start, options, style, (old, new), out);
    for range in diff.changes() {
        writer.change(&after(range, line));
    }
    writer.flush();
}

/// Writes hunks of changes that are given in order, of texts that are read while they are written.
pub(crate) fn write_hunks_streamed(
    start: Start,
    changes: &[Range],
    options: &Options,
    (old, new): (Window<'_>, Window<'_>),
    out: &mut dyn Write,
) -> io::Result<()> {
    let line = start.line;
    let mut bytes = Vec::new();
    let old = Text { source: Source::Stream(old), line };
    let new = Text { source: Source::Stream(new), line };
    let mut writer = Writer::new(start, options, Style::File, (old, new), &mut bytes);
    for range in changes {
        writer.change(&after(range, line));
        if let Some(error) = writer.failed.take() {
            return Err(error);
        }
        out.write_all(writer.out)?;
        writer.out.clear();
    }
    writer.flush();
    match writer.failed.take() {
        Some(error) => Err(error),
        None => out.write_all(writer.out),
    }
}

/// A change in texts that so many lines stand before.
fn after(range: &Range, line: usize) -> Range {
    Range { old_start: range.old_start.plus(line), new_start: range.new_start.plus(line), ..*range }
}

/// Where lines come from.
enum Source<'a> {
    Memory(&'a [u8]),
    Stream(Window<'a>),
}

/// A text and how far it was read.
struct Text<'a> {
    source: Source<'a>,
    line: usize,
}

impl Text<'_> {
    /// Passes lines up to number `until`, where that is quicker than to look at each.
    fn pass(&mut self, until: usize) -> io::Result<()> {
        if let Source::Stream(window) = &mut self.source {
            self.line = self.line.plus(window.skip_lines(until.minus(self.line))?);
        }
        Ok(())
    }
}

#[derive(Default)]
struct Hunk {
    old_start: usize,
    old_len: usize,
    new_start: usize,
    new_len: usize,
    body: Vec<u8>,
}

impl Hunk {
    const fn is_open(&self) -> bool {
        self.old_len > 0 || self.new_len > 0
    }
}

struct Writer<'a, 'o> {
    style: Style,
    context: usize,
    /// With `-p`, the last line read that may be the start of a function.
    function: Option<Vec<u8>>,
    /// What the header of the open hunk says after its second mark.
    header_function: Vec<u8>,
    old: Text<'a>,
    new: Text<'a>,
    hunk: Hunk,
    out: &'o mut Vec<u8>,
    /// The first error of reading.
    failed: Option<io::Error>,
}

/// Stands for a text while it is read.
const NOTHING: Text<'static> = Text { source: Source::Memory(&[]), line: 0 };

/// Why a line is read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Skip,
    Context,
    Delete,
    Insert,
}

impl<'a, 'o> Writer<'a, 'o> {
    fn new(
        start: Start,
        options: &Options,
        style: Style,
        (old, new): (Text<'a>, Text<'a>),
        out: &'o mut Vec<u8>,
    ) -> Self {
        Self {
            style,
            context: options.context,
            function: options.show_c_function.then_some(start.function),
            header_function: Vec::new(),
            old,
            new,
            hunk: Hunk::default(),
            out,
            failed: None,
        }
    }

    /// Reads old lines up to, but not including, number `until`.
    fn read_old(&mut self, purpose: Use, until: usize) {
        let mut text = std::mem::replace(&mut self.old, NOTHING);
        self.read(&mut text, purpose, until);
        self.old = text;
    }

    /// Reads new lines up to, but not including, number `until`.
    fn read_new(&mut self, purpose: Use, until: usize) {
        let mut text = std::mem::replace(&mut self.new, NOTHING);
        self.read(&mut text, purpose, until);
        self.new = text;
    }

    fn read(&mut self, text: &mut Text<'_>, purpose: Use, until: usize) {
        if let Err(error) = self.read_lines(text, purpose, until) {
            self.failed.get_or_insert(error);
        }
    }

    fn read_lines(&mut self, text: &mut Text<'_>, purpose: Use, until: usize) -> io::Result<()> {
        if purpose == Use::Skip && self.function.is_none() && text.line < until {
            text.pass(until)?;
        }
        while text.line < until {
            let found = match &mut text.source {
                Source::Memory(rest) => take_line(rest).map(|line| self.line(purpose, line)),
                Source::Stream(window) => {
                    let line = window.line()?;
                    let len = line.len();
                    self.line(purpose, line);
                    window.advance(len);
                    (len > 0).then_some(())
                }
            };
            if found.is_none() {
                // Context without a limit (property diffs) reaches far beyond the last line.
                text.line = until;
                return Ok(());
            }
            text.line += 1;
        }
        Ok(())
    }

    fn line(&mut self, purpose: Use, line: &[u8]) {
        if line.is_empty() {
            return;
        }
        let unchanged = matches!(purpose, Use::Skip | Use::Context);
        if let Some(function) =
            self.function.as_mut().filter(|_| unchanged && may_start_function(line))
        {
            function.clear();
            function.extend_from_slice(line);
        }
        let mark = match purpose {
            Use::Skip => return,
            Use::Context => b' ',
            Use::Delete => b'-',
            Use::Insert => b'+',
        };
        let count = |n: &mut usize, counts: bool| *n = n.plus(usize::from(counts));
        count(&mut self.hunk.old_len, purpose != Use::Insert);
        count(&mut self.hunk.new_len, purpose != Use::Delete);
        self.hunk.body.push(mark);
        self.hunk.body.extend_from_slice(line);
        if !has_ending(line) {
            self.hunk.body.extend_from_slice(self.style.no_newline());
        }
    }

    fn change(&mut self, range: &Range) {
        let before = range.old_start.min(self.context);
        let start = range.old_start.minus(before);
        // Where the open hunk would end with its own context.
        let open_end = self
            .hunk
            .is_open()
            .then(|| self.hunk.old_start.plus(self.hunk.old_len).saturating_add(self.context));
        let mut opens = open_end.is_none() && self.hunk.old_start == 0;
        if self.old.line < start && open_end.is_none_or(|end| end <= start) {
            self.flush();
            opens = true;
        } else if self.hunk.is_open() {
            self.read_old(Use::Context, range.old_start);
        }
        self.read_old(Use::Skip, start);
        if opens {
            self.hunk.old_start = start;
            self.hunk.new_start = range.new_start.minus(before);
            self.header_function = self.function.as_deref().map(function_line).unwrap_or_default();
        }
        self.read_new(Use::Skip, range.new_start);
        self.read_old(Use::Context, range.old_start);
        self.read_old(Use::Delete, range.old_start.plus(range.old_len));
        self.read_new(Use::Insert, range.new_start.plus(range.new_len));
    }

    /// Writes the open hunk, if there is one.
    fn flush(&mut self) {
        if self.hunk.body.is_empty() {
            return;
        }
        let end = self.hunk.old_start.plus(self.hunk.old_len).saturating_add(self.context);
        self.read_old(Use::Context, end);
        let hunk = &mut self.hunk;
        let mark = self.style.mark().as_bytes();
        self.out.extend_from_slice(mark);
        for (sign, start, len) in
            [(b'-', hunk.old_start, hunk.old_len), (b'+', hunk.new_start, hunk.new_len)]
        {
            self.out.extend_from_slice(&[b' ', sign]);
            // An empty side names the line before it, so that counting from 1 and from 0 agree.
            push_number(self.out, start.plus(usize::from(len > 0)));
            if len != 1 {
                self.out.push(b',');
                push_number(self.out, len);
            }
        }
        self.out.push(b' ');
        self.out.extend_from_slice(mark);
        if !self.header_function.is_empty() {
            self.out.push(b' ');
            self.out.extend_from_slice(&self.header_function);
        }
        self.out.push(b'\n');
        self.out.append(&mut hunk.body);
        (hunk.old_start, hunk.old_len, hunk.new_start, hunk.new_len) = (0, 0, 0, 0);
    }
}

fn push_number(out: &mut Vec<u8>, number: usize) {
    out.extend_from_slice(number.to_string().as_bytes());
}

/// Lines that begin with a letter, `$` or `_` do, except for C++'s access labels.
pub(crate) fn may_start_function(line: &[u8]) -> bool {
    const LABELS: [&[u8]; 3] = [b"public:", b"private:", b"protected:"];
    line.first().is_some_and(|b| b.is_ascii_alphabetic() || matches!(b, b'$' | b'_'))
        && !LABELS.iter().any(|label| line.starts_with(label))
}

/// The part of a line that fits a hunk header: whole characters, no space at the end.
fn function_line(line: &[u8]) -> Vec<u8> {
    let end = memchr::memchr(0, line).unwrap_or(line.len()).min(MAX_FUNCTION);
    let line = line.head(end);
    let spaces = line.iter().rev().take_while(|b| matches!(b, b' ' | 0x09..=0x0d)).count();
    let line = line.head(line.len().minus(spaces));
    match std::str::from_utf8(line) {
        Ok(_) => line.to_vec(),
        Err(error) => line.head(error.valid_up_to()).to_vec(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn diff(options: &Options, old: &str, new: &str) -> String {
        let mut out = Vec::new();
        unified(options, old.as_bytes(), new.as_bytes(), &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn forms_of_the_header() {
        let plain = Options::default();
        assert_eq!(diff(&plain, "a\n", "a\n"), "");
        assert_eq!(diff(&plain, "", "a\n"), "@@ -0,0 +1 @@\n+a\n");
        assert_eq!(diff(&plain, "a\nb\n", ""), "@@ -1,2 +0,0 @@\n-a\n-b\n");
        assert_eq!(diff(&plain, "a\n", "b\n"), "@@ -1 +1 @@\n-a\n+b\n");
        let bare = Options { context: 0, ..plain };
        assert_eq!(diff(&bare, "a\nb\nc\n", "a\nc\n"), "@@ -2 +1,0 @@\n-b\n");
        assert_eq!(diff(&bare, "a\nc\n", "a\nb\nc\n"), "@@ -1,0 +2 @@\n+b\n");
    }

    #[test]
    fn missing_newlines() {
        let plain = Options::default();
        assert_eq!(
            diff(&plain, "a\nb", "a\nb\n"),
            "@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+b\n"
        );
        assert_eq!(
            diff(&plain, "a\nb", "x\nb"),
            "@@ -1,2 +1,2 @@\n-a\n+x\n b\n\\ No newline at end of file\n"
        );
    }

    #[test]
    fn hunks_join_when_their_contexts_touch() {
        let text = |gap: usize, a: &str, b: &str| format!("{a}\n{}{b}\n", "=\n".repeat(gap));
        let plain = Options::default();
        let hunks =
            |gap| diff(&plain, &text(gap, "a", "b"), &text(gap, "x", "y")).matches("@@ -").count();
        assert_eq!([hunks(5), hunks(6), hunks(7)], [1, 2, 2]);
    }

    #[test]
    fn context_without_a_limit_ends_with_the_text() {
        let all = Options { context: usize::MAX, ..Options::default() };
        assert_eq!(diff(&all, "a\nb\n", "a\nc\n"), "@@ -1,2 +1,2 @@\n a\n-b\n+c\n");
    }

    #[test]
    fn functions_in_headers() {
        let options = Options { show_c_function: true, context: 1, ..Options::default() };
        let old = "int main()\n{\n  a;\npublic: x\n  b;\n  c;\n}\n";
        assert!(
            diff(&options, old, &old.replace("c;", "d;"))
                .starts_with("@@ -5,3 +5,3 @@ int main()\n")
        );
        let long = "\u{e4}".repeat(60);
        assert_eq!(function_line(format!("f{long}").as_bytes()).len(), 49);
        assert_eq!(function_line(b"f \t\r\n"), b"f");
    }
}
