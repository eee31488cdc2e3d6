//! The merge tool that is built in: it goes through a file with a person, and asks about each section that both
//! sides changed.

use std::fs;

use sapwood_core::exact::Exact as _;
use sapwood_core::{ErrorCode, SvnError, SvnResult};
use sapwood_diff::{HunkKind, Options, Span, diff3};
use sapwood_wc::conflict::TextConflict;

use super::questions::Questions;
use crate::input;
use crate::question::ask_openly;
use crate::remote::editor;
use crate::terminal;

/// The narrowest terminal that two sections are shown beside each other on.
const NARROW: usize = 80;

/// The possible answers.
const ANSWERS: &str = "Select: (1) use their version, (2) use your version,\n        \
    (12) their version first, then yours,\n        \
    (21) your version first, then theirs,\n        \
    (e1) edit their version and use the result,\n        \
    (e2) edit your version and use the result,\n        \
    (eb) edit both versions and use the result,\n        \
    (p) postpone this conflicting section leaving conflict markers,\n        \
    (a) abort file merge and return to main menu: ";

/// The choice for a section.
enum Section {
    Merged(Vec<u8>),
    Postponed,
    Aborted,
}

/// A text in lines, each with its end.
struct Lines<'t>(Vec<&'t [u8]>);

impl<'t> Lines<'t> {
    fn of(mut text: &'t [u8]) -> Self {
        let mut all = Vec::new();
        while !text.is_empty() {
            let end = text.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let len = end.map_or(text.len(), |end| match text.get(end..end.plus(2)) {
                Some(b"\r\n") => end.plus(2),
                _ => end.plus(1),
            });
            let (line, rest) = text.split_at(len);
            all.push(line);
            text = rest;
        }
        Self(all)
    }

    fn part(&self, span: Span) -> &[&'t [u8]] {
        self.0.get(span.start..span.start.plus(span.len)).unwrap_or(&[])
    }
}

/// One side of a section: its lines, and how many lines of the text are read with them.
struct Side<'s> {
    lines: &'s [&'s [u8]],
    read: usize,
}

impl<'s> Side<'s> {
    fn of(all: &'s Lines<'_>, span: Span) -> Self {
        let lines = all.part(span);
        let whole = |line: &&[u8]| line.ends_with(b"\n") || line.ends_with(b"\r");
        let last = lines.last().is_none_or(whole);
        let end = span.start.plus(span.len);
        Self { lines, read: if last { end } else { end.minus(1) } }
    }

    fn text(&self) -> Vec<u8> {
        self.lines.concat()
    }
}

/// How wide each of two columns is.
fn column() -> usize {
    terminal::width().max(NARROW).wrapping_div(2).minus(2)
}

/// A line as it is shown: without its end, cut off or filled up.
fn fit_line(line: &[u8], width: usize) -> String {
    let text = String::from_utf8_lossy(line);
    let text =
        text.strip_suffix("\r\n").or_else(|| text.strip_suffix(['\n', '\r'])).unwrap_or(&text);
    let mut plain = String::new();
    for letter in text.chars() {
        if letter.is_control() && letter != '\t' {
            plain.push_str(&format!("?\\{:03}", u32::from(letter)));
        } else {
            plain.push(letter);
        }
    }
    let cut: String = plain.chars().take(width).collect();
    format!("{cut:width$}")
}

/// The section, both sides beside each other, and what can be answered.
fn question(theirs: &Side<'_>, mine: &Side<'_>) -> String {
    let width = column();
    let line = format!("{0}+{0}\n", "-".repeat(width));
    let beside =
        |one: &[u8], other: &[u8]| format!("{}|{}\n", fit_line(one, width), fit_line(other, width));
    let mut text = "Conflicting section found during merge:\n".to_owned();
    text.push_str(&beside(
        format!("(1) their version (at line {})", theirs.read).as_bytes(),
        format!("(2) your version (at line {})", mine.read).as_bytes(),
    ));
    text.push_str(&line);
    for at in 0..theirs.lines.len().max(mine.lines.len()) {
        let of = |side: &Side<'_>| side.lines.get(at).map_or(Vec::new(), |line| line.to_vec());
        text.push_str(&beside(&of(theirs), &of(mine)));
    }
    text.push_str(&line);
    text.push_str(ANSWERS);
    text
}

fn marked(theirs: &Side<'_>, mine: &Side<'_>) -> Vec<u8> {
    [b"<<<<<<<\n", theirs.text().as_slice(), b"=======\n", &mine.text(), b">>>>>>>\n"].concat()
}

