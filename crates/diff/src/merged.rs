//! Three texts written as one, with marks around what is in conflict.

use sapwood_core::{Cut, Exact};
use std::collections::VecDeque;
use std::io::{self, Write};

use crate::diff3::{Diff3, Hunk, HunkKind, Span};
use crate::lines::{lines, take_line};
use crate::options::Options;

/// How conflicts are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConflictStyle {
    /// The modified lines and the latest ones, with marks.
    ModifiedLatest,
    /// The same, with what both have in common taken out of the marks.
    ResolvedModifiedLatest,
    /// The modified lines, the original ones and the latest ones, with marks.
    ModifiedOriginalLatest,
    /// Only the modified lines, without marks.
    Modified,
    /// Only the latest lines, without marks.
    Latest,
    /// All three with marks and line numbers, and of the rest only three lines around.
    OnlyConflicts,
}

/// The lines that mark conflicts, without line ending.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Labels<'a> {
    /// Before the modified lines, `<<<<<<< .mine`.
    pub modified: &'a str,
    /// Before the original lines, `||||||| .r4`.
    pub original: &'a str,
    /// Before the latest lines, `=======`.
    pub separator: &'a str,
    /// After the latest lines, `>>>>>>> .r5`.
    pub latest: &'a str,
}

/// Writes the merged text of what [`crate::diff3()`] found. Marks end as the lines of the modified
/// text do.
///
/// # Errors
/// Those of `out`.
pub fn write_merged(
    out: &mut dyn Write,
    diff: &Diff3,
    (original, modified, latest): (&[u8], &[u8], &[u8]),
    labels: &Labels<'_>,
    style: ConflictStyle,
) -> io::Result<()> {
    let text = |rest| Text { rest, line: 0 };
    let mut writer = Writer {
        original: text(original),
        modified: text(modified),
        latest: text(latest),
        labels,
        style,
        eol: first_ending(modified),
        context: (style == ConflictStyle::OnlyConflicts).then(Context::default),
        out,
    };
    writer.hunks(&diff.hunks)
}

fn first_ending(text: &[u8]) -> &'static [u8] {
    match lines(text).next() {
        Some(line) if line.ends_with(b"\r\n") => b"\r\n",
        Some(line) if line.ends_with(b"\r") => b"\r",
        _ => b"\n",
    }
}

/// A text and how far it was read.
struct Text<'a> {
    rest: &'a [u8],
    line: usize,
}

impl<'a> Text<'a> {
    /// The bytes of some lines at or after where the text was read to.
    fn take(&mut self, span: Span) -> &'a [u8] {
        while self.line < span.start {
            take_line(&mut self.rest);
            self.line += 1;
        }
        let all = self.rest;
        let end = span.start.plus(span.len);
        while self.line < end {
            take_line(&mut self.rest);
            self.line += 1;
        }
        all.head(all.len().minus(self.rest.len()))
    }
}

/// What is shown around conflicts when nothing else is.
#[derive(Default)]
struct Context<'a> {
    /// The last lines that were not shown.
    before: VecDeque<&'a [u8]>,
    /// Whether there were more.
    skipped: bool,
    /// How many lines are still to be shown after a conflict.
    after: usize,
}

struct Writer<'a, 'o> {
    original: Text<'a>,
    modified: Text<'a>,
    latest: Text<'a>,
    labels: &'o Labels<'o>,
    style: ConflictStyle,
    eol: &'static [u8],
    context: Option<Context<'a>>,
    out: &'o mut dyn Write,
}

