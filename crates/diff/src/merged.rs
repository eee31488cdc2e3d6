//! Three texts written as one, with marks around what is in conflict.

use sapwood_core::Exact;
use std::collections::VecDeque;
use std::io::{self, Write};

use crate::diff3::{Diff3, Hunk, HunkKind, Span};
use crate::large::LargeText;
use crate::lines::lines;
use crate::options::Options;
use crate::window::Window;

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
    write_merged_large(out, diff, [&original, &modified, &latest], labels, style)
}

/// The same of texts that are read while the result is written.
///
/// # Errors
/// Those of reading, and of `out`.
pub fn write_merged_large(
    out: &mut dyn Write,
    diff: &Diff3,
    [original, modified, latest]: [&dyn LargeText; 3],
    labels: &Labels<'_>,
    style: ConflictStyle,
) -> io::Result<()> {
    let mut writer = Writer {
        original: Text::open(original)?,
        modified: Text::open(modified)?,
        latest: Text::open(latest)?,
        labels,
        style,
        eol: first_ending(Window::new(modified.open()?).line()?),
        context: (style == ConflictStyle::OnlyConflicts).then(Context::default),
        out,
    };
    writer.hunks(&diff.hunks)
}

fn first_ending(first_line: &[u8]) -> &'static [u8] {
    match first_line {
        line if line.ends_with(b"\r\n") => b"\r\n",
        line if line.ends_with(b"\r") => b"\r",
        _ => b"\n",
    }
}

/// A text and how far it was read.
struct Text<'a> {
    window: Window<'a>,
    line: usize,
}

impl<'a> Text<'a> {
    fn open(text: &'a dyn LargeText) -> io::Result<Self> {
        Ok(Self { window: Window::new(text.open()?), line: 0 })
    }

    /// Passes on some lines at or after where the text was read to.
    fn pass(
        &mut self,
        span: Span,
        take: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        self.window.skip_lines(span.start.minus(self.line))?;
        self.window.pass_lines(span.len, take)?;
        self.line = span.start.plus(span.len);
        Ok(())
    }
}

/// What is shown around conflicts when nothing else is.
#[derive(Default)]
struct Context {
    /// The last lines that were not shown.
    before: VecDeque<Vec<u8>>,
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
    context: Option<Context>,
    out: &'o mut dyn Write,
}

impl Writer<'_, '_> {
    fn hunks(&mut self, hunks: &[Hunk]) -> io::Result<()> {
        for hunk in hunks {
            match &hunk.kind {
                HunkKind::Conflict(inner) => self.conflict(hunk, inner)?,
                HunkKind::Latest => self.agreed(true, hunk.latest)?,
                HunkKind::Common | HunkKind::Modified | HunkKind::Both => {
                    self.agreed(false, hunk.modified)?;
                }
            }
        }
        Ok(())
    }

    /// Lines that are not in conflict, of the latest text or of the modified one.
    fn agreed(&mut self, is_latest: bool, span: Span) -> io::Result<()> {
        let Self { modified, latest, context, out, .. } = self;
        let text = if is_latest { latest } else { modified };
        let Some(context) = context else {
            return text.pass(span, &mut |piece| out.write_all(piece));
        };
        text.pass(span, &mut |piece| {
            for line in lines(piece) {
                if context.after > 0 {
                    out.write_all(line)?;
                    context.after = context.after.saturating_sub(1);
                    continue;
                }
                if context.before.len() >= Options::DEFAULT_CONTEXT {
                    context.before.pop_front();
                    context.skipped = true;
                }
                context.before.push_back(line.to_vec());
            }
            Ok(())
        })
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
            ConflictStyle::Modified => {
                self.modified.pass(hunk.modified, &mut |piece| self.out.write_all(piece))
            }
            ConflictStyle::Latest => {
                self.latest.pass(hunk.latest, &mut |piece| self.out.write_all(piece))
            }
        }
    }

    fn marked(&mut self, hunk: &Hunk, original: bool) -> io::Result<()> {
        if let Some(context) = &mut self.context {
            if std::mem::take(&mut context.skipped) {
                self.out.write_all(b"@@\n")?;
            }
            for line in context.before.drain(..) {
                self.out.write_all(&line)?;
            }
            context.after = Options::DEFAULT_CONTEXT;
        }
        let labels = self.labels;
        self.mark(labels.modified, Some(hunk.modified))?;
        self.modified.pass(hunk.modified, &mut |piece| self.out.write_all(piece))?;
        if original {
            self.mark(labels.original, Some(hunk.original))?;
            self.original.pass(hunk.original, &mut |piece| self.out.write_all(piece))?;
        }
        self.mark(labels.separator, None)?;
        self.latest.pass(hunk.latest, &mut |piece| self.out.write_all(piece))?;
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