impl Questions<'_> {
    /// Merges a file with a person; whether nothing is left in conflict.
    pub(super) fn merge_here(&self, text: &TextConflict) -> SvnResult<bool> {
        let (Some(old), Some(mine), Some(theirs)) = (&text.old, &text.mine, &text.theirs) else {
            self.say("Invalid option.\n\n")?;
            return Ok(false);
        };
        let name = self.display_path(self.relpath);
        self.inv.out.text(&format!("Merging '{name}'.\n"))?;
        let (old, mine, theirs) = (self.read(old)?, self.read(mine)?, self.read(theirs)?);
        let diff = diff3(&Options::default(), &old, &theirs, &mine);
        let (old, mine, theirs) = (Lines::of(&old), Lines::of(&mine), Lines::of(&theirs));
        let mut merged = Vec::new();
        let mut left = false;
        for hunk in &diff.hunks {
            let part = match hunk.kind {
                HunkKind::Common => old.part(hunk.original).concat(),
                HunkKind::Modified => theirs.part(hunk.modified).concat(),
                HunkKind::Latest | HunkKind::Both => mine.part(hunk.latest).concat(),
                HunkKind::Conflict(_) => {
                    let theirs = Side::of(&theirs, hunk.modified);
                    let mine = Side::of(&mine, hunk.latest);
                    match self.merge_section(&theirs, &mine)? {
                        Section::Merged(part) => part,
                        Section::Postponed => {
                            left = true;
                            marked(&theirs, &mine)
                        }
                        Section::Aborted => {
                            self.inv.out.text(&format!("Merge of '{name}' aborted.\n"))?;
                            return Ok(false);
                        }
                    }
                }
            };
            merged.extend_from_slice(&part);
        }
        let place = self.wc.abspath(self.relpath);
        fs::write(&place, &merged)
            .map_err(|e| SvnError::io(&e, format!("Can't write to file '{}'", place.display())))?;
        let how = if left { " (remains in conflict)" } else { "" };
        self.inv.out.text(&format!("Merge of '{name}' completed{how}.\n"))?;
        Ok(!left)
    }

    fn merge_section(&self, theirs: &Side<'_>, mine: &Side<'_>) -> SvnResult<Section> {
        let question = question(theirs, mine);
        loop {
            self.inv.out.flush()?;
            let edited = match ask_openly(&question)?.as_str() {
                "1" => Some(theirs.text()),
                "2" => Some(mine.text()),
                "12" => Some([theirs.text(), mine.text()].concat()),
                "21" => Some([mine.text(), theirs.text()].concat()),
                "p" => return Ok(Section::Postponed),
                "a" => return Ok(Section::Aborted),
                "e1" => self.edit_section(&theirs.text())?,
                "e2" => self.edit_section(&mine.text())?,
                "eb" => self.edit_section(&marked(theirs, mine))?,
                _ => None,
            };
            if let Some(edited) = edited {
                return Ok(Section::Merged(edited));
            }
        }
    }

    /// Has a section edited; `None` when no editor did it.
    fn edit_section(&self, text: &[u8]) -> SvnResult<Option<Vec<u8>>> {
        let failed = |e| SvnError::io(&e, "Can't write a temporary file");
        let file = tempfile::Builder::new().prefix("svn-").suffix(".tmp").tempfile();
        let file = file.map_err(failed)?;
        fs::write(file.path(), text).map_err(failed)?;
        self.inv.out.flush()?;
        let given = self.inv.opt.editor_cmd.as_deref();
        match editor::edit_file(given, self.inv.ctx.config(), file.path()) {
            Ok(()) => input::contents(&file.path().to_string_lossy()).map(Some),
            Err(error)
                if [ErrorCode::CL_NO_EXTERNAL_EDITOR, ErrorCode::EXTERNAL_PROGRAM]
                    .contains(&error.code()) =>
            {
                self.say(&format!("{}\n", error.message()))?;
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_keep_their_ends() {
        let lines = Lines::of(b"a\nb\r\nc\rd");
        assert_eq!(lines.0, [b"a\n".as_slice(), b"b\r\n", b"c\r", b"d"]);
        assert_eq!(lines.part(Span { start: 1, len: 2 }), [b"b\r\n".as_slice(), b"c\r"]);
    }

    #[test]
    fn lines_fill_their_column() {
        assert_eq!(fit_line(b"ab\n", 4), "ab  ");
        assert_eq!(fit_line(b"abcdef\r\n", 4), "abcd");
        assert_eq!(fit_line(b"\x01", 6), "?\\001 ");
    }
}