impl<'a> Writer<'a, '_> {
    fn hunks(&mut self, hunks: &[Hunk]) -> io::Result<()> {
        for hunk in hunks {
            match &hunk.kind {
                HunkKind::Latest => {
                    let text = self.latest.take(hunk.latest);
                    self.agreed(text)?;
                }
                HunkKind::Conflict(inner) => self.conflict(hunk, inner)?,
                HunkKind::Common | HunkKind::Modified | HunkKind::Both => {
                    let text = self.modified.take(hunk.modified);
                    self.agreed(text)?;
                }
            }
        }
        Ok(())
    }

    /// Lines that are not in conflict.
    fn agreed(&mut self, text: &'a [u8]) -> io::Result<()> {
        let Some(context) = &mut self.context else { return self.out.write_all(text) };
        for line in lines(text) {
            if context.after > 0 {
                self.out.write_all(line)?;
                context.after = context.after.saturating_sub(1);
                continue;
            }
            if context.before.len() >= Options::DEFAULT_CONTEXT {
                context.before.pop_front();
                context.skipped = true;
            }
            context.before.push_back(line);
        }
        Ok(())
    }

    fn conflict(&mut self, hunk: &Hunk, inner: &[Hunk]) -> io::Result<()> {
        match self.style {
            ConflictStyle::ResolvedModifiedLatest if !inner.is_empty() => self.hunks(inner),
            ConflictStyle::ModifiedLatest | ConflictStyle::ResolvedModifiedLatest => {
                self.marked(hunk, false)
            }
            ConflictStyle::ModifiedOriginalLatest | ConflictStyle::OnlyConflicts => {
                self.marked(hunk, true)
            }
            ConflictStyle::Modified => self.out.write_all(self.modified.take(hunk.modified)),
            ConflictStyle::Latest => self.out.write_all(self.latest.take(hunk.latest)),
        }
    }

    fn marked(&mut self, hunk: &Hunk, original: bool) -> io::Result<()> {
        if let Some(context) = &mut self.context {
            if std::mem::take(&mut context.skipped) {
                self.out.write_all(b"@@\n")?;
            }
            for line in context.before.drain(..) {
                self.out.write_all(line)?;
            }
            context.after = Options::DEFAULT_CONTEXT;
        }
        let labels = self.labels;
        self.mark(labels.modified, Some(hunk.modified))?;
        self.out.write_all(self.modified.take(hunk.modified))?;
        if original {
            self.mark(labels.original, Some(hunk.original))?;
            self.out.write_all(self.original.take(hunk.original))?;
        }
        self.mark(labels.separator, None)?;
        self.out.write_all(self.latest.take(hunk.latest))?;
        self.mark(labels.latest, Some(hunk.latest))
    }

    /// A mark; where only conflicts are shown, with the lines that it stands for.
    fn mark(&mut self, label: &str, span: Option<Span>) -> io::Result<()> {
        self.out.write_all(label.as_bytes())?;
        if let (Some(span), Some(_)) = (span, &self.context) {
            let first = span.start.plus(1);
            match span.len {
                1 => write!(self.out, " ({first})")?,
                len => write!(self.out, " ({first},{len})")?,
            }
        }
        self.out.write_all(self.eol)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diff3;

    const LABELS: Labels<'static> = Labels {
        modified: "<<<<<<< .mine",
        original: "||||||| .r1",
        separator: "=======",
        latest: ">>>>>>> .r2",
    };

    fn merged(style: ConflictStyle, original: &str, modified: &str, latest: &str) -> String {
        let texts = (original.as_bytes(), modified.as_bytes(), latest.as_bytes());
        let diff = diff3(&Options::default(), texts.0, texts.1, texts.2);
        let mut out = Vec::new();
        write_merged(&mut out, &diff, texts, &LABELS, style).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn both_sides_change_apart() {
        let style = ConflictStyle::ModifiedOriginalLatest;
        assert_eq!(merged(style, "a\nb\nc\n", "x\nb\nc\n", "a\nb\ny\n"), "x\nb\ny\n");
    }

    #[test]
    fn styles() {
        let (original, modified, latest) =
            ("a\nb\nc\n", "a\r\nx\r\ns\r\nc\n", "a\r\ny\r\ns\r\nc\n");
        let show = |style| merged(style, original, modified, latest);
        assert_eq!(show(ConflictStyle::Modified), modified);
        assert_eq!(show(ConflictStyle::Latest), latest);
        assert_eq!(
            show(ConflictStyle::ModifiedOriginalLatest),
            "<<<<<<< .mine\r\na\r\nx\r\ns\r\n||||||| .r1\r\na\nb\n=======\r\na\r\ny\r\ns\r\n\
             >>>>>>> .r2\r\nc\n"
        );
        assert_eq!(
            show(ConflictStyle::ResolvedModifiedLatest),
            "a\r\n<<<<<<< .mine\r\nx\r\n=======\r\ny\r\n>>>>>>> .r2\r\ns\r\nc\n"
        );
    }

    #[test]
    fn only_conflicts() {
        let text = |line: &str| format!("1\n2\n3\n4\n{line}\n6\n7\n8\n9\n");
        let show = |style| merged(style, &text("5"), &text("x"), &text("y"));
        assert_eq!(
            show(ConflictStyle::OnlyConflicts),
            "@@\n2\n3\n4\n<<<<<<< .mine (5)\nx\n||||||| .r1 (5)\n5\n=======\ny\n>>>>>>> .r2 (5)\n\
             6\n7\n8\n"
        );
    }
}
